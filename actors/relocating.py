"""Where the due times of a job lie after its zone, or the data of its zone, has changed. Functions of values."""

from collections.abc import Callable
from typing import NamedTuple

from ..storage.rules import Rule, keeps_rhythm
from ..storage.values import Ending, Status
from .series import Series

Again = Callable[[int], int]
"""From the instant that a local time had to the one that it has now."""


class Standing(NamedTuple):
    """How far a job has got. `is_begun`: an attempt at the open occurrence has been made, and it keeps its due time."""

    status: str
    due_at: int
    next_attempt_at: int | None
    next_due_at: int | None
    is_begun: bool


class Relocated(NamedTuple):
    """`passed` are due times whose local time is over in the new zone; `is_over`: none comes any more."""

    due_at: int
    next_attempt_at: int | None
    next_due_at: int | None
    passed: Ending | None = None
    is_over: bool = False


def relocate(standing: Standing, rule: Rule | None, again: Again, now: int, reason: str) -> Relocated:
    """Only what is still to come moves, and never onto an instant that has been. What is put off is never earlier.

    A rule that keeps the local clock's rhythm is asked anew; any other keeps its local times.
    """
    due_at, attempt_at, next_due_at = standing.due_at, standing.next_attempt_at, standing.next_due_at
    stays = standing.is_begun or standing.status != Status.SCHEDULED or due_at <= now
    if stays:
        if rule is None or next_due_at is None or next_due_at <= now:
            return Relocated(due_at, attempt_at, next_due_at)
        following, passed = _onward(next_due_at, rule, again, now, reason, behind=due_at)
        return Relocated(due_at, attempt_at, following, passed)
    if rule is None:
        moved: int | None = again(due_at)
        passed = None
    else:
        moved, passed = _onward(due_at, rule, again, now, reason)
    if moved is None:
        return Relocated(due_at, attempt_at, None, passed, is_over=True)
    if attempt_at is not None:
        attempt_at = moved if attempt_at == due_at else max(attempt_at, moved)
    return Relocated(moved, attempt_at, None, passed)


def _onward(
    planned: int, rule: Rule, again: Again, now: int, reason: str, *, behind: int = -1
) -> tuple[int | None, Ending | None]:
    """Where a due time lies now that is still to come, and what is over of the series by then.

    Nothing up to `behind` is looked at: the occurrence there has, or gets, its own outcome.
    """
    floor = max(now, behind)
    if keeps_rhythm(rule):
        return rule.next(floor), None
    moved = again(planned)
    if moved > floor:
        return moved, None
    series = Series(rule, moved if moved > behind else rule.next(behind), now)
    series.drop_up_to(floor, reason)
    return series.first, series.dropped[0] if series.dropped else None
