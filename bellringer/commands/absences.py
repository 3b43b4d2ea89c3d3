"""The due times of a file's repeating jobs that should have an outcome on record, and have none."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ..actors.absence import absent, known_from
from ..storage import rules
from ..storage.contract import Store
from ..storage.values import JobRow, OccurrenceRow, Outcome, Overlap, Place, Scope, Status

PAGE: Final = 1_000
MOST_ROWS: Final = 10_000
WINDOW_US: Final = 30 * 86_400_000_000


class Absence(NamedTuple):
    """What is missing of one job: its first due times, 20 at most, and the zone to tell them in."""

    job_id: str
    zone: str | None
    due_at: list[int]


def absences(store: Store, now: int, since: int | None = None) -> Iterator[Absence]:
    """Job by job. Without `since`, of the last 30 days, as far as the latest 10,000 rows of each job reach."""
    after = 0
    while True:
        jobs = store.select(scope=Scope.ALL, key=None, after=after, limit=PAGE)
        # Between the jobs and their rows: what has ended by then is on record.
        parts = _parts(store) if any(job.overlap == Overlap.PARALLEL for job in jobs) else {}
        for job in jobs:
            missing = _missing(store, job, parts.get(job.seq, []), now, since)
            if missing:
                yield Absence(job.id, job.zone, missing)
        if len(jobs) < PAGE:
            return
        after = jobs[-1].seq


def _missing(store: Store, job: JobRow, parts: Sequence[int], now: int, since: int | None) -> list[int]:
    if job.rule is None or rules.rests(job.rule) or job.status == Status.PARKED:
        return []
    try:
        rule = rules.of_job(job.rule, job.due_at if job.next_due_at is None else job.next_due_at)
    except ValueError:
        return []  # it is parked when it is due
    earliest = now - WINDOW_US if since is None else since
    rows = _rows(store, job, earliest, MOST_ROWS if since is None else None)
    recorded = [(row.due_at, row.last_due_at, row.count) for row in rows]
    begins = known_from(rule, recorded, _kept_longer(rows))
    if begins is None:
        return []
    recorded += [(at, None, 1) for at in parts]
    return absent(rule, max(earliest, begins), now, recorded, job.due_at)


def _rows(store: Store, job: JobRow, earliest: int, most: int | None) -> list[OccurrenceRow]:
    """The ledger of a job as it is now, newest first; that of an earlier one of the same id has smaller numbers."""
    found: list[OccurrenceRow] = []
    before: int | None = None
    while most is None or len(found) < most:
        page = store.history(job_id=job.id, limit=PAGE, before=before)
        found += [row for row in page if row.job_seq >= job.seq]
        if len(page) < PAGE or page[-1].job_seq < job.seq or page[-1].finished_at < earliest:
            break
        before = page[-1].number
    return found


def _kept_longer(rows: Sequence[OccurrenceRow]) -> list[int]:
    """The oldest row, where it is a failure: the latest failure of a job outlives the others around it."""
    return [row.due_at for row in rows[-1:] if row.outcome == Outcome.FAILED]


def _parts(store: Store) -> dict[int, list[int]]:
    """By the job's seq, the due times of its runs that go beside each other and have not ended."""
    found: dict[int, list[int]] = {}
    after: Place | None = None
    while True:
        jobs = store.jobs(limit=PAGE, after=after)
        for job in jobs:
            if job.series is not None:
                found.setdefault(job.series, []).append(job.due_at)
        if len(jobs) < PAGE:
            return found
        after = Place(jobs[-1].due_at, jobs[-1].seq)
