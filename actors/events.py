"""What operators and telemetry are told, and how it looks in the log."""

import json
import logging
from collections.abc import Callable

from ..storage.values import ChatId, Settlement
from .messages import Event

log = logging.getLogger("bellringer.events")

Listener = Callable[[Event], None]

LEVELS = {
    "job.run": logging.DEBUG,
    "job.retry": logging.INFO,
    "job.late": logging.INFO,
    "job.error": logging.WARNING,
    "job.parked": logging.WARNING,
    "scheduler.restarted": logging.WARNING,
}


def after_settling(
    events: list[Event],
    settlement: Settlement,
    job_id: str,
    handler: str,
    attempt: int,
    chat_id: ChatId | None,
    now: int,
    *,
    applied: bool,
) -> None:
    """Add what there is to tell of a settled run."""

    def tell(kind: str, reason: str | None, late_by_us: int | None = None, due_at: int | None = None) -> None:
        events.append(
            Event(
                kind=kind,
                at=now,
                job_id=job_id,
                handler=handler,
                attempt=attempt,
                late_by_us=late_by_us,
                due_at=due_at,
                reason=reason,
                chat_id=chat_id,
            )
        )

    if not applied:
        return
    ending = settlement.ending
    if settlement.event == "done":
        if ending is not None and ending.started_at is not None:
            tell("job.run", None, max(0, ending.started_at - ending.due_at), ending.due_at)
        return
    if settlement.event in ("retry", "context_failed"):
        tell("job.retry", settlement.reason)
        return
    if settlement.event == "release":
        return
    if settlement.event != "park" or settlement.next_due_at is not None:
        tell("job.error", settlement.reason, due_at=ending.due_at if ending else None)
    if settlement.next_due_at is None:
        tell("job.parked", settlement.reason)


def write(event: Event) -> None:
    """Put an event into the log, as one JSON object after its name."""
    level = LEVELS.get(event.kind, logging.INFO)
    if log.isEnabledFor(level):
        told = {
            key: value
            for key in ("job_id", "handler", "attempt", "late_by_us", "due_at", "reason", "chat_id")
            if (value := getattr(event, key)) is not None
        }
        log.log(level, "%s %s", event.kind, json.dumps(told, ensure_ascii=False, sort_keys=True))
