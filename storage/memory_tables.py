"""The tables of the store in memory, and how a failed transaction is taken back."""

import json
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from .errors import StorageError
from .ledger import run_key, storable
from .parts import told_id, with_part
from .sessions import patched
from .states import Event, after
from .values import (
    ChatId,
    Ending,
    JobSpec,
    OccurrenceRow,
    Outage,
    Pause,
    Removed,
    SessionRow,
    Status,
)

SessionKey = tuple[ChatId | None, ChatId | None]
Key = TypeVar("Key")
Kept = TypeVar("Kept")


class State(NamedTuple):
    """A job and how far it got. `series` is the seq of the job of which this is a part."""

    spec: JobSpec
    seq: int
    status: Status
    due_at: int
    next_attempt_at: int | None
    next_due_at: int | None = None
    attempts: int = 0
    crashes: int = 0
    context_failures: int = 0
    waiting_for: str | None = None
    reason: str | None = None
    token: int = 0
    host: str = ""
    claimed_at: int = 0
    lease_until: int = 0
    held_by: str | None = None
    held_from: int | None = None
    held_until: int | None = None
    series: int | None = None

    def order(self) -> tuple[int, int]:
        return self.due_at, self.seq

    def afresh(self, status: Status, due_at: int, next_attempt_at: int, next_due_at: int | None = None) -> "State":
        """The same job, with nothing done yet."""
        return State(self.spec, self.seq, status, due_at, next_attempt_at, next_due_at, series=self.series)

    def idle(self, status: Status, next_attempt_at: int | None, reason: str | None) -> "State":
        """The same occurrence, in nobody's hands."""
        return self._replace(
            status=status,
            next_attempt_at=next_attempt_at,
            waiting_for=None,
            reason=storable(reason),
            token=0,
            host="",
            claimed_at=0,
            lease_until=0,
        )


class MemoryTables:
    """Dictionaries, and the order of what is due. Every change goes through `_set`, `_drop` or `_write`."""

    def __init__(self) -> None:
        self._rows: dict[int, State] = {}
        self._seq_by_id: dict[str, int] = {}
        self._seqs_of_parts: dict[str, set[int]] = {}
        self._due: list[tuple[int, int]] = []
        self._ledger: dict[int, OccurrenceRow] = {}
        self._recorded: dict[tuple[int, int], int] = {}
        self._sessions: dict[SessionKey, SessionRow] = {}
        self._replies: dict[str, tuple[int, str, int]] = {}
        self._meta: dict[str, str] = {}
        self._last_seq = 0
        self._last_number = 0
        self._last_session = 0
        self._last_outage = 0
        self._pauses: dict[tuple[str, ChatId | None], Pause] = {}
        self._outages: dict[int, Outage] = {}
        self._zones: dict[str, str] = {}
        self._undo: list[Callable[[], object]] | None = None
        self._doomed = False

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Inner transactions join the outermost; all is undone if any of them fails."""
        if self._undo is not None:
            try:
                yield
            except BaseException:
                self._doomed = True
                raise
            return
        self._undo, self._doomed = [], False
        try:
            yield
            if self._doomed:
                raise StorageError("the transaction was rolled back because a part of it failed")
        except BaseException:
            for step in reversed(self._undo):
                step()
            raise
        finally:
            self._undo = None

    def _find(self, job_id: str) -> State | None:
        seq = self._seq_by_id.get(job_id)
        return None if seq is None else self._rows[seq]

    def _find_parts(self, job_id: str) -> list[State]:
        parts = [self._rows[seq] for seq in self._seqs_of_parts.get(job_id, ())]
        return sorted(parts, key=State.order)

    def _write(self, seq: int, row: State | None) -> None:
        before = self._rows.get(seq)
        self._exchange(seq, before, row)
        self._remember(lambda: self._exchange(seq, row, before))

    def _exchange(self, seq: int, before: State | None, row: State | None) -> None:
        if before is not None:
            place = _place(before)
            if place is not None:
                del self._due[bisect_left(self._due, place)]
            del self._rows[seq]
            del self._seq_by_id[before.spec.id]
            if before.series is not None:
                self._seqs_of_parts[told_id(before.spec.id)].discard(seq)
        if row is not None:
            place = _place(row)
            if place is not None:
                insort(self._due, place)
            self._rows[seq] = row
            self._seq_by_id[row.spec.id] = seq
            if row.series is not None:
                self._seqs_of_parts.setdefault(told_id(row.spec.id), set()).add(seq)

    def _set(self, table: dict[Key, Kept], key: Key, value: Kept) -> None:
        if key in table:
            before = table[key]
            self._remember(lambda: table.__setitem__(key, before))
        else:
            self._remember(lambda: table.pop(key))
        table[key] = value

    def _drop(self, table: dict[Key, Kept], key: Key) -> None:
        before = table.pop(key)
        self._remember(lambda: table.__setitem__(key, before))

    def _remember(self, step: Callable[[], object]) -> None:
        assert self._undo is not None, "a write outside of a transaction"
        self._undo.append(step)

    def _take_out(self, job_id: str, reason: str, now: int) -> Removed | None:
        own = self._find(job_id)
        rows = [own] if own is not None else []
        removed: Removed | None = None
        for row in (*rows, *self._find_parts(job_id)):
            outcome = after(row.status, Event.CANCEL)
            due_at = self._free_due_at(row.seq, now) if row.status is Status.PARKED else row.due_at
            self._record(row, Ending(outcome, due_at, now, reason=reason))
            self._write(row.seq, None)
            removed = with_part(removed, Removed(row.seq, row.status.value), is_part=row.series is not None)
        return removed

    def _free_due_at(self, seq: int, now: int) -> int:
        while (seq, now) in self._recorded:
            now += 1
        return now

    def _record(self, row: State, ending: Ending) -> None:
        if (row.seq, ending.due_at) in self._recorded:
            return
        self._last_number += 1
        began = ending.finished_at if ending.started_at is None else ending.started_at
        recorded = OccurrenceRow(
            number=self._last_number,
            job_id=told_id(row.spec.id),
            job_seq=row.seq,
            handler=row.spec.handler,
            chat_id=row.spec.chat_id,
            user_id=row.spec.user_id,
            outcome=str(ending.outcome),
            due_at=ending.due_at,
            last_due_at=ending.last_due_at,
            count=ending.count,
            started_at=ending.started_at,
            finished_at=ending.finished_at,
            late_by_us=max(0, began - ending.due_at),
            attempts=row.attempts,
            reason=storable(ending.reason),
            traceback=storable(ending.traceback),
            delivered=json.dumps(ending.delivered) if ending.delivered else None,
            run_key=run_key(row.seq, ending.due_at),
        )
        self._set(self._recorded, (row.seq, ending.due_at), self._last_number)
        self._set(self._ledger, self._last_number, recorded)

    def _patch_session(self, key: SessionKey, set_: str | None, remove: Sequence[str], now: int) -> None:
        stored = self._sessions.get(key)
        data = patched(stored.data if stored else None, set_, remove)
        if data is None:
            return
        if stored is None:
            self._last_session += 1
        number = stored.number if stored else self._last_session
        self._set(self._sessions, key, SessionRow(*key, data, now, number))


def _place(row: State) -> tuple[int, int] | None:
    """Where the row stands in the due order, if it stands there."""
    if row.status is not Status.SCHEDULED or row.waiting_for is not None or row.next_attempt_at is None:
        return None
    return row.next_attempt_at, row.seq
