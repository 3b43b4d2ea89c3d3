"""What is said of a job: what happened to each occurrence, how it stands, and what comes next."""

from datetime import UTC, datetime

import pytest

from bellringer.actors import recounting
from bellringer.actors.explaining import explain, upcoming
from bellringer.storage import rules
from bellringer.storage.values import JobRow, OccurrenceRow, Outage, Pause, told_from_ledger

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
BERLIN = "Europe/Berlin"


def us(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


DUE = us("2026-03-28T08:00")
NOW = us("2026-03-28T12:00")
DUE_TOLD = "Sat 2026-03-28 09:00:00 +01:00 (2026-03-28 08:00:00 UTC)"
DAILY = rules.dump(rules.daily("09:00", zone=BERLIN))


def row(**fields: object) -> JobRow:
    given = JobRow(
        id="digest", handler="send", status="scheduled", due_at=us("2026-03-29T07:00"), next_attempt_at=None,
        chat_id=42, user_id=7, thread_id=None, payload=None, rule=DAILY, delivery="at_most_once", attempts=0,
        waiting_for=None, reason=None, host=None, claimed_at=None, seq=1, zone=BERLIN,
    )  # fmt: skip
    return given._replace(**fields)  # type: ignore[arg-type]


def ran(**fields: object) -> OccurrenceRow:
    given = OccurrenceRow(
        number=1, job_id="digest", job_seq=1, handler="send", chat_id=42, user_id=7, outcome="done", due_at=DUE,
        last_due_at=None, count=1, started_at=DUE, finished_at=DUE + SECOND, late_by_us=0, attempts=1, reason=None,
        traceback=None, delivered=None, run_key="1",
    )  # fmt: skip
    return given._replace(**fields)  # type: ignore[arg-type]


def late(by: int, **fields: object) -> OccurrenceRow:
    return ran(started_at=DUE + by, finished_at=DUE + by + SECOND, late_by_us=by, **fields)


def happened(occurrence: OccurrenceRow, *outages: Outage) -> str:
    return explain(row(), [occurrence], outages, [], True, [], BERLIN, NOW)[0].removesuffix(".")


def stands(job: JobRow, *pauses: Pause, known: bool = True, zone: str | None = BERLIN) -> list[str]:
    """What is said of how it stands: all but what comes next."""
    return [said.removesuffix(".") for said in explain(job, [], [], pauses, known, [], zone, NOW)[:-1]]


def test_a_run_on_time_says_so() -> None:
    assert happened(ran()) == f"Due {DUE_TOLD}: ran on time, and is done"


def test_a_late_run_says_since_when_nothing_was_running() -> None:
    down = Outage(DUE - HOUR, DUE + 3 * HOUR, "down")

    assert happened(late(3 * HOUR), down) == (
        f"Due {DUE_TOLD}: ran late by 3 h because nothing was running from "
        "Sat 2026-03-28 08:00:00 +01:00 (2026-03-28 07:00:00 UTC) to "
        "Sat 2026-03-28 12:00:00 +01:00 (2026-03-28 11:00:00 UTC), and is done"
    )


def test_an_outage_that_was_over_before_or_came_after_explains_nothing() -> None:
    others = Outage(DUE - 2 * HOUR, DUE - HOUR, "down"), Outage(DUE + 3 * MINUTE, DUE + HOUR, "down")

    assert happened(late(2 * MINUTE), *others) == (
        f"Due {DUE_TOLD}: ran late by 2 min: no host had begun it before, and is done"
    )


def test_b19_a_late_run_says_that_the_machine_slept() -> None:
    assert "ran late by 5 min because the machine slept or its clock jumped from" in happened(
        late(5 * MINUTE), Outage(DUE - SECOND, DUE + 5 * MINUTE, "jump")
    )


def test_of_many_outages_the_latest_are_named_and_the_others_counted() -> None:
    outages = [Outage(DUE + n * MINUTE, DUE + n * MINUTE + SECOND, "down") for n in range(10)]
    said = happened(late(HOUR), *outages)

    assert said.count("nothing was running") == 3
    assert "so it was 7 times before that" in said


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("handler:send mail", "it waited for the handler 'send mail', which no host knew"),
        ("lane:42", "another job of its chat ran"),
        ("pause", "it was paused"),
        ("pause:run_one", "it was paused"),
        ("snooze", "it was snoozed"),
        ("run", "its run before had not ended"),
    ],
)
def test_a_late_run_says_what_it_had_waited_for(held: str, said: str) -> None:
    assert f"ran late by 2 h because {said}, and is done" in happened(late(2 * HOUR, reason=f"held: {held}"))


def test_all_that_made_a_run_late_is_told() -> None:
    said = happened(late(2 * HOUR, reason="held: lane:42", attempts=3), Outage(DUE, DUE + HOUR, "down"))

    assert "because nothing was running from" in said
    assert "and another job of its chat ran and attempts before had failed or asked for another" in said
    assert said.endswith("and is done at attempt 3")


def test_a_failure_says_at_which_attempt_and_why() -> None:
    assert happened(ran(outcome="failed", attempts=2, reason="ValueError: no")) == (
        f"Due {DUE_TOLD}: ran on time, and failed at attempt 2: ValueError: no"
    )


def test_an_interrupted_run_says_why() -> None:
    assert happened(ran(outcome="interrupted", reason="its host ended")).endswith(
        "ran on time, and was interrupted: its host ended"
    )


def test_b31_a_skipped_due_time_says_that_it_was_paused() -> None:
    assert happened(ran(outcome="skipped", started_at=None, reason="paused")) == f"Due {DUE_TOLD}: skipped: paused"


def test_skipped_is_not_said_twice() -> None:
    said = happened(ran(outcome="skipped", started_at=None, reason="skipped: found 90.000 s late"))

    assert said == f"Due {DUE_TOLD}: skipped: found 90.000 s late"


def test_b17_many_missed_due_times_are_told_in_one_sentence() -> None:
    many = ran(
        outcome="skipped", started_at=None, finished_at=NOW, count=315_360_000, last_due_at=NOW - SECOND,
        reason="missed: a later one runs",
    )  # fmt: skip

    assert happened(many, Outage(DUE, NOW, "jump")) == (
        f"315,360,000 due times were skipped, from {DUE_TOLD} to "
        "Sat 2026-03-28 12:59:59 +01:00 (2026-03-28 11:59:59 UTC): missed: a later one runs, because the machine slept "
        f"or its clock jumped from {DUE_TOLD} to Sat 2026-03-28 13:00:00 +01:00 (2026-03-28 12:00:00 UTC)"
    )


def test_a_cancelled_occurrence_says_why() -> None:
    assert happened(ran(outcome="cancelled", started_at=None, reason="replaced")).endswith("cancelled: replaced")


def test_occurrences_are_told_in_the_order_in_which_they_ended() -> None:
    occurrences = [ran(number=2, due_at=DUE + HOUR), ran(number=1, outcome="failed")]
    said = explain(row(), occurrences, [], [], True, [], BERLIN, NOW)

    assert ["10:00" in said[0], "10:00" in said[1]] == [False, True]


def test_runs_of_which_there_is_nothing_to_say_are_told_together() -> None:
    occurrences = [ran(number=n, due_at=DUE + n * HOUR) for n in range(3)]
    said = explain(row(), [*occurrences, late(HOUR, number=3)], [], [], True, [], BERLIN, NOW)

    assert said[0] == (
        f"3 due times, from {DUE_TOLD} to Sat 2026-03-28 11:00:00 +01:00 (2026-03-28 10:00:00 UTC), "
        "ran on time, and are done."
    )
    assert "ran late by 1 h" in said[1]


def test_a_job_that_is_simply_scheduled_needs_no_sentence_about_it() -> None:
    assert stands(row()) == []


def test_a_job_that_waits_for_a_handler_says_so() -> None:
    (said,) = stands(row(due_at=DUE, waiting_for="handler:send", handler="send"))

    assert said == (
        f"It is due since {DUE_TOLD} and waiting: no host knows the handler 'send'. It runs as soon as one brings it"
    )


def test_a_handler_that_no_host_knows_is_told_before_the_job_is_due() -> None:
    assert stands(row(), known=False) == [
        "Now no host knows the handler 'send': unless one brings it, the job will wait"
    ]


def test_a_job_that_waits_for_its_chat_says_so() -> None:
    assert stands(row(due_at=DUE, waiting_for="lane:42"))[0].endswith("another job of its chat runs first")


def test_an_overdue_job_waits_for_room() -> None:
    assert stands(row(due_at=DUE))[0].endswith("waiting: it starts when a host has room for it")


def test_a_parked_job_says_why_and_how_to_put_it_back() -> None:
    assert stands(row(status="parked", reason="ValueError: no")) == [
        "It is parked: ValueError: no. `bellringer redrive` puts it back, due at once, with all its attempts"
    ]


def test_a_running_job_says_since_when_and_which_attempt_it_is() -> None:
    running = row(status="claimed", due_at=DUE, claimed_at=DUE, attempts=2, max_attempts=3)

    assert stands(running) == [f"It is running since {DUE_TOLD}, attempt 2 of 3, for {DUE_TOLD}"]


def test_a_retry_says_when_it_comes_and_after_what() -> None:
    (said,) = stands(row(due_at=DUE, next_attempt_at=NOW + MINUTE, attempts=1, max_attempts=2, reason="no network"))

    assert said == (
        "Attempt 2 of 2 comes Sat 2026-03-28 13:01:00 +01:00 (2026-03-28 12:01:00 UTC): "
        "the one before ended with no network"
    )


def test_a_snoozed_job_says_until_when() -> None:
    (said,) = stands(row(due_at=DUE, next_attempt_at=NOW + MINUTE, held_by="snooze", held_until=NOW + MINUTE))

    assert said.startswith("It is snoozed until Sat 2026-03-28 13:01:00 +01:00")
    assert said.endswith(f"it was due {DUE_TOLD}")


@pytest.mark.parametrize(
    ("scope", "key", "who"),
    [
        ("job", "digest", "It is"),
        ("chat", 42, "Its chat 42 is"),
        ("handler", "send", "Its handler 'send' is"),
        ("all", None, "All jobs are"),
    ],
)
def test_each_pause_that_holds_it_is_told(scope: str, key: int | str | None, who: str) -> None:
    pause = Pause(scope, key, DUE, None, "next", "on holiday")

    assert stands(row(), pause) == [f"{who} paused since {DUE_TOLD}, until it is resumed: on holiday"]


@pytest.mark.parametrize(
    ("scope", "key"), [("job", "other"), ("chat", "42"), ("chat", 43), ("handler", "other"), ("all", None)]
)
def test_pauses_of_others_and_those_that_are_over_are_not_told(scope: str, key: int | str | None) -> None:
    until = NOW if scope == "all" else None

    assert stands(row(), Pause(scope, key, DUE, until, "next", None)) == []


def test_a_paused_job_that_is_due_is_not_told_twice() -> None:
    said = stands(row(due_at=DUE, waiting_for="pause:all:"), Pause("all", None, DUE, NOW + HOUR, "next", None))

    assert said == [
        f"All jobs are paused since {DUE_TOLD}, until Sat 2026-03-28 14:00:00 +01:00 (2026-03-28 13:00:00 UTC)"
    ]


def test_a_finished_one_shot_says_how_it_ended() -> None:
    failed = ran(outcome="failed", reason="ValueError: no")
    said = explain(told_from_ledger(failed), [failed], [], [], True, [], None, NOW)

    assert (
        said[-1]
        == "It has failed, at Sat 2026-03-28 08:00:01 UTC: nothing comes any more, unless it is scheduled again."
    )


def test_nothing_is_said_of_what_is_not_known() -> None:
    assert explain(None, [], [], [], True, [], None, NOW) == []


def test_the_next_due_times_are_told_in_the_zone_of_the_job_and_in_utc() -> None:
    job = row()
    said = explain(job, [], [], [], True, upcoming(job, NOW), BERLIN, NOW)

    assert said == [
        "Next: Sun 2026-03-29 09:00:00 +02:00 (2026-03-29 07:00:00 UTC); "
        "Mon 2026-03-30 09:00:00 +02:00 (2026-03-30 07:00:00 UTC); "
        "Tue 2026-03-31 09:00:00 +02:00 (2026-03-31 07:00:00 UTC)."
    ]


def test_a_job_without_a_zone_is_told_in_utc() -> None:
    job = row(rule=rules.grid(HOUR), due_at=NOW + HOUR, zone=None)

    assert explain(job, [], [], [], True, upcoming(job, NOW, 1), None, NOW) == ["Next: Sat 2026-03-28 13:00:00 UTC."]


def test_an_overdue_series_goes_on_with_what_lies_ahead() -> None:
    hourly = row(rule=rules.grid(HOUR), due_at=NOW - 5 * HOUR - MINUTE, zone=None)

    assert upcoming(hourly, NOW) == [NOW + 59 * MINUTE, NOW + 119 * MINUTE, NOW + 179 * MINUTE]


def test_a_run_that_was_asked_for_does_not_move_what_comes_after_it() -> None:
    asked = row(rule=rules.grid(HOUR), due_at=NOW - 1, next_due_at=NOW + 7 * MINUTE, zone=None)

    assert upcoming(asked, NOW, 2) == [NOW + 7 * MINUTE, NOW + 67 * MINUTE]


def test_a_snooze_comes_before_the_series() -> None:
    snoozed = row(rule=rules.grid(HOUR), due_at=NOW, next_attempt_at=NOW + MINUTE, held_by="snooze", zone=None)

    assert upcoming(snoozed, NOW, 2) == [NOW + MINUTE, NOW + HOUR]


def test_a_one_shot_comes_once() -> None:
    assert upcoming(row(rule=None, due_at=NOW + HOUR), NOW) == [NOW + HOUR]
    assert upcoming(row(rule=None, status="parked"), NOW) == []


def test_a_rule_that_ends_says_so() -> None:
    last = rules.dump(rules.daily("09:00", zone=BERLIN, until=datetime(2026, 3, 28, 10)))  # noqa: DTZ001  local
    job = row(rule=last, status="claimed", due_at=DUE)

    assert upcoming(job, NOW) == []
    assert explain(job, [], [], [], True, [], BERLIN, NOW)[-1] == "Next: nothing after this one."


def test_a_rule_of_another_version_is_no_obstacle() -> None:
    assert upcoming(row(rule='{"moon":"full"}'), NOW) == [us("2026-03-29T07:00")]


def test_b14_a_zone_that_no_longer_exists_is_no_obstacle() -> None:
    assert recounting.told(DUE, "Mars/Olympus") == "Sat 2026-03-28 08:00:00 UTC"


def test_what_is_overdue_comes_as_soon_as_it_can() -> None:
    assert explain(row(rule=None, due_at=DUE), [], [], [], True, [], None, NOW)[-1] == "Next: as soon as it can run."


def test_each_sentence_ends_with_one_full_stop() -> None:
    stopped = row(status="parked", reason="It broke.", rule=None)
    failed = ran(outcome="failed", reason="It broke.")

    for said in explain(stopped, [failed, ran(number=2)], [], [], True, [], BERLIN, NOW):
        assert said.endswith(".")
        assert not said.endswith("..")
