"""Why a job is not simply scheduled for later, in a few words."""

from datetime import timedelta
from typing import Final

from pendulum import DateTime

from ..actors.views import Job, Pause
from . import records
from .phrases import from_now, local, span

AT_ONCE: Final = timedelta(seconds=1)


def why(
    job: Job, now: DateTime, ahead: str | None = None, paused: Pause | None = None, *, is_served: bool = True
) -> str | None:
    """Why a job is not simply scheduled for later. `ahead` is the id of the job that runs for the same chat.

    `is_served`: a scheduler runs.
    """
    if job.status == "claimed" and job.claimed_at is not None:
        process = (job.host or "").partition("-")[0]
        if not is_served:
            return f"left by process {process}, which began it {from_now(job.claimed_at, now)}, attempt {job.attempts}"
        return f"running for {span(now - job.claimed_at)} in process {process}, attempt {job.attempts}"
    if paused is not None and job.status == "scheduled":
        return pause_in_words(paused)
    if job.waiting_for is not None and job.why is not None:
        return job.why.removeprefix("waiting: ")
    if job.status != "scheduled":
        return job.why
    next_at = job.next_attempt_at or job.due_at
    if job.attempts and next_at > now:
        return f"attempt {job.attempts + 1} {from_now(next_at, now)}" + (f", after: {job.why}" if job.why else "")
    snoozed_until = records.snoozed_until(job, now)
    if snoozed_until is not None:
        return f"snoozed until {local(snoozed_until)}"
    if now - next_at < AT_ONCE:
        return job.why
    if not is_served:
        return "starts when a scheduler runs"
    return f"{ahead!r} runs first, for the same chat" if ahead is not None else "starts when a host has room for it"


def pause_in_words(paused: Pause) -> str:
    """`paused with its chat until …: on holiday`."""
    what = {"job": "paused", "all": "paused with everything"}.get(paused.scope, f"paused with its {paused.scope}")
    until = "" if paused.until is None else f" until {local(paused.until)}"
    return f"{what}{until}" + (f": {paused.reason}" if paused.reason else "")
