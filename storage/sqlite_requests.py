"""What bots and operators ask of the SQLite store: to schedule, to cancel, to run now, to redrive."""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Final

from . import ledger
from .connection import Connection, Row
from .parts import placed_after, told_id, with_part
from .states import Event, after
from .values import Ending, JobSpec, Placed, Removed, Status

SEQ_BLOCK: Final = 10_000

# The columns stand as the fields of a JobSpec do, without its due time. Most jobs need but the first fourteen, and
# to bind the others costs them a third more.
_USUAL: Final = (
    "seq, id, handler, payload, chat_id, user_id, thread_id, rule, delivery, misfire, grace_us, max_attempts, "
    "time_limit_us, due_until"
)
_OTHERS: Final = "zone, local_at, catch_up, catch_up_limit, overlap, overlap_limit, stale_after_us"
_USUALLY: Final = JobSpec("", "", 0)[14:]
_INSERT_USUAL: Final = f"INSERT INTO job ({_USUAL}, created_at) VALUES ({', '.join('?' * 15)})"
_INSERT_WHOLE: Final = f"INSERT INTO job ({_USUAL}, {_OTHERS}, created_at) VALUES ({', '.join('?' * 22)})"
_INSERT_STATE: Final = (
    f"INSERT INTO job_state (seq, status, due_at, next_attempt_at) VALUES (?, '{after(None, Event.SCHEDULE)}', ?, ?)"
)
_OPEN: Final = "SELECT j.id, j.seq, j.handler, j.chat_id, j.user_id, s.status, s.due_at, s.attempts FROM "
_OPEN_ONE: Final = _OPEN + "job j JOIN job_state s ON s.seq = j.seq WHERE j.id = ?"
_OPEN_MANY: Final = _OPEN + "job j JOIN job_state s ON s.seq = j.seq WHERE j.id IN (SELECT value FROM json_each(?))"
_ANY_PART: Final = "SELECT 1 FROM job WHERE series IS NOT NULL LIMIT 1"
# Between an id and the same with char(1) behind it stand its parts, and nothing else.
_OPEN_PARTS: Final = (
    _OPEN + "json_each(?) e CROSS JOIN job j ON j.id > e.value AND j.id < e.value || char(1) "
    "CROSS JOIN job_state s ON s.seq = j.seq"
)
_PARKED: Final = (
    "SELECT j.seq FROM job j CROSS JOIN job_state s ON s.seq = j.seq "
    f"WHERE j.id >= ?1 AND j.id < ?1 || char(1) AND s.status = '{Status.PARKED}'"
)
NOT_HELD: Final = "held_by = NULL, held_from = NULL, held_until = NULL"
_MOVE_UP: Final = (
    "UPDATE job_state SET next_attempt_at = ?, due_at = ?, next_due_at = ?, waiting_for = NULL, "
    f"{NOT_HELD} WHERE seq = ?"
)
_REDRIVE: Final = (
    f"UPDATE job_state SET status = '{after(Status.PARKED, Event.REDRIVE)}', due_at = ?, next_attempt_at = ?, "
    f"attempts = 0, crashes = 0, context_failures = 0, reason = NULL, waiting_for = NULL, {NOT_HELD} WHERE seq = ?"
)


class SqliteRequests:
    """The part of `SqliteStore` that other people's requests reach."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._next_seq = 0
        self._seqs_end = 0
        connection.on_rollback = self._forget_seqs

    def transaction(self) -> AbstractContextManager[None]:
        return self._connection.transaction()

    def put(self, specs: Sequence[JobSpec], now: int) -> list[Placed]:
        standing = {spec.id: spec for spec in specs}
        with self._connection.transaction():
            replaced = self._take_out(list(standing), "replaced", now)
            seq = self._take_seqs(len(standing))
            placed: dict[str, Placed] = {}
            usual: list[Row] = []
            whole: list[Row] = []
            states: list[Row] = []
            for spec in standing.values():
                if spec[14:] == _USUALLY:
                    usual.append((seq, *spec[:2], *spec[3:14], now))
                else:
                    whole.append((seq, *spec[:2], *spec[3:], now))
                states.append((seq, spec.due_at, spec.due_at))
                placed[spec.id] = placed_after(seq, replaced.get(spec.id))
                seq += 1
            for sql, jobs in ((_INSERT_USUAL, usual), (_INSERT_WHOLE, whole)):
                if jobs:
                    self._connection.run_many(sql, jobs)
            self._connection.run_many(_INSERT_STATE, states)
        return [placed[spec.id] for spec in specs]

    def cancel(self, ids: Sequence[str], now: int) -> list[Removed | None]:
        with self._connection.transaction():
            removed = self._take_out(ids, "cancelled", now)
        return [removed.pop(job_id, None) for job_id in ids]

    def run_now(self, job_id: str, now: int) -> bool:
        with self._connection.transaction():
            found = self._connection.rows(
                "SELECT s.seq, s.due_at, s.next_due_at, j.rule FROM job j JOIN job_state s ON s.seq = j.seq "
                f"WHERE j.id = ? AND s.status = '{Status.SCHEDULED}'",
                (job_id,),
            )
            if not found:
                return False
            seq, due_at, next_due_at, rule = found[0]
            planned = ledger.whole(due_at, now)
            moved_to = min(planned, now)
            if rule is not None and next_due_at is None and planned > now:
                moved_to = min(ledger.free_due_at(self._connection, ledger.whole(seq, 0), now), planned - 1)
                next_due_at = planned
            self._connection.run(_MOVE_UP, (now, moved_to, next_due_at, seq))
        return True

    def redrive(self, job_id: str, now: int) -> bool:
        with self._connection.transaction():
            parked = [ledger.whole(found[0], 0) for found in self._connection.rows(_PARKED, (job_id,))]
            for seq in parked:
                self._connection.run(_REDRIVE, (ledger.free_due_at(self._connection, seq, now), now, seq))
        return bool(parked)

    def _take_out(self, ids: Sequence[str], reason: str, now: int) -> dict[str, Removed]:
        """Remove whatever rows these ids have, parts too, and record their open occurrences as cancelled."""
        if len(ids) == 1 and ids[0].isascii():
            found = self._connection.rows(_OPEN_ONE, (ids[0],))
        else:
            found = self._connection.rows(_OPEN_MANY, (json.dumps(ids),))
        parts: list[Row] = []
        if self._connection.rows(_ANY_PART):
            parts = self._connection.rows(_OPEN_PARTS, (json.dumps(list(dict.fromkeys(ids))),))
            parts.sort(key=lambda part: (ledger.whole(part[6], now), ledger.whole(part[1], 0)))
        if not found and not parts:
            return {}
        endings: list[Row] = []
        removed: dict[str, Removed] = {}
        for owner in (*found, *parts):
            seq, status = ledger.whole(owner[1], 0), Status(str(owner[5]))
            outcome = after(status, Event.CANCEL)
            parked = status is Status.PARKED
            due_at = ledger.free_due_at(self._connection, seq, now) if parked else ledger.whole(owner[6], now)
            ending = Ending(outcome, due_at, now, reason=reason)
            endings.append(ledger.row(owner, ledger.whole(owner[7], 0), ending))
            stored = str(owner[0])
            job_id = told_id(stored)
            removed[job_id] = with_part(removed.get(job_id), Removed(seq, status.value), is_part=job_id != stored)
        ledger.write(self._connection, endings)
        self._delete([ledger.whole(owner[1], 0) for owner in (*found, *parts)])
        return removed

    def _delete(self, seqs: Sequence[int]) -> None:
        gone = [(seq,) for seq in seqs]
        self._connection.run_many("DELETE FROM job_state WHERE seq = ?", gone)
        self._connection.run_many("DELETE FROM job WHERE seq = ?", gone)

    def _take_seqs(self, count: int) -> int:
        """The first of `count` numbers in a row. They come in blocks, as the counter need not be written for each."""
        if self._next_seq + count > self._seqs_end:
            found = self._connection.rows("SELECT value FROM meta WHERE key = 'store.next_seq'")
            first = int(str(found[0][0])) if found else 1
            self._next_seq, self._seqs_end = first, first + max(SEQ_BLOCK, count)
            self._connection.run("INSERT OR REPLACE INTO meta VALUES ('store.next_seq', ?)", (str(self._seqs_end),))
        seq = self._next_seq
        self._next_seq += count
        return seq

    def _forget_seqs(self) -> None:
        # The block may have been taken in the very transaction that is rolled back.
        self._next_seq = self._seqs_end = 0
