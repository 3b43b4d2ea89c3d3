"""What a due row gets: to run, to be recorded as skipped, or both. Functions of values; `now` is an argument."""

from typing import NamedTuple

from ..storage import rules, values
from ..storage.rules import MAX_INSTANT
from ..storage.values import CatchUp, Claim, DueRow, Ending, Misfire, Outcome, Overlap
from .series import Series

DEFAULT_GRACE_US = 60_000_000
"""How late a run may be that is to be skipped when late, where its job does not say."""

BY_RUN = values.RUN
BY_SNOOZE = values.SNOOZE
BY_PAUSE = values.PAUSE
BY_PAUSE_THEN_ONE = values.PAUSE_THEN_ONE
"""What may have held up a row until it could be looked at (`held_by`), beside a handler or a lane."""
TOLD_BEFORE_WAITING = (BY_RUN, BY_PAUSE)
"""What these held up may not have to run at all; a wait for something else would take their place."""
_LATE_FROM_THEN_ON = (BY_SNOOZE, BY_PAUSE_THEN_ONE)
"""Where these held a row up it was meant to run when they let go, and is late from then on."""


class Decision(NamedTuple):
    """Occurrences to record as skipped, and a claim, or the next due time, or neither.

    `unreadable`: the row can't be decided about, and is to be parked with this reason. `beside`: this due time runs
    beside the job's other runs, as a row of its own.
    """

    claim: Claim | None
    skipped: tuple[Ending, ...]
    next_due_at: int | None
    unreadable: str | None = None
    beside: int | None = None


def decide(row: DueRow, now: int, *, token: int, host: str, lease_us: int, parts: int = 0) -> Decision:
    """What becomes of a row that is due at `now`, were it handed to `host` under `token`.

    `parts` is how many runs of the job go on already, where they may go side by side.
    """
    due_at, next_due_at = row.due_at, row.next_due_at
    dropped: tuple[Ending, ...] = ()
    if row.rule is None or next_due_at is not None:
        stale = _too_late(row, due_at, now)
        if stale is not None:
            ending = Ending(Outcome.SKIPPED, due_at, now, reason=stale, last_due_at=due_at)
            return Decision(None, (ending,), next_due_at)
        if row.rule is not None and row.overlap == Overlap.PARALLEL and not row.attempts:
            return Decision(None, (), next_due_at, beside=due_at)
    elif rules.rests(row.rule):
        try:
            next_due_at = _within(now + rules.rest_us(row.rule))
        except ValueError as error:
            return Decision(None, (), None, unreadable=str(error))
    else:
        try:
            series = Series(rules.of_job(row.rule, due_at), due_at, now)
            _drop(series, row, now)
            next_due_at = None if series.first is None else series.rule.next(series.first)
        except ValueError as error:
            return Decision(None, (), None, unreadable=str(error))
        dropped = tuple(series.dropped)
        if series.first is None or not series.is_due:
            return Decision(None, dropped, series.first)
        due_at = series.first
        if row.overlap == Overlap.PARALLEL:
            if parts < (row.overlap_limit or 1):
                return Decision(None, dropped, next_due_at, beside=due_at)
            reason = f"overlap: {parts} runs of it go on already"
            ending = Ending(Outcome.SKIPPED, due_at, now, reason=reason, last_due_at=due_at)
            return Decision(None, (*dropped, ending), next_due_at)
    claim = Claim(row.seq, token, host, due_at, next_due_at, now + lease_us)
    return Decision(claim, dropped, next_due_at)


def _drop(series: Series, row: DueRow, now: int) -> None:
    """Drop what does not run: what was paused, overlapped, is too late, or is more than is made up for."""
    held_until = row.held_until or 0
    if row.held_by == BY_PAUSE:
        series.drop_up_to(held_until, "paused")
    elif row.held_by == BY_PAUSE_THEN_ONE:
        kept = series.rule.previous(held_until)
        if kept is not None:
            series.drop_up_to(kept - 1, "paused: a later one runs")
    elif row.held_by == BY_RUN and series.first is not None and series.first > (row.held_from or 0):
        # Due while the run before was going on.
        if row.overlap == Overlap.SKIP:
            series.drop_up_to(held_until, "overlap: the run before had not ended")
        elif row.overlap == Overlap.QUEUE_ONE and row.catch_up == CatchUp.ALL:
            queued = series.rule.previous(min(held_until, now))
            if queued is not None:
                series.drop_up_to(queued - 1, "overlap: a later one is queued")
    if not series.is_due:
        return
    cutoff, reason = _cutoff(row, now)
    if cutoff is not None and not (row.held_by in _LATE_FROM_THEN_ON and held_until >= cutoff):
        if row.catch_up == CatchUp.ALL:
            series.drop_up_to(cutoff - 1, reason)
        elif series.latest < cutoff:
            series.drop_up_to(now, f"{reason}: found {(now - series.latest) / 1e6:.3f} s late")
    if not series.is_due:
        return
    most = row.catch_up_limit or 1 if row.catch_up == CatchUp.ALL else 1
    reason = "missed: a later one runs" if most == 1 else f"missed: the latest {most} run"
    following = series.rule.next(series.first) if series.first is not None else None
    if following is not None and following <= now:
        series.drop_all_but(most, reason)


def _cutoff(row: DueRow, now: int) -> tuple[int | None, str]:
    """The instant before which what was due does not run any more, and what that is called."""
    cutoff, reason = None, ""
    grace_us = DEFAULT_GRACE_US if row.grace_us is None else row.grace_us
    if row.misfire != Misfire.RUN_LATE:
        cutoff, reason = now - grace_us, "expired" if row.misfire == Misfire.EXPIRE else "skipped"
    elif row.catch_up == CatchUp.NONE:
        cutoff, reason = now - grace_us, "missed"
    if row.stale_after_us is not None and (cutoff is None or now - row.stale_after_us > cutoff):
        cutoff, reason = now - row.stale_after_us, "stale"
    return cutoff, reason


def _too_late(row: DueRow, due_at: int, now: int) -> str | None:
    """Why an occurrence that was planned by itself does not run any more. One that has begun is never skipped,
    unless it has become stale meanwhile."""
    counted_from = max(due_at, row.held_until or 0) if row.held_by in _LATE_FROM_THEN_ON else due_at
    late_by = now - counted_from
    if row.stale_after_us is not None and late_by > row.stale_after_us:
        tried = f", after {row.attempts} attempts" if row.attempts else ""
        return f"stale: found {late_by / 1e6:.3f} s late{tried}"
    if row.misfire == Misfire.RUN_LATE or row.attempts or row.crashes:
        return None
    if late_by > (DEFAULT_GRACE_US if row.grace_us is None else row.grace_us):
        return f"{'expired' if row.misfire == Misfire.EXPIRE else 'skipped'}: found {late_by / 1e6:.3f} s late"
    return None


def _within(at: int) -> int | None:
    return at if at <= MAX_INSTANT else None
