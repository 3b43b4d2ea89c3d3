"""What the scenarios share."""

from collections.abc import Callable

import pendulum

from bellringer import Context
from bellringer.actors.views import moment
from bellringer.commands.absences import absences
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


def utc(at: pendulum.DateTime) -> str:
    """`2026-03-29 01:30`, with seconds only where there are any."""
    return f"{at.in_timezone('UTC'):%Y-%m-%d %H:%M:%S}".removesuffix(":00")


def note_instants(drive: Drive, name: str = "work") -> list[str]:
    """Register a handler that notes the instants at which it runs, as `2026-03-29 01:30` in UTC."""
    ran: list[str] = []

    @drive.handler(name)
    async def work(ctx: Context, payload: object) -> None:
        ran.append(utc(drive.clock.now))

    return ran


def absent(drive: Drive) -> list[str]:
    """Every due time of every repeating job that should have an outcome on record, and has none."""
    now = int(drive.clock.now.timestamp()) * 1_000_000
    found = absences(drive.store.inner, now, since=0)
    return [f"{one.job_id} {utc(moment(at))}" for one in found for at in one.due_at]


def go_away(drive: Drive, **for_how_long: float) -> None:
    """Everything is killed, time passes, and it is started again."""
    drive.crash()
    drive.clock.advance(**for_how_long)
    drive.start()
