"""From due to settled: claim what is due, hand it to hosts, and write down what came of it.

Each pass is one transaction: results that have come are settled, and what they leave room for is claimed. Only
after its commit is anything sent or forgotten. A pass that fails changes nothing; the results wait for the next.
"""

from random import Random

from ..storage.contract import Store
from ..storage.values import ChatId, Claim, ClaimedRow, Cursor, DueRow, RunOrder, RunResult, Settlement
from . import policy
from .backlog import LAST_SEQ, ROWS_PER_LANE, Backlog, line_of
from .events import after_settling
from .hosts import Host, Hosts
from .messages import Event
from .shelf import HANDLER, RowsInOrder, Run, Shelf, lane_reason

LEASE_US = 15_000_000
PAGE = 256
PAGES_AT_ONCE = 20
RELEASED_AT_ONCE = 1_000


class Dispatch:
    """Owns the claims that are out. Called by the scheduler alone, one call at a time."""

    def __init__(self, durable: Store, in_memory: Store, *, first_token: int, chance: Random) -> None:
        self.busy_lanes: set[ChatId] = set()
        self.durable = Shelf(durable, Backlog(self.busy_lanes))
        self.in_memory = Shelf(in_memory, Backlog(self.busy_lanes))
        self.hosts = Hosts()
        self.running: dict[int, Run] = {}
        self.orphans: dict[int, ClaimedRow] = {}
        """Claims of an earlier scheduler whose host has not been heard of yet; they are in `running` too."""
        self.claiming = True
        self.more_is_due = False
        self.settled = 0
        """How many runs have been settled, for whoever has to clear up behind them."""
        self.hosts_complete_at = 0
        """Until then a handler that no host knows is only not known yet, and nothing is made to wait for it."""
        self._emptied: set[ChatId] = set()
        """Long lanes of which the rows held here have gone without a run."""
        self._token = first_token
        self._chance = chance

    @property
    def has_work(self) -> bool:
        """Whether a pass has something to settle, or rows that are due and could find room now."""
        waiting = any(shelf.results or shelf.settlements or len(shelf.backlog) for shelf in self.shelves)
        return waiting or bool(self._emptied)

    @property
    def shelves(self) -> tuple[Shelf, Shelf]:
        return self.durable, self.in_memory

    # What hosts tell

    def take_result(self, host: Host, result: RunResult) -> None:
        """Keep a result until the next pass. One whose claim is not out is told off as settled: it is stale."""
        run = self.running.get(result.token)
        if run is None or run.host != host.host:
            host.settled.append(result.token)
            return
        if result.token in self.orphans:
            self.confirm(host, result.token)
        run.shelf.results[result.token] = result

    def inherit(self, row: ClaimedRow) -> None:
        """A claim of an earlier scheduler, whose host has not been heard of yet."""
        self.orphans[row.token] = row
        self.running[row.token] = Run(
            self.durable, row.host, row.seq, row.chat_id, row.due_at, row.next_due_at, row.rule,
            row.handler, row.id, row.attempts, policy.is_suspect(row.crashes),
        )  # fmt: skip
        if row.chat_id is not None:
            self.busy_lanes.add(row.chat_id)

    def confirm(self, host: Host, token: int) -> None:
        """The host holds what it was given by an earlier scheduler."""
        self.orphans.pop(token, None)
        host.running.add(token)
        host.alone = host.alone or self.running[token].suspect

    def release_host(self, host: Host, now: int, reason: str, *, crashed: bool) -> None:
        """The host is gone: what it held goes on by its delivery, at once."""
        for shelf in self.shelves:
            held = {
                run.seq: token
                for token, run in self.running.items()
                if run.host == host.host and run.shelf is shelf and token not in shelf.results
            }
            for seq, row in shelf.store.claims(list(held)).items():
                if row.token == held[seq]:
                    shelf.settlements[row.token] = policy.interrupted(row, now, reason, crashed=crashed)
        # Last, so that a host whose claims could not be read is there to be found silent.
        self.hosts.remove(host.host)

    def lose(self, token: int, now: int) -> None:
        """A host that lives does not hold what it was given, and takes it no more: it never began."""
        self.orphans.pop(token, None)
        run = self.running[token]
        if token not in run.shelf.results:
            row = run.shelf.store.claims([run.seq]).get(run.seq)
            if row is not None and row.token == token:
                result = RunResult(run.seq, token, "not_started", row.claimed_at, now)
                run.shelf.settlements[token] = policy.settle(row, result, now, self._chance)

    def release_orphan(self, row: ClaimedRow, now: int, reason: str, *, crashed: bool) -> None:
        """A claim whose host is known to be gone."""
        self.orphans.pop(row.token, None)
        self.durable.settlements[row.token] = policy.interrupted(row, now, reason, crashed=crashed)

    def interrupt_all(self, now: int, reason: str) -> int:
        """Nothing is waited for any longer: whatever is still out is interrupted."""
        out = [(token, run) for token, run in self.running.items() if token not in run.shelf.results]
        count = 0
        for shelf in self.shelves:
            held = {run.seq: token for token, run in out if run.shelf is shelf}
            for seq, row in shelf.store.claims(list(held)).items():
                if row.token == held[seq]:
                    shelf.settlements[row.token] = policy.interrupted(row, now, reason)
                    count += 1
        self.orphans.clear()
        return count

    # What requests change

    def vanished(self, shelf: Shelf, seq: int) -> None:
        """The row is gone or changed. A run of it that is out settles nothing, and keeps its lane until it ends."""
        self._note_emptied(shelf, shelf.backlog.discard(seq))

    def release_waiting(self, handlers: frozenset[str]) -> bool:
        """Put back some of what waited for these handlers. True: there is more of it."""
        more = False
        for handler in handlers:
            for shelf in self.shelves:
                released = shelf.store.release(HANDLER + handler, RELEASED_AT_ONCE)
                if released:
                    shelf.backlog.cursor = None
                more = more or released == RELEASED_AT_ONCE
        return more

    # The pass

    def pass_over(self, now: int) -> tuple[dict[str, list[RunOrder]], list[Event]]:
        """Settle, claim, commit. What is to be sent to each host, and what there is to tell."""
        orders: dict[str, list[RunOrder]] = {}
        events: list[Event] = []
        self.more_is_due = False
        try:
            for shelf in self.shelves:
                self._pass(shelf, now, orders, events)
        except BaseException:
            self.start_over()
            raise
        return orders, events

    def _pass(self, shelf: Shelf, now: int, orders: dict[str, list[RunOrder]], events: list[Event]) -> None:
        settlements = self._decided(shelf, now)
        if not settlements and not (self.claiming and self._anything_due(shelf, now)):
            return
        claims: list[tuple[Claim, DueRow]] = []
        with shelf.store.transaction():
            applied = shelf.store.settle(settlements, now) if settlements else []
            for settlement in settlements:
                self._make_room(settlement.token)
                for spec in settlement.scheduled:
                    shelf.backlog.rewind(spec.due_at)
                if settlement.next_attempt_at is not None:
                    shelf.backlog.rewind(settlement.next_attempt_at)
            if self.claiming:
                claims = self._claim(shelf, now, events)
            given = shelf.store.claim([claim for claim, _ in claims], now) if claims else []
        self._emptied.clear()
        self._forget(shelf, settlements, applied, now, events)
        self._remember(shelf, claims, given, now, orders, events)

    def _decided(self, shelf: Shelf, now: int) -> list[Settlement]:
        settlements = list(shelf.settlements.values())
        hard: list[RunResult] = []
        for token, result in shelf.results.items():
            run = self.running[token]
            if result.verdict == "done":
                settlements.append(
                    policy.settle_done(result, due_at=run.due_at, next_due_at=run.next_due_at, rule=run.rule, now=now)
                )
            else:
                hard.append(result)
        if hard:
            rows = shelf.store.claims([result.seq for result in hard])
            for result in hard:
                row = rows.get(result.seq)
                if row is None or row.token != result.token:
                    settlements.append(Settlement(result.seq, result.token, "done"))
                else:
                    settlements.append(policy.settle(row, result, now, self._chance))
        return settlements

    def _anything_due(self, shelf: Shelf, now: int) -> bool:
        return bool(len(shelf.backlog) or self._emptied) or bool(shelf.store.due(now, 1, shelf.backlog.cursor))

    def _claim(self, shelf: Shelf, now: int, events: list[Event]) -> list[tuple[Claim, DueRow]]:
        claims: list[tuple[Claim, DueRow]] = []
        full: set[str] = set()
        later: list[DueRow] = []
        for page in range(PAGES_AT_ONCE):
            exhausted = self._read(shelf, now, full)
            freed = False
            for row in RowsInOrder(shelf.backlog, full):
                freed = self._choose(shelf, row, now, claims, full, later, events) or freed
            if (exhausted and not freed) or not shelf.backlog.room or not self.hosts.free_places():
                break
            if page == PAGES_AT_ONCE - 1:
                self.more_is_due = True
        for row in later:
            shelf.backlog.put_back(row)
        for lane in self._emptied:
            self.release_lane(lane)
            self.more_is_due = True
        return claims

    def _read(self, shelf: Shelf, now: int, full: set[str]) -> bool:
        """Read on in the due order, as much as could be started. True: there is no more of it."""
        places = self.hosts.free_places()
        if shelf.backlog.free_rows(full) >= max(1, places):
            return False
        wanted = min(max(PAGE, places * 2), shelf.backlog.room)
        if wanted <= 0:
            return True
        rows = shelf.store.due(now, wanted, shelf.backlog.cursor)
        overflow = shelf.backlog.add(rows)
        by_lane: dict[ChatId, list[int]] = {}
        for row in overflow:
            if row.chat_id is not None:
                by_lane.setdefault(row.chat_id, []).append(row.seq)
        for lane, seqs in by_lane.items():
            shelf.store.wait(seqs, lane_reason(lane))
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
        if row.chat_id in self.busy_lanes:
            shelf.backlog.step_back(row)
            return False
        suspect = policy.is_suspect(row.crashes)
        host = self.hosts.empty_one(row.handler) if suspect else self.hosts.roomiest(row.handler)
        if host is None:
            if now >= self.hosts_complete_at and not self.hosts.knows(row.handler):
                shelf.store.wait([row.seq], HANDLER + row.handler)
                return self._leave_lane(shelf, row)
            later.append(row)
            full.add(line_of(row))
            return False
        self._token += 1
        decision = policy.decide(row, now, token=self._token, host=host.host, lease_us=LEASE_US + row.time_limit_us)
        if decision.unreadable is not None:
            shelf.store.park(row.seq, decision.unreadable, now)
            events.append(
                Event(kind="job.parked", at=now, job_id=row.id, handler=row.handler, reason=decision.unreadable)
            )
            return self._leave_lane(shelf, row)
        if decision.skipped is not None:
            going_on = decision.claim.due_at if decision.claim else decision.next_due_at
            shelf.store.skip(row.seq, decision.skipped, going_on)
        if decision.claim is None:
            return self._leave_lane(shelf, row)
        shelf.backlog.start(row)
        host.running.add(self._token)
        host.alone = host.alone or suspect
        claims.append((decision.claim, row))
        return False

    def _leave_lane(self, shelf: Shelf, row: DueRow) -> bool:
        if shelf.backlog.leave_lane(row.chat_id):
            self._note_emptied(shelf, row.chat_id)
        return row.chat_id is not None

    def _note_emptied(self, shelf: Shelf, lane: ChatId | None) -> None:
        if lane is not None and lane in shelf.long_lanes:
            self._emptied.add(lane)

    def _make_room(self, token: int) -> None:
        run = self.running.get(token)
        if run is None:
            return
        host = self.hosts.by_id.get(run.host)
        if host is not None:
            host.running.discard(token)
            if not host.running:
                host.alone = False
        if run.lane is None:
            return
        self.busy_lanes.discard(run.lane)
        for other in self.shelves:
            if other.backlog.leave_lane(run.lane) and run.lane in other.long_lanes:
                self.release_lane(run.lane)

    def release_lane(self, lane: ChatId) -> None:
        """Put back some of the rows that did not fit into the line of this chat."""
        for shelf in self.shelves:
            if lane in shelf.long_lanes:
                # The transaction may fail yet: a lane is forgotten only when nothing of it waits any more.
                if not shelf.store.release(lane_reason(lane), ROWS_PER_LANE):
                    shelf.long_lanes.discard(lane)
                shelf.backlog.cursor = None

    # After the commit

    def _forget(
        self, shelf: Shelf, settlements: list[Settlement], applied: list[bool], now: int, events: list[Event]
    ) -> None:
        self.settled += len(settlements)
        for settlement, done in zip(settlements, applied, strict=True):
            token = settlement.token
            shelf.results.pop(token, None)
            shelf.settlements.pop(token, None)
            run = self.running.pop(token, None)
            if run is None:
                continue
            host = self.hosts.by_id.get(run.host)
            if host is not None:
                host.settled.append(token)
            if shelf is self.in_memory and settlement.ending is not None and settlement.next_attempt_at is None:
                # Nobody will redrive a function: what is told of it is the event.
                shelf.store.cancel([run.job_id], now)
            after_settling(events, settlement, run.job_id, run.handler, run.attempt, run.lane, now, applied=done)

    def _remember(
        self,
        shelf: Shelf,
        claims: list[tuple[Claim, DueRow]],
        given: list[RunOrder],
        now: int,
        orders: dict[str, list[RunOrder]],
        events: list[Event],
    ) -> None:
        by_seq = {order.seq: order for order in given}
        for claim, row in claims:
            order = by_seq.get(row.seq)
            if order is None:
                self._unclaimed(shelf, claim, row)
                continue
            self.running[claim.token] = Run(
                shelf, claim.host, row.seq, row.chat_id, claim.due_at, claim.next_due_at, row.rule,
                row.handler, row.id, order.attempt, policy.is_suspect(row.crashes),
            )  # fmt: skip
            orders.setdefault(claim.host, []).append(order)
            if now - claim.due_at > policy.LATE_AFTER_US:
                events.append(
                    Event(
                        kind="job.late",
                        at=now,
                        job_id=row.id,
                        handler=row.handler,
                        attempt=order.attempt,
                        late_by_us=now - claim.due_at,
                        due_at=claim.due_at,
                        chat_id=row.chat_id,
                    )
                )

    def _unclaimed(self, shelf: Shelf, claim: Claim, row: DueRow) -> None:
        host = self.hosts.by_id.get(claim.host)
        if host is not None:
            host.running.discard(claim.token)
            if not host.running:
                host.alone = False
        if row.chat_id is not None:
            self.busy_lanes.discard(row.chat_id)
        self._leave_lane(shelf, row)

    def start_over(self) -> None:
        """What was read and chosen is void, and is in the store as it was."""
        for shelf in self.shelves:
            shelf.backlog.clear()
        self.busy_lanes.clear()
        for host in self.hosts:
            host.running.clear()
            host.alone = False
        for token, run in self.running.items():
            if run.lane is not None:
                self.busy_lanes.add(run.lane)
            host = self.hosts.by_id.get(run.host)
            if host is not None:
                host.running.add(token)
                host.alone = host.alone or run.suspect

    # What is next

    def next_attempt_at(self, now: int) -> int | None:
        """The earliest attempt that is still to come. What is due already waits for room, not for time."""
        coming = [shelf.store.next_attempt_at(Cursor(now, LAST_SEQ)) for shelf in self.shelves]
        return min((at for at in coming if at is not None), default=None)
