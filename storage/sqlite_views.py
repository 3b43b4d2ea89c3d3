"""What people are shown of the SQLite store. Built with peewee, read as plain tuples."""

import json
from collections.abc import Sequence
from typing import Final, TypeVar

from peewee import SQL, Model, ModelSelect, Node, SqliteDatabase, Tuple

from . import models
from .connection import Connection, Row, Value
from .models import Job, JobState, Occurrence, Session
from .parts import told_id
from .sqlite_pauses import SqlitePauses
from .values import (
    WAITING,
    ChatId,
    Counts,
    JobRow,
    OccurrenceRow,
    Outcome,
    Place,
    Scope,
    SessionRow,
    Status,
    told_from_ledger,
)

Shown = TypeVar("Shown", bound=Model)

_JOB_COLUMNS: Final = (
    *(Job.id, Job.handler, JobState.status, JobState.due_at, JobState.next_attempt_at),
    *(Job.chat_id, Job.user_id, Job.thread_id, Job.payload, Job.rule, Job.delivery),
    *(JobState.attempts, JobState.waiting_for, JobState.reason, JobState.host, JobState.claimed_at, JobState.seq),
    *(Job.due_until, Job.zone, Job.local_at, Job.misfire, Job.grace_us, Job.max_attempts, Job.time_limit_us),
    *(Job.catch_up, Job.catch_up_limit, Job.overlap, Job.overlap_limit, Job.stale_after_us),
    *(JobState.held_by, JobState.held_from, JobState.held_until, JobState.next_due_at, Job.series),
)
_SEQ: Final = JobRow._fields.index("seq")
_PLAIN: Final = JobRow._fields.index("zone")
"""Up to here a list reads every column; those behind are mostly as usual, and making values of them costs more."""
_AS_USUAL: Final = SQL(
    "t1.zone IS NULL AND t1.local_at IS NULL AND t1.misfire IS ? AND t1.grace_us IS NULL AND t1.max_attempts IS NULL "
    "AND t1.time_limit_us IS ? AND t1.catch_up IS ? AND t1.catch_up_limit IS NULL AND t1.overlap IS ? "
    "AND t1.overlap_limit IS NULL AND t1.stale_after_us IS NULL AND t2.held_by IS NULL AND t2.held_from IS NULL "
    "AND t2.held_until IS NULL AND t2.next_due_at IS NULL AND t1.series IS NULL",
    [JobRow._field_defaults[name] for name in ("misfire", "time_limit_us", "catch_up", "overlap")],
)
_WITHOUT_PAYLOAD: Final = tuple(SQL("NULL") if column is Job.payload else column for column in _JOB_COLUMNS)
# A bound value would hide the partial indexes from SQLite, and it would walk all jobs to find the claimed in order.
_OF_STATUS: Final = {
    Status.SCHEDULED.value: f"t2.status = '{Status.SCHEDULED}'",
    WAITING: f"t2.seq IN (SELECT seq FROM job_state WHERE {models.WAITING})",
    Status.CLAIMED.value: f"t2.seq IN (SELECT seq FROM job_state WHERE {models.CLAIMED})",
    Status.PARKED.value: f"t2.status = '{Status.PARKED}'",
}
_KEY_OF: Final = {Scope.JOB: Job.id, Scope.CHAT: Job.chat_id, Scope.HANDLER: Job.handler}
_COUNTS: Final = (
    f"SELECT (SELECT count(*) FROM job_state WHERE {models.DUE}), "
    f"(SELECT count(*) FROM job_state WHERE {models.CLAIMED}), "
    f"(SELECT count(*) FROM job_state WHERE {models.PARKED}), "
    f"(SELECT count(*) FROM job_state WHERE {models.WAITING}), "
    "(SELECT count(*) FROM occurrence)"
)


class SqliteViews(SqlitePauses):
    """The part of `SqliteStore` that only reads."""

    def __init__(self, database: SqliteDatabase, connection: Connection) -> None:
        super().__init__(connection)
        self._database = database

    def get(self, job_id: str) -> JobRow | None:
        jobs = self._read(_jobs().where(Job.id == job_id)) or self._read(_parts_of(job_id).limit(1))
        if jobs:
            return _job_row(jobs[0])
        ended = self.history(job_id=job_id, limit=1)
        return told_from_ledger(ended[0]) if ended else None

    def jobs(
        self,
        *,
        chat_id: ChatId | None = None,
        status: str | None = None,
        limit: int = 100,
        after: str | Place | None = None,
    ) -> list[JobRow]:
        wanted = _jobs((*_JOB_COLUMNS[:_PLAIN], _AS_USUAL)).order_by(JobState.due_at, JobState.seq).limit(limit)
        if chat_id is not None:
            wanted = wanted.where(Job.chat_id == chat_id)
        if status is not None:
            if status not in _OF_STATUS:
                return []
            wanted = wanted.where(SQL(_OF_STATUS[status]))
        if after is not None:
            place = after if isinstance(after, Place) else self._place_of(after)
            if place is None:
                return []
            wanted = wanted.where(Tuple(JobState.due_at, JobState.seq) > Tuple(*place))
        rows = self._read(wanted)
        whole = self._whole([row[_SEQ] for row in rows if row[_PLAIN] != 1])
        return [JobRow(*row[:_PLAIN]) if row[_PLAIN] == 1 else whole[row[_SEQ]] for row in rows]  # type: ignore[arg-type]

    def _whole(self, seqs: Sequence[Value]) -> dict[Value, JobRow]:
        """These rows with all their columns, by seq."""
        if not seqs:
            return {}
        among = SQL("t1.seq IN (SELECT value FROM json_each(?))", (json.dumps(seqs),))
        return {row[_SEQ]: _job_row(row) for row in self._read(_jobs().where(among))}

    def select(
        self, *, scope: str, key: ChatId | None, user_id: ChatId | None = None, after: int = 0, limit: int
    ) -> list[JobRow]:
        wanted = _jobs(_WITHOUT_PAYLOAD).where(Job.series.is_null(), Job.seq > after).order_by(Job.seq).limit(limit)
        if scope != Scope.ALL:
            wanted = wanted.where(_KEY_OF[Scope(scope)] == key)
        if user_id is not None:
            wanted = wanted.where(Job.user_id == user_id)
        return list(map(_job_row, self._read(wanted)))

    def session(self, chat_id: ChatId | None, user_id: ChatId | None) -> str | None:
        sql = "SELECT data FROM session WHERE chat_id IS ? AND user_id IS ?"
        found = self._connection.rows(sql, (chat_id, user_id))
        data = found[0][0] if found else None
        return data if data is None or type(data) is str else ""

    def history(
        self,
        *,
        job_id: str | None = None,
        chat_id: ChatId | None = None,
        outcome: str | None = None,
        limit: int = 100,
        before: int | None = None,
    ) -> list[OccurrenceRow]:
        wanted = Occurrence.select().order_by(Occurrence.number.desc()).limit(limit)
        if job_id is not None:
            wanted = wanted.where(Occurrence.job_id == job_id)
        if chat_id is not None:
            wanted = wanted.where(Occurrence.chat_id == chat_id)
        if outcome is not None:
            wanted = wanted.where(Occurrence.outcome == outcome)
            if outcome != Outcome.DONE:
                wanted = wanted.where(SQL(models.UNUSUAL))
        if before is not None:
            wanted = wanted.where(Occurrence.number < before)
        return list(map(OccurrenceRow._make, self._read(wanted)))

    def sessions(
        self, *, chat_id: ChatId | None = None, limit: int = 100, after: int | None = None
    ) -> list[SessionRow]:
        wanted = Session.select(Session.chat_id, Session.user_id, Session.data, Session.updated_at, Session.number)
        wanted = wanted.order_by(Session.number).limit(limit)
        if chat_id is not None:
            wanted = wanted.where(Session.chat_id == chat_id)
        if after is not None:
            wanted = wanted.where(Session.number > after)
        return list(map(SessionRow._make, self._read(wanted)))

    def counts(self) -> Counts:
        due, claimed, parked, waiting, occurrences = (int(str(found)) for found in self._connection.rows(_COUNTS)[0])
        return Counts(due + waiting, claimed, parked, waiting, occurrences)

    def _place_of(self, job_id: str) -> Row | None:
        """Where a job stands in the order of `jobs`, or stood when it ended: a page must not end because it ran."""
        sql = "SELECT s.due_at, s.seq FROM job j JOIN job_state s ON s.seq = j.seq WHERE j.id = ?"
        found = self._connection.rows(sql, (job_id,))
        if not found:
            sql = "SELECT due_at, job_seq FROM occurrence WHERE job_id = ? ORDER BY number DESC LIMIT 1"
            found = self._connection.rows(sql, (job_id,))
        return found[0] if found else None

    def _read(self, query: "ModelSelect[Shown]") -> list[Row]:
        sql, values = query.bind(self._database).sql()
        rows = self._connection.rows(sql, values)
        return [_shown(row) for row in rows] if self._connection.garbled else rows


def _jobs(columns: Sequence[Node] = _JOB_COLUMNS) -> "ModelSelect[Job]":
    return Job.select(*columns).join(JobState, on=JobState.seq == Job.seq)


def _parts_of(job_id: str) -> "ModelSelect[Job]":
    here = SQL("t1.id > ? AND t1.id < ? || char(1)", (job_id, job_id))
    return _jobs().where(here).order_by(JobState.due_at, JobState.seq)


def _job_row(row: Row) -> JobRow:
    shown = JobRow._make(row)
    return shown if shown.series is None or type(shown.id) is not str else shown._replace(id=told_id(shown.id))


def _shown(row: Row) -> Row:
    return tuple(_escaped(value) for value in row)


def _escaped(value: Value) -> Value:
    """Bytes that are no text, as escapes that can be printed."""
    if type(value) is not str:
        return value
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
