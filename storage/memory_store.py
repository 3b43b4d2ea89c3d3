"""The store in memory: the same contract, gone with its process. For quick tests and for jobs that need no disk."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from .ledger import run_key, storable
from .memory_tables import MemoryTables, State
from .states import Event, after, after_settlement
from .values import (
    WAITING,
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
    Placed,
    Removed,
    RunOrder,
    SessionRow,
    Settlement,
    Status,
    told_from_ledger,
)


class MemoryStore(MemoryTables):
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
                placed[job_id] = Placed(self._last_seq, removed.seq if removed else None)
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
            self._write(row.seq, moved)
        return True

    def redrive(self, job_id: str, now: int) -> bool:
        row = self._find(job_id)
        if row is None or row.status is not Status.PARKED:
            return False
        status = Status(after(row.status, Event.REDRIVE))
        due_at = self._free_due_at(row.seq, now)
        with self.transaction():
            self._write(row.seq, State(row.spec, row.seq, status, due_at, now, row.next_due_at))
        return True

    def get(self, job_id: str) -> JobRow | None:
        row = self._find(job_id)
        if row is not None:
            return _job_row(row)
        ended = self.history(job_id=job_id, limit=1)
        return told_from_ledger(ended[0]) if ended else None

    def jobs(
        self,
        *,
        chat_id: ChatId | None = None,
        status: str | None = None,
        limit: int = 100,
        after: str | None = None,
    ) -> list[JobRow]:
        wanted = [
            row
            for row in self._rows.values()
            if (chat_id is None or row.spec.chat_id == chat_id) and (status is None or _is(row, status))
        ]
        wanted.sort(key=State.order)
        if after is not None:
            last = self.get(after)
            if last is None:
                return []
            wanted = [row for row in wanted if row.order() > (last.due_at, last.seq)]
        return [_job_row(row) for row in wanted[:limit]]

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
        return [_due_row(self._rows[seq]) for _, seq in self._due[start : min(end, start + limit)]]

    def next_attempt_at(self, after: Cursor | None = None) -> int | None:
        start = bisect_right(self._due, tuple(after)) if after else 0
        return self._due[start][0] if start < len(self._due) else None

    def wait(self, seqs: Sequence[int], reason: str) -> None:
        with self.transaction():
            for seq in seqs:
                row = self._rows.get(seq)
                if row is not None and row.status is Status.SCHEDULED:
                    self._write(seq, row._replace(waiting_for=storable(reason)))

    def release(self, reason: str, limit: int) -> int:
        found = [row for row in self._rows.values() if row.waiting_for == storable(reason)]
        found.sort(key=lambda row: (row.next_attempt_at or 0, row.seq))
        with self.transaction():
            for row in found[:limit]:
                self._write(row.seq, row._replace(waiting_for=None))
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
                orders.append(_run_order(row, session.data if session else None))
        return orders

    def skip(self, seq: int, ending: Ending, next_due_at: int | None) -> None:
        to = after(Status.SCHEDULED, Event.SKIP, goes_on=next_due_at is not None)
        row = self._rows.get(seq)
        if row is None or row.status is not Status.SCHEDULED:
            return
        with self.transaction():
            self._record(row, ending)
            if next_due_at is None:
                self._write(seq, None)
            else:
                self._write(seq, State(row.spec, seq, Status(to), next_due_at, next_due_at))

    def park(self, seq: int, reason: str, now: int) -> None:
        row = self._rows.get(seq)
        if row is None or row.status is not Status.SCHEDULED:
            return
        with self.transaction():
            self._record(row, Ending(Outcome.FAILED, row.due_at, now, reason=reason))
            status = Status(after(row.status, Event.PARK))
            self._write(
                seq,
                row._replace(status=status, next_attempt_at=None, waiting_for=None, reason=storable(reason)),
            )

    def claimed(self) -> list[ClaimedRow]:
        return [_claimed_row(row) for row in self._rows.values() if row.status is Status.CLAIMED]

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
            for client in [client for client, kept in self._replies.items() if kept[2] < finished_before]:
                self._drop(self._replies, client)
        return len(excess)

    def check(self) -> list[str]:
        return []

    def _settle(self, settlement: Settlement, now: int) -> bool:
        to = after_settlement(settlement)
        row = self._rows.get(settlement.seq)
        if row is None or row.status is not Status.CLAIMED or row.token != settlement.token:
            return False
        ending, next_due_at = settlement.ending, settlement.next_due_at
        if ending is not None:
            self._record(row, ending)
        if to is Status.PARKED:
            idle = State(row.spec, row.seq, to, row.due_at, None, row.next_due_at, *row[6:9])
            self._write(row.seq, idle._replace(reason=storable(settlement.reason)))
        elif to is Status.SCHEDULED:
            attempt_at = next_due_at if settlement.next_attempt_at is None else settlement.next_attempt_at
            if next_due_at is None or ending is None:
                kept = row.next_due_at if next_due_at is None else next_due_at
                idle = State(row.spec, row.seq, to, row.due_at, attempt_at, kept, *settlement[6:9])
            else:
                idle = State(row.spec, row.seq, to, next_due_at, attempt_at, None, *settlement[6:9])
            self._write(row.seq, idle._replace(reason=storable(settlement.reason)))
        else:
            self._write(row.seq, None)
        if settlement.session_set is not None or settlement.session_remove:
            self._patch_session(row, settlement, now)
        if settlement.cancelled:
            self.cancel(settlement.cancelled, now)
        if settlement.scheduled:
            self.put(settlement.scheduled, now)
        return True


def _job_row(row: State) -> JobRow:
    spec, claimed = row.spec, row.status is Status.CLAIMED
    return JobRow(
        id=spec.id,
        handler=spec.handler,
        status=row.status.value,
        due_at=row.due_at,
        next_attempt_at=row.next_attempt_at,
        chat_id=spec.chat_id,
        user_id=spec.user_id,
        thread_id=spec.thread_id,
        payload=spec.payload,
        rule=spec.rule,
        delivery=str(spec.delivery),
        attempts=row.attempts,
        waiting_for=row.waiting_for,
        reason=row.reason,
        host=row.host if claimed else None,
        claimed_at=row.claimed_at if claimed else None,
        seq=row.seq,
        due_until=spec.due_until,
    )


def _due_row(row: State) -> DueRow:
    spec = row.spec
    return DueRow(
        seq=row.seq,
        next_attempt_at=row.next_attempt_at or 0,
        due_at=row.due_at,
        next_due_at=row.next_due_at,
        handler=spec.handler,
        chat_id=spec.chat_id,
        rule=spec.rule,
        misfire=str(spec.misfire),
        grace_us=spec.grace_us,
        attempts=row.attempts,
        crashes=row.crashes,
        time_limit_us=spec.time_limit_us,
        id=spec.id,
    )


def _run_order(row: State, session: str | None) -> RunOrder:
    spec = row.spec
    return RunOrder(
        seq=row.seq,
        token=row.token,
        id=spec.id,
        handler=spec.handler,
        chat_id=spec.chat_id,
        user_id=spec.user_id,
        thread_id=spec.thread_id,
        payload=spec.payload,
        session=session,
        due_at=row.due_at,
        attempt=row.attempts,
        time_limit_us=spec.time_limit_us,
        run_key=run_key(row.seq, row.due_at),
    )


def _claimed_row(row: State) -> ClaimedRow:
    spec = row.spec
    return ClaimedRow(
        seq=row.seq,
        token=row.token,
        id=spec.id,
        handler=spec.handler,
        chat_id=spec.chat_id,
        host=row.host,
        due_at=row.due_at,
        next_due_at=row.next_due_at,
        attempts=row.attempts,
        crashes=row.crashes,
        context_failures=row.context_failures,
        rule=spec.rule,
        delivery=str(spec.delivery),
        max_attempts=spec.max_attempts,
        lease_until=row.lease_until,
        claimed_at=row.claimed_at,
    )


def _is(row: State, status: str) -> bool:
    if status == WAITING:
        return row.status == Status.SCHEDULED and row.waiting_for is not None
    return row.status == status
