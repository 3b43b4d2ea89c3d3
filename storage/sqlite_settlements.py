"""How claims end in SQLite: transition, ledger row, session and what was scheduled, in one write."""

import json
from collections.abc import Iterator, Sequence
from typing import Final

from . import ledger, models
from .connection import Row
from .sessions import patched
from .sqlite_claims import IDLE, PARK, SqliteClaims
from .sqlite_requests import NOT_HELD
from .states import Event, after, after_settlement
from .values import ChatId, Ending, Settlement, Status

_OWNERS: Final = (
    "SELECT j.id, s.seq, j.handler, j.chat_id, j.user_id, s.token, s.attempts "
    "FROM job_state s CROSS JOIN job j ON j.seq = s.seq "
    f"WHERE s.seq IN (SELECT value FROM json_each(?)) AND s.{models.CLAIMED}"
)
_SAME_OCCURRENCE: Final = (
    f"UPDATE job_state SET status = '{Status.SCHEDULED}', next_attempt_at = ?, next_due_at = ifnull(?, next_due_at), "
    f"attempts = ?, crashes = ?, context_failures = ?, reason = ?, {IDLE} WHERE seq = ?"
)
_ONWARD: Final = (
    f"UPDATE job_state SET status = '{Status.SCHEDULED}', due_at = ?, next_attempt_at = ?, next_due_at = NULL, "
    f"attempts = ?, crashes = ?, context_failures = ?, reason = ?, {IDLE}"
)
_NEXT_OCCURRENCE: Final = f"{_ONWARD}, {NOT_HELD} WHERE seq = ?"
_NEXT_OCCURRENCE_HELD: Final = f"{_ONWARD}, held_by = ?, held_from = ?, held_until = ? WHERE seq = ?"
_SCHEDULED_OWNER: Final = (
    "SELECT j.id, s.seq, j.handler, j.chat_id, j.user_id, s.attempts "
    f"FROM job_state s CROSS JOIN job j ON j.seq = s.seq WHERE s.seq = ? AND s.status = '{Status.SCHEDULED}'"
)
_ANY_OWNER: Final = "SELECT j.id, j.seq, j.handler, j.chat_id, j.user_id FROM job j WHERE j.seq = ?"
_SESSION: Final = "SELECT number, data FROM session WHERE chat_id IS ? AND user_id IS ?"


class SqliteSettlements(SqliteClaims):
    """The part of `SqliteStore` that ends what was claimed or due."""

    def settle(self, settlements: Sequence[Settlement], now: int) -> list[bool]:
        applied: list[bool] = []
        with self._connection.transaction():
            for together in _in_order(settlements):
                applied += self._settle_together(together, now)
                last = together[-1]
                if applied[-1]:
                    if last.cancelled:
                        self.cancel(last.cancelled, now)
                    if last.scheduled:
                        self.put(last.scheduled, now)
        return applied

    def skip(self, seq: int, endings: Sequence[Ending], next_due_at: int | None) -> None:
        after(Status.SCHEDULED, Event.SKIP, goes_on=next_due_at is not None)
        with self._connection.transaction():
            owners = self._connection.rows(_SCHEDULED_OWNER, (seq,))
            if not owners:
                return
            owner, attempts = owners[0], ledger.whole(owners[0][5], 0)
            ledger.write(self._connection, [ledger.row(owner, attempts, ending) for ending in endings])
            if next_due_at is None:
                self._delete([seq])
            else:
                self._go_on(seq, next_due_at)

    def record(self, seq: int, ending: Ending) -> None:
        with self._connection.transaction():
            for owner in self._connection.rows(_ANY_OWNER, (seq,)):
                ledger.write(self._connection, [ledger.row(owner, 0, ending)])

    def patch_session(
        self, chat_id: ChatId | None, user_id: ChatId | None, set_: str | None, remove: tuple[str, ...], now: int
    ) -> None:
        if set_ is not None or remove:
            with self._connection.transaction():
                self._patch_session((chat_id, user_id), set_, remove, now)

    def _go_on(self, seq: int, next_due_at: int) -> None:
        """On to the next occurrence of a row that did not run."""
        self._connection.run(_NEXT_OCCURRENCE, (next_due_at, next_due_at, 0, 0, 0, None, seq))

    def _settle_together(self, settlements: Sequence[Settlement], now: int) -> list[bool]:
        """Settlements of different rows that neither schedule nor cancel, but for the last."""
        seqs = json.dumps([settlement.seq for settlement in settlements])
        owners = {owner[1]: owner for owner in self._connection.rows(_OWNERS, (seqs,))}
        applied: list[bool] = []
        endings: list[Row] = []
        again: list[Row] = []
        onward: list[Row] = []
        held_up: list[Row] = []
        parked: list[Row] = []
        gone: list[int] = []
        for settlement in settlements:
            to = after_settlement(settlement)
            seq, token, _, ending, next_attempt_at, next_due_at = settlement[:6]
            owner = owners.get(seq)
            if owner is None or owner[5] != token:
                applied.append(False)
                continue
            applied.append(True)
            if ending is not None:
                endings.append(ledger.row(owner, ledger.whole(owner[6], 0), ending))
            if to is Status.PARKED:
                parked.append((ledger.storable(settlement.reason), seq))
            elif to is not Status.SCHEDULED:
                gone.append(seq)
            else:
                attempt_at = next_due_at if next_attempt_at is None else next_attempt_at
                progress = (*settlement[6:9], ledger.storable(settlement.reason), seq)
                if next_due_at is None or ending is None:
                    again.append((attempt_at, next_due_at, *progress))
                elif settlement.held is None:
                    onward.append((next_due_at, attempt_at, *progress))
                else:
                    held_by, *held = settlement.held
                    held_up.append((next_due_at, attempt_at, *progress[:-1], ledger.storable(held_by), *held, seq))
            if settlement.session_set is not None or settlement.session_remove:
                self._patch_session(owner[3:5], settlement.session_set, settlement.session_remove, now)
        ledger.write(self._connection, endings)
        changes = (
            (_SAME_OCCURRENCE, again),
            (_NEXT_OCCURRENCE, onward),
            (_NEXT_OCCURRENCE_HELD, held_up),
            (PARK, parked),
        )
        for sql, rows in changes:
            if rows:
                self._connection.run_many(sql, rows)
        if gone:
            self._delete(gone)
        return applied

    def _patch_session(self, key: Row, set_: str | None, remove: Sequence[str], now: int) -> None:
        found = self._connection.rows(_SESSION, key)
        number, stored = found[0] if found else (None, None)
        if stored is not None and type(stored) is not str:
            return
        data = patched(stored, set_, remove)
        if data is None:
            return
        if number is None:
            self._connection.run(
                "INSERT INTO session (chat_id, user_id, data, updated_at) VALUES (?, ?, ?, ?)", (*key, data, now)
            )
        else:
            self._connection.run("UPDATE session SET data = ?, updated_at = ? WHERE number = ?", (data, now, number))


def _in_order(settlements: Sequence[Settlement]) -> Iterator[list[Settlement]]:
    """Split where the order matters: after one that schedules or cancels, and before a row's second one."""
    together: list[Settlement] = []
    seqs: set[int] = set()
    for settlement in settlements:
        if settlement.seq in seqs:
            yield together
            together, seqs = [], set()
        together.append(settlement)
        seqs.add(settlement.seq)
        if settlement.scheduled or settlement.cancelled:
            yield together
            together, seqs = [], set()
    if together:
        yield together
