"""Every message that crosses from one actor or process to another.

Commands are imperative, facts are in the past tense. A `RequestBatch` is the unit that is repeated: it is
numbered by its client, answered once, after commit, and a repeated one gets the same answer and does nothing
twice. A client has one batch under way at a time, so remembering its latest answer is enough.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TypeVar, dataclass_transform

from thespian.actors import ActorAddress

from ..storage.contract import Store
from ..storage.values import (
    ChatId,
    Counts,
    JobRow,
    JobSpec,
    OccurrenceRow,
    OnResume,
    Outage,
    Pause,
    Place,
    RunOrder,
    RunResult,
    SessionRow,
)
from .clock import Clock
from .processes import Kernel

M = TypeVar("M")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def message(cls: type[M]) -> type[M]:
    """Make a class a message: frozen, slotted, with keywords only, and quick to pickle."""
    made = dataclass(frozen=True, slots=True, kw_only=True)(cls)
    names = tuple(field.name for field in fields(made))  # type: ignore[arg-type]  # it is a dataclass now
    if names:
        values: Callable[[M], object] = attrgetter(*names)

        def state(self: M) -> object:
            return values(self)

        def restore(self: M, told: object) -> None:
            for name, value in zip(names, told if isinstance(told, tuple) and len(names) > 1 else (told,), strict=True):
                object.__setattr__(self, name, value)

        setattr(made, "__getstate__", state)  # noqa: B010  the type checker knows no such assignment
        setattr(made, "__setstate__", restore)  # noqa: B010
    return made


# What bots and operators ask


@message
class Schedule:
    """Store these jobs; an id that exists is replaced, or, if only new ones are wanted, the request is refused.

    `in_memory` ones end with `keeper`, the host that made them.
    """

    jobs: tuple[JobSpec, ...]
    only_new: bool = False
    in_memory: bool = False
    keeper: str | None = None


@message
class Cancel:
    ids: tuple[str, ...]


@message
class RunNow:
    job_id: str


@message
class Redrive:
    job_id: str


@message
class GetJob:
    job_id: str


@message
class ListJobs:
    chat_id: ChatId | None = None
    status: str | None = None
    limit: int = 100
    after: str | Place | None = None


@message
class ListHistory:
    job_id: str | None = None
    chat_id: ChatId | None = None
    outcome: str | None = None
    limit: int = 100
    before: int | None = None


@message
class ListSessions:
    chat_id: ChatId | None = None
    limit: int = 100
    after: int | None = None


@message
class GetHealth:
    pass


@message
class PauseJobs:
    """Nothing in this scope runs until it is resumed, or until an instant. `key` is None for the scope `all`."""

    scope: str
    key: ChatId | None = None
    until: int | None = None
    on_resume: str = OnResume.NEXT
    reason: str | None = None
    only_longer: bool = False
    """A snooze: a pause that stands already and holds longer stays as it is."""


@message
class ResumeJobs:
    """`on_resume`: whether what came due meanwhile is left out, or runs once. The pause's own choice if None."""

    scope: str
    key: ChatId | None = None
    on_resume: str | None = None


@message
class SkipNext:
    """Leave out the next due time of each repeating job in this scope, a page at a time, from behind `after` on."""

    scope: str
    key: ChatId | None = None
    after: int = 0


@message
class SnoozeJob:
    """Run what is due next of a job later: so long after its due time, or after now if that is past; or at `until`."""

    job_id: str
    by_us: int | None = None
    until: int | None = None


@message
class ListPauses:
    pass


@message
class ExplainJob:
    job_id: str


@message
class ChangeZone:
    """Make this the zone of a chat, or of a user in it, and move their jobs that have local times; a page at a time."""

    zone: str
    chat_id: ChatId | None
    user_id: ChatId | None = None
    after: int = 0


Adjustment = PauseJobs | ResumeJobs | SkipNext | SnoozeJob | ChangeZone
Request = (
    Schedule | Cancel | RunNow | Redrive | GetJob | ListJobs | ListHistory | ListSessions | GetHealth
    | Adjustment | ListPauses | ExplainJob
)  # fmt: skip


@message
class RequestBatch:
    client: str
    number: int
    requests: tuple[Request, ...]


# What they are told


@message
class Scheduled:
    """`replaced` holds the positions, in the request, of the jobs whose id existed.

    `due_at` holds positions with due times that were not known before: those of jobs in the zone of their chat.
    """

    replaced: tuple[int, ...] = ()
    due_at: tuple[tuple[int, int], ...] = ()


@message
class Cancelled:
    """`unknown` holds the positions of the ids that were not there."""

    unknown: tuple[int, ...] = ()


@message
class Accepted:
    pass


@message
class JobsListed:
    jobs: tuple[JobRow, ...]


@message
class HistoryListed:
    occurrences: tuple[OccurrenceRow, ...]


@message
class SessionsListed:
    sessions: tuple[SessionRow, ...]


@message
class HostSeen:
    """A host as the scheduler knows it."""

    host: str
    kind: str
    process: str
    handlers: tuple[str, ...]
    places: int
    running: int


@message
class HealthTold:
    """`storage` is `ok`, or what the last write failed with."""

    name: str
    database: str
    process: str
    started_at: int
    now: int
    storage: str
    counts: Counts
    in_memory: int
    hosts: tuple[HostSeen, ...]
    next_attempt_at: int | None
    armed_wakeups: int
    restarts: int
    frames_refused: int
    version: str


@message
class Adjusted:
    """How many jobs were changed. `after`: there is more, from behind this row on."""

    count: int
    after: int | None = None


@message
class PausesListed:
    pauses: tuple[Pause, ...]


@message
class JobExplained:
    """What is known about a job: itself, its latest occurrences, and what kept jobs from running. No job: unknown."""

    job: JobRow | None
    occurrences: tuple[OccurrenceRow, ...] = ()
    outages: tuple[Outage, ...] = ()
    pauses: tuple[Pause, ...] = ()
    handler_known: bool = True
    now: int = 0


@message
class Refused:
    """Nothing was done. `code` is for programs, `sentence` says what to do. `again`: trying once more can help."""

    code: str
    sentence: str
    again: bool = False


Reply = (
    Scheduled | Cancelled | Accepted | Adjusted | JobsListed | HistoryListed | SessionsListed | HealthTold
    | PausesListed | JobExplained | Refused
)  # fmt: skip


@message
class ReplyBatch:
    """`process` is the scheduler's: a client that waits for its next answer need not wait longer than it lives."""

    client: str
    number: int
    replies: tuple[Reply, ...]
    process: str = ""


# Between the scheduler and the hosts


@message
class HostJoined:
    """A host offers its places, and tells what it still holds: after a restart, that is what was running.

    From here on it takes nothing but what answers this very message: an order that a scheduler sent before it ended
    may still be on its way, and would run beside the one that the next scheduler gives.
    """

    host: str
    kind: str
    process: str
    handlers: tuple[str, ...]
    places: int
    holding: tuple[int, ...] = ()
    results: tuple[RunResult, ...] = ()
    wants_events: bool = False
    joining: int = 0
    """Counts the host's offers. What was ordered before the latest one, and had not come, is void."""


@message
class HostReported:
    """`received` is the number of the last batch that came: with it the host is ready for the next one.

    `results` are kept and told again until a batch names their tokens as settled. While not `open` it wants
    nothing more: its loop does not move, or it is to be replaced.
    """

    host: str
    received: int
    results: tuple[RunResult, ...] = ()
    open: bool = True


@message
class HostLeft:
    """The host ends; what it still holds is interrupted."""

    host: str
    results: tuple[RunResult, ...] = ()


@message
class Event:
    """Something that operators and telemetry want to know. `kind` is such as `job.error`."""

    kind: str
    at: int
    job_id: str | None = None
    handler: str | None = None
    attempt: int | None = None
    late_by_us: int | None = None
    due_at: int | None = None
    reason: str | None = None
    chat_id: ChatId | None = None


@message
class RunBatch:
    """Start these at once. `settled` are the tokens whose results are durable, to be forgotten.

    `joining` is the number of the latest `HostJoined` that the scheduler, whose process is `scheduler`, has seen.
    """

    scheduler: str
    number: int
    orders: tuple[RunOrder, ...] = ()
    settled: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()
    events: tuple[Event, ...] = ()
    joining: int = 0


@message
class JoinAgain:
    """The scheduler does not know this host: it has just started, or thought the host dead."""

    host: str


@message
class StopRunning:
    """End what still runs when the grace is over; results of what was cut short say interrupted."""

    grace_us: int


# Between guardian, supervisor, scheduler and handler actors


@message
class Settings:
    """How one system runs. `handlers` are modules that each handler actor imports."""

    database: str
    name: str
    handlers: tuple[str, ...] = ()
    handler_actors: int = 2
    places: int = 100
    keep_days: float = 30.0
    keep_occurrences: int = 1_000_000
    restarts: int = 10
    restarts_within_s: float = 60.0
    grace_us: int = 10_000_000
    transport: str | None = None
    log_level: str = "INFO"
    host_memory_mib: int = 4_096
    must_exist: bool = False
    """The database was there before: if it is missing, it is lost, and no empty one may take its place."""


@message
class Supervise:
    settings: Settings
    clock: Clock | None = None
    store: Store | None = None
    kernel: Kernel | None = None


@message
class OpenDatabase:
    """`supervisor` is the process without which the scheduler ends.

    `clock`, `store` and `kernel` are given where all actors live in one process, as in tests.
    """

    settings: Settings
    restarts: int
    supervisor: str
    clock: Clock | None = None
    store: Store | None = None
    kernel: Kernel | None = None


@message
class DatabaseOpened:
    process: str


@message
class OpeningFailed:
    """`fatal`: another try can't help."""

    process: str
    reason: str
    fatal: bool


@message
class LoadHandlers:
    settings: Settings
    number: int


@message
class MeetScheduler:
    """Where the scheduler is now: offer your places there, and tell what you hold."""

    scheduler: ActorAddress


@message
class HandlersLoaded:
    number: int
    process: str
    handlers: tuple[str, ...]


@message
class LoadingFailed:
    number: int
    process: str
    reason: str


@message
class EndHost:
    """A host that no longer answers for its jobs; its process is to be ended."""

    process: str
    reason: str


@message
class HostBlocked:
    """A handler keeps the loop of this handler actor from moving; others should not have to wait for it."""

    process: str


@message
class Tick:
    """Look at the clock: covers lost wake-ups, suspends and clock jumps. `Ticked` answers where it is asked for."""

    answer: bool = True


@message
class Ticked:
    pass


@message
class GetState:
    """The guardian asks the supervisor how things stand."""


@message
class StateTold:
    ready: bool
    failed: str | None
    process: str
    scheduler: str | None
    hosts: tuple[str, ...]
    restarts: int


@message
class StopClaiming:
    grace_us: int


@message
class Stopped:
    """The scheduler is done: nothing runs, the database is closed."""

    interrupted: int
