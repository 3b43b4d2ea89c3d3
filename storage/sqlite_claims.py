"""The scheduler's hot path in SQLite: what is due, the claims, and what became of them."""

import json
from collections.abc import Sequence
from typing import Final

from . import ledger, models
from .connection import Row, Value
from .parts import told_id
from .shapes import CLAIMED_SHAPE, DUE_SHAPE, ORDER_SHAPE
from .sqlite_requests import SqliteRequests
from .states import Event, after
from .values import LASTING, ChatId, Claim, ClaimedRow, Cursor, DueRow, Ending, Outcome, RunOrder, Status

UNREADABLE: Final = "the stored job can't be read"
IDLE: Final = "waiting_for = NULL, token = NULL, host = NULL, claimed_at = NULL, lease_until = NULL"
PARK: Final = (
    f"UPDATE job_state SET status = '{Status.PARKED}', next_attempt_at = NULL, reason = ?, {IDLE} WHERE seq = ?"
)

_BEFORE_ALL: Final = Cursor(-(2**63), -(2**63))
_AMONG: Final = "seq IN (SELECT value FROM json_each(?))"

_DUE: Final = (
    "SELECT s.seq, s.next_attempt_at, s.due_at, s.next_due_at, j.handler, j.chat_id, j.rule, j.misfire, j.grace_us, "
    "s.attempts, s.crashes, j.time_limit_us, j.id, j.catch_up, j.catch_up_limit, j.overlap, j.overlap_limit, "
    "j.stale_after_us, s.held_by, s.held_from, s.held_until, j.series "
    "FROM job_state s CROSS JOIN job j ON j.seq = s.seq "
    f"WHERE s.{models.DUE} AND (s.next_attempt_at, s.seq) > (?, ?) "
    "AND s.next_attempt_at <= ? ORDER BY s.next_attempt_at, s.seq LIMIT ?"
)
_NEXT: Final = (
    f"SELECT next_attempt_at FROM job_state WHERE {models.DUE} AND (next_attempt_at, seq) > (?, ?) "
    "ORDER BY next_attempt_at, seq LIMIT 1"
)
MOST_OF_CHAT: Final = 200
_OF_CHAT: Final = (
    "SELECT count(*), total(before) FROM (SELECT (s.next_attempt_at, s.seq) < (?2, ?3) AND "
    f"s.{models.DUE} AS before FROM job j CROSS JOIN job_state s ON s.seq = j.seq WHERE j.chat_id = ?1 "
    f"LIMIT {MOST_OF_CHAT})"
)
# What a pause or an overlap has left on the row must outlast a wait for a handler or a lane.
_LASTING: Final = ", ".join(f"'{kind}'" for kind in sorted(LASTING))
_LASTS: Final = f"ifnull(held_by, '') IN ({_LASTING})"
_RELEASE: Final = (
    f"UPDATE job_state SET waiting_for = NULL, held_until = iif(?1 IS NULL AND {_LASTS}, held_until, ?2), "
    f"held_by = coalesce(?1, iif({_LASTS}, held_by, ?3)) WHERE seq IN (SELECT seq "
    f"FROM job_state WHERE {models.WAITING} AND waiting_for = ?3 ORDER BY next_attempt_at, seq LIMIT ?4)"
)
# An UPDATE that names due_at rewrites its index entry even where the value stays, so the usual claim does not.
_CLAIM: Final = (
    f"UPDATE job_state SET status = '{after(Status.SCHEDULED, Event.CLAIM)}', attempts = attempts + 1, token = ?, "
    f"host = ?, next_due_at = ?, lease_until = ?, claimed_at = ?, waiting_for = NULL WHERE seq = ? "
    f"AND status = '{Status.SCHEDULED}'"
)
_CLAIM_ANOTHER_DUE_TIME: Final = (
    f"UPDATE job_state SET due_at = ? WHERE seq = ? AND token = ? AND due_at <> ? AND {models.CLAIMED}"
)
_ORDERS: Final = (
    "SELECT s.seq, s.token, j.id, j.handler, j.chat_id, j.user_id, j.thread_id, j.payload, "
    "(SELECT iif(typeof(data) = 'text', data, '') FROM session "
    "WHERE chat_id IS j.chat_id AND user_id IS j.user_id), "
    "s.due_at, s.attempts, j.time_limit_us, s.seq || ':' || s.due_at, json_valid(j.payload), j.series "
    f"FROM job_state s CROSS JOIN job j ON j.seq = s.seq WHERE s.{_AMONG} AND s.{models.CLAIMED}"
)
_OWNER: Final = (
    "SELECT j.id, s.seq, j.handler, j.chat_id, j.user_id, s.attempts, s.due_at "
    "FROM job_state s CROSS JOIN job j ON j.seq = s.seq WHERE s.seq = ?"
)
_CLAIMED: Final = (
    "SELECT s.seq, s.token, j.id, j.handler, j.chat_id, s.host, s.due_at, s.next_due_at, s.attempts, s.crashes, "
    "s.context_failures, j.rule, j.delivery, j.max_attempts, s.lease_until, s.claimed_at, "
    "j.overlap, s.held_by, j.series, j.stale_after_us "
    f"FROM job_state s CROSS JOIN job j ON j.seq = s.seq WHERE s.{models.CLAIMED}"
)


class SqliteClaims(SqliteRequests):
    """The part of `SqliteStore` that the scheduler drives."""

    def due(self, now: int, limit: int, after: Cursor | None = None) -> list[DueRow]:
        place = after or _BEFORE_ALL
        while True:
            rows = self._connection.rows(_DUE, (place.next_attempt_at, place.seq, now, limit))
            garbled = self._connection.garbled
            unreadable = [row[0] for row in rows if not DUE_SHAPE.fits(row, garbled)]
            if not unreadable:
                return [DueRow._make(row) if row[-1] is None else _part(row) for row in rows]
            self._park_unreadable(unreadable, now)

    def next_attempt_at(self, after: Cursor | None = None) -> int | None:
        rows = self._connection.rows(_NEXT, after or _BEFORE_ALL)
        return ledger.whole(rows[0][0], 0) if rows else None

    def leads_chat(self, chat_id: ChatId, place: Cursor) -> bool:
        looked_at, before = self._connection.rows(_OF_CHAT, (chat_id, *place))[0]
        return looked_at != MOST_OF_CHAT and not before

    def wait(self, seqs: Sequence[int], reason: str, now: int) -> None:
        with self._connection.transaction():
            self._connection.run_many(
                "UPDATE job_state SET waiting_for = ?, held_from = ifnull(held_from, ?) "
                f"WHERE seq = ? AND status = '{Status.SCHEDULED}'",
                [(ledger.storable(reason), now, seq) for seq in seqs],
            )

    def release(self, reason: str, limit: int, now: int, *, held_by: str | None = None) -> int:
        with self._connection.transaction():
            return self._connection.run(_RELEASE, (ledger.storable(held_by), now, ledger.storable(reason), limit))

    def waiting(self, prefix: str) -> list[str]:
        sql = f"SELECT min(waiting_for) FROM job_state WHERE {models.WAITING} AND waiting_for "
        found: list[str] = []
        rows = self._connection.rows(f"{sql} >= ?", (prefix,))
        while (reason := rows[0][0]) is not None and str(reason).startswith(prefix):
            found.append(str(reason))
            rows = self._connection.rows(f"{sql} > ?", (reason,))
        return found

    def claim(self, claims: Sequence[Claim], now: int) -> list[RunOrder]:
        with self._connection.transaction():
            self._connection.run_many(
                _CLAIM, [(c.token, c.host, c.next_due_at, c.lease_until, now, c.seq) for c in claims]
            )
            self._connection.run_many(_CLAIM_ANOTHER_DUE_TIME, [(c.due_at, c.seq, c.token, c.due_at) for c in claims])
            orders: dict[Value, RunOrder] = {}
            unreadable: list[Value] = []
            tokens: dict[Value, int] = {claim.seq: claim.token for claim in claims}
            rows = self._connection.rows(_ORDERS, (json.dumps(list(tokens)),))
            garbled = self._connection.garbled
            for row in rows:
                seq = row[0]
                if row[1] != tokens[seq]:
                    continue
                if row[13] != 1 or not ORDER_SHAPE.fits(row, garbled):
                    unreadable.append(seq)
                else:
                    order = RunOrder._make(row[:13])
                    orders[seq] = order if row[14] is None else order._replace(id=told_id(order.id))
            self._park_unreadable(unreadable, now)
        return [orders.pop(seq) for seq in tokens if seq in orders]

    def claimed(self) -> list[ClaimedRow]:
        return self._readable_claims(self._connection.rows(_CLAIMED))

    def claims(self, seqs: Sequence[int]) -> dict[int, ClaimedRow]:
        rows = self._connection.rows(f"{_CLAIMED} AND s.{_AMONG}", (json.dumps(list(seqs)),))
        return {row.seq: row for row in self._readable_claims(rows)}

    def park(self, seq: int, reason: str, now: int) -> None:
        after(Status.SCHEDULED, Event.PARK)
        with self._connection.transaction():
            self._set_aside(self._connection.rows(f"{_OWNER} AND s.status = '{Status.SCHEDULED}'", (seq,)), reason, now)

    def _readable_claims(self, rows: list[Row]) -> list[ClaimedRow]:
        garbled = self._connection.garbled
        unreadable = [row for row in rows if not CLAIMED_SHAPE.fits(row, garbled)]
        for row in unreadable:
            self._park_unreadable([row[0]], ledger.whole(row[15], 0))
        return [_claimed_row(row) for row in rows if row not in unreadable]

    def _park_unreadable(self, seqs: Sequence[Value], now: int) -> None:
        """Set rows aside, scheduled or claimed, that no handler could be given."""
        if not seqs:
            return
        with self._connection.transaction():
            for seq in seqs:
                self._set_aside(self._connection.rows(_OWNER, (seq,)), UNREADABLE, now)

    def _set_aside(self, owners: list[Row], reason: str, now: int) -> None:
        for owner in owners:
            ending = Ending(Outcome.FAILED, ledger.whole(owner[6], now), now, reason=reason)
            ledger.write(self._connection, [ledger.row(owner, ledger.whole(owner[5], 0), ending)])
            self._connection.run(PARK, (ledger.storable(reason), owner[1]))


def _part(row: Row) -> DueRow:
    due = DueRow._make(row)
    return due._replace(id=told_id(due.id))


def _claimed_row(row: Row) -> ClaimedRow:
    claimed = ClaimedRow._make(row)
    return claimed if claimed.series is None else claimed._replace(id=told_id(claimed.id))
