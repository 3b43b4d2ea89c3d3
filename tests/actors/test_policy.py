"""What the end of a run means, however it ended: every answer is a function of values."""

from random import Random

import pytest

from bellringer.actors import policy
from bellringer.actors.policy import backoff_us, interrupted, settle, settle_done
from bellringer.storage import rules
from bellringer.storage.values import Settlement
from tests.actors.rows import NOON, SECOND, claimed_row, result

MINUTE = 60 * SECOND
CHANCE = Random(4)


# What a result means


def settled(verdict: str, row_changes: dict[str, object] | None = None, **changes: object) -> Settlement:
    return settle(claimed_row(**(row_changes or {})), result(verdict, **changes), NOON + SECOND, CHANCE)


def test_done_ends_the_occurrence_with_all_that_the_run_left_behind() -> None:
    done = settled(
        *("done",),
        session_set='{"n":1}',
        session_remove=("old",),
        cancelled=("other",),
        delivered=("77",),
    )
    assert (done.event, done.seq, done.token, done.next_attempt_at) == ("done", 1, 11, None)
    assert done.ending is not None
    assert (done.ending.outcome, done.ending.due_at) == ("done", NOON)
    assert (done.ending.started_at, done.ending.finished_at) == (NOON, NOON + SECOND)
    assert done.ending.delivered == ("77",)
    assert (done.session_set, done.session_remove, done.cancelled) == ('{"n":1}', ("old",), ("other",))


def test_a_repeating_job_that_is_done_goes_on_at_its_next_due_time() -> None:
    done = settled("done", {"rule": rules.grid(MINUTE), "next_due_at": NOON + MINUTE})
    assert (done.next_attempt_at, done.next_due_at) == (NOON + MINUTE, NOON + MINUTE)


def test_a_job_that_rests_counts_its_interval_from_the_end_of_its_run() -> None:
    done = settle_done(
        result("done"), due_at=NOON, next_due_at=NOON + MINUTE, rule=rules.rest(MINUTE), now=NOON + 9 * SECOND
    )
    assert done.next_attempt_at == NOON + 9 * SECOND + MINUTE


def test_a_retry_asked_for_comes_when_the_handler_said_and_keeps_its_session_changes() -> None:
    again = settled("retry", after_us=5 * SECOND, reason="rate limit", session_set="{}", session_remove=("x",))
    assert (again.event, again.next_attempt_at, again.attempts) == ("retry", NOON + 6 * SECOND, 1)
    assert again.ending is None
    assert (again.reason, again.session_set, again.session_remove) == ("rate limit", "{}", ("x",))


def test_a_retry_without_a_delay_backs_off() -> None:
    again = settled("retry", {"attempts": 3})
    assert again.next_attempt_at is not None
    assert NOON + SECOND + 2 * SECOND <= again.next_attempt_at <= NOON + SECOND + 4 * SECOND


def test_a_handler_may_ask_for_a_retry_until_its_fifth_attempt() -> None:
    assert policy.max_job_attempts == 5
    assert settled("retry", {"attempts": 4}).event == "retry"
    last = settled("retry", {"attempts": 5})
    assert (last.event, last.next_attempt_at) == ("fail", None)
    assert last.reason == "asked for a retry, but has had 5 attempts"


def test_a_job_with_attempts_of_its_own_is_retried_as_often_as_it_says() -> None:
    assert settled("retry", {"attempts": 6, "max_attempts": 7}).event == "retry"
    assert settled("retry", {"attempts": 1, "max_attempts": 1}).event == "fail"


def test_a_failure_is_final_for_a_job_without_attempts() -> None:
    failed = settled("failed", reason="boom", traceback="Traceback ...", session_set='{"n":1}')
    assert (failed.event, failed.next_attempt_at, failed.reason) == ("fail", None, "boom")
    assert failed.ending is not None
    assert (failed.ending.outcome, failed.ending.reason, failed.ending.traceback) == ("failed", "boom", "Traceback ...")
    assert failed.session_set is None


def test_a_failure_with_attempts_left_is_retried_without_its_session_changes() -> None:
    again = settled("failed", {"max_attempts": 2}, reason="boom", session_set='{"n":1}', session_remove=("x",))
    assert (again.event, again.ending, again.attempts) == ("retry", None, 1)
    assert (again.session_set, again.session_remove) == (None, ())
    assert again.next_attempt_at is not None
    assert again.next_attempt_at > NOON + SECOND


def test_b51_a_repeating_job_goes_on_after_a_failure() -> None:
    failed = settled("failed", {"rule": rules.grid(MINUTE), "next_due_at": NOON + MINUTE}, reason="boom")
    assert (failed.event, failed.next_attempt_at) == ("fail", NOON + MINUTE)
    assert failed.ending is not None
    assert failed.ending.outcome == "failed"


def test_b51_a_job_that_rests_goes_on_one_interval_after_its_failure() -> None:
    failed = settled("failed", {"rule": rules.rest(MINUTE), "next_due_at": NOON + MINUTE})
    assert failed.next_attempt_at == NOON + SECOND + MINUTE
    assert failed.reason == "failed"


def test_a_job_is_parked_with_the_reason_that_its_handler_gave() -> None:
    parked = settled("park", reason="no such chat")
    assert (parked.event, parked.reason, parked.next_attempt_at) == ("park", "no such chat", None)
    assert settled("park").reason == "parked by its handler"


def test_a_context_that_cannot_be_built_is_tried_again_a_minute_later_and_the_attempt_does_not_count() -> None:
    again = settled("context_failed", reason="bad session")
    assert policy.job_retry_delay == 60.0
    assert (again.event, again.next_attempt_at) == ("context_failed", NOON + SECOND + MINUTE)
    assert (again.attempts, again.context_failures, again.reason) == (0, 1, "bad session")


def test_the_fifth_context_that_cannot_be_built_ends_the_job() -> None:
    assert settled("context_failed", {"context_failures": 3}).event == "context_failed"
    last = settled("context_failed", {"context_failures": 4}, reason="bad session")
    assert (last.event, last.reason) == ("fail", "its context can't be built: bad session")


def test_b33_what_never_started_goes_back_to_its_place_and_keeps_its_attempt() -> None:
    back = settled("not_started", reason="the loop is blocked")
    assert (back.event, back.next_attempt_at, back.attempts, back.ending) == ("release", NOON, 0, None)


def test_a_retry_that_never_started_comes_again_at_once() -> None:
    back = settled("not_started", {"attempts": 2})
    assert (back.next_attempt_at, back.attempts) == (NOON + SECOND, 1)


def test_an_interruption_that_the_host_tells_of_is_no_crash() -> None:
    told = settled("interrupted", {"delivery": "at_least_once", "crashes": 2}, reason="stopped")
    assert (told.event, told.crashes) == ("release", 2)
    assert settled("interrupted").reason == "interrupted"


# Runs whose end nobody saw


def test_b44_an_interrupted_at_most_once_job_ends_recorded_as_interrupted() -> None:
    ended = interrupted(claimed_row(), NOON + MINUTE, "its host ended", crashed=True)
    assert (ended.event, ended.next_attempt_at, ended.reason) == ("interrupt", None, "its host ended")
    assert ended.ending is not None
    assert (ended.ending.outcome, ended.ending.started_at) == ("interrupted", NOON)


def test_b44_an_interrupted_at_least_once_job_runs_again_and_the_attempt_does_not_count() -> None:
    again = interrupted(claimed_row(delivery="at_least_once", attempts=2), NOON + MINUTE, "ended", crashed=True)
    assert (again.event, again.next_attempt_at, again.ending) == ("release", NOON + MINUTE, None)
    assert (again.attempts, again.crashes) == (1, 1)


def test_an_interrupted_at_most_once_series_goes_on() -> None:
    row = claimed_row(rule=rules.grid(MINUTE), next_due_at=NOON + MINUTE)
    ended = interrupted(row, NOON + 2, "its host ended", crashed=True)
    assert (ended.event, ended.next_attempt_at, ended.crashes) == ("interrupt", NOON + MINUTE, 1)


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_b84_a_job_that_has_ended_its_host_three_times_is_parked(delivery: str) -> None:
    assert interrupted(claimed_row(delivery=delivery, crashes=1), NOON, "gone", crashed=True).event != "fail"
    ended = interrupted(claimed_row(delivery=delivery, crashes=2), NOON, "gone", crashed=True)
    assert (ended.event, ended.next_attempt_at) == ("fail", None)
    assert ended.reason == "has ended its host 3 times, the last time: gone"


def test_b84_a_series_that_ends_its_host_starts_its_next_occurrence_without_the_old_crashes() -> None:
    row = claimed_row(rule=rules.grid(MINUTE), next_due_at=NOON + MINUTE, crashes=2)
    ended = interrupted(row, NOON, "gone", crashed=True)
    assert (ended.event, ended.next_attempt_at, ended.crashes) == ("fail", NOON + MINUTE, 0)


# Backing off


def test_b84_a_thousand_jobs_that_fail_together_do_not_return_together() -> None:
    delays = [backoff_us(1, CHANCE) for _ in range(1_000)]
    assert min(delays) >= SECOND // 2
    assert max(delays) <= SECOND
    assert len(set(delays)) > 950


@pytest.mark.parametrize(("attempts", "full"), [(0, 1), (1, 1), (2, 2), (3, 4), (12, 2_048), (13, 3_600)])
def test_b84_the_delay_doubles_with_each_attempt_up_to_an_hour(attempts: int, full: int) -> None:
    delays = [backoff_us(attempts, CHANCE) for _ in range(200)]
    assert full * SECOND // 2 <= min(delays)
    assert full * SECOND * 0.9 < max(delays) <= full * SECOND


def test_b25_the_delay_of_a_billionth_attempt_is_an_hour_and_not_an_overflow() -> None:
    assert backoff_us(10**9, CHANCE) <= 3_600 * SECOND


def test_b25_a_retry_later_than_the_last_instant_comes_at_the_last_instant() -> None:
    assert settled("retry", after_us=10**30).next_attempt_at == rules.MAX_INSTANT
