"""Due rows that have been read and wait for a lane or for a free place. Pure: no clock, no store."""

from collections import deque
from collections.abc import Collection, Iterable
from heapq import heappop, heappush

from ..storage.values import ChatId, Cursor, DueRow
from .policy import is_suspect

LAST_SEQ = 2**63 - 1
ROWS = 20_000
ROWS_PER_LANE = 1_000
RECENT = 4_096


class Backlog:
    """Rows by handler, in due order, of which one per lane at a time is free to run.

    The cursor says up to where the store's due order has been read; `rewind` takes it back when a row
    turns up before it.
    """

    def __init__(self, busy_lanes: set[ChatId]) -> None:
        self.cursor: Cursor | None = None
        self._busy = busy_lanes
        self._held: dict[int, DueRow] = {}
        self._free: dict[str, list[tuple[int, int, DueRow]]] = {}
        self._behind: dict[ChatId, deque[DueRow]] = {}
        self._first: dict[ChatId, int] = {}
        self._recent: deque[DueRow] = deque(maxlen=RECENT)
        """Rows that had just become due when they were read and were free; those that have gone are found out late."""

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, seq: int) -> bool:
        return seq in self._held

    @property
    def room(self) -> int:
        return max(0, ROWS - len(self._held))

    def free_rows(self, full: Collection[str] = ()) -> int:
        """How many rows wait for a place only, but for lines that are full; a few may have been discarded since."""
        return sum(len(heap) for line, heap in self._free.items() if line not in full)

    def knows_lane(self, lane: ChatId) -> bool:
        """Whether a row of this lane is held here, or it is busy."""
        return lane in self._busy or lane in self._first or lane in self._behind

    def add(
        self, rows: Iterable[DueRow], recent_from: int = LAST_SEQ, taken: Collection[int] = frozenset()
    ) -> list[DueRow]:
        """Take rows that were read past the cursor. Returns those whose lane is too long to be held here.

        Those due from `recent_from` on can be had out of turn, by `take`; those in `taken` have been already.
        """
        overflow: list[DueRow] = []
        last: DueRow | None = None
        for row in rows:
            last = row
            if row.seq in self._held or row.seq in taken:
                continue
            lane = row.chat_id
            if lane is None or (lane not in self._busy and lane not in self._first):
                if lane is not None:
                    self._first[lane] = row.seq
                self._offer(row)
                if row.due_at >= recent_from:
                    self._recent.append(row)
            else:
                line = self._behind.setdefault(lane, deque())
                first = self._held.get(self._first.get(lane, -1))
                if first is not None and _place(row) < _place(first):
                    # A copy, because the heap knows a row that is free from one that is not by its identity.
                    line.appendleft(first._replace())
                    self._held[first.seq] = line[0]
                    self._first[lane] = row.seq
                    self._offer(row)
                elif len(line) >= ROWS_PER_LANE:
                    overflow.append(row)
                else:
                    self._held[row.seq] = row
                    _insert(line, row)
        if last is not None:
            self.cursor = Cursor(last.next_attempt_at, last.seq)
        return overflow

    def _offer(self, row: DueRow) -> None:
        self._held[row.seq] = row
        line = line_of(row)
        heap = self._free.get(line)
        if heap is None:
            heap = self._free[line] = []
        heappush(heap, (row.next_attempt_at, row.seq, row))

    def rewind(self, due_at: int) -> None:
        """A row with this due time has appeared in the store."""
        if self.cursor is not None and due_at <= self.cursor.next_attempt_at:
            self.cursor = Cursor(due_at - 1, LAST_SEQ)

    def heads(self) -> list[tuple[int, int, str]]:
        """For each handler with a free row the place of its earliest one in the due order."""
        found = (self.head(handler) for handler in list(self._free))
        return [head for head in found if head is not None]

    def head(self, handler: str) -> tuple[int, int, str] | None:
        heap = self._free.get(handler)
        while heap:
            at, seq, row = heap[0]
            if self._held.get(seq) is row:
                return at, seq, handler
            heappop(heap)
        self._free.pop(handler, None)
        return None

    def pop(self, handler: str) -> DueRow | None:
        """The earliest free row of this handler. Its lane stays taken until `leave_lane` or `put_back`."""
        heap = self._free.get(handler)
        while heap:
            row = heappop(heap)[2]
            if self._held.get(row.seq) is row:
                del self._held[row.seq]
                return row
        return None

    def recent(self) -> list[DueRow]:
        """Of whichever handler, the free rows that were read as recent, those first that have waited longest."""
        self._recent = deque((row for row in self._recent if self._held.get(row.seq) is row), maxlen=RECENT)
        return list(self._recent)

    def take(self, row: DueRow) -> bool:
        """As `pop`, of a row from `recent`. False: it has gone, or is not free any more."""
        if self._held.get(row.seq) is not row:
            return False
        del self._held[row.seq]
        return True

    def put_back(self, row: DueRow) -> None:
        """The row was popped and not claimed after all."""
        self._offer(row)

    def step_back(self, row: DueRow) -> None:
        """The row was popped, and its lane is busy by now with a row of another backlog: it stays the next in line."""
        if row.chat_id is not None:
            self._held[row.seq] = row
            self._first.pop(row.chat_id, None)
            self._behind.setdefault(row.chat_id, deque()).appendleft(row)

    def start(self, row: DueRow) -> None:
        """The row is claimed: its lane is busy."""
        if row.chat_id is not None:
            self._first.pop(row.chat_id, None)
            self._busy.add(row.chat_id)

    def leave_lane(self, lane: ChatId | None) -> bool:
        """The lane is free for the next in line. True: nobody is in line here any more."""
        if lane is None:
            return False
        self._first.pop(lane, None)
        line = self._behind.get(lane)
        while line:
            row = line.popleft()
            if self._held.get(row.seq) is row:
                self._first[lane] = row.seq
                self._offer(row)
                break
        if line:
            return False
        self._behind.pop(lane, None)
        return lane not in self._first

    def discard(self, seq: int) -> ChatId | None:
        """Forget what was read of a row that was cancelled or changed. Its lane, where nobody is in line any more."""
        row = self._held.pop(seq, None)
        if row is None or row.chat_id is None or self._first.get(row.chat_id) != seq:
            return None
        return row.chat_id if self.leave_lane(row.chat_id) else None

    def clear(self) -> None:
        """Forget all that was read; the rows are in the store."""
        self.cursor = None
        self._held.clear()
        self._free.clear()
        self._behind.clear()
        self._first.clear()
        self._recent.clear()


def line_of(row: DueRow) -> str:
    """Suspects stand in a line of their own: they wait for an empty host, and the others need not wait behind them."""
    return row.handler if not is_suspect(row.crashes) else f"{row.handler}\0suspect"


def _insert(line: deque[DueRow], row: DueRow) -> None:
    place = len(line)
    while place and _place(line[place - 1]) > _place(row):
        place -= 1
    line.insert(place, row)


def _place(row: DueRow) -> tuple[int, int]:
    return row.next_attempt_at, row.seq
