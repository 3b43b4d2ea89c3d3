"""Short ways to walk a store through its states. `T` is the instant at which these tests begin."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from bellringer.storage.contract import Store
from bellringer.storage.values import (
    ChatId,
    Claim,
    DueRow,
    Ending,
    JobSpec,
    OccurrenceRow,
    Outcome,
    RunOrder,
    Settlement,
)

T = 1_700_000_000_000_000
SECOND = 1_000_000
EVERY_SECOND = '{"every_us":1000000}'


def job(job_id: str = "a", due_at: int = T, **fields: object) -> JobSpec:
    return JobSpec(job_id, "remind", due_at)._replace(**fields)  # type: ignore[arg-type]


def put(store: Store, *specs: JobSpec, now: int = T) -> list[int]:
    return [placed.seq for placed in store.put(specs, now)]


def all_due(store: Store, now: int = T + 3600 * SECOND) -> list[DueRow]:
    return store.due(now, 100_000)


def claim_of(row: DueRow, token: int | None = None, now: int = T) -> Claim:
    """A claim as a scheduler would make it: a repeating job's next occurrence is written with it."""
    following = row.next_due_at
    if following is None and row.rule is not None:
        following = row.due_at + SECOND
    return Claim(
        row.seq, row.seq + 1000 if token is None else token, "host-1", row.due_at, following, now + 60 * SECOND
    )


def claim_due(store: Store, now: int = T + 3600 * SECOND) -> list[RunOrder]:
    return store.claim([claim_of(row, now=now) for row in all_due(store, now)], now)


def ending(order: RunOrder, outcome: str = Outcome.DONE, at: int = T + 2, **fields: object) -> Ending:
    return Ending(outcome, order.due_at, at, at - 1)._replace(**fields)  # type: ignore[arg-type]


def done(order: RunOrder, at: int = T + 2, **fields: object) -> Settlement:
    settlement = Settlement(order.seq, order.token, "done", ending(order, at=at))
    return settlement._replace(**fields)  # type: ignore[arg-type]


def failed(order: RunOrder, event: str = "fail", at: int = T + 2, **fields: object) -> Settlement:
    settlement = Settlement(order.seq, order.token, event, ending(order, Outcome.FAILED, at), reason="it broke")
    return settlement._replace(**fields)  # type: ignore[arg-type]


def outcomes(store: Store, job_id: str | None = None, chat_id: ChatId | None = None) -> list[str]:
    """How the occurrences ended, the oldest first."""
    return [row.outcome for row in reversed(history(store, job_id, chat_id))]


def history(store: Store, job_id: str | None = None, chat_id: ChatId | None = None) -> list[OccurrenceRow]:
    return store.history(job_id=job_id, chat_id=chat_id, limit=100_000)


def only_order(store: Store, *specs: JobSpec) -> RunOrder:
    """Schedule, claim everything that is due, and return the one order that comes of it."""
    put(store, *(specs or (job(),)))
    (order,) = claim_due(store)
    return order


class HandOverError(Exception):
    """Something broke between two steps of a transaction."""


@contextmanager
def broken_transaction(store: Store) -> Iterator[None]:
    """A transaction that fails when all of its block is done."""
    with suppress(HandOverError), store.transaction():
        yield
        raise HandOverError
