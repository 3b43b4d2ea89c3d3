"""Bellringer keeps the promises that chat bots make: a durable scheduler, found by name."""

import os
from collections.abc import Sequence
from typing import TypedDict, Unpack

from . import interrupts as _first  # isort: skip  # noqa: F401  it acts when it is imported
from . import rules
from .actors.client import SchedulerHandle
from .actors.clock import SYSTEM_CLOCK as clock
from .actors.core import Core
from .actors.errors import RequestRefusedError, SchedulerUnavailableError, WrongSchedulerError
from .actors.guardian import GuardianError
from .actors.hosting import Hosting
from .actors.messages import Event, Settings
from .actors.policy import job_retry_delay, max_job_attempts
from .actors.questions import CancelledJobs, ScheduledJob
from .actors.version import VERSION as __version__
from .actors.views import Explanation, Health, Job, Occurrence, Pause, StoredSession
from .handlers.context import Context, SyncContext
from .handlers.dependencies import dependency
from .handlers.outcomes import Park, Retry
from .handlers.registry import Registry, handler
from .storage.errors import BellringerError, DatabaseInUseError, InvalidJobError, StorageError

DEFAULT_DATABASE = "bot.db"
DEFAULT_NAME = "bellringer"


def connect(database: str | os.PathLike[str] = DEFAULT_DATABASE, *, name: str | None = None) -> SchedulerHandle:
    """A handle on the scheduler that runs on this database, whoever started it. Checks nothing before its first use.

    With a `name`, a scheduler of another name is refused.
    """
    return SchedulerHandle(Core(database, name))


class StartOptions(TypedDict, total=False):
    """How a system runs that `start` has to start."""

    name: str
    handlers: Sequence[str]
    """Modules that each handler actor imports."""
    handler_actors: int
    """Processes for them; 2 unless said otherwise."""
    places: int
    """How many runs one of them has at once; 100 unless said otherwise."""
    keep_days: float
    """For how long the ledger is kept; 30 unless said otherwise."""
    keep_occurrences: int
    """How many rows of it at most; a million unless said otherwise."""
    restarts: int
    """How many within a minute are taken for normal; 10 unless said otherwise."""
    grace: float
    """Seconds that running handlers get at the end; 10 unless said otherwise."""
    transport: str | None
    """`module:factory` of the transport that handler actors send through."""
    log_level: str
    host_memory_mib: int
    """What one handler actor may grow to; 4096 unless said otherwise."""


def start(database: str | os.PathLike[str] = DEFAULT_DATABASE, **options: Unpack[StartOptions]) -> SchedulerHandle:
    """Have a scheduler running on this database, and give a handle on it.

    One that runs already is joined; otherwise one is started, and ends with this process or with `stop()`. When the
    one that was joined ends, this process starts another. Raises `GuardianError` with the reason where no scheduler
    can be had, and `WrongSchedulerError` at the first call where the one that runs has another name.
    """
    return SchedulerHandle(started(settings_for(database, options)))


def settings_for(database: str | os.PathLike[str], options: StartOptions) -> Settings:
    """Raises `TypeError` for an option that is not there, and `ValueError` for one that makes no sense.

    The path is resolved here: a process that changes its folder later still means the same file.
    """
    unknown = options.keys() - StartOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"start() has no option {sorted(unknown)[0]!r}")
    rest: dict[str, object] = {key: value for key, value in options.items() if key not in ("handlers", "grace", "name")}
    handlers = options.get("handlers", ())
    if isinstance(handlers, str):
        raise TypeError(f"handlers takes a list of module names: write [{handlers!r}]")
    _check(options)
    path = os.fspath(database)
    if not path or path == ":memory:":
        raise ValueError(f"the database is {path!r}, but must be the path of a file")
    return Settings(
        database=os.path.abspath(path),
        name=options.get("name", DEFAULT_NAME),
        handlers=tuple(handlers),
        grace_us=int(options.get("grace", 10.0) * 1e6),
        **rest,  # type: ignore[arg-type]  # StartOptions has the types
    )


_LEAST = {
    "handler_actors": 0,
    "places": 1,
    "keep_days": 0.0,
    "keep_occurrences": 1,
    "restarts": 0,
    "grace": 0.0,
    "host_memory_mib": 64,
}
_LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def _check(options: StartOptions) -> None:
    for option, least in _LEAST.items():
        value = options.get(option, least)
        kind = int if isinstance(least, int) else (int, float)
        if isinstance(value, bool) or not isinstance(value, kind) or not value >= least:
            raise ValueError(f"start(): {option} is {value!r}, but must be a number from {least} on")
    name = options.get("name", DEFAULT_NAME)
    if not isinstance(name, str) or not name or not name.isprintable():
        raise ValueError(f"start(): name is {name!r}, but must be visible text")
    if options.get("log_level", "INFO") not in _LOG_LEVELS:
        raise ValueError(f"start(): log_level is {options['log_level']!r}, but must be one of {', '.join(_LOG_LEVELS)}")


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
    "Explanation",
    "GuardianError",
    "Health",
    "InvalidJobError",
    "Job",
    "Occurrence",
    "Park",
    "Pause",
    "Registry",
    "RequestRefusedError",
    "Retry",
    "ScheduledJob",
    "SchedulerHandle",
    "SchedulerUnavailableError",
    "StartOptions",
    "StorageError",
    "StoredSession",
    "SyncContext",
    "WrongSchedulerError",
    "__version__",
    "clock",
    "connect",
    "dependency",
    "handler",
    "job_retry_delay",
    "max_job_attempts",
    "rules",
    "start",
]
