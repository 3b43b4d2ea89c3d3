"""What changes when jobs run: leaving out the next one, putting it off, another zone. And what is told of a job."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bellringer.actors import adjusting as module
from bellringer.actors.messages import (
    Accepted,
    Adjusted,
    ChangeZone,
    ExplainJob,
    JobExplained,
    ListPauses,
    PauseJobs,
    PausesListed,
    Refused,
    Schedule,
    Scheduled,
    SkipNext,
    SnoozeJob,
)
from bellringer.storage import door, planning, rules
from bellringer.storage.contract import Store
from bellringer.storage.memory_store import MemoryStore
from bellringer.storage.planning import When
from bellringer.storage.sqlite_store import open_store
from bellringer.storage.values import ChatId, JobSpec, Outage, Scope
from tests.actors.floor import spec
from tests.actors.office import Office
from tests.actors.rows import NOON, SECOND

MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
MINUTELY = rules.grid(MINUTE)
BERLIN, TOKYO, NEW_YORK = "Europe/Berlin", "Asia/Tokyo", "America/New_York"


@pytest.fixture(params=["memory", "sqlite"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    store: Store = MemoryStore() if request.param == "memory" else open_store(tmp_path / "bot.db")
    made = Office(store)
    made.host()
    yield made
    store.close()


def us(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


def planned(job_id: str, when: When, chat_id: ChatId | None = 42, user_id: ChatId | None = 7) -> JobSpec:
    """A job as a client plans it at noon."""
    plan = planning.plan(NOON, when, job_id)
    return door.job_spec(
        job_id, "work", due_at=plan.due_at, rule=plan.rule, zone=plan.zone, local_at=plan.local_at,
        chat_id=chat_id, user_id=user_id,
    )  # fmt: skip


def schedule(office: Office, *jobs: JobSpec) -> Scheduled:
    told = office.asked(Schedule(jobs=jobs))
    assert isinstance(told, Scheduled), told
    return told


def skip_next(scope: str, key: ChatId | None = None, after: int = 0) -> SkipNext:
    return SkipNext(scope=scope, key=key, after=after)


def refusal(office: Office, request: SkipNext | SnoozeJob) -> tuple[str, str]:
    told = office.asked(request)
    assert isinstance(told, Refused)
    return told.code, told.sentence


# Leaving out the next one


def test_the_next_due_time_of_a_job_is_left_out_and_recorded(office: Office) -> None:
    office.put(spec("a", NOON + MINUTE, rule=MINUTELY))
    assert office.asked(skip_next(Scope.JOB, "a")) == Adjusted(count=1)
    assert office.row("a").due_at == NOON + 2 * MINUTE
    (skipped,) = office.store.history(job_id="a")
    assert (skipped.outcome, skipped.due_at, skipped.count) == ("skipped", NOON + MINUTE, 1)
    assert skipped.reason == "skipped: it was asked to leave out the next one"
    office.now += MINUTE
    assert office.go_on() == []
    office.now += MINUTE
    assert office.go_on() == ["a"]


def test_leaving_out_twice_leaves_out_two(office: Office) -> None:
    office.put(spec("a", NOON + MINUTE, rule=MINUTELY))
    office.asked(skip_next(Scope.JOB, "a"))
    office.asked(skip_next(Scope.JOB, "a"))
    assert office.row("a").due_at == NOON + 3 * MINUTE
    assert [row.due_at for row in office.store.history(job_id="a")] == [NOON + 2 * MINUTE, NOON + MINUTE]


def test_what_follows_by_the_calendar_keeps_its_local_time(office: Office) -> None:
    rule = rules.daily("09:00", zone=BERLIN)
    office.put(spec("a", us("2026-10-24T07:00"), rule=rules.dump(rule), zone=BERLIN))
    office.asked(skip_next(Scope.JOB, "a"))
    assert office.row("a").due_at == us("2026-10-25T08:00")


def test_leaving_out_the_last_due_time_ends_the_job(office: Office) -> None:
    rule = rules.parse("every 60s", start=datetime(2026, 7, 1, 12, tzinfo=UTC), count=1)
    office.put(spec("a", NOON, rule=rules.dump(rule)))
    office.asked(skip_next(Scope.JOB, "a"))
    assert office.status("a") == "skipped"


def test_leaving_out_an_extra_run_leaves_the_series_alone(office: Office) -> None:
    office.put(spec("a", NOON + 90 * SECOND, rule=MINUTELY))
    office.store.run_now("a", NOON)
    office.asked(skip_next(Scope.JOB, "a"))
    assert office.row("a").due_at == NOON + 90 * SECOND
    assert [row.due_at for row in office.store.history(job_id="a")] == [NOON]


def test_a_due_time_that_is_left_out_wakes_the_scheduler_for_the_next(office: Office) -> None:
    office.put(spec("a", NOON + MINUTE, rule=MINUTELY))
    office.asked(skip_next(Scope.JOB, "a"))
    assert office.desk.earliest == NOON + 2 * MINUTE


def test_what_was_read_already_and_is_left_out_does_not_run(office: Office) -> None:
    next(iter(office.dispatch.hosts)).ready = False
    office.put(spec("a", rule=MINUTELY))
    office.go_on()
    office.asked(skip_next(Scope.JOB, "a"))
    next(iter(office.dispatch.hosts)).ready = True
    assert office.go_on() == []
    office.now += MINUTE
    assert office.go_on() == ["a"]


SCOPES = [(Scope.JOB, "a", ["a"]), (Scope.CHAT, 42, ["a", "b"]), (Scope.HANDLER, "other", ["c"])]


@pytest.mark.parametrize(("scope", "key", "ids"), [*SCOPES, (Scope.ALL, None, ["a", "b", "c"])])
def test_in_a_wider_scope_each_series_leaves_out_its_next(
    office: Office, scope: str, key: ChatId | None, ids: list[str]
) -> None:
    office.put(spec("a", NOON + MINUTE, rule=MINUTELY, chat_id=42), spec("b", NOON + HOUR, rule=MINUTELY, chat_id=42))
    office.put(spec("c", NOON + MINUTE, rule=MINUTELY, handler="other"), spec("once", NOON + MINUTE, chat_id=42))
    assert office.asked(skip_next(scope, key)) == Adjusted(count=len(ids))
    assert sorted(row.job_id for row in office.store.history()) == ids
    assert office.row("once").due_at == NOON + MINUTE


def test_a_wide_scope_is_gone_through_in_pages(office: Office) -> None:
    assert module.PAGE == 500
    office.put(*(spec(f"j{number}", NOON + MINUTE, rule=MINUTELY) for number in range(1_050)))
    counts, after = [], 0
    for _ in range(9):
        told = office.asked(skip_next(Scope.ALL, after=after))
        assert isinstance(told, Adjusted)
        counts.append(told.count)
        if told.after is None:
            break
        after = told.after
    assert counts == [500, 500, 50]
    assert office.store.counts().occurrences == 1_050


def test_a_repeated_page_leaves_out_nothing_twice(office: Office) -> None:
    office.put(*(spec(f"j{number}", NOON + MINUTE, rule=MINUTELY) for number in range(3)))
    first = office.send(1, skip_next(Scope.ALL))
    office.restart()
    assert office.send(1, skip_next(Scope.ALL)) == first
    assert {row.due_at for row in office.store.jobs()} == {NOON + 2 * MINUTE}


def test_what_can_not_be_left_out_is_refused_with_the_reason(office: Office) -> None:
    office.put(spec("once", NOON + 1), spec("retried", rule=MINUTELY, max_attempts=2), spec("running", rule=MINUTELY))
    office.put(spec("parked", NOON + 2, rule=MINUTELY))
    office.store.park(office.seq("parked"), "broken", NOON)
    office.go_on()
    office.end("retried", "retry", after_us=HOUR)
    office.go_on()
    assert [
        refusal(office, skip_next(Scope.JOB, job_id)) for job_id in ("gone", "once", "retried", "running", "parked")
    ] == [
        ("not_found", "job 'gone' is not there"),
        ("wrong_state", "job 'once' runs once: cancel it, or snooze it"),
        ("wrong_state", "job 'retried' waits for its next attempt: only a due time to come can be skipped"),
        ("wrong_state", "job 'running' is running: only a due time to come can be skipped"),
        ("wrong_state", "job 'parked' is parked: only a due time to come can be skipped"),
    ]
    assert office.asked(skip_next(Scope.ALL)) == Adjusted(count=0)


def test_a_rule_that_nobody_can_read_is_left_for_its_due_time(office: Office) -> None:
    office.put(spec("a", NOON + MINUTE, rule='{"lunar":1}'), spec("b", NOON + MINUTE, rule=MINUTELY))
    office.asked(skip_next(Scope.ALL))
    assert (office.row("a").due_at, office.row("b").due_at) == (NOON + MINUTE, NOON + 2 * MINUTE)


# Putting off


def test_a_snooze_puts_off_one_run_and_leaves_the_series_on_its_grid(office: Office) -> None:
    office.put(spec("a", NOON + MINUTE, rule=rules.grid(HOUR)))
    assert office.asked(SnoozeJob(job_id="a", by_us=10 * MINUTE)) == Accepted()
    assert office.desk.earliest == NOON + 11 * MINUTE
    office.now = NOON + 11 * MINUTE - 1
    assert office.go_on() == []
    office.now += 1
    assert office.go_on() == ["a"]
    assert office.orders["a"].due_at == NOON + MINUTE
    office.end("a")
    office.go_on()
    assert office.row("a").due_at == NOON + MINUTE + HOUR


def test_a_snooze_may_lead_to_an_instant(office: Office) -> None:
    office.put(spec("a", NOON + MINUTE))
    office.asked(SnoozeJob(job_id="a", until=NOON + 90 * SECOND))
    office.now += 90 * SECOND - 1
    assert office.go_on() == []
    office.now += 1
    assert office.go_on() == ["a"]


@pytest.mark.parametrize("until", [NOON + 30 * SECOND, NOON + MINUTE])
def test_a_snooze_that_would_have_a_job_run_early_is_refused(office: Office, until: int) -> None:
    office.put(spec("a", NOON + MINUTE))
    code, sentence = refusal(office, SnoozeJob(job_id="a", until=until))
    assert code == "too_early"
    assert "later than now and than its due time" in sentence
    office.now += 59 * SECOND
    assert office.go_on() == []


def test_what_is_due_already_is_put_off_from_now(office: Office) -> None:
    next(iter(office.dispatch.hosts)).ready = False
    office.put(spec("a", NOON - HOUR))
    office.go_on()
    office.asked(SnoozeJob(job_id="a", by_us=MINUTE))
    next(iter(office.dispatch.hosts)).ready = True
    assert office.go_on() == []
    office.now += MINUTE
    assert office.go_on() == ["a"]


def test_a_retry_can_be_put_off(office: Office) -> None:
    office.put(spec("a", max_attempts=2))
    office.go_on()
    office.end("a", "retry", after_us=SECOND)
    office.go_on()
    office.asked(SnoozeJob(job_id="a", until=NOON + HOUR))
    office.now += MINUTE
    assert office.go_on() == []
    office.now += HOUR
    assert office.go_on() == ["a"]
    assert office.orders["a"].attempt == 2


def test_b25_a_snooze_past_the_year_9999_ends_with_it(office: Office) -> None:
    office.put(spec("a", rules.MAX_INSTANT - DAY))
    assert office.asked(SnoozeJob(job_id="a", by_us=100 * DAY)) == Accepted()
    assert office.row("a").next_attempt_at == rules.MAX_INSTANT


def test_what_can_not_be_snoozed_is_refused_with_the_reason(office: Office) -> None:
    office.put(spec("running"), spec("later", NOON + HOUR), spec("done", NOON + HOUR))
    office.store.cancel(["done"], NOON)
    office.go_on()
    assert [
        refusal(office, SnoozeJob(job_id=job_id, until=until))
        for job_id, until in [("gone", NOON + 1), ("done", NOON + 1), ("running", NOON + 1), ("later", NOON + HOUR)]
    ] == [
        ("not_found", "job 'gone' is not there"),
        ("not_found", "job 'done' is not there"),
        ("wrong_state", "job 'running' is claimed: only a scheduled job can be snoozed"),
        ("too_early", "job 'later': give an instant later than now and than its due time"),
    ]


def test_a_repeated_snooze_puts_off_once(office: Office) -> None:
    office.put(spec("a", NOON + MINUTE))
    office.send(1, SnoozeJob(job_id="a", by_us=HOUR))
    office.now += MINUTE + HOUR
    office.go_on()
    office.end("a", "retry", after_us=MINUTE)
    office.go_on()
    attempt_at = office.row("a").next_attempt_at
    office.restart()
    assert office.ask(1, SnoozeJob(job_id="a", by_us=HOUR)) == (Accepted(),)
    assert office.row("a").next_attempt_at == attempt_at


# In the zone of its chat


def test_a_rule_without_a_zone_holds_where_the_chat_is(office: Office) -> None:
    office.asked(ChangeZone(zone=BERLIN, chat_id=42))
    told = schedule(office, planned("a", {"rule": "daily 09:00"}), planned("b", {"rule": "daily 09:00", "zone": "UTC"}))
    assert told.due_at == ((0, us("2026-07-02T07:00")),)
    assert (office.row("a").due_at, office.row("a").zone) == (us("2026-07-02T07:00"), BERLIN)
    assert (office.row("b").due_at, office.row("b").zone) == (us("2026-07-02T09:00"), "UTC")


def test_the_zone_of_a_user_counts_more_than_that_of_the_chat(office: Office) -> None:
    office.asked(ChangeZone(zone=BERLIN, chat_id=42))
    office.asked(ChangeZone(zone=TOKYO, chat_id=42, user_id=7))
    schedule(office, planned("a", {"rule": "daily 09:00"}), planned("b", {"rule": "daily 09:00"}, user_id=8))
    schedule(office, planned("c", {"rule": "daily 09:00"}, chat_id=43))
    assert [office.row(job_id).zone for job_id in "abc"] == [TOKYO, BERLIN, "UTC"]


@pytest.mark.parametrize("stored", ["null", "[]", '{"zone":5}', '{"zone":"Mars/Sea"}', '{"n":1}'])
def test_a_session_that_names_no_zone_is_passed_over(office: Office, stored: str) -> None:
    office.asked(ChangeZone(zone=BERLIN, chat_id=42))
    office.store.patch_session(42, 7, stored if stored.startswith("{") else None, (), NOON)
    schedule(office, planned("a", {"rule": "daily 09:00"}))
    assert office.row("a").zone == BERLIN


def test_a_job_without_a_chat_is_in_utc(office: Office) -> None:
    schedule(office, planned("a", {"rule": "daily 09:00"}, chat_id=None, user_id=None))
    assert (office.row("a").zone, office.row("a").due_at) == ("UTC", us("2026-07-02T09:00"))


def test_the_bounds_of_a_rule_without_a_zone_hold_where_the_chat_is(office: Office) -> None:
    office.asked(ChangeZone(zone=TOKYO, chat_id=42))
    naive = datetime(2026, 7, 5, 8)  # noqa: DTZ001  a local time
    schedule(office, planned("a", {"rule": "daily 09:00", "start": naive, "count": 2}))
    assert office.row("a").due_at == us("2026-07-05T00:00")
    office.now = us("2026-07-05T00:00")
    office.go_on()
    office.end("a")
    office.now = us("2026-07-06T00:00")
    assert office.go_on() == ["a"]
    office.end("a")
    office.go_on()
    assert office.status("a") == "done"


def test_a_rule_that_has_no_due_time_where_the_chat_is_is_refused(office: Office) -> None:
    office.asked(ChangeZone(zone=TOKYO, chat_id=42))
    until = datetime(2026, 7, 1, 18)  # noqa: DTZ001  a local time, past in Tokyo
    told = office.asked(Schedule(jobs=(planned("a", {"rule": "daily 17:00", "until": until}),)))
    assert isinstance(told, Refused)
    assert told.code == "invalid_job"
    assert "no due time" in told.sentence
    assert office.ids() == []


# Another zone


def test_a_change_of_zone_keeps_local_times_and_tells_how_many_have_moved(office: Office) -> None:
    local = datetime(2026, 12, 25, 8)  # noqa: DTZ001  a local time
    jobs = [
        planned("daily", {"rule": "daily 09:00", "zone": BERLIN}),
        planned("once", {"at": local, "zone": BERLIN}),
        planned("instant", {"at": datetime(2026, 7, 2, tzinfo=UTC)}),
        planned("interval", {"every": 60.0}),
        planned("elsewhere", {"rule": "daily 09:00", "zone": BERLIN}, chat_id=43),
    ]
    schedule(office, *jobs)
    before = {job.id: office.row(job.id).due_at for job in jobs}
    assert office.asked(ChangeZone(zone=NEW_YORK, chat_id=42)) == Adjusted(count=2)
    moved = {job.id for job in jobs if office.row(job.id).due_at != before[job.id]}
    assert moved == {"daily", "once"}
    assert office.row("daily").due_at == us("2026-07-02T13:00")
    assert office.row("once").due_at == us("2026-12-25T13:00")
    assert (office.row("once").zone, office.row("once").local_at) == (NEW_YORK, "2026-12-25T08:00:00")
    assert rules.load(office.row("daily").rule or "") == rules.daily("09:00", zone=NEW_YORK)
    assert office.store.session(42, None) == json.dumps({"zone": NEW_YORK}, separators=(",", ":"))
    assert NEW_YORK in office.store.zones()


def test_a_job_that_has_moved_runs_at_its_new_local_time_and_goes_on_there(office: Office) -> None:
    schedule(office, planned("a", {"rule": "daily 09:00", "zone": BERLIN}))
    office.asked(ChangeZone(zone=NEW_YORK, chat_id=42))
    assert office.desk.earliest == us("2026-07-02T13:00")
    office.now = us("2026-07-02T13:00")
    assert office.go_on() == ["a"]
    office.end("a")
    office.go_on()
    assert office.row("a").due_at == us("2026-07-03T13:00")


def test_a_local_time_that_has_passed_in_the_new_zone_is_recorded_and_not_repeated(office: Office) -> None:
    schedule(office, planned("a", {"rule": "daily 20:00", "zone": BERLIN}))
    assert office.row("a").due_at == us("2026-07-01T18:00")
    assert office.asked(ChangeZone(zone=TOKYO, chat_id=42)) == Adjusted(count=1)
    assert office.skipped("a") == [(1, "skipped: its local time had passed in the new zone")]
    assert (office.row("a").due_at, office.row("a").zone) == (us("2026-07-02T11:00"), TOKYO)


def test_what_is_still_to_come_of_the_day_in_the_new_zone_comes(office: Office) -> None:
    schedule(office, planned("a", {"rule": "daily 20:00,22:00", "zone": BERLIN}))
    office.asked(ChangeZone(zone=TOKYO, chat_id=42))
    assert office.row("a").due_at == us("2026-07-01T13:00")


def test_a_series_whose_last_local_time_has_passed_in_the_new_zone_ends(office: Office) -> None:
    until = datetime(2026, 7, 1, 20)  # noqa: DTZ001  a local time
    schedule(office, planned("a", {"rule": "daily 20:00", "zone": BERLIN, "until": until}))
    office.asked(ChangeZone(zone=TOKYO, chat_id=42))
    assert (office.status("a"), office.ids()) == ("skipped", [])


def test_a_one_shot_whose_local_time_has_passed_in_the_new_zone_runs_at_once(office: Office) -> None:
    local = datetime(2026, 7, 1, 20)  # noqa: DTZ001  a local time
    schedule(office, planned("a", {"at": local, "zone": BERLIN}))
    office.asked(ChangeZone(zone=TOKYO, chat_id=42))
    assert office.row("a").due_at == us("2026-07-01T11:00")
    assert office.go_on() == ["a"]


def test_the_zone_of_a_user_moves_that_user_s_jobs_only(office: Office) -> None:
    schedule(office, planned("a", {"rule": "daily 09:00", "zone": BERLIN}, user_id=7))
    schedule(office, planned("b", {"rule": "daily 09:00", "zone": BERLIN}, user_id=8))
    assert office.asked(ChangeZone(zone=TOKYO, chat_id=42, user_id=7)) == Adjusted(count=1)
    assert (office.row("a").zone, office.row("b").zone) == (TOKYO, BERLIN)
    assert office.store.session(42, None) is None


def test_a_change_to_the_same_zone_moves_nothing(office: Office) -> None:
    schedule(office, planned("a", {"rule": "daily 09:00", "zone": BERLIN}))
    assert office.asked(ChangeZone(zone=BERLIN, chat_id=42)) == Adjusted(count=0)


def test_many_jobs_move_in_pages_and_the_session_is_written_once(office: Office) -> None:
    schedule(office, *(planned(f"j{number}", {"rule": "daily 09:00", "zone": BERLIN}) for number in range(501)))
    first = office.asked(ChangeZone(zone=TOKYO, chat_id=42))
    assert isinstance(first, Adjusted)
    assert (first.count, first.after) == (500, office.seq("j499"))
    office.now += SECOND
    assert office.asked(ChangeZone(zone=TOKYO, chat_id=42, after=first.after or 0)) == Adjusted(count=1)
    assert [row.updated_at for row in office.store.sessions()] == [NOON]
    assert {row.zone for row in office.store.jobs(limit=1_000)} == {TOKYO}


def test_a_repeated_change_of_zone_moves_nothing_twice(office: Office) -> None:
    schedule(office, planned("a", {"rule": "daily 09:00", "zone": BERLIN}))
    first = office.send(1, ChangeZone(zone=NEW_YORK, chat_id=42))
    due_at = office.row("a").due_at
    office.restart()
    assert office.send(1, ChangeZone(zone=NEW_YORK, chat_id=42)) == first
    assert office.row("a").due_at == due_at


def test_a_snooze_keeps_its_instant_when_the_zone_changes(office: Office) -> None:
    schedule(office, planned("a", {"rule": "daily 09:00", "zone": BERLIN}))
    office.asked(SnoozeJob(job_id="a", until=us("2026-07-03T00:00")))
    office.asked(ChangeZone(zone=NEW_YORK, chat_id=42))
    assert (office.row("a").next_attempt_at, office.row("a").due_at) == (
        us("2026-07-03T00:00"),
        us("2026-07-02T13:00"),
    )


def test_what_is_due_already_stays_where_it_is(office: Office) -> None:
    next(iter(office.dispatch.hosts)).ready = False
    schedule(office, planned("a", {"rule": "daily 09:00", "zone": BERLIN}))
    office.now = us("2026-07-02T07:00")
    office.go_on()
    office.asked(ChangeZone(zone=NEW_YORK, chat_id=42))
    next(iter(office.dispatch.hosts)).ready = True
    assert office.go_on() == ["a"]
    assert office.orders["a"].due_at == us("2026-07-02T07:00")


@pytest.mark.parametrize("verdict", ["done", "failed"])
def test_a_job_that_is_running_when_its_zone_changes_comes_next_in_the_new_zone(office: Office, verdict: str) -> None:
    schedule(office, planned("a", {"rule": "daily 09:00", "zone": BERLIN}))
    office.now = us("2026-07-02T07:00")
    assert office.go_on() == ["a"]
    office.asked(ChangeZone(zone=NEW_YORK, chat_id=42))
    office.end("a", verdict)
    office.now += SECOND
    office.go_on()
    assert office.row("a").due_at == us("2026-07-03T13:00")


def test_a_parked_job_moves_without_being_put_back(office: Office) -> None:
    schedule(office, planned("a", {"rule": "daily 09:00", "zone": BERLIN}))
    office.store.park(office.seq("a"), "broken", NOON)
    office.asked(ChangeZone(zone=TOKYO, chat_id=42))
    row = office.row("a")
    assert (row.status, row.zone, row.next_attempt_at) == ("parked", TOKYO, None)


def test_a_job_whose_zone_nobody_knows_is_left_for_its_due_time(office: Office) -> None:
    office.put(spec("a", NOON + HOUR, rule='{"rule":"daily 09:00","zone":"Mars/Sea"}', zone="Mars/Sea", chat_id=42))
    office.put(spec("b", NOON + HOUR, rule='{"lunar":1}', zone=BERLIN, chat_id=42))
    assert office.asked(ChangeZone(zone=TOKYO, chat_id=42)) == Adjusted(count=0)
    assert office.row("a").zone == "Mars/Sea"


# Why


def test_what_is_known_of_a_job_is_told_together(office: Office) -> None:
    office.put(spec("a", NOON, rule=MINUTELY, chat_id=42, handler="other"))
    office.store.note_outage(Outage(NOON - HOUR, NOON - MINUTE, "down"))
    office.store.note_outage(Outage(NOON - MINUTE, NOON, "down"))
    office.asked(skip_next(Scope.JOB, "a"))
    office.asked(PauseJobs(scope=Scope.CHAT, key=42))
    office.asked(PauseJobs(scope=Scope.CHAT, key=43))
    told = office.asked(ExplainJob(job_id="a"))
    assert isinstance(told, JobExplained)
    assert told.job == office.row("a")
    assert [row.outcome for row in told.occurrences] == ["skipped"]
    assert [outage.began_at for outage in told.outages] == [NOON - MINUTE]
    assert [pause.key for pause in told.pauses] == [42]
    assert (told.handler_known, told.now) == (False, NOON)


def test_of_a_job_that_is_not_there_nothing_is_told(office: Office) -> None:
    assert office.asked(ExplainJob(job_id="gone")) == JobExplained(job=None, now=NOON)


def test_a_job_that_has_ended_can_still_be_explained(office: Office) -> None:
    office.put(spec("a"))
    office.go_on()
    office.end("a")
    office.go_on()
    told = office.asked(ExplainJob(job_id="a"))
    assert isinstance(told, JobExplained)
    assert told.job is not None
    assert (told.job.status, len(told.occurrences), told.handler_known) == ("done", 1, True)


def test_a_snooze_does_not_shorten_a_pause_that_stands(office: Office) -> None:
    office.asked(PauseJobs(scope=Scope.CHAT, key=42, reason="holiday"))
    office.asked(PauseJobs(scope=Scope.CHAT, key=42, until=NOON + MINUTE, reason="snoozed", only_longer=True))
    told = office.asked(ListPauses())
    assert isinstance(told, PausesListed)
    assert [(pause.until, pause.reason) for pause in told.pauses] == [(None, "holiday")]


def test_a_snooze_prolongs_one_that_ends_earlier(office: Office) -> None:
    for until in (NOON + MINUTE, NOON + HOUR):
        office.asked(PauseJobs(scope=Scope.ALL, until=until, reason="snoozed", only_longer=True))
    told = office.asked(ListPauses())
    assert isinstance(told, PausesListed)
    assert [pause.until for pause in told.pauses] == [NOON + HOUR]


def test_what_has_passed_in_a_pause_can_not_be_left_out(office: Office) -> None:
    office.put(spec("a", NOON + MINUTE, rule=MINUTELY))
    office.asked(PauseJobs(scope=Scope.JOB, key="a"))
    office.now += HOUR
    office.go_on()
    code, sentence = refusal(office, skip_next(Scope.JOB, "a"))
    assert (code, "is paused, and its due time has passed" in sentence) == ("wrong_state", True)


def test_a_user_with_a_zone_of_their_own_stays_when_the_chat_moves(office: Office) -> None:
    office.asked(ChangeZone(zone="Asia/Tokyo", chat_id=42, user_id=7))
    for job_id, user_id in (("hers", 7), ("his", 8)):
        daily = planning.job(
            job_id, "work", NOON, at=None, after=None, every=None,
            options={"rule": "daily 09:00", "zone": "Asia/Tokyo", "chat_id": 42, "user_id": user_id},
        )  # fmt: skip
        office.put(daily)
    told = office.asked(ChangeZone(zone="Europe/Paris", chat_id=42))
    assert isinstance(told, Adjusted)
    assert told.count == 1
    assert (office.row("hers").zone, office.row("his").zone) == ("Asia/Tokyo", "Europe/Paris")


def test_b19_a_retry_keeps_its_due_time_when_its_zone_changes_after_the_clock_was_set_back(office: Office) -> None:
    daily = planning.job(
        "a", "work", NOON, at=None, after=None, every=None,
        options={"rule": "daily 15:00", "zone": "Europe/Berlin", "chat_id": 42},
    )  # fmt: skip
    office.put(daily)
    office.now = daily.due_at
    office.go_on()
    office.end("a", "retry", after_us=HOUR)
    office.go_on()
    waiting = office.row("a")
    office.now -= 2 * HOUR
    office.asked(ChangeZone(zone="America/New_York", chat_id=42))
    moved = office.row("a")
    assert (moved.due_at, moved.next_attempt_at) == (waiting.due_at, waiting.next_attempt_at)
    assert moved.next_due_at == daily.due_at + 30 * HOUR
