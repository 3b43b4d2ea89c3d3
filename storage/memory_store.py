"""The store in memory: the same contract, gone with its process. For quick tests and for jobs that need no disk."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from .ledger import storable
from .memory_rows import claimed_row, due_row, in_scope, job_row, run_order, stands
from .memory_tables import State
from .memory_zones import MemoryZones
from .parts import part_id, placed_after
from .states import Event, after, after_settlement
from .values import (
    LASTING,
    SNOOZE,
    ChatId,
    Claim,
    ClaimedRow,
    Counts,
    Cursor,
    DueRow,
    Ending,
    JobRow,
    JobSpec,
    OccurrenceRow,
    Outcome,
    Place,
    Placed,
    Removed,
    RunOrder,
    Scope,
    SessionRow,
    Settlement,
    Status,
    told_from_ledger,
)


class MemoryStore(MemoryZones):
    """A `Store` of dictionaries. A transaction that fails is undone step by step."""

    def close(self) -> None:
        """Nothing to do: the data goes with the object."""

    def put(self, specs: Sequence[JobSpec], now: int) -> list[Placed]:
        standing = {spec.id: spec for spec in specs}
        placed: dict[str, Placed] = {}
        with self.transaction():
            for job_id, spec in standing.items():
                removed = self._take_out(job_id, "replaced", now)
                self._last_seq += 1
                status = Status(after(None, Event.SCHEDULE))
                self._write(self._last_seq, State(spec, self._last_seq, status, spec.due_at, spec.due_at))
                placed[job_id] = placed_after(self._last_seq, removed)
        return [placed[spec.id] for spec in specs]

    def cancel(self, ids: Sequence[str], now: int) -> list[Removed | None]:
        with self.transaction():
            return [self._take_out(job_id, "cancelled", now) for job_id in ids]

    def run_now(self, job_id: str, now: int) -> bool:
        row = self._find(job_id)
        if row is None or row.status is not Status.SCHEDULED:
            return False
        due_at, next_due_at = min(row.due_at, now), row.next_due_at
        if row.spec.rule is not None and next_due_at is None and row.due_at > now:
            due_at, next_due_at = min(self._free_due_at(row.seq, now), row.due_at - 1), row.due_at
        moved = row._replace(next_attempt_at=now, due_at=due_at, next_due_at=next_due_at, waiting_for=None)
        with self.transaction():
            self._write(row.seq, moved._replace(held_by=None, held_from=None, held_until=None))
        return True

    def redrive(self, job_id: str, now: int) -> bool:
        own = self._find(job_id)
        rows = [own] if own is not None else []
        parked = [row for row in (*rows, *self._find_parts(job_id)) if row.status is Status.PARKED]
        with self.transaction():
            for row in parked:
                status = Status(after(row.status, Event.REDRIVE))
                due_at = self._free_due_at(row.seq, now)
                self._write(row.seq, row.afresh(status, due_at, now, row.next_due_at))
        return bool(parked)

    def get(self, job_id: str) -> JobRow | None:
        row = self._find(job_id)
        if row is not None:
            return job_row(row)
        parts = self._find_parts(job_id)
        if parts:
            return job_row(parts[0])
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
        wanted = [
            row
            for row in self._rows.values()
            if (chat_id is None or row.spec.chat_id == chat_id) and (status is None or stands(row, status))
        ]
        wanted.sort(key=State.order)
        if after is not None:
            place = after if isinstance(after, Place) else self._place_of(after)
            if place is None:
                return []
            wanted = [row for row in wanted if row.order() > place]
        return [job_row(row) for row in wanted[:limit]]

    def select(
        self, *, scope: str, key: ChatId | None, user_id: ChatId | None = None, after: int = 0, limit: int
    ) -> list[JobRow]:
        wanted = [
            row
            for seq, row in sorted(self._rows.items())
            if seq > after
            and row.series is None
            and (user_id is None or row.spec.user_id == user_id)
            and in_scope(row, Scope(scope), key)
        ]
        return [job_row(row)._replace(payload=None) for row in wanted[:limit]]

    def history(
        self,
        *,
        job_id: str | None = None,
        chat_id: ChatId | None = None,
        outcome: str | None = None,
        limit: int = 100,
        before: int | None = None,
    ) -> list[OccurrenceRow]:
        return [
            row
            for _, row in sorted(self._ledger.items(), reverse=True)
            if (job_id is None or row.job_id == job_id)
            and (chat_id is None or row.chat_id == chat_id)
            and (outcome is None or row.outcome == outcome)
            and (before is None or row.number < before)
        ][:limit]

    def sessions(
        self, *, chat_id: ChatId | None = None, limit: int = 100, after: int | None = None
    ) -> list[SessionRow]:
        rows = sorted(self._sessions.values(), key=lambda row: row.number)
        return [
            row for row in rows if (chat_id is None or row.chat_id == chat_id) and (after is None or row.number > after)
        ][:limit]

    def counts(self) -> Counts:
        statuses = [row.status for row in self._rows.values()]
        return Counts(
            statuses.count(Status.SCHEDULED),
            statuses.count(Status.CLAIMED),
            statuses.count(Status.PARKED),
            sum(row.waiting_for is not None for row in self._rows.values()),
            len(self._ledger),
        )

    def due(self, now: int, limit: int, after: Cursor | None = None) -> list[DueRow]:
        start = bisect_right(self._due, tuple(after)) if after else 0
        end = bisect_left(self._due, (now + 1, -1))
        return [due_row(self._rows[seq]) for _, seq in self._due[start : min(end, start + limit)]]

    def next_attempt_at(self, after: Cursor | None = None) -> int | None:
        start = bisect_right(self._due, tuple(after)) if after else 0
        return self._due[start][0] if start < len(self._due) else None

    def leads_chat(self, chat_id: ChatId, place: Cursor) -> bool:
        return not any(self._rows[seq].spec.chat_id == chat_id for at, seq in self._due if (at, seq) < tuple(place))

    def wait(self, seqs: Sequence[int], reason: str, now: int) -> None:
        with self.transaction():
            for seq in seqs:
                row = self._rows.get(seq)
                if row is not None and row.status is Status.SCHEDULED:
                    held_from = now if row.held_from is None else row.held_from
                    self._write(seq, row._replace(waiting_for=storable(reason), held_from=held_from))

    def release(self, reason: str, limit: int, now: int, *, held_by: str | None = None) -> int:
        found = [row for row in self._rows.values() if row.waiting_for == storable(reason)]
        found.sort(key=lambda row: (row.next_attempt_at or 0, row.seq))
        with self.transaction():
            for row in found[:limit]:
                let_go = row._replace(waiting_for=None)
                if held_by is not None or row.held_by not in LASTING:
                    let_go = let_go._replace(held_by=storable(held_by or reason), held_until=now)
                self._write(row.seq, let_go)
        return len(found[:limit])

    def waiting(self, prefix: str) -> list[str]:
        reasons = {row.waiting_for for row in self._rows.values() if row.waiting_for is not None}
        return sorted(reason for reason in reasons if reason.startswith(prefix))

    def claim(self, claims: Sequence[Claim], now: int) -> list[RunOrder]:
        orders: list[RunOrder] = []
        with self.transaction():
            for claim in claims:
                row = self._rows.get(claim.seq)
                if row is None or row.status is not Status.SCHEDULED:
                    continue
                row = row._replace(
                    status=Status(after(row.status, Event.CLAIM)),
                    due_at=claim.due_at,
                    next_due_at=claim.next_due_at,
                    attempts=row.attempts + 1,
                    waiting_for=None,
                    token=claim.token,
                    host=claim.host,
                    claimed_at=now,
                    lease_until=claim.lease_until,
                )
                self._write(row.seq, row)
                session = self._sessions.get((row.spec.chat_id, row.spec.user_id))
                orders.append(run_order(row, session.data if session else None))
        return orders

    def record(self, seq: int, ending: Ending) -> None:
        row = self._rows.get(seq)
        if row is not None:
            with self.transaction():
                self._record(row._replace(attempts=0), ending)

    def snooze(self, seq: int, next_attempt_at: int, now: int) -> bool:
        row = self._rows.get(seq)
        if row is None or row.status is not Status.SCHEDULED:
            return False
        put_off = row._replace(next_attempt_at=next_attempt_at, waiting_for=None)
        with self.transaction():
            self._write(seq, put_off._replace(held_by=SNOOZE, held_from=now, held_until=next_attempt_at))
        return True

    def spawn(self, seq: int, due_at: int, next_due_at: int | None, now: int) -> Placed | None:
        row = self._rows.get(seq)
        if row is None or row.status is not Status.SCHEDULED or row.series is not None:
            return None
        planned_at = due_at
        while part_id(row.spec.id, planned_at) in self._seq_by_id:
            planned_at += 1
        with self.transaction():
            self._last_seq += 1
            body = row.spec._replace(id=part_id(row.spec.id, planned_at), rule=None, local_at=None)
            status = Status(after(None, Event.SCHEDULE))
            part = State(body, self._last_seq, status, planned_at, due_at, series=seq)
            part = part._replace(held_by=row.held_by, held_from=row.held_from, held_until=row.held_until)
            self._write(part.seq, part)
            self._write(seq, None if next_due_at is None else row.afresh(row.status, next_due_at, next_due_at))
        return Placed(part.seq, None)

    def parts(self, seq: int) -> int:
        return sum(row.series == seq and row.status is not Status.PARKED for row in self._rows.values())

    def skip(self, seq: int, endings: Sequence[Ending], next_due_at: int | None) -> None:
        to = after(Status.SCHEDULED, Event.SKIP, goes_on=next_due_at is not None)
        row = self._rows.get(seq)
        if row is None or row.status is not Status.SCHEDULED:
            return
        with self.transaction():
            for ending in endings:
                self._record(row, ending)
            if next_due_at is None:
                self._write(seq, None)
            else:
                self._write(seq, row.afresh(Status(to), next_due_at, next_due_at))

    def park(self, seq: int, reason: str, now: int) -> None:
        row = self._rows.get(seq)
        if row is None or row.status is not Status.SCHEDULED:
            return
        with self.transaction():
            self._record(row, Ending(Outcome.FAILED, row.due_at, now, reason=reason))
            status = Status(after(row.status, Event.PARK))
            self._write(seq, row.idle(status, None, reason))

    def claimed(self) -> list[ClaimedRow]:
        return [claimed_row(row) for row in self._rows.values() if row.status is Status.CLAIMED]

    def claims(self, seqs: Sequence[int]) -> dict[int, ClaimedRow]:
        wanted = set(seqs)
        return {row.seq: row for row in self.claimed() if row.seq in wanted}

    def settle(self, settlements: Sequence[Settlement], now: int) -> list[bool]:
        with self.transaction():
            return [self._settle(settlement, now) for settlement in settlements]

    def remember_replies(self, client: str, number: int, replies: str, now: int) -> None:
        with self.transaction():
            self._set(self._replies, client, (number, replies, now))

    def recall_replies(self, client: str) -> tuple[int, str] | None:
        found = self._replies.get(client)
        return found[:2] if found else None

    def meta(self, key: str) -> str | None:
        return self._meta.get(key)

    def set_meta(self, key: str, value: str) -> None:
        with self.transaction():
            self._set(self._meta, key, value)

    def trim(self, *, finished_before: int, keep: int, limit: int) -> int:
        latest_failure = {row.job_id: row.number for row in self._ledger.values() if row.outcome == Outcome.FAILED}
        newest = max(self._ledger, default=0)
        excess = [
            row
            for _, row in sorted(self._ledger.items())
            if (row.number <= newest - keep or row.finished_at < finished_before)
            and latest_failure.get(row.job_id) != row.number
        ][:limit]
        with self.transaction():
            for row in excess:
                self._drop(self._ledger, row.number)
                self._drop(self._recorded, (row.job_seq, row.due_at))
            for number in [number for number, kept in self._outages.items() if kept.ended_at < finished_before]:
                self._drop(self._outages, number)
            for client in [client for client, kept in self._replies.items() if kept[2] < finished_before]:
                self._drop(self._replies, client)
        return len(excess)

    def check(self) -> list[str]:
        series = (self._rows.get(row.series) for row in self._rows.values() if row.series is not None)
        nested = [row.seq for row in series if row is not None and row.series is not None]
        unknown = [scope for scope, _ in self._pauses if scope not in list(Scope)]
        return [
            *(f"a part of a job belongs to a part: {seq}" for seq in nested),
            *(f"a pause's scope is unknown: {scope!r}" for scope in unknown),
        ]

    def _settle(self, settlement: Settlement, now: int) -> bool:
        to = after_settlement(settlement)
        row = self._rows.get(settlement.seq)
        if row is None or row.status is not Status.CLAIMED or row.token != settlement.token:
            return False
        ending, next_due_at = settlement.ending, settlement.next_due_at
        if ending is not None:
            self._record(row, ending)
        if to is Status.PARKED:
            self._write(row.seq, row.idle(to, None, settlement.reason))
        elif to is Status.SCHEDULED:
            attempt_at = next_due_at if settlement.next_attempt_at is None else settlement.next_attempt_at
            attempts, crashes, context_failures = settlement[6:9]
            idle = row.idle(to, attempt_at, settlement.reason)
            idle = idle._replace(attempts=attempts, crashes=crashes, context_failures=context_failures)
            if next_due_at is None or ending is None:
                idle = idle._replace(next_due_at=row.next_due_at if next_due_at is None else next_due_at)
            else:
                by, held_from, held_until = settlement.held or (None, None, None)
                idle = idle._replace(due_at=next_due_at, next_due_at=None)
                idle = idle._replace(held_by=storable(by), held_from=held_from, held_until=held_until)
            self._write(row.seq, idle)
        else:
            self._write(row.seq, None)
        if settlement.session_set is not None or settlement.session_remove:
            key = (row.spec.chat_id, row.spec.user_id)
            self._patch_session(key, settlement.session_set, settlement.session_remove, now)
        if settlement.cancelled:
            self.cancel(settlement.cancelled, now)
        if settlement.scheduled:
            self.put(settlement.scheduled, now)
        return True

    def _place_of(self, job_id: str) -> tuple[int, int] | None:
        last = self.get(job_id)
        return None if last is None else (last.due_at, last.seq)
