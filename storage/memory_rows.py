"""How the store in memory tells its rows."""

from .ledger import run_key
from .memory_tables import State
from .parts import told_id
from .values import WAITING, ChatId, ClaimedRow, DueRow, JobRow, RunOrder, Scope, Status, ZonedRow


def job_row(row: State) -> JobRow:
    spec, claimed = row.spec, row.status is Status.CLAIMED
    return JobRow(
        id=told_id(spec.id),
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
        zone=spec.zone,
        local_at=spec.local_at,
        misfire=str(spec.misfire),
        grace_us=spec.grace_us,
        max_attempts=spec.max_attempts,
        time_limit_us=spec.time_limit_us,
        catch_up=str(spec.catch_up),
        catch_up_limit=spec.catch_up_limit,
        overlap=str(spec.overlap),
        overlap_limit=spec.overlap_limit,
        stale_after_us=spec.stale_after_us,
        held_by=row.held_by,
        held_from=row.held_from,
        held_until=row.held_until,
        next_due_at=row.next_due_at,
        series=row.series,
    )


def due_row(row: State) -> DueRow:
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
        id=told_id(spec.id),
        catch_up=str(spec.catch_up),
        catch_up_limit=spec.catch_up_limit,
        overlap=str(spec.overlap),
        overlap_limit=spec.overlap_limit,
        stale_after_us=spec.stale_after_us,
        held_by=row.held_by,
        held_from=row.held_from,
        held_until=row.held_until,
        series=row.series,
    )


def run_order(row: State, session: str | None) -> RunOrder:
    spec = row.spec
    return RunOrder(
        seq=row.seq,
        token=row.token,
        id=told_id(spec.id),
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


def claimed_row(row: State) -> ClaimedRow:
    spec = row.spec
    return ClaimedRow(
        seq=row.seq,
        token=row.token,
        id=told_id(spec.id),
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
        overlap=str(spec.overlap),
        held_by=row.held_by,
        series=row.series,
        stale_after_us=spec.stale_after_us,
    )


def stands(row: State, status: str) -> bool:
    if status == WAITING:
        return row.status == Status.SCHEDULED and row.waiting_for is not None
    return row.status == status


def zoned_row(row: State, zone: str) -> ZonedRow:
    spec = row.spec
    instants = (row.due_at, row.next_attempt_at, row.next_due_at)
    return ZonedRow(row.seq, row.status.value, *instants, row.attempts, spec.rule, zone, spec.local_at)


def in_scope(row: State, scope: Scope, key: ChatId | None) -> bool:
    keys = {Scope.JOB: row.spec.id, Scope.CHAT: row.spec.chat_id, Scope.HANDLER: row.spec.handler, Scope.ALL: key}
    return keys[scope] == key
