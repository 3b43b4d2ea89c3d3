"""What people and programs are shown: jobs, occurrences, sessions and health, with instants as datetimes."""

import json
from dataclasses import dataclass
from datetime import datetime

import pendulum

from ..storage import door, rules
from ..storage.rules import Every, Rule
from ..storage.values import SNOOZE, ChatId, JobRow, OccurrenceRow, Place, SessionRow
from ..storage.values import Pause as PauseRow
from . import explaining
from .messages import HealthTold, HostSeen

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def moment(at: int) -> pendulum.DateTime:
    """An instant as a UTC datetime, exact to the microsecond."""
    seconds, microseconds = divmod(at, 1_000_000)
    return pendulum.DateTime.fromtimestamp(seconds, tz=pendulum.UTC).replace(microsecond=microseconds)


def _duration(us: int | None) -> pendulum.Duration | None:
    return None if us is None else pendulum.duration(microseconds=us)


def _moment(at: int | None) -> pendulum.DateTime | None:
    return None if at is None else moment(at)


class Job:
    """A job as it stands. Its parts are made when they are looked at, so that a long list costs little."""

    __slots__ = ("_row",)

    def __init__(self, row: JobRow) -> None:
        self._row = row

    def __repr__(self) -> str:
        return f"<Job {self.id!r}: {self.status}, due {self.due_at}, handler {self.handler!r}>"

    @property
    def id(self) -> str:
        return self._row.id

    @property
    def place(self) -> Place:
        """Where it stands in the order of `pending`: a page goes on from here even when the job has moved."""
        return Place(self._row.due_at, self._row.seq)

    @property
    def handler(self) -> str:
        return "(closure)" if self._row.handler.startswith("memory:") else self._row.handler

    @property
    def status(self) -> str:
        """scheduled, claimed or parked; of a job that has ended, how: done, failed, skipped, interrupted, cancelled."""
        return str(self._row.status)

    @property
    def is_finished(self) -> bool:
        return self.status not in ("scheduled", "claimed", "parked")

    @property
    def due_at(self) -> pendulum.DateTime:
        return moment(self._row.due_at)

    @property
    def next_attempt_at(self) -> pendulum.DateTime | None:
        return _moment(self._row.next_attempt_at)

    @property
    def chat_id(self) -> ChatId | None:
        return self._row.chat_id

    @property
    def user_id(self) -> ChatId | None:
        return self._row.user_id

    @property
    def thread_id(self) -> ChatId | None:
        return self._row.thread_id

    @property
    def payload(self) -> Json:
        """What was scheduled. Lists leave out one of more than 4 KiB; of a job that has ended nothing is left."""
        return _decoded(self._row.payload)

    @property
    def payload_is_left_out(self) -> bool:
        """Whether only `get` tells it."""
        return self._row.payload is None and not self.is_finished

    @property
    def rule(self) -> Rule | None:
        """When a repeating job comes. None also for one that this version can't read."""
        text = self._row.rule
        try:
            return None if text is None or rules.rests(text) else rules.load(text)
        except ValueError:
            return None

    @property
    def every(self) -> pendulum.Duration | None:
        """The interval of a job that repeats after a span of real time; None for one that follows the calendar."""
        text, rule = self._row.rule, self.rule
        if text is not None and rules.rests(text):
            return pendulum.duration(microseconds=rules.rest_us(text))
        return pendulum.duration(microseconds=rule.interval_us) if isinstance(rule, Every) else None

    @property
    def zone(self) -> str | None:
        """Where its local times hold."""
        return self._row.zone

    @property
    def local_at(self) -> datetime | None:
        """The local time at which a job runs once, where it was given as such."""
        text = self._row.local_at
        return None if text is None else datetime.fromisoformat(text)

    @property
    def misfire(self) -> str:
        return self._row.misfire

    @property
    def grace(self) -> pendulum.Duration | None:
        return _duration(self._row.grace_us)

    @property
    def catch_up(self) -> str:
        limit = self._row.catch_up_limit
        return self._row.catch_up if limit is None else f"{self._row.catch_up}({limit})"

    @property
    def overlap(self) -> str:
        limit = self._row.overlap_limit
        return self._row.overlap if limit is None else f"{self._row.overlap}({limit})"

    @property
    def stale_after(self) -> pendulum.Duration | None:
        return _duration(self._row.stale_after_us)

    @property
    def max_attempts(self) -> int | None:
        """Tries in all, where it was said."""
        return self._row.max_attempts

    @property
    def time_limit(self) -> pendulum.Duration | None:
        return _duration(self._row.time_limit_us)

    @property
    def snoozed_until(self) -> pendulum.DateTime | None:
        return _moment(self._row.held_until) if self._row.held_by == SNOOZE else None

    def upcoming(self, now: datetime, number: int = 3) -> list[pendulum.DateTime]:
        """Its next due times."""
        return [moment(at) for at in explaining.upcoming(self._row, door.instant(now, "now"), number)]

    @property
    def delivery(self) -> str:
        return self._row.delivery

    @property
    def attempts(self) -> int:
        return self._row.attempts

    @property
    def waiting_for(self) -> str | None:
        """What a due job waits for: `handler:NAME` that no host knows, or `lane:CHAT`."""
        return self._row.waiting_for

    @property
    def host(self) -> str | None:
        """Who runs it, while it is claimed."""
        return self._row.host

    @property
    def claimed_at(self) -> pendulum.DateTime | None:
        return _moment(self._row.claimed_at)

    @property
    def why(self) -> str | None:
        """Why it is not simply scheduled: it waits for a handler, runs on a host, is parked for a reason."""
        row = self._row
        if row.status == "claimed":
            return f"running on {row.host} since {_moment(row.claimed_at)}"
        if row.waiting_for is not None:
            kind, _, name = row.waiting_for.partition(":")
            if kind == "handler":
                return f"waiting: no host knows the handler {name!r}"
            if kind == "pause":
                scope = name.partition(":")[0]
                return "paused" + {"job": "", "all": " with everything"}.get(scope, f" with its {scope}")
            return "waiting for its chat's line"
        return row.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One due time and its one outcome. `times` is above one where missed ones are told together."""

    number: int
    job_id: str
    handler: str
    chat_id: ChatId | None
    user_id: ChatId | None
    outcome: str
    due_at: pendulum.DateTime
    last_due_at: pendulum.DateTime | None
    times: int
    started_at: pendulum.DateTime | None
    finished_at: pendulum.DateTime
    late_by: pendulum.Duration
    attempts: int
    reason: str | None
    traceback: str | None
    delivered: tuple[str, ...]
    run_key: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of a job's occurrences and why, and what comes next."""

    sentences: tuple[str, ...]
    upcoming: tuple[pendulum.DateTime, ...]

    def __str__(self) -> str:
        return "\n".join(self.sentences)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """`scope` is job, chat, handler or all, and `key` which. Without `until` it lasts until it is resumed."""

    scope: str
    key: ChatId | None
    since: pendulum.DateTime
    until: pendulum.DateTime | None
    on_resume: str
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """What is stored for a chat and user."""

    chat_id: ChatId | None
    user_id: ChatId | None
    data: dict[str, Json]
    updated_at: pendulum.DateTime


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the system is. `status` is `ok`, or `storage blocked`."""

    status: str
    name: str
    database: str
    process: str
    started_at: pendulum.DateTime
    storage: str
    scheduled: int
    claimed: int
    parked: int
    waiting: int
    occurrences: int
    in_memory: int
    hosts: tuple[HostSeen, ...]
    next_attempt_at: pendulum.DateTime | None
    armed_wakeups: int
    restarts: int
    frames_refused: int
    version: str


def _decoded(text: str | None) -> Json:
    if text is None:
        return None
    try:
        value: Json = json.loads(text)
    except ValueError:
        return f"(not readable: {text[:80]!r})"
    return value


def occurrence(row: OccurrenceRow) -> Occurrence:
    delivered = json.loads(row.delivered) if row.delivered else []
    return Occurrence(
        number=row.number,
        job_id=row.job_id,
        handler=row.handler,
        chat_id=row.chat_id,
        user_id=row.user_id,
        outcome=row.outcome,
        due_at=moment(row.due_at),
        last_due_at=_moment(row.last_due_at),
        times=row.count,
        started_at=_moment(row.started_at),
        finished_at=moment(row.finished_at),
        late_by=pendulum.duration(microseconds=row.late_by_us),
        attempts=row.attempts,
        reason=row.reason,
        traceback=row.traceback,
        delivered=tuple(delivered),
        run_key=row.run_key,
    )


def pause(row: PauseRow) -> Pause:
    return Pause(
        scope=row.scope,
        key=row.key,
        since=moment(row.since),
        until=_moment(row.until),
        on_resume=row.on_resume,
        reason=row.reason,
    )


def session(row: SessionRow) -> StoredSession:
    data = _decoded(row.data)
    return StoredSession(
        chat_id=row.chat_id,
        user_id=row.user_id,
        data=data if isinstance(data, dict) else {"(not readable)": data},
        updated_at=moment(row.updated_at),
    )


def health(told: HealthTold) -> Health:
    return Health(
        status="ok" if told.storage == "ok" else "storage blocked",
        name=told.name,
        database=told.database,
        process=told.process,
        started_at=moment(told.started_at),
        storage=told.storage,
        scheduled=told.counts.scheduled,
        claimed=told.counts.claimed,
        parked=told.counts.parked,
        waiting=told.counts.waiting,
        occurrences=told.counts.occurrences,
        in_memory=told.in_memory,
        hosts=told.hosts,
        next_attempt_at=_moment(told.next_attempt_at),
        armed_wakeups=told.armed_wakeups,
        restarts=told.restarts,
        frames_refused=told.frames_refused,
        version=told.version,
    )
