"""Death at each call that reaches SQLite. Whatever was answered is there after it, and every occurrence ends once."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from bellringer.storage.sqlite_store import SqliteStore, open_store
from bellringer.storage.values import Ending, Outcome, RunOrder, Settlement
from tests.contract.steps import EVERY_SECOND, SECOND, T, all_due, claim_of, done, failed, history, job
from tests.storage.children import KILLED, killed_child

LATER = T + 3600 * SECOND


class Countdown:
    """Counts calls, and kills this process before the call at which it arrives at zero."""

    left = -1
    made = 0

    @classmethod
    def step(cls) -> None:
        cls.made += 1
        cls.left -= 1
        if cls.left == 0:
            os._exit(KILLED)


class CountedCursor(sqlite3.Cursor):
    def execute(self, *args: object) -> "CountedCursor":
        Countdown.step()
        super().execute(*args)  # type: ignore[arg-type]
        return self


class CountedConnection(sqlite3.Connection):
    def cursor(self, factory: object = None) -> sqlite3.Cursor:  # type: ignore[override]
        return super().cursor(CountedCursor)

    def execute(self, *args: object) -> sqlite3.Cursor:
        Countdown.step()
        return super().execute(*args)  # type: ignore[arg-type]

    def executemany(self, *args: object) -> sqlite3.Cursor:
        Countdown.step()
        return super().executemany(*args)  # type: ignore[arg-type]


Request = Callable[[SqliteStore], object]

REQUESTS: list[Request] = [
    lambda store: store.put(
        [
            job("a", chat_id=1),
            job("retried"),
            job("repeats", rule=EVERY_SECOND),
            job("fails"),
            job("skipped", T + SECOND),
            job("waits", T + SECOND),
            *(job(name, LATER) for name in ("dropped", "dropped by a", "hurried", "replaced")),
        ],
        T,
    ),
    lambda store: store.cancel(["dropped"], T),
    lambda store: store.put([job("replaced", T + SECOND)], T),
    lambda store: store.run_now("hurried", T),
    lambda store: work(store, T + 3 * SECOND),
    lambda store: store.redrive("fails", T + 4 * SECOND),
    lambda store: work(store, T + 4 * SECOND),
    lambda store: store.cancel(["repeats"], T + 5 * SECOND),
]
"""What clients ask for one after another, with the scheduler's rounds between."""

ENDED = {
    ("a", T, Outcome.DONE),
    ("a again", T + SECOND, Outcome.DONE),
    ("retried", T, Outcome.DONE),
    *(("repeats", T + n * SECOND, Outcome.DONE) for n in range(3)),
    ("repeats", T + 3 * SECOND, Outcome.CANCELLED),
    ("fails", T, Outcome.FAILED),
    ("fails", T + 4 * SECOND, Outcome.DONE),
    ("skipped", T + SECOND, Outcome.SKIPPED),
    ("waits", T + SECOND, Outcome.DONE),
    ("dropped", LATER, Outcome.CANCELLED),
    ("dropped by a", LATER, Outcome.CANCELLED),
    ("hurried", T, Outcome.DONE),
    ("replaced", LATER, Outcome.CANCELLED),
    ("replaced", T + SECOND, Outcome.DONE),
}


def settlement_of(order: RunOrder) -> Settlement:
    if order.id == "a":
        again, session = job("a again", T + SECOND), '{"seen":true}'
        return done(order, scheduled=(again,), cancelled=("dropped by a",), session_set=session)
    if order.id == "retried" and order.attempt == 1:
        return Settlement(order.seq, order.token, "retry", next_attempt_at=T + SECOND, attempts=1)
    if order.id == "fails" and order.due_at == T:
        return failed(order)
    return done(order, next_due_at=order.due_at + SECOND if order.id == "repeats" else None)


def work(store: SqliteStore, until: int) -> None:
    """A scheduler in small: what is due is skipped, made to wait, or claimed in pairs and settled."""
    while True:
        rows = [row for row in all_due(store, until) if row.id != "repeats" or row.due_at < T + 3 * SECOND]
        for row in rows:
            if row.id == "skipped":
                store.skip(row.seq, [Ending(Outcome.SKIPPED, row.due_at, until)], None)
            elif row.id == "waits" and store.meta("waited") is None:
                with store.transaction():
                    store.set_meta("waited", "yes")
                    store.wait([row.seq], "lane:1", until)
        orders = store.claim([claim_of(row) for row in rows[:2]], until)
        store.settle([settlement_of(order) for order in orders], until)
        if not orders and not store.release("lane:1", 10, until):
            return


def run(store: SqliteStore, answered: Callable[[int], object]) -> None:
    """Every request that was not yet done, in order. A client's requests are remembered with what they did."""
    known = store.recall_replies("client")
    for number, request in enumerate(REQUESTS, start=1):
        if known is not None and number <= known[0]:
            continue
        if number in (5, 7):
            request(store)
            store.remember_replies("client", number, "[]", T)
        else:
            with store.transaction():
                request(store)
                store.remember_replies("client", number, "[]", T)
        answered(number)


def recover(store: SqliteStore) -> None:
    """Give back what a dead process had claimed."""
    left = store.claimed()
    store.settle(
        [Settlement(row.seq, row.token, "release", next_attempt_at=T, attempts=row.attempts - 1) for row in left], T
    )


def run_until_killed(path: Path, at_call: int) -> list[int]:
    """The numbers of the requests that were answered before this process's child died."""

    def child(told: int) -> None:
        Countdown.left = at_call
        store = open_store(path, connection_factory=CountedConnection)
        run(store, lambda number: os.write(told, bytes([number])))

    return list(killed_child(child))


def calls_of_a_whole_run(path: Path) -> int:
    Countdown.left, Countdown.made = -1, 0
    store = open_store(path, connection_factory=CountedConnection)
    run(store, lambda _: None)
    store.close()
    return Countdown.made


def ended(store: SqliteStore) -> list[tuple[str, int, str]]:
    return sorted((row.job_id, row.due_at, row.outcome) for row in history(store))


def test_a_run_without_a_death_ends_as_it_should(path: Path) -> None:
    calls_of_a_whole_run(path)
    store = open_store(path)

    assert ended(store) == sorted(ENDED)
    assert store.jobs() == []
    assert store.check() == []


def test_b28_death_at_each_call_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    calls = calls_of_a_whole_run(tmp_path / "whole.db")
    assert calls > 100

    for at_call in range(1, calls + 1):
        path = tmp_path / f"{at_call}.db"
        answered = run_until_killed(path, at_call)

        store = open_store(path)
        known = store.recall_replies("client")
        assert (known[0] if known else 0) >= max(answered, default=0), f"killed at call {at_call}"
        if answered:
            assert all(store.get(spec) for spec in ("a", "retried", "repeats", "dropped", "replaced"))
        assert store.check() == []
        assert set(ended(store)) <= ENDED
        recover(store)
        run(store, lambda _: None)
        assert ended(store) == sorted(ENDED), f"killed at call {at_call}"
        assert store.jobs() == []
        assert store.check() == []
        store.close()
