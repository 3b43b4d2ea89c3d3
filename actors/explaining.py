"""Why: what happened to each occurrence of a job, how it stands, and what comes next, in sentences.

Functions of values. Instants are told in the job's zone and in UTC.
"""

from collections.abc import Sequence
from typing import Final

from ..storage import rules
from ..storage.values import SNOOZE, JobRow, OccurrenceRow, Outage, Outcome, Pause, Scope, Status
from .recounting import of_outages, recounted, told

SHOWN: Final = 20
"""How many occurrences are explained, the latest ones."""

AHEAD: Final = 3
_ENDED: Final = {
    Outcome.DONE: "has run and is done",
    Outcome.FAILED: "has failed",
    Outcome.SKIPPED: "was skipped",
    Outcome.INTERRUPTED: "was interrupted",
    Outcome.CANCELLED: "was cancelled",
}


def explain(
    job: JobRow | None,
    occurrences: Sequence[OccurrenceRow],
    outages: Sequence[Outage],
    pauses: Sequence[Pause],
    handler_known: bool,
    upcoming: Sequence[int],
    zone: str | None,
    now: int,
) -> list[str]:
    """Sentences, from what happened first to what comes next. Empty: nothing is known."""
    past = sorted(occurrences, key=lambda row: row.number)
    sentences = recounted(past, outages, zone)
    if job is None or job.status in _ENDED:
        sentences += [_ended(past[-1], zone)] if past else []
    else:
        holding = [_paused(pause, zone) for pause in pauses if _holds(pause, job, now)]
        if not (holding and job.status == Status.SCHEDULED and (job.waiting_for or "").startswith("pause")):
            sentences += _standing(job, outages, handler_known, zone, now)
        sentences += [*holding, _ahead(job, upcoming, zone, now)]
    return [sentence if sentence.endswith(".") else f"{sentence}." for sentence in sentences]


def upcoming(job: JobRow, now: int, number: int = AHEAD) -> list[int]:
    """When it is due next. Nothing of a job that is parked, has ended, or has a rule that this version can't read."""
    if job.status not in (Status.SCHEDULED, Status.CLAIMED):
        return []
    first = _own_instant(job, now)
    if job.rule is None or rules.rests(job.rule):
        return first
    following = job.next_due_at
    try:
        rule = rules.of_job(job.rule, job.due_at if following is None else following)
    except ValueError:
        return first
    if following is None or following <= now:
        following = rule.next(max(now, job.due_at))
    found = first
    while following is not None and len(found) < number:
        if following not in found:
            found.append(following)
        following = rule.next(following)
    return found


def _own_instant(job: JobRow, now: int) -> list[int]:
    """When the open occurrence comes, where that lies ahead."""
    if job.status != Status.SCHEDULED:
        return []
    at = job.due_at if job.next_attempt_at is None else job.next_attempt_at
    return [at] if at > now else []


def _ended(last: OccurrenceRow, zone: str | None) -> str:
    outcome = _ENDED.get(Outcome(last.outcome), last.outcome)
    return f"It {outcome}, at {told(last.finished_at, zone)}: nothing comes any more{_reschedule(last)}"


def _reschedule(last: OccurrenceRow) -> str:
    return "" if last.outcome in (Outcome.DONE, Outcome.CANCELLED) else ", unless it is scheduled again"


# How it stands


def _standing(job: JobRow, outages: Sequence[Outage], handler_known: bool, zone: str | None, now: int) -> list[str]:
    if job.status == Status.PARKED:
        why = job.reason or "for a reason that is not on record"
        return [f"It is parked: {why}. `bellringer redrive` puts it back, due at once, with all its attempts"]
    if job.status == Status.CLAIMED:
        since = "" if job.claimed_at is None else f" since {told(job.claimed_at, zone)}"
        return [f"It is running{since}, attempt {_attempt(job, job.attempts)}, for {told(job.due_at, zone)}"]
    at = job.due_at if job.next_attempt_at is None else job.next_attempt_at
    if job.attempts and at > now:
        after = f": the one before ended with {job.reason}" if job.reason else ""
        return [f"Attempt {_attempt(job, job.attempts + 1)} comes {told(at, zone)}{after}"]
    if job.held_by == SNOOZE and at > now:
        return [f"It is snoozed until {told(at, zone)}; it was due {told(job.due_at, zone)}"]
    if job.waiting_for is None and handler_known and at > now:
        return []
    return [_waiting(job, outages, handler_known, zone, now)]


def _waiting(job: JobRow, outages: Sequence[Outage], handler_known: bool, zone: str | None, now: int) -> str:
    kind = (job.waiting_for or "").partition(":")[0]
    no_host = f"no host knows the handler {job.handler!r}"
    if job.due_at > now and kind == "" and not handler_known:
        return f"Now {no_host}: unless one brings it, the job will wait"
    due = f"It is due since {told(job.due_at, zone)} and waiting"
    if kind == "handler" or (kind == "" and not handler_known):
        return f"{due}: {no_host}. It runs as soon as one brings it"
    if kind == "lane":
        return f"{due}: another job of its chat runs first"
    if kind == "pause":
        return f"{due}: it is paused"
    if kind:
        return f"{due} for {job.waiting_for}"
    known = of_outages(outages, job.due_at, now, zone)
    return f"{due}: it starts when a host has room for it" + (f"; {known}" if known else "")


def _attempt(job: JobRow, number: int) -> str:
    if job.max_attempts is None:
        return f"{number:,}"
    return f"{number:,} of {job.max_attempts:,}"


def _holds(pause: Pause, job: JobRow, now: int) -> bool:
    if pause.until is not None and pause.until <= now:
        return False
    match pause.scope:
        case Scope.JOB:
            return pause.key == job.id
        case Scope.CHAT:
            return job.chat_id is not None and (type(pause.key), pause.key) == (type(job.chat_id), job.chat_id)
        case Scope.HANDLER:
            return pause.key == job.handler
        case _:
            return pause.scope == Scope.ALL


def _paused(pause: Pause, zone: str | None) -> str:
    match pause.scope:
        case Scope.CHAT:
            who = f"Its chat {pause.key!r} is"
        case Scope.HANDLER:
            who = f"Its handler {pause.key!r} is"
        case Scope.ALL:
            who = "All jobs are"
        case _:
            who = "It is"
    until = "until it is resumed" if pause.until is None else f"until {told(pause.until, zone)}"
    return f"{who} paused since {told(pause.since, zone)}, {until}" + (f": {pause.reason}" if pause.reason else "")


# What comes next


def _ahead(job: JobRow, upcoming: Sequence[int], zone: str | None, now: int) -> str:
    if upcoming:
        return f"Next: {'; '.join(told(at, zone) for at in upcoming)}"
    if job.status == Status.PARKED:
        return "Next: nothing, until it is put back"
    if job.status == Status.CLAIMED:
        return "Next: nothing after this one"
    return "Next: as soon as it can run" if job.due_at <= now else "Next: nothing that is known of"
