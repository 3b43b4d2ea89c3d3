"""Compare what was acknowledged, what the ledger says, and what handlers have noted."""

from collections.abc import Iterable
from typing import NamedTuple

from bellringer import Occurrence, SchedulerHandle
from tests.processes.record import Record
from tests.processes.waiting import until

PAGE = 10_000
ENDS = {"at_least_once": ("done", "took its host along"), "at_most_once": ("done", "interrupted")}
"""How jobs may end that do nothing wrong, when processes are killed under them."""


class Acknowledged(NamedTuple):
    """A one-shot job whose `schedule` has returned."""

    job_id: str
    delivery: str


def all_settled(scheduler: SchedulerHandle, *, within_s: float = 30.0) -> None:
    """Wait until nothing is due, running, or still to come."""

    def nothing_is_left() -> bool:
        health = scheduler.health(timeout=within_s)
        return health.scheduled == health.claimed == 0

    until(nothing_is_left, "every job has ended", within_s=within_s, every_s=0.05)


def occurrences(scheduler: SchedulerHandle) -> dict[str, list[Occurrence]]:
    """The whole ledger by job."""
    found: dict[str, list[Occurrence]] = {}
    page = scheduler.history(limit=PAGE)
    while page:
        for occurrence in page:
            found.setdefault(occurrence.job_id, []).append(occurrence)
        page = scheduler.history(limit=PAGE, before=page[-1].number)
    return found


def check_promises(scheduler: SchedulerHandle, acknowledged: Iterable[Acknowledged], record: Record) -> None:
    """Each job that was acknowledged has ended once, and was called as often as its delivery allows."""
    told, starts = occurrences(scheduler), record.starts()
    jobs = list(acknowledged)
    ends = {job: [_end(occurrence) for occurrence in told.get(job.job_id, ())] for job in jobs}

    assert jobs
    assert [job for job in jobs if not ends[job]] == [], "lost"
    assert [job for job in jobs if len(ends[job]) > 1] == [], "ended twice"
    for job in jobs:
        (end,), called = ends[job], starts[job.job_id]
        assert end in ENDS[job.delivery], job
        assert called or end != "done", job
        assert called <= 1 or job.delivery == "at_least_once", job


def _end(occurrence: Occurrence) -> str:
    gave_up = (occurrence.reason or "").startswith("has ended its host 3 times")
    return "took its host along" if gave_up else occurrence.outcome
