"""Runs of one job that go beside each other in SQLite: each is a one-shot row of its own."""

from typing import Final

from . import ledger
from .parts import part_id
from .sqlite_settlements import SqliteSettlements
from .states import Event, after
from .values import Placed, Status

_SERIES: Final = (
    "SELECT j.id FROM job_state s CROSS JOIN job j ON j.seq = s.seq "
    f"WHERE s.seq = ? AND s.status = '{Status.SCHEDULED}' AND j.series IS NULL"
)
_SAME_BODY: Final = (
    "handler, payload, chat_id, user_id, thread_id, delivery, misfire, grace_us, max_attempts, time_limit_us, "
    "due_until, zone, catch_up, catch_up_limit, overlap, overlap_limit, stale_after_us"
)
_INSERT_BODY: Final = (
    f"INSERT INTO job (seq, id, series, created_at, {_SAME_BODY}) SELECT ?, ?, seq, ?, {_SAME_BODY} FROM job "
    "WHERE seq = ?"
)
_INSERT_STATE: Final = (
    "INSERT INTO job_state (seq, status, due_at, next_attempt_at, held_by, held_from, held_until) "
    f"SELECT ?, '{after(None, Event.SCHEDULE)}', ?, ?, held_by, held_from, held_until FROM job_state WHERE seq = ?"
)
_PARTS: Final = (
    "SELECT count(*) FROM job j CROSS JOIN job_state s ON s.seq = j.seq "
    f"WHERE j.series = ? AND s.status <> '{Status.PARKED}'"
)


class SqliteParts(SqliteSettlements):
    """The part of `SqliteStore` that lets runs of a job overlap."""

    def spawn(self, seq: int, due_at: int, next_due_at: int | None, now: int) -> Placed | None:
        with self._connection.transaction():
            found = self._connection.rows(_SERIES, (seq,))
            if not found:
                return None
            job_id, planned_at = str(found[0][0]), due_at
            while self._connection.rows("SELECT 1 FROM job WHERE id = ?", (part_id(job_id, planned_at),)):
                planned_at += 1
            part = self._take_seqs(1)
            self._connection.run(_INSERT_BODY, (part, part_id(job_id, planned_at), now, seq))
            self._connection.run(_INSERT_STATE, (part, planned_at, due_at, seq))
            if next_due_at is None:
                self._delete([seq])
            else:
                self._go_on(seq, next_due_at)
        return Placed(part, None)

    def parts(self, seq: int) -> int:
        return ledger.whole(self._connection.rows(_PARTS, (seq,))[0][0], 0)
