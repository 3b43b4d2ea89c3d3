"""Which due rows are claimed, and for which host: reading on in the due order, and what each row gets."""

from ..storage.values import ChatId, Claim, Cursor, DueRow, Overlap
from . import lateness, policy
from .backlog import LAST_SEQ, ROWS_PER_LANE, line_of
from .hosts import Host, Hosts
from .messages import Event
from .pauses import Pauses, pause_reason
from .shelf import HANDLER, RowsInOrder, Shelf, lane_reason

LEASE_US = 15_000_000
PAGE = 256
PAGES_AT_ONCE = 20
RECENT_US = 5_000_000
RECENT_SHARE = 4
"""Of the free places, what has just become due gets one in so many, whatever has piled up before it."""


class Claiming:
    """Chooses within a transaction of its caller's; what it remembers is void if that fails (`Dispatch.start_over`)."""

    def __init__(
        self, shelves: tuple[Shelf, Shelf], hosts: Hosts, busy_lanes: set[ChatId], pauses: Pauses, first_token: int
    ) -> None:
        self._shelves = shelves
        self._hosts = hosts
        self._busy_lanes = busy_lanes
        self._pauses = pauses
        self._token = first_token
        self._taken: set[int] = set()
        """Claimed in this pass: the store tells them as due until it has written the claims."""
        self.more_is_due = False
        self.hosts_complete_at = 0
        """Until then a handler that no host knows is only not known yet, and nothing is made to wait for it."""
        self.emptied: set[ChatId] = set()
        """Long lanes of which the rows held here have gone without a run."""

    def choose(self, shelf: Shelf, now: int, events: list[Event]) -> list[tuple[Claim, DueRow]]:
        """Claims for as many due rows as hosts have room for, in due order."""
        claims: list[tuple[Claim, DueRow]] = []
        full: set[str] = set()
        later: list[DueRow] = []
        self._taken = set()
        for page in range(PAGES_AT_ONCE):
            exhausted = self._read(shelf, now, full)
            if page == 0:
                self._choose_recent(shelf, now, claims, full, later, events)
            freed = False
            for row in RowsInOrder(shelf.backlog, full):
                freed = self._choose(shelf, row, now, claims, full, later, events) or freed
            if (exhausted and not freed) or not shelf.backlog.room or not self._hosts.free_places():
                break
            if page == PAGES_AT_ONCE - 1:
                self.more_is_due = True
        for row in later:
            shelf.backlog.put_back(row)
        for lane in self.emptied:
            self.release_lane(lane, now)
            self.more_is_due = True
        return claims

    def _read(self, shelf: Shelf, now: int, full: set[str]) -> bool:
        """Read on in the due order, as much as could be started. True: there is no more of it."""
        places = self._hosts.free_places()
        if shelf.backlog.free_rows(full) >= max(1, places):
            return False
        wanted = min(max(PAGE, places * 2), shelf.backlog.room)
        if wanted <= 0:
            return True
        rows = shelf.store.due(now, wanted, shelf.backlog.cursor)
        overflow = shelf.backlog.add(rows, now - RECENT_US, self._taken)
        by_lane: dict[ChatId, list[int]] = {}
        for row in overflow:
            if row.chat_id is not None:
                by_lane.setdefault(row.chat_id, []).append(row.seq)
        for lane, seqs in by_lane.items():
            shelf.store.wait(seqs, lane_reason(lane), now)
            shelf.long_lanes.add(lane)
        return len(rows) < wanted

    def _choose(
        self,
        shelf: Shelf,
        row: DueRow,
        now: int,
        claims: list[tuple[Claim, DueRow]],
        full: set[str],
        later: list[DueRow],
        events: list[Event],
    ) -> bool:
        """Claim a row, or what else it gets. True: it does not run, and has left its lane to the next."""
        if row.chat_id in self._busy_lanes:
            shelf.backlog.step_back(row)
            return False
        pause = self._pauses.holding(row, now)
        if pause is not None:
            shelf.store.wait([row.seq], pause_reason(pause), now)
            return self.leave_lane(shelf, row)
        if row.overlap == Overlap.PARALLEL and row.rule is not None and not row.attempts:
            return self._set_beside(shelf, row, now, events)
        suspect = policy.is_suspect(row.crashes)
        host = self._hosts.empty_one(row.handler) if suspect else self._hosts.roomiest(row.handler)
        if host is None:
            if now >= self.hosts_complete_at and not self._hosts.knows(row.handler):
                if row.held_by in lateness.TOLD_BEFORE_WAITING and self._record_held(shelf, row, now, events):
                    return True
                shelf.store.wait([row.seq], HANDLER + row.handler, now)
                return self.leave_lane(shelf, row)
            later.append(row)
            full.add(line_of(row))
            return False
        if not self._claim(shelf, row, host, now, claims, events):
            self.leave_lane(shelf, row)
            return True
        host.alone = host.alone or suspect
        return False

    def _choose_recent(
        self,
        shelf: Shelf,
        now: int,
        claims: list[tuple[Claim, DueRow]],
        full: set[str],
        later: list[DueRow],
        events: list[Event],
    ) -> None:
        """While what is due has piled up, give a share of the places to what has just become due."""
        places, heads = self._hosts.free_places(), shelf.backlog.heads()
        if not places or not heads or min(heads)[0] >= now - RECENT_US:
            return
        share = max(1, places // RECENT_SHARE)
        self._read_recent(shelf, now)
        for row in shelf.backlog.recent():
            if len(claims) >= share:
                break
            if self._hosts.roomiest(row.handler) is not None and shelf.backlog.take(row):
                self._choose(shelf, row, now, claims, full, later, events)

    def _read_recent(self, shelf: Shelf, now: int) -> None:
        """Look ahead of the cursor. Never past an earlier job of the same chat; what can't be told at once waits."""
        backlog, cursor = shelf.backlog, shelf.backlog.cursor
        ahead = Cursor(now - RECENT_US, LAST_SEQ)
        ahead = ahead if cursor is None else max(cursor, ahead)
        leading = [
            row
            for row in shelf.store.due(now, PAGE, ahead)
            if row.due_at >= now - RECENT_US and self._leads(shelf, row)
        ]
        backlog.add(leading, now - RECENT_US)
        backlog.cursor = cursor

    def _leads(self, shelf: Shelf, row: DueRow) -> bool:
        lane = row.chat_id
        if lane is None:
            return True
        if shelf.backlog.knows_lane(lane) or lane in shelf.long_lanes:
            return False
        return shelf.store.leads_chat(lane, Cursor(row.next_attempt_at, row.seq))

    def _claim(
        self,
        shelf: Shelf,
        row: DueRow,
        host: Host,
        now: int,
        claims: list[tuple[Claim, DueRow]],
        events: list[Event],
    ) -> bool:
        """Hand a row to a host. False: it does not run."""
        self._token += 1
        decision = lateness.decide(row, now, token=self._token, host=host.host, lease_us=LEASE_US + row.time_limit_us)
        if not self._record(shelf, row, decision, now, events) or decision.claim is None:
            return False
        shelf.backlog.start(row)
        host.running.add(self._token)
        self._taken.add(row.seq)
        claims.append((decision.claim, row))
        return True

    def _record_held(self, shelf: Shelf, row: DueRow, now: int, events: list[Event]) -> bool:
        """Write down what is not to run for what held the row up, or it would be forgotten. False: there is nothing."""
        decision = lateness.decide(row, now, token=0, host="", lease_us=0)
        if not decision.skipped or not self._record(shelf, row, decision, now, events):
            return False
        self.leave_lane(shelf, row)
        if decision.claim is not None:
            shelf.backlog.rewind(decision.claim.due_at)
        return True

    def _set_beside(self, shelf: Shelf, row: DueRow, now: int, events: list[Event]) -> bool:
        """Give a due time a row of its own, that runs beside the others of its job; the job goes on at once."""
        parts = shelf.store.parts(row.seq)
        decision = lateness.decide(row, now, token=0, host="", lease_us=0, parts=parts)
        if self._record(shelf, row, decision, now, events) and decision.beside is not None:
            shelf.store.spawn(row.seq, decision.beside, decision.next_due_at, now)
            shelf.backlog.rewind(decision.beside)
        self.leave_lane(shelf, row)
        if decision.next_due_at is not None:
            shelf.backlog.rewind(decision.next_due_at)
        return True

    def _record(self, shelf: Shelf, row: DueRow, decision: lateness.Decision, now: int, events: list[Event]) -> bool:
        """Write down what does not run. False: the row can't be decided about, and is parked."""
        if decision.unreadable is not None:
            shelf.store.park(row.seq, decision.unreadable, now)
            events.append(
                Event(kind="job.parked", at=now, job_id=row.id, handler=row.handler, reason=decision.unreadable)
            )
            return False
        if decision.skipped:
            going_on = decision.claim.due_at if decision.claim else decision.beside or decision.next_due_at
            shelf.store.skip(row.seq, decision.skipped, going_on)
            if decision.claim is None and going_on is not None:
                shelf.backlog.rewind(going_on)
        return True

    # Lanes

    def leave_lane(self, shelf: Shelf, row: DueRow) -> bool:
        if shelf.backlog.leave_lane(row.chat_id):
            self.note_emptied(shelf, row.chat_id)
        return row.chat_id is not None

    def note_emptied(self, shelf: Shelf, lane: ChatId | None) -> None:
        if lane is not None and lane in shelf.long_lanes:
            self.emptied.add(lane)

    def release_lane(self, lane: ChatId, now: int) -> None:
        """Put back some of the rows that did not fit into the line of this chat."""
        for shelf in self._shelves:
            if lane in shelf.long_lanes:
                # The transaction may fail yet: a lane is forgotten only when nothing of it waits any more.
                if not shelf.store.release(lane_reason(lane), ROWS_PER_LANE, now):
                    shelf.long_lanes.discard(lane)
                shelf.backlog.cursor = None
