"""What can be asked of a scheduler: each question with its request, checked at the door, and how its reply is read.

Both handles, the plain and the awaitable, ask these.
"""

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

import pendulum

from ..storage import door, planning
from ..storage.durations import Duration
from ..storage.errors import InvalidJobError
from ..storage.values import ChatId, JobSpec
from . import views
from .errors import RequestRefusedError
from .messages import (
    Cancel,
    Cancelled,
    GetHealth,
    GetJob,
    HealthTold,
    HistoryListed,
    JobsListed,
    ListHistory,
    ListJobs,
    ListSessions,
    Redrive,
    Refused,
    Reply,
    Request,
    RunNow,
    Schedule,
    Scheduled,
    SessionsListed,
)

T = TypeVar("T")
MOST_AT_ONCE = 64 << 20

Seconds = Duration
"""A duration: seconds, a timedelta or a pendulum.Duration."""


class ScheduledJob(NamedTuple):
    """A job that the scheduler has stored. `replaced`: its id existed, and the earlier job is gone."""

    id: str
    due_at_us: int
    replaced: bool

    @property
    def due_at(self) -> pendulum.DateTime:
        return views.moment(self.due_at_us)

    def __repr__(self) -> str:
        return f"<ScheduledJob {self.id!r}, due {self.due_at}{', replacing an earlier one' if self.replaced else ''}>"


@dataclass(frozen=True, slots=True)
class CancelledJobs:
    """`cancelled` are gone; `unknown` were not there, which is no error."""

    cancelled: tuple[str, ...]
    unknown: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.cancelled)


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    request: Request
    read: Callable[[Reply], T]

    def answer(self, reply: Reply) -> T:
        """Raises `RequestRefusedError`."""
        if isinstance(reply, Refused):
            raise RequestRefusedError(reply.code, reply.sentence)
        return self.read(reply)


def spec(
    handler: str,
    now: int,
    *,
    id: str | None = None,  # the word that users have for it
    at: datetime | None = None,
    after: Seconds | None = None,
    every: Seconds | None = None,
    options: Mapping[str, object],
) -> JobSpec:
    """One job; without an id it gets a random one. With `every` alone the first due time is one interval from now."""
    job_id = secrets.token_hex(8) if id is None else id
    named = id is not None
    return planning.job(job_id, handler, now, at=at, after=after, every=every, options=options, named=named)


def schedule(
    job: JobSpec, *, only_new: bool = False, in_memory: bool = False, keeper: str | None = None
) -> Question[ScheduledJob]:
    def read(reply: Reply) -> ScheduledJob:
        assert isinstance(reply, Scheduled)
        due_at = reply.due_at[0][1] if reply.due_at else job.due_at
        return ScheduledJob(job.id, due_at, bool(reply.replaced))

    return Question(Schedule(jobs=(job,), only_new=only_new, in_memory=in_memory, keeper=keeper), read)


def schedule_many(
    jobs: Sequence[JobSpec], *, in_memory: bool = False, keeper: str | None = None
) -> Question[list[str]]:
    if sum(_bytes(job.payload) for job in jobs) > MOST_AT_ONCE:
        raise InvalidJobError(f"the payloads of one call are limited to {MOST_AT_ONCE >> 20} MiB in all: split it")

    def read(_reply: Reply) -> list[str]:
        return [job.id for job in jobs]

    return Question(Schedule(jobs=tuple(jobs), in_memory=in_memory, keeper=keeper), read)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def specs(jobs: Iterable[Mapping[str, object]], now: int) -> list[JobSpec]:
    """Jobs given as mappings of what `schedule` takes. A refusal says which one it is about; then none is scheduled."""
    made = []
    if isinstance(jobs, (str, bytes, Mapping)) or not isinstance(jobs, Iterable):
        raise InvalidJobError(f"schedule_many takes a list of jobs, not {type(jobs).__name__}")
    for place, job in enumerate(jobs):
        if not isinstance(job, Mapping):
            raise InvalidJobError(f"job {place} of the list is a {type(job).__name__}, but must be a mapping")
        options = dict(job)
        try:
            handler = options.pop("handler")
            when = {key: options.pop(key) for key in ("id", "at", "after", "every") if key in options}
            made.append(spec(handler, now, options=options, **when))  # type: ignore[arg-type]
        except KeyError:
            raise InvalidJobError(f"job {place} of the list names no handler") from None
        except InvalidJobError as error:
            named = f" ({job['id']!r})" if job.get("id") is not None else ""
            raise InvalidJobError(f"job {place} of the list{named}: {error}") from None
    return made


def cancel(ids: Sequence[str]) -> Question[CancelledJobs]:
    checked = tuple(door.job_id(job_id) for job_id in ids)

    def read(reply: Reply) -> CancelledJobs:
        assert isinstance(reply, Cancelled)
        unknown = set(reply.unknown)
        return CancelledJobs(
            tuple(job_id for place, job_id in enumerate(checked) if place not in unknown),
            tuple(checked[place] for place in reply.unknown),
        )

    return Question(Cancel(ids=checked), read)


def run_now(job_id: str) -> Question[None]:
    return Question(RunNow(job_id=door.job_id(job_id)), _nothing)


def redrive(job_id: str) -> Question[None]:
    return Question(Redrive(job_id=door.job_id(job_id)), _nothing)


def get(job_id: str) -> Question[views.Job | None]:
    def read(reply: Reply) -> views.Job | None:
        assert isinstance(reply, JobsListed)
        return views.Job(reply.jobs[0]) if reply.jobs else None

    return Question(GetJob(job_id=door.job_id(job_id)), read)


def pending(
    chat_id: ChatId | None, status: str | None, limit: int, after: str | views.Job | None
) -> Question[list[views.Job]]:
    def read(reply: Reply) -> list[views.Job]:
        assert isinstance(reply, JobsListed)
        return [views.Job(row) for row in reply.jobs]

    if status not in (None, "scheduled", "waiting", "claimed", "parked"):
        raise InvalidJobError(f"a pending job is scheduled (perhaps waiting), claimed or parked, never {status!r}")
    key = door.chat_key(chat_id, "chat_id")
    place = after.place if isinstance(after, views.Job) else after
    return Question(ListJobs(chat_id=key, status=status, limit=_limit(limit), after=place), read)


def history(
    job_id: str | None, chat_id: ChatId | None, outcome: str | None, limit: int, before: int | None
) -> Question[list[views.Occurrence]]:
    def read(reply: Reply) -> list[views.Occurrence]:
        assert isinstance(reply, HistoryListed)
        return [views.occurrence(row) for row in reply.occurrences]

    key = door.chat_key(chat_id, "chat_id")
    request = ListHistory(job_id=job_id, chat_id=key, outcome=outcome, limit=_limit(limit), before=before)
    return Question(request, read)


def sessions(chat_id: ChatId | None, limit: int) -> Question[list[views.StoredSession]]:
    def read(reply: Reply) -> list[views.StoredSession]:
        assert isinstance(reply, SessionsListed)
        return [views.session(row) for row in reply.sessions]

    return Question(ListSessions(chat_id=door.chat_key(chat_id, "chat_id"), limit=_limit(limit)), read)


def health() -> Question[views.Health]:
    def read(reply: Reply) -> views.Health:
        assert isinstance(reply, HealthTold)
        return views.health(reply)

    return Question(GetHealth(), read)


def _limit(limit: int) -> int:
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= 10_000:
        raise InvalidJobError(f"limit is {limit!r}, but must be from 1 to 10000")
    return limit


def _nothing(_reply: Reply) -> None:
    return None
