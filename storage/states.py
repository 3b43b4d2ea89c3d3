"""The one table of states: in which state a job's row may stand, and where each event takes it.

Every store takes its transitions from here, and nothing else changes a state.
"""

from enum import StrEnum
from typing import Final, NamedTuple

from .errors import ImpossibleTransitionError
from .values import Outcome, Settlement, Status


class Event(StrEnum):
    """What can happen to a row. A part is a run of a series that went beside others: it is over, and is not parked."""

    SCHEDULE = "schedule"
    CLAIM = "claim"
    DONE = "done"
    RETRY = "retry"
    FAIL = "fail"
    FAIL_PART = "fail_part"
    PARK = "park"
    CONTEXT_FAILED = "context_failed"
    INTERRUPT = "interrupt"
    INTERRUPT_PART = "interrupt_part"
    RELEASE = "release"
    SKIP = "skip"
    CANCEL = "cancel"
    REDRIVE = "redrive"


class Step(NamedTuple):
    """Where an event leads when nothing follows, and when a further attempt or occurrence follows.

    A `Status` is a state of the row; an `Outcome` means that the row is gone and the ledger tells how it ended.
    None marks what cannot be.
    """

    at_the_end: Status | Outcome | None
    going_on: Status | None = None


TABLE: Final[dict[tuple[Status | None, str], Step]] = {
    (None, Event.SCHEDULE): Step(Status.SCHEDULED),
    (Status.SCHEDULED, Event.CLAIM): Step(Status.CLAIMED),
    (Status.SCHEDULED, Event.SKIP): Step(Outcome.SKIPPED, Status.SCHEDULED),
    (Status.SCHEDULED, Event.PARK): Step(Status.PARKED),
    (Status.SCHEDULED, Event.CANCEL): Step(Outcome.CANCELLED),
    (Status.CLAIMED, Event.DONE): Step(Outcome.DONE, Status.SCHEDULED),
    (Status.CLAIMED, Event.RETRY): Step(None, Status.SCHEDULED),
    (Status.CLAIMED, Event.FAIL): Step(Status.PARKED, Status.SCHEDULED),
    (Status.CLAIMED, Event.FAIL_PART): Step(Outcome.FAILED),
    (Status.CLAIMED, Event.PARK): Step(Status.PARKED, Status.SCHEDULED),
    (Status.CLAIMED, Event.CONTEXT_FAILED): Step(None, Status.SCHEDULED),
    (Status.CLAIMED, Event.INTERRUPT): Step(Status.PARKED, Status.SCHEDULED),
    (Status.CLAIMED, Event.INTERRUPT_PART): Step(Outcome.INTERRUPTED),
    (Status.CLAIMED, Event.RELEASE): Step(None, Status.SCHEDULED),
    (Status.CLAIMED, Event.SKIP): Step(Outcome.SKIPPED, Status.SCHEDULED),
    (Status.CLAIMED, Event.CANCEL): Step(Outcome.CANCELLED),
    (Status.PARKED, Event.CANCEL): Step(Outcome.CANCELLED),
    (Status.PARKED, Event.REDRIVE): Step(Status.SCHEDULED),
}


def after(status: Status | None, event: str, *, goes_on: bool = False) -> Status | Outcome:
    """The state that follows. `goes_on`: a further attempt or occurrence is already planned.

    Raises `ImpossibleTransitionError` for a pair that the table does not hold.
    """
    try:
        step = TABLE[status, event]
    except KeyError:
        raise ImpossibleTransitionError(f"a job that is {status or 'new'} can't take the event {event!r}") from None
    following = step.going_on if goes_on else step.at_the_end
    if following is None:
        needed = "can't go on after" if goes_on else "needs the instant of its next attempt after"
        raise ImpossibleTransitionError(f"a job that is {status or 'new'} {needed} the event {event!r}")
    return following


def after_settlement(settlement: Settlement) -> Status | Outcome:
    """The state in which a settlement leaves a claimed row."""
    goes_on = settlement.next_attempt_at is not None or settlement.next_due_at is not None
    return after(Status.CLAIMED, settlement.event, goes_on=goes_on)
