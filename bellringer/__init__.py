"""Bellringer keeps the promises that chat bots make: a durable scheduler, found by name."""

import os
from collections.abc import Sequence

from .actors.client import SchedulerHandle
from .actors.core import Core
from .actors.errors import RequestRefusedError, SchedulerUnavailableError, WrongSchedulerError
from .actors.guardian import GuardianError
from .actors.hosting import Hosting
from .actors.messages import Event, Settings
from .actors.policy import job_retry_delay, max_job_attempts
from .actors.questions import CancelledJobs, ScheduledJob
from .actors.version import VERSION as __version__
from .actors.views import Health, Job, Occurrence, StoredSession
from .handlers.context import Context, SyncContext
from .handlers.dependencies import dependency
from .handlers.outcomes import Park, Retry
from .handlers.registry import Registry, handler
from .storage.errors import BellringerError, DatabaseInUseError, InvalidJobError, StorageError

DEFAULT_DATABASE = "bot.db"
DEFAULT_NAME = "bellringer"


def connect(database: str | os.PathLike[str] = DEFAULT_DATABASE, *, name: str | None = None) -> SchedulerHandle:
    """A handle on the scheduler that runs on this database, whoever started it. Nothing is checked before its first use.

    With a `name`, a scheduler of another name is refused.
    """
    return SchedulerHandle(Core(database, name))


def start(
    database: str | os.PathLike[str] = DEFAULT_DATABASE,
    *,
    name: str = DEFAULT_NAME,
    handlers: Sequence[str] = (),
    handler_actors: int = 2,
    places: int = 100,
    keep_days: float = 30.0,
    keep_occurrences: int = 1_000_000,
    restarts: int = 10,
    grace: float = 10.0,
    transport: str | None = None,
    log_level: str = "INFO",
    host_memory_mib: int = 4_096,
) -> SchedulerHandle:
    """Have a scheduler running on this database, and give a handle on it.

    One that runs already is joined; otherwise one is started, and ends with this process or with `stop()`. When the
    one that was joined ends, this process starts another. `handlers` are modules that each of `handler_actors`
    processes imports. Raises `GuardianError` with the reason where no scheduler can be had.
    """
    return SchedulerHandle(
        started(
            Settings(
                database=os.fspath(database),
                name=name,
                handlers=tuple(handlers),
                handler_actors=handler_actors,
                places=places,
                keep_days=keep_days,
                keep_occurrences=keep_occurrences,
                restarts=restarts,
                grace_us=int(grace * 1e6),
                transport=transport,
                log_level=log_level,
                host_memory_mib=host_memory_mib,
            )
        )
    )


def started(settings: Settings) -> Core:
    """The inside of a handle, with a system running."""
    hosting = Hosting(settings)
    hosting.start()
    return Core(settings.database, settings.name, hosting)


__all__ = [
    "BellringerError",
    "CancelledJobs",
    "Context",
    "DatabaseInUseError",
    "Event",
    "GuardianError",
    "Health",
    "InvalidJobError",
    "Job",
    "Occurrence",
    "Park",
    "Registry",
    "RequestRefusedError",
    "Retry",
    "ScheduledJob",
    "SchedulerHandle",
    "SchedulerUnavailableError",
    "StorageError",
    "StoredSession",
    "SyncContext",
    "WrongSchedulerError",
    "__version__",
    "connect",
    "dependency",
    "handler",
    "job_retry_delay",
    "max_job_attempts",
    "start",
]
