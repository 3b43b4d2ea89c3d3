"""What the end of a run means for its job, and when a failed one is tried again. Functions of values."""

from random import Random

from ..storage import rules
from ..storage.rules import MAX_INSTANT
from ..storage.values import ClaimedRow, Delivery, Ending, Outcome, RunResult, Settlement
from .lateness import BY_RUN

max_job_attempts = 5
"""How often a job is tried whose context can't be built, and how often a handler may ask for a retry."""

job_retry_delay = 60.0
"""Seconds before a job whose context could not be built is tried again."""

MAX_CRASHES = 3
"""A job that has ended its host this often is parked."""

SUSPECT_AFTER = 2
"""A job that was there this often when a host ended runs alone: one may be another's doing, or an operator's."""

BACKOFF_FIRST_US = 1_000_000
BACKOFF_CAP_US = 3_600_000_000
LATE_AFTER_US = 1_000_000
"""A run that starts later than this after its due time is told as late."""


def settle_done(
    result: RunResult,
    *,
    due_at: int,
    next_due_at: int | None,
    rule: str | None,
    now: int,
    attempt: int = 1,
    held_by: str | None = None,
) -> Settlement:
    """A run that ended well; the way of nearly all."""
    if rule is not None and rules.rests(rule):
        next_due_at = now + rules.rest_us(rule)
    late = held_by is not None and result.started_at - due_at > LATE_AFTER_US
    ending = Ending(
        Outcome.DONE, due_at, result.finished_at, result.started_at,
        reason=f"held: {held_by}" if late else None, delivered=result.delivered,
    )  # fmt: skip
    return Settlement(
        result.seq,
        result.token,
        "done",
        ending,
        _turn(next_due_at, now),
        next_due_at,
        session_set=result.session_set,
        session_remove=result.session_remove,
        scheduled=result.scheduled,
        cancelled=result.cancelled,
        held=_overlapped(next_due_at, result.started_at if attempt <= 1 else due_at, now),
    )


def _turn(next_due_at: int | None, now: int) -> int | None:
    """When the next due time is looked at. One that is late already stands behind whatever is due by now."""
    return None if next_due_at is None else max(next_due_at, now)


def _overlapped(next_due_at: int | None, begun_at: int, now: int) -> tuple[str, int, int] | None:
    """The next due time came while this one ran, the waits between its attempts included."""
    came_meanwhile = next_due_at is not None and begun_at < next_due_at <= now
    return (BY_RUN, begun_at, now) if came_meanwhile else None


def settle(row: ClaimedRow, result: RunResult, now: int, chance: Random) -> Settlement:
    """What one run's result means for its job. Failures of a repeating job are recorded; its series goes on."""
    match result.verdict:
        case "done":
            return settle_done(
                result,
                due_at=row.due_at,
                next_due_at=row.next_due_at,
                rule=row.rule,
                now=now,
                attempt=row.attempts,
                held_by=row.held_by,
            )
        case "retry":
            if row.attempts < (row.max_attempts or max_job_attempts):
                after = result.after_us if result.after_us is not None else backoff_us(row.attempts, chance)
                return _again(row, result, "retry", now + after, attempts=row.attempts)
            return _failed(row, result, now, "fail", f"asked for a retry, but has had {row.attempts} attempts")
        case "context_failed":
            if row.context_failures + 1 < max_job_attempts:
                return _again(
                    row,
                    result,
                    "context_failed",
                    now + int(job_retry_delay * 1e6),
                    attempts=row.attempts - 1,
                    context_failures=row.context_failures + 1,
                )
            return _failed(row, result, now, "fail", f"its context can't be built: {result.reason}")
        case "park":
            return _failed(row, result, now, "park", result.reason or "parked by its handler")
        case "not_started":
            return _again(row, result, "release", row.due_at if row.attempts <= 1 else now, attempts=row.attempts - 1)
        case "interrupted":
            return interrupted(row, now, result.reason or "interrupted", result=result)
        case _:
            if row.attempts < (row.max_attempts or 1):
                return _again(row, result, "retry", now + backoff_us(row.attempts, chance), attempts=row.attempts)
            return _failed(row, result, now, "fail", result.reason or "failed")


def interrupted(
    row: ClaimedRow, now: int, reason: str, *, crashed: bool = False, result: RunResult | None = None
) -> Settlement:
    """A run whose end nobody saw. At least once: again, under the same run key, the attempt not counted."""
    result = result or RunResult(row.seq, row.token, "interrupted", row.claimed_at, now)
    crashes = row.crashes + crashed
    if crashes >= MAX_CRASHES:
        return _failed(row, result, now, "fail", f"has ended its host {crashes} times, the last time: {reason}")
    if row.delivery == Delivery.AT_LEAST_ONCE:
        return _again(row, result, "release", now, attempts=row.attempts - 1, crashes=crashes)
    return _failed(row, result, now, "interrupt", reason, outcome=Outcome.INTERRUPTED, crashes=crashes)


def is_suspect(crashes: int) -> bool:
    """Whether a job is to run with no other beside it."""
    return crashes >= SUSPECT_AFTER


def backoff_us(attempts: int, chance: Random) -> int:
    """Doubling from one second to an hour, the upper half of it by chance, so that a thousand do not return at once."""
    full: int = min(BACKOFF_CAP_US, BACKOFF_FIRST_US << min(attempts - 1 if attempts > 0 else 0, 32))
    return full // 2 + chance.randrange(full // 2 + 1)


def _again(
    row: ClaimedRow,
    result: RunResult,
    event: str,
    next_attempt_at: int,
    *,
    attempts: int,
    crashes: int | None = None,
    context_failures: int | None = None,
) -> Settlement:
    return Settlement(
        row.seq,
        row.token,
        event,
        None,
        min(next_attempt_at, MAX_INSTANT),
        row.next_due_at,
        attempts=max(0, attempts),
        crashes=row.crashes if crashes is None else crashes,
        context_failures=row.context_failures if context_failures is None else context_failures,
        reason=result.reason,
        session_set=result.session_set if event == "retry" and result.verdict == "retry" else None,
        session_remove=result.session_remove if event == "retry" and result.verdict == "retry" else (),
        scheduled=result.scheduled,
        cancelled=result.cancelled,
    )


def _failed(
    row: ClaimedRow,
    result: RunResult,
    now: int,
    event: str,
    reason: str,
    *,
    outcome: Outcome = Outcome.FAILED,
    crashes: int = 0,
) -> Settlement:
    asked = result.verdict in ("park", "retry")
    next_due_at = row.next_due_at
    if row.rule is not None and rules.rests(row.rule):
        next_due_at = now + rules.rest_us(row.rule)
    if row.series is not None:
        event = "interrupt_part" if event == "interrupt" else "fail_part"
    ending = Ending(outcome, row.due_at, result.finished_at, result.started_at, reason, result.traceback)
    return Settlement(
        row.seq,
        row.token,
        event,
        ending,
        _turn(next_due_at, now),
        next_due_at,
        crashes=crashes if next_due_at is not None else 0,
        reason=reason,
        session_set=result.session_set if asked else None,
        session_remove=result.session_remove if asked else (),
        scheduled=result.scheduled,
        cancelled=result.cancelled,
        held=_overlapped(next_due_at, result.started_at if row.attempts <= 1 else row.due_at, now),
    )
