"""What the scenarios share."""

from collections.abc import Callable

import pendulum

from bellringer import Context
from bellringer.testing import Drive

MakeDrive = Callable[..., Drive]
NEW_YEAR = pendulum.datetime(2026, 1, 1)


def seconds(drive: Drive) -> float:
    """How long the drive has been going by its wall clock."""
    return (drive.clock.now - NEW_YEAR).total_seconds()


def note_runs(drive: Drive, name: str = "work") -> list[tuple[str, float]]:
    """Register a handler that notes which job it ran for, and when."""
    ran: list[tuple[str, float]] = []

    @drive.handler(name)
    async def work(ctx: Context, payload: object) -> None:
        ran.append((ctx.job.id, seconds(drive)))

    return ran


def ids(ran: list[tuple[str, float]]) -> list[str]:
    return [job_id for job_id, _ in ran]


def outcomes(drive: Drive, job_id: str | None = None) -> list[str]:
    """How the occurrences ended, the oldest first."""
    return [occurrence.outcome for occurrence in reversed(drive.history(job_id, limit=10_000))]


def status(drive: Drive, job_id: str) -> str | None:
    job = drive.get(job_id)
    return None if job is None else job.status
