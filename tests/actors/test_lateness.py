"""What a due row gets: to run, to be recorded as skipped, or both. Every answer is a function of values."""

import sys
import time
from datetime import UTC, datetime
from types import FrameType
from typing import Any

import pytest

from bellringer.actors.lateness import Decision, decide
from bellringer.storage import rules
from bellringer.storage.rules import Rule
from bellringer.storage.values import Claim, DueRow
from tests.actors.rows import NOON, SECOND, due_row

MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
YEAR = 365 * DAY
BERLIN = "Europe/Berlin"


def decided(row: DueRow, now: int, parts: int = 0) -> Decision:
    return decide(row, now, token=11, host="7-1/a", lease_us=30 * SECOND, parts=parts)


def runs(decision: Decision) -> Claim:
    """The claim of a row that runs."""
    assert decision.claim is not None
    return decision.claim


def told(decision: Decision) -> list[tuple[int, int, str]]:
    """What was skipped: how many, up to which minute after noon, and why."""
    assert all(ending.outcome == "skipped" and ending.last_due_at is not None for ending in decision.skipped)
    return [
        (ending.count, ((ending.last_due_at or 0) - NOON) // MINUTE, ending.reason or "") for ending in decision.skipped
    ]


def us(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


def minutely(**fields: object) -> DueRow:
    """A row that is due at noon and each minute after."""
    return due_row(rule=rules.grid(MINUTE), **fields)


def test_a_due_job_is_claimed_for_the_host_until_its_lease_ends() -> None:
    claim, skipped, next_due_at, unreadable, beside = decided(due_row(), NOON)
    assert claim is not None
    assert (claim.seq, claim.token, claim.host, claim.due_at) == (1, 11, "7-1/a", NOON)
    assert claim.lease_until == NOON + 30 * SECOND
    assert (skipped, next_due_at, unreadable, beside) == ((), None, None, None)


def test_a_one_shot_has_no_next_due_time() -> None:
    claim = decided(due_row(), NOON).claim
    assert claim is not None
    assert claim.next_due_at is None


def test_b23_the_next_due_time_lies_on_the_grid_however_late_the_run_begins() -> None:
    claim = decided(due_row(rule=rules.grid(10 * SECOND)), NOON + 3 * SECOND).claim
    assert claim is not None
    assert (claim.due_at, claim.next_due_at) == (NOON, NOON + 10 * SECOND)


def test_b23_a_thousand_runs_of_three_seconds_each_do_not_drift() -> None:
    row, due = due_row(rule=rules.grid(10 * SECOND)), []
    for _ in range(1_000):
        claim = decided(row, row.due_at + 3 * SECOND).claim
        assert claim is not None
        assert claim.next_due_at is not None
        due.append(claim.due_at)
        row = row._replace(due_at=claim.next_due_at, next_attempt_at=claim.next_due_at)
    assert due == [NOON + number * 10 * SECOND for number in range(1_000)]


def test_b23_a_run_that_takes_longer_than_its_interval_skips_what_it_overran() -> None:
    claim, (skipped,), *_ = decided(due_row(rule=rules.grid(10 * SECOND)), NOON + 25 * SECOND)
    assert claim is not None
    assert claim.due_at == NOON + 20 * SECOND
    assert (skipped.due_at, skipped.last_due_at, skipped.count) == (NOON, NOON + 10 * SECOND, 2)


def test_b27_a_one_shot_found_three_days_late_runs() -> None:
    claim, skipped, *_ = decided(due_row(), NOON + 3 * 86_400 * SECOND)
    assert claim is not None
    assert claim.due_at == NOON
    assert skipped == ()


def test_b17_after_an_outage_the_latest_due_time_runs_and_one_row_tells_of_the_others() -> None:
    claim, (skipped,), *_ = decided(due_row(rule=rules.grid(SECOND)), NOON + 10 * YEAR)
    assert claim is not None
    assert (claim.due_at, claim.next_due_at) == (NOON + 10 * YEAR, NOON + 10 * YEAR + SECOND)
    assert skipped.count == 315_360_000
    assert (skipped.outcome, skipped.due_at, skipped.last_due_at) == ("skipped", NOON, NOON + 10 * YEAR - SECOND)


def test_b17_315_million_missed_due_times_cost_as_many_steps_as_three() -> None:
    def steps(now: int) -> int:
        taken = 0

        def count(_frame: FrameType, _event: str, _argument: object) -> Any:
            nonlocal taken
            taken += 1
            return count

        row = due_row(rule=rules.grid(SECOND))
        sys.settrace(count)
        try:
            decided(row, now)
        finally:
            sys.settrace(None)
        return taken

    steps(NOON)
    assert 0 < steps(NOON + 10 * YEAR) == steps(NOON + 3 * SECOND)


def test_a_due_time_that_has_only_just_come_skips_nothing() -> None:
    assert decided(due_row(rule=rules.grid(SECOND)), NOON + SECOND - 1).skipped == ()


def test_a_job_that_rests_begins_its_next_interval_now_and_never_skips() -> None:
    claim, skipped, *_ = decided(due_row(rule=rules.rest(MINUTE)), NOON + 10 * MINUTE)
    assert claim is not None
    assert (claim.due_at, claim.next_due_at) == (NOON, NOON + 11 * MINUTE)
    assert skipped == ()


def test_a_retry_of_a_repeating_job_keeps_the_due_times_of_its_first_attempt() -> None:
    row = due_row(rule=rules.grid(MINUTE), next_due_at=NOON + MINUTE, attempts=1)
    claim, skipped, *_ = decided(row, NOON + 10 * MINUTE)
    assert claim is not None
    assert (claim.due_at, claim.next_due_at, skipped) == (NOON, NOON + MINUTE, ())


@pytest.mark.parametrize("misfire", ["skip", "expire"])
def test_a_one_shot_found_later_than_its_grace_ends_without_a_run(misfire: str) -> None:
    claim, (skipped,), next_due_at, *_ = decided(due_row(misfire=misfire, grace_us=SECOND), NOON + 2 * SECOND)
    assert (claim, next_due_at) == (None, None)
    assert (skipped.outcome, skipped.due_at, skipped.count, skipped.finished_at) == (
        *("skipped", NOON, 1),
        NOON + 2 * SECOND,
    )
    assert skipped.reason == f"{'expired' if misfire == 'expire' else 'skipped'}: found 2.000 s late"


@pytest.mark.parametrize("misfire", ["skip", "expire"])
def test_a_job_within_its_grace_runs(misfire: str) -> None:
    assert decided(due_row(misfire=misfire, grace_us=SECOND), NOON + SECOND).claim is not None


def test_without_a_grace_of_its_own_a_job_that_skips_may_be_a_minute_late() -> None:
    assert decided(due_row(misfire="skip"), NOON + MINUTE).claim is not None
    assert decided(due_row(misfire="skip"), NOON + MINUTE + 1).claim is None


def test_a_grace_of_nothing_makes_a_microsecond_too_late() -> None:
    assert decided(due_row(misfire="skip", grace_us=0), NOON).claim is not None
    assert decided(due_row(misfire="skip", grace_us=0), NOON + 1).claim is None


def test_a_job_that_has_begun_is_not_skipped_for_the_lateness_of_its_retry() -> None:
    assert decided(due_row(misfire="skip", grace_us=0, attempts=1), NOON + MINUTE).claim is not None


def test_a_repeating_job_that_skips_tells_all_that_it_missed_in_one_row_and_goes_on() -> None:
    row = due_row(rule=rules.grid(MINUTE), misfire="skip", grace_us=SECOND)
    claim, (skipped,), next_due_at, *_ = decided(row, NOON + 3 * MINUTE + 2 * SECOND)
    assert claim is None
    assert (skipped.due_at, skipped.last_due_at, skipped.count) == (NOON, NOON + 3 * MINUTE, 4)
    assert next_due_at == NOON + 4 * MINUTE


def test_the_grace_of_a_repeating_job_counts_from_its_latest_due_time() -> None:
    row = due_row(rule=rules.grid(MINUTE), misfire="skip", grace_us=SECOND)
    claim, (skipped,), *_ = decided(row, NOON + 3 * MINUTE + SECOND)
    assert claim is not None
    assert claim.due_at == NOON + 3 * MINUTE
    assert (skipped.count, skipped.reason) == (3, "missed: a later one runs")


@pytest.mark.parametrize(
    "rule",
    [
        '{"lunar":1}',
        '{"rule":"daily 25:00"}',
        '{"rule":"daily 09:00","zone":"Mars/Sea"}',
        '{"every_us":0}',
        "[]",
        "no JSON",
        '{"rest_us":"soon"}',
    ],
)
def test_a_rule_that_is_not_known_is_told_as_unreadable(rule: str) -> None:
    decision = decided(due_row(rule=rule), NOON)
    assert (decision.claim, decision.skipped) == (None, ())
    assert decision.unreadable


def test_b25_a_series_ends_with_the_last_instant_that_can_be_told() -> None:
    last = rules.MAX_INSTANT
    row = due_row(rule=rules.grid(86_400 * SECOND), due_at=last - 5, next_attempt_at=last - 5)
    claim = decided(row, last).claim
    assert claim is not None
    assert claim.next_due_at is None


def test_b25_a_job_thirty_years_late_is_decided_like_any_other() -> None:
    claim = decided(due_row(due_at=NOON - 30 * YEAR), NOON).claim
    assert claim is not None
    assert claim.due_at == NOON - 30 * YEAR


# The kinds of rules


DAILY = rules.daily("09:00", zone=BERLIN)


def test_b01_a_day_whose_time_is_skipped_by_the_clock_is_not_missed() -> None:
    rule = rules.daily("02:30", zone=BERLIN)
    row = due_row(rule=rules.dump(rule), due_at=us("2026-03-28T01:30"))
    due = []
    for _ in range(3):
        claim = runs(decided(row, row.due_at))
        assert claim.next_due_at is not None
        due.append(claim.due_at)
        row = row._replace(due_at=claim.next_due_at)
    assert due == [us("2026-03-28T01:30"), us("2026-03-29T01:30"), us("2026-03-30T00:30")]


def test_b02_a_time_that_comes_twice_in_autumn_runs_on_its_first_pass_only() -> None:
    row = due_row(rule=rules.dump(rules.daily("02:30", zone=BERLIN)), due_at=us("2026-10-25T00:30"))
    assert runs(decided(row, us("2026-10-25T00:30"))).next_due_at == us("2026-10-26T01:30")


def test_a_missed_week_of_a_daily_job_is_told_with_its_local_times_across_a_clock_change() -> None:
    row = due_row(rule=rules.dump(DAILY), due_at=us("2026-03-26T08:00"))
    claim, (skipped,), *_ = decided(row, us("2026-04-01T12:00"))
    assert claim is not None
    assert (claim.due_at, claim.next_due_at) == (us("2026-04-01T07:00"), us("2026-04-02T07:00"))
    assert (skipped.count, skipped.last_due_at) == (6, us("2026-03-31T07:00"))


def test_a_rule_that_has_ended_runs_its_last_due_time_and_no_more() -> None:
    rule = rules.parse("every 60s", start=datetime(2026, 7, 1, 12, tzinfo=UTC), count=3)
    claim, (skipped,), *_ = decided(due_row(rule=rules.dump(rule)), NOON + HOUR)
    assert claim is not None
    assert (claim.due_at, claim.next_due_at) == (NOON + 2 * MINUTE, None)
    assert skipped.count == 2


def test_a_rule_that_has_ended_and_skips_ends_its_job() -> None:
    rule = rules.parse("every 60s", start=datetime(2026, 7, 1, 12, tzinfo=UTC), count=3)
    decision = decided(due_row(rule=rules.dump(rule), misfire="skip", grace_us=0), NOON + HOUR)
    assert (decision.claim, decision.next_due_at) == (None, None)
    assert [ending.count for ending in decision.skipped] == [3]


def test_a_due_time_beside_its_rule_stands_for_itself_and_the_series_goes_on_by_the_rule() -> None:
    row = due_row(rule=rules.dump(DAILY), due_at=us("2026-07-01T05:00"))
    claim = runs(decided(row, us("2026-07-01T05:00")))
    assert (claim.due_at, claim.next_due_at) == (us("2026-07-01T05:00"), us("2026-07-01T07:00"))


def test_a_due_time_beside_its_rule_is_counted_with_those_that_were_missed() -> None:
    row = due_row(rule=rules.dump(DAILY), due_at=us("2026-07-01T05:00"))
    claim, (skipped,), *_ = decided(row, us("2026-07-03T08:00"))
    assert claim is not None
    assert claim.due_at == us("2026-07-03T07:00")
    assert (skipped.due_at, skipped.last_due_at, skipped.count) == (
        *(us("2026-07-01T05:00"), us("2026-07-02T07:00")),
        3,
    )


def test_a_due_time_beside_its_rule_is_the_latest_where_the_rule_has_none_since() -> None:
    row = due_row(rule=rules.dump(DAILY), due_at=us("2026-07-01T08:00"), misfire="skip", grace_us=MINUTE)
    assert runs(decided(row, us("2026-07-01T08:01"))).due_at == us("2026-07-01T08:00")
    decision = decided(row, us("2026-07-01T08:02"))
    assert (decision.claim, decision.next_due_at) == (None, us("2026-07-02T07:00"))
    (skipped,) = decision.skipped
    assert (skipped.due_at, skipped.last_due_at, skipped.count) == (row.due_at, row.due_at, 1)


def test_a_counting_rule_that_was_never_begun_parks_its_job_and_breaks_nothing() -> None:
    decision = decided(due_row(rule='{"rule":"daily 09:00","zone":"UTC","count":3}'), NOON)
    assert (decision.claim, decision.skipped) == (None, ())
    assert "needs a start" in (decision.unreadable or "")


LONG_SERIES = {
    "every second": rules.parse("every 1s", start=datetime(2026, 7, 1, 12, tzinfo=UTC)),
    "cron": rules.cron("* * * * * *", zone=BERLIN),
    "daily": rules.daily(",".join(f"{hour:02}:{minute:02}" for hour in range(24) for minute in (0, 30)), zone=BERLIN),
    "weekly": rules.weekly("mon-sun", "09:00,18:00", zone="America/New_York"),
    "monthly": rules.monthly("last", "09:00", zone=BERLIN),
    "yearly": rules.yearly("07-01", "14:00", zone=BERLIN),
    "rrule": rules.rrule(
        "FREQ=DAILY;BYHOUR=9,18;BYMINUTE=0;BYSECOND=0", start=datetime(2026, 7, 1, 12, tzinfo=UTC), zone=BERLIN
    ),
}


@pytest.mark.parametrize("catch_up", ["none", "one", "all"])
@pytest.mark.parametrize("rule", LONG_SERIES.values(), ids=LONG_SERIES.keys())
def test_b17_ten_missed_years_of_any_rule_are_decided_within_50_ms_and_told_in_one_row(
    rule: Rule, catch_up: str
) -> None:
    first = rule.next(NOON - 1)
    assert first is not None
    row = due_row(rule=rules.dump(rule), due_at=first, catch_up=catch_up, catch_up_limit=3)
    now = NOON + 10 * YEAR + 12_345
    decided(row, now)
    taken = []
    for _ in range(3):
        began = time.thread_time()
        decision = decided(row, now)
        taken.append(time.thread_time() - began)
    assert min(taken) < 0.050
    (skipped,) = decision.skipped
    assert skipped.last_due_at is not None
    assert skipped.count == rule.total(first, skipped.last_due_at)
    if catch_up != "none":
        assert rule.total(skipped.last_due_at + 1, now) == {"one": 1, "all": 3}[catch_up]


# Catching up


def test_without_a_word_about_it_a_repeating_job_runs_once_after_an_outage() -> None:
    decision = decided(minutely(), NOON + 5 * MINUTE + 1)
    assert runs(decision).due_at == NOON + 5 * MINUTE
    assert told(decision) == [(5, 4, "missed: a later one runs")]


def test_catching_up_with_nothing_tells_all_that_was_missed_and_waits_for_the_next() -> None:
    decision = decided(minutely(catch_up="none", grace_us=SECOND), NOON + 5 * MINUTE + 2 * SECOND)
    assert decision.claim is None
    assert told(decision) == [(6, 5, "missed: found 2.000 s late")]
    assert decision.next_due_at == NOON + 6 * MINUTE


def test_catching_up_with_nothing_runs_what_is_within_its_grace() -> None:
    decision = decided(minutely(catch_up="none", grace_us=SECOND), NOON + 5 * MINUTE + SECOND)
    assert runs(decision).due_at == NOON + 5 * MINUTE
    assert told(decision) == [(5, 4, "missed: a later one runs")]


def test_catching_up_with_nothing_allows_a_minute_without_a_grace() -> None:
    row = due_row(rule=rules.grid(HOUR), catch_up="none")
    assert decided(row, NOON + MINUTE).claim is not None
    assert decided(row, NOON + MINUTE + 1).claim is None


def test_catching_up_with_nothing_does_not_concern_what_runs_once() -> None:
    assert decided(due_row(catch_up="none"), NOON + DAY).claim is not None


def test_catching_up_with_all_runs_each_due_time_one_after_the_other() -> None:
    row, due = minutely(catch_up="all", catch_up_limit=100), []
    for _ in range(4):
        decision = decided(row, NOON + 3 * MINUTE)
        claim = runs(decision)
        assert decision.skipped == ()
        assert claim.next_due_at is not None
        due.append(claim.due_at)
        row = row._replace(due_at=claim.next_due_at)
    assert due == [NOON + number * MINUTE for number in range(4)]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_b30_catching_up_with_all_keeps_the_latest_up_to_its_limit(limit: int) -> None:
    decision = decided(minutely(catch_up="all", catch_up_limit=limit), NOON + 9 * MINUTE)
    first = 10 - limit
    assert runs(decision).due_at == NOON + first * MINUTE
    assert runs(decision).next_due_at == NOON + (first + 1) * MINUTE
    reason = "missed: a later one runs" if limit == 1 else f"missed: the latest {limit} run"
    assert told(decision) == [(first, first - 1, reason)]


def test_b30_as_many_as_the_limit_are_all_made_up_for() -> None:
    decision = decided(minutely(catch_up="all", catch_up_limit=3), NOON + 2 * MINUTE)
    assert (runs(decision).due_at, decision.skipped) == (NOON, ())


@pytest.mark.parametrize(("misfire", "word"), [("skip", "skipped"), ("expire", "expired")])
def test_catching_up_with_all_leaves_out_each_that_is_later_than_its_grace(misfire: str, word: str) -> None:
    row = minutely(catch_up="all", catch_up_limit=100, misfire=misfire, grace_us=2 * MINUTE)
    decision = decided(row, NOON + 9 * MINUTE)
    assert runs(decision).due_at == NOON + 7 * MINUTE
    assert told(decision) == [(7, 6, word)]


def test_catching_up_with_all_tells_apart_what_was_too_late_and_what_was_too_many() -> None:
    row = minutely(catch_up="all", catch_up_limit=2, misfire="skip", grace_us=3 * MINUTE)
    decision = decided(row, NOON + 9 * MINUTE)
    assert runs(decision).due_at == NOON + 8 * MINUTE
    assert told(decision) == [(6, 5, "skipped"), (2, 7, "missed: the latest 2 run")]


@pytest.mark.parametrize("catch_up", ["none", "one", "all"])
def test_a_grace_alone_decides_nothing_for_a_job_that_runs_late(catch_up: str) -> None:
    decision = decided(minutely(catch_up=catch_up, catch_up_limit=100, grace_us=0), NOON + 30 * SECOND)
    assert (decision.claim is not None) == (catch_up != "none")


# Going stale


def test_what_is_stale_does_not_run_whatever_its_misfire_says() -> None:
    row = due_row(stale_after_us=MINUTE)
    assert decided(row, NOON + MINUTE).claim is not None
    decision = decided(row, NOON + MINUTE + SECOND)
    assert (decision.claim, decision.next_due_at) == (None, None)
    assert told(decision) == [(1, 0, "stale: found 61.000 s late")]


def test_an_attempt_that_has_become_stale_while_it_waited_is_not_begun() -> None:
    row = minutely(stale_after_us=90 * SECOND, next_due_at=NOON + MINUTE, attempts=2)
    assert decided(row, NOON + 90 * SECOND).claim is not None
    decision = decided(row, NOON + 2 * MINUTE)
    assert decision.claim is None
    assert told(decision) == [(1, 0, "stale: found 120.000 s late, after 2 attempts")]
    assert decision.next_due_at == NOON + MINUTE


def test_a_stale_due_time_of_a_series_is_left_out_and_the_latest_runs() -> None:
    decision = decided(minutely(stale_after_us=30 * SECOND), NOON + 5 * MINUTE + 30 * SECOND)
    assert runs(decision).due_at == NOON + 5 * MINUTE
    late = decided(minutely(stale_after_us=30 * SECOND), NOON + 5 * MINUTE + 31 * SECOND)
    assert late.claim is None
    assert told(late) == [(6, 5, "stale: found 31.000 s late")]


def test_catching_up_with_all_leaves_out_what_is_stale() -> None:
    row = minutely(catch_up="all", catch_up_limit=100, stale_after_us=2 * MINUTE)
    decision = decided(row, NOON + 9 * MINUTE)
    assert runs(decision).due_at == NOON + 7 * MINUTE
    assert told(decision) == [(7, 6, "stale")]


@pytest.mark.parametrize(("grace", "stale", "word"), [(1, 2, "skipped"), (2, 1, "stale")])
def test_the_narrower_of_grace_and_staleness_counts(grace: int, stale: int, word: str) -> None:
    row = minutely(
        *(), catch_up="all", catch_up_limit=9, misfire="skip", grace_us=grace * MINUTE, stale_after_us=stale * MINUTE
    )
    decision = decided(row, NOON + 5 * MINUTE)
    assert runs(decision).due_at == NOON + 4 * MINUTE
    assert told(decision) == [(4, 3, word)]


# Overlapping


def overlapped(**fields: object) -> DueRow:
    """Each minute, held up by a run from a minute after noon until ten seconds past the fourth minute."""
    held = {"held_by": "run", "held_from": NOON + MINUTE, "held_until": NOON + 4 * MINUTE + 10 * SECOND}
    return minutely(due_at=NOON + 2 * MINUTE, **{**held, **fields})


def test_what_came_due_while_the_job_ran_is_left_out_where_overlap_skips() -> None:
    decision = decided(overlapped(overlap="skip"), NOON + 4 * MINUTE + 10 * SECOND)
    assert decision.claim is None
    assert told(decision) == [(3, 4, "overlap: the run before had not ended")]
    assert decision.next_due_at == NOON + 5 * MINUTE


def test_what_came_due_after_the_run_had_ended_runs_where_overlap_skips() -> None:
    decision = decided(overlapped(overlap="skip"), NOON + 5 * MINUTE + SECOND)
    assert runs(decision).due_at == NOON + 5 * MINUTE
    assert told(decision) == [(3, 4, "overlap: the run before had not ended")]


def test_what_was_due_before_the_run_began_is_no_overlap() -> None:
    row = overlapped(overlap="skip", held_from=NOON + 2 * MINUTE, catch_up="all", catch_up_limit=9)
    assert runs(decided(row, NOON + 4 * MINUTE + 10 * SECOND)).due_at == NOON + 2 * MINUTE


def test_of_what_came_due_while_the_job_ran_the_latest_is_queued() -> None:
    decision = decided(overlapped(), NOON + 4 * MINUTE + 10 * SECOND)
    assert runs(decision).due_at == NOON + 4 * MINUTE
    assert told(decision) == [(2, 3, "missed: a later one runs")]


def test_one_is_queued_even_where_all_that_was_missed_is_made_up_for() -> None:
    decision = decided(overlapped(catch_up="all", catch_up_limit=100), NOON + 6 * MINUTE)
    assert runs(decision).due_at == NOON + 4 * MINUTE
    assert told(decision) == [(2, 3, "overlap: a later one is queued")]
    assert runs(decision).next_due_at == NOON + 5 * MINUTE


def test_where_runs_go_side_by_side_a_due_time_gets_a_run_of_its_own() -> None:
    decision = decided(minutely(overlap="parallel", overlap_limit=2), NOON, parts=1)
    assert (decision.claim, decision.beside, decision.next_due_at) == (None, NOON, NOON + MINUTE)
    assert decision.skipped == ()


def test_where_enough_runs_go_side_by_side_a_due_time_is_left_out() -> None:
    decision = decided(minutely(overlap="parallel", overlap_limit=2), NOON, parts=2)
    assert (decision.claim, decision.beside, decision.next_due_at) == (None, None, NOON + MINUTE)
    assert told(decision) == [(1, 0, "overlap: 2 runs of it go on already")]


def test_of_what_was_missed_only_the_latest_runs_beside_the_others() -> None:
    decision = decided(minutely(overlap="parallel", overlap_limit=5), NOON + 3 * MINUTE, parts=0)
    assert (decision.beside, decision.next_due_at) == (NOON + 3 * MINUTE, NOON + 4 * MINUTE)
    assert told(decision) == [(3, 2, "missed: a later one runs")]


# Snoozed


def test_what_was_snoozed_runs_at_its_new_time_as_the_occurrence_it_is() -> None:
    row = minutely(held_by="snooze", held_from=NOON, held_until=NOON + 30 * SECOND, misfire="skip", grace_us=0)
    claim = runs(decided(row, NOON + 30 * SECOND))
    assert (claim.due_at, claim.next_due_at) == (NOON, NOON + MINUTE)


def test_a_one_shot_that_was_snoozed_is_late_only_from_then_on() -> None:
    row = due_row(held_by="snooze", held_from=NOON, held_until=NOON + HOUR, misfire="skip", grace_us=MINUTE)
    assert decided(row, NOON + HOUR + MINUTE).claim is not None
    assert decided(row, NOON + HOUR + MINUTE + 1).claim is None


def test_what_was_snoozed_becomes_stale_only_from_then_on() -> None:
    row = due_row(held_by="snooze", held_from=NOON, held_until=NOON + HOUR, stale_after_us=MINUTE)
    assert decided(row, NOON + HOUR + MINUTE).claim is not None
    assert decided(row, NOON + HOUR + MINUTE + 1).claim is None


@pytest.mark.parametrize("strict", [{"misfire": "skip"}, {"catch_up": "none"}, {"stale_after_us": MINUTE}])
def test_what_was_snoozed_beyond_its_next_due_time_runs_once(strict: dict[str, object]) -> None:
    row = minutely(held_by="snooze", held_from=NOON, held_until=NOON + 5 * MINUTE + 30 * SECOND, grace_us=0)
    decision = decided(row._replace(**strict), NOON + 5 * MINUTE + 30 * SECOND)  # type: ignore[arg-type]
    assert runs(decision).due_at == NOON + 5 * MINUTE
    assert told(decision) == [(5, 4, "missed: a later one runs")]


def test_a_series_that_is_found_long_after_its_snooze_ended_is_late() -> None:
    row = due_row(
        rule=rules.grid(DAY), held_by="snooze", held_from=NOON, held_until=NOON + HOUR, misfire="skip", grace_us=MINUTE
    )
    assert decided(row, NOON + HOUR + MINUTE).claim is not None
    assert decided(row, NOON + HOUR + MINUTE + 1).claim is None


# Paused


def paused(by: str, **fields: object) -> DueRow:
    """Each minute, held up by a pause from noon until half past the second minute."""
    return minutely(held_by=by, held_from=NOON, held_until=NOON + 150 * SECOND, **fields)


def test_b31_what_came_due_in_a_pause_is_told_as_paused_and_the_next_comes() -> None:
    decision = decided(paused("pause"), NOON + 150 * SECOND)
    assert (decision.claim, decision.next_due_at) == (None, NOON + 3 * MINUTE)
    assert told(decision) == [(3, 2, "paused")]


@pytest.mark.parametrize(("ended", "is_paused"), [(NOON - 1, False), (NOON, True)])
def test_what_comes_due_at_the_very_end_of_a_pause_is_paused(ended: int, is_paused: bool) -> None:
    decision = decided(minutely(held_by="pause", held_from=NOON - MINUTE, held_until=ended), NOON)
    assert (decision.claim is None) == is_paused


def test_what_was_missed_after_a_pause_had_ended_is_told_apart() -> None:
    decision = decided(paused("pause"), NOON + 5 * MINUTE)
    assert runs(decision).due_at == NOON + 5 * MINUTE
    assert told(decision) == [(3, 2, "paused"), (2, 4, "missed: a later one runs")]


def test_a_pause_holds_up_a_job_that_catches_up_with_all_as_any_other() -> None:
    decision = decided(paused("pause", catch_up="all", catch_up_limit=9), NOON + 4 * MINUTE)
    assert runs(decision).due_at == NOON + 3 * MINUTE
    assert told(decision) == [(3, 2, "paused")]


@pytest.mark.parametrize("catch_up", ["one", "all"])
def test_b31_with_run_one_the_latest_that_came_due_in_the_pause_runs(catch_up: str) -> None:
    decision = decided(paused("pause:run_one", catch_up=catch_up, catch_up_limit=9), NOON + 150 * SECOND)
    assert runs(decision).due_at == NOON + 2 * MINUTE
    assert told(decision) == [(2, 1, "paused: a later one runs")]


@pytest.mark.parametrize("strict", [{"misfire": "skip"}, {"catch_up": "none"}, {"stale_after_us": SECOND}])
def test_b31_the_one_that_runs_after_a_pause_is_late_only_from_then_on(strict: dict[str, object]) -> None:
    row = paused("pause:run_one", grace_us=SECOND, **strict)
    assert runs(decided(row, NOON + 151 * SECOND)).due_at == NOON + 2 * MINUTE
    assert decided(row, NOON + 151 * SECOND + 1).claim is None


def test_a_one_shot_that_is_to_run_after_its_pause_is_late_only_from_then_on() -> None:
    row = due_row(held_by="pause:run_one", held_from=NOON, held_until=NOON + HOUR, misfire="skip", grace_us=SECOND)
    assert decided(row, NOON + HOUR + SECOND).claim is not None
    assert decided(row, NOON + HOUR + SECOND + 1).claim is None


def test_a_one_shot_that_was_paused_runs_late() -> None:
    row = due_row(held_by="pause", held_from=NOON, held_until=NOON + HOUR)
    assert runs(decided(row, NOON + HOUR)).due_at == NOON


def test_a_retry_that_was_paused_goes_on() -> None:
    row = paused("pause", next_due_at=NOON + MINUTE, attempts=1)
    assert runs(decided(row, NOON + 150 * SECOND)).due_at == NOON


def test_what_waited_for_a_handler_or_a_lane_is_late_like_any_other() -> None:
    for by in ("handler:work", "lane:i:7"):
        row = due_row(held_by=by, held_from=NOON, held_until=NOON + HOUR, misfire="skip", grace_us=MINUTE)
        assert decided(row, NOON + HOUR).claim is None
