"""From due to settled: claim what is due, hand it to hosts, and write down what came of it.

Each pass is one transaction: results that have come are settled, and what they leave room for is claimed. Only
after its commit is anything sent or forgotten. A pass that fails changes nothing; the results wait for the next.
"""

from contextlib import suppress
from random import Random

from ..storage.contract import Store
from ..storage.errors import InvalidJobError
from ..storage.values import ChatId, Claim, ClaimedRow, Cursor, DueRow, RunOrder, RunResult, Settlement
from . import policy
from .backlog import LAST_SEQ, Backlog
from .claiming import Claiming
from .events import after_settling
from .hosts import Host, Hosts
from .messages import Event
from .pauses import Pauses, held_by, pause_reason
from .shelf import HANDLER, Run, Shelf
from .zone_data import ZoneData

RELEASED_AT_ONCE = 1_000


class Dispatch:
    """Owns the claims that are out. Called by the scheduler alone, one call at a time."""

    def __init__(
        self, durable: Store, in_memory: Store, zone_data: ZoneData, *, first_token: int, chance: Random
    ) -> None:
        self.busy_lanes: set[ChatId] = set()
        self.durable = Shelf(durable, Backlog(self.busy_lanes))
        self.in_memory = Shelf(in_memory, Backlog(self.busy_lanes))
        self.hosts = Hosts()
        self.running: dict[int, Run] = {}
        self.orphans: dict[int, ClaimedRow] = {}
        """Claims of an earlier scheduler whose host has not been heard of yet; they are in `running` too."""
        self.claiming = True
        self.settled = 0
        """How many runs have been settled, for whoever has to clear up behind them."""
        self.pauses = Pauses(durable)
        self._claiming = Claiming(self.shelves, self.hosts, self.busy_lanes, self.pauses, first_token)
        self._zone_data = zone_data
        self._chance = chance

    @property
    def more_is_due(self) -> bool:
        """Whether the last pass has left due rows behind that it had no time to look at."""
        return self._claiming.more_is_due

    def wait_for_hosts(self, until: int) -> None:
        """Up to then a handler that no host knows is only not known yet, and nothing is made to wait for it."""
        self._claiming.hosts_complete_at = until

    @property
    def has_work(self) -> bool:
        """Whether a pass has something to settle, or rows that are due and could find room now."""
        waiting = any(shelf.results or shelf.settlements or len(shelf.backlog) for shelf in self.shelves)
        return waiting or bool(self._claiming.emptied)

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
            row.handler, row.id, row.attempts, policy.is_suspect(row.crashes), row.held_by,
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
        self._claiming.note_emptied(shelf, shelf.backlog.discard(seq))

    def release_waiting(self, handlers: frozenset[str], now: int) -> bool:
        """Put back some of what waited for these handlers. True: there is more of it."""
        released = [self._release(HANDLER + handler, now, None) for handler in handlers]
        return RELEASED_AT_ONCE in released

    def release_paused(self, now: int) -> bool:
        """Put back some of what pauses have held that have ended. True: there is more of it."""
        more = False
        for pause in self.pauses.to_release(now):
            if self._release(pause_reason(pause), pause.until or now, held_by(pause)) == RELEASED_AT_ONCE:
                more = True
            else:
                self.pauses.note_released(pause)
        return more

    def go_on_with_long_lanes(self) -> None:
        """An earlier scheduler has left rows that did not fit into their lines: the next pass lets go of some."""
        self._claiming.emptied |= self.durable.long_lanes - self.busy_lanes

    def _release(self, reason: str, now: int, by: str | None) -> int:
        """The most that was put back on a shelf."""
        most = 0
        for shelf in self.shelves:
            released = shelf.store.release(reason, RELEASED_AT_ONCE, now, held_by=by)
            if released:
                shelf.backlog.cursor = None
            most = max(most, released)
        return most

    # The pass

    def pass_over(self, now: int) -> tuple[dict[str, list[RunOrder]], list[Event]]:
        """Settle, claim, commit. What is to be sent to each host, and what there is to tell."""
        orders: dict[str, list[RunOrder]] = {}
        events: list[Event] = []
        self._claiming.more_is_due = False
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
            settlements = [self._at_home(settlement, now) for settlement in settlements]
            applied = shelf.store.settle(settlements, now) if settlements else []
            for settlement in settlements:
                self._make_room(settlement.token, now)
                for spec in settlement.scheduled:
                    shelf.backlog.rewind(spec.due_at)
                if settlement.next_attempt_at is not None:
                    shelf.backlog.rewind(settlement.next_attempt_at)
            if self.claiming:
                claims = self._claiming.choose(shelf, now, events)
            given = shelf.store.claim([claim for claim, _ in claims], now) if claims else []
        if self.claiming:
            self._claiming.emptied.clear()
        self._forget(shelf, settlements, applied, now, events)
        self._remember(shelf, claims, given, now, orders, events)

    def _decided(self, shelf: Shelf, now: int) -> list[Settlement]:
        settlements = list(shelf.settlements.values())
        hard: list[RunResult] = []
        for token, result in shelf.results.items():
            run = self.running[token]
            if result.verdict == "done" and not _may_have_moved(run.rule):
                settlements.append(
                    policy.settle_done(
                        result,
                        due_at=run.due_at,
                        next_due_at=run.next_due_at,
                        rule=run.rule,
                        now=now,
                        attempt=run.attempt,
                        held_by=run.held_by,
                    )
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

    def _at_home(self, settlement: Settlement, now: int) -> Settlement:
        """What a run has scheduled, in the zone of its chat where it names none."""
        if not settlement.scheduled:
            return settlement
        jobs = list(settlement.scheduled)
        for place, spec in enumerate(jobs):
            # Nobody can be told of a refusal any more: such a job is parked when it is due.
            with suppress(InvalidJobError):
                jobs[place] = self._zone_data.settled(spec, now)
        return settlement._replace(scheduled=tuple(jobs))

    def _anything_due(self, shelf: Shelf, now: int) -> bool:
        return bool(len(shelf.backlog) or self._claiming.emptied) or bool(shelf.store.due(now, 1, shelf.backlog.cursor))

    def _make_room(self, token: int, now: int) -> None:
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
                self._claiming.release_lane(run.lane, now)

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
                row.handler, row.id, order.attempt, policy.is_suspect(row.crashes), row.held_by,
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
        self._claiming.leave_lane(shelf, row)

    def start_over(self) -> None:
        """What was read and chosen is void, and is in the store as it was."""
        self.pauses.reload()
        self._zone_data.forget()
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
        coming.append(self.pauses.next_end(now))
        return min((at for at in coming if at is not None), default=None)


def _may_have_moved(rule: str | None) -> bool:
    """Whether the next due time may have moved since the run began: with the zone, or with the data of the zone."""
    return rule is not None and '"zone"' in rule
