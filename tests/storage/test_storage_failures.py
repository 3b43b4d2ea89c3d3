"""What the store says, and what is left, when SQLite can not do what was asked."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from bellringer.storage.errors import (
    StorageBusyError,
    StorageCorruptError,
    StorageError,
    StorageFullError,
    StorageReadOnlyError,
)
from bellringer.storage.sqlite_store import SqliteStore, open_store
from tests.contract.steps import T, all_due, claim_due, claim_of, done, history, job, only_order, put


@pytest.fixture
def other(store: SqliteStore) -> Iterator[sqlite3.Connection]:
    """Another program's connection to the same file."""
    connection = sqlite3.connect(store._connection.path, isolation_level=None)
    yield connection
    connection.close()


def allow_no_more_pages(store: SqliteStore) -> None:
    pages = store._connection.rows("PRAGMA page_count")[0][0]
    store._connection.rows(f"PRAGMA max_page_count = {pages!r}")


def test_b69_a_foreign_write_lock_is_told_and_waited_out(store: SqliteStore, other: sqlite3.Connection) -> None:
    order = only_order(store)
    put(store, job("b"))
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StorageBusyError, match="try again"):
        store.settle([done(order)], T)
    with pytest.raises(StorageBusyError):
        store.put([job("c")], T)
    with pytest.raises(StorageBusyError):
        store.claim([claim_of(row) for row in all_due(store)], T)
    assert [row.id for row in all_due(store)] == ["b"]

    other.execute("ROLLBACK")
    assert store.settle([done(order)], T) == [True]
    assert [row.id for row in claim_due(store)] == ["b"]


def test_b69_busy_is_not_fatal_and_damage_is() -> None:
    assert not StorageBusyError.fatal
    assert not StorageFullError.fatal
    assert StorageCorruptError.fatal
    assert StorageReadOnlyError.fatal


def test_b70_a_write_that_began_in_time_is_not_upset_by_another_commit(
    store: SqliteStore, other: sqlite3.Connection
) -> None:
    put(store, job("a"))
    with store.transaction():
        assert store.get("a") is not None
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("PRAGMA busy_timeout = 1").connection.execute("BEGIN IMMEDIATE")
        store.cancel(["a"], T)

    assert store.jobs() == []


def test_b71_busy_at_commit_leaves_no_transaction_open(store: SqliteStore, other: sqlite3.Connection) -> None:
    store._connection.rows("PRAGMA journal_mode = DELETE")
    put(store, job("a"))
    reading = other.execute("SELECT id FROM job UNION ALL SELECT id FROM job")
    assert reading.fetchone() == ("a",)

    with pytest.raises(StorageBusyError):
        store.put([job("b")], T)

    assert not store._connection._raw.in_transaction
    reading.close()
    assert [row.id for row in store.jobs()] == ["a"]
    put(store, job("b"))
    assert [row.id for row in store.jobs()] == ["a", "b"]


def test_b71_a_full_disk_is_told_and_survived_without_a_restart(store: SqliteStore) -> None:
    put(store, *(job(f"j{n}") for n in range(100)))
    orders = claim_due(store)
    allow_no_more_pages(store)
    large = job("large", payload=f'"{"x" * 100_000}"')

    with pytest.raises(StorageFullError, match="room"):
        store.put([large], T)
    assert not store._connection._raw.in_transaction
    with pytest.raises(StorageFullError):
        store.settle([done(orders[0], scheduled=(large,))], T)
    assert store.get("large") is None
    assert len(store.claimed()) == 100
    assert history(store) == []

    store._connection.rows("PRAGMA max_page_count = 1073741823")
    put(store, large)
    assert store.settle([done(order) for order in orders], T) == [True] * 100
    assert len(history(store)) == 100


def test_b71_a_failure_that_was_caught_still_undoes_the_whole_transaction(store: SqliteStore) -> None:
    allow_no_more_pages(store)

    def half_caught() -> None:
        with store.transaction():
            put(store, job("small"))
            with pytest.raises(StorageFullError):
                store.put([job("large", payload=f'"{"x" * 100_000}"')], T)
            with pytest.raises(StorageError, match="failed already"):
                put(store, job("after"))

    with pytest.raises(StorageError, match="rolled back"):
        half_caught()
    assert store.jobs() == []


def test_a_file_that_becomes_read_only_is_told(store: SqliteStore) -> None:
    store._connection.rows("PRAGMA query_only = 1")

    with pytest.raises(StorageReadOnlyError, match="right to write"):
        put(store, job())

    store._connection.rows("PRAGMA query_only = 0")
    put(store, job())
    assert len(store.jobs()) == 1


def test_b50_a_page_that_is_damaged_under_a_running_store_is_told(path: Path) -> None:
    store = open_store(path)
    put(store, *(job(f"j{n}", payload=f'"{"x" * 3_000}"') for n in range(3_000)))
    store.close()
    store = open_store(path)
    content = path.read_bytes()
    with path.open("r+b") as file:
        file.seek(4_096 * 20)
        file.write(b"\xff" * (len(content) - 4_096 * 30))

    with pytest.raises(StorageCorruptError):
        store.jobs(limit=10_000)
    with pytest.raises(StorageCorruptError):
        store.cancel([f"j{n}" for n in range(3_000)], T)
    assert store.check() != []
    store.close()


def test_an_error_of_another_kind_keeps_its_words(store: SqliteStore) -> None:
    with pytest.raises(StorageError, match="no such table"):
        store._connection.rows("SELECT * FROM nowhere")


def test_a_value_that_sqlite_can_not_hold_is_told_and_undoes_the_transaction(store: SqliteStore) -> None:
    with pytest.raises(StorageError, match="surrogates"):
        put(store, job("a"), job("b", payload="\ud83c"))
    with pytest.raises(StorageError, match="too large"):
        put(store, job("a"), job("b", chat_id=2**70))

    assert store.jobs() == []


def test_a_closed_store_says_so(path: Path) -> None:
    store = open_store(path)
    store.close()
    store.close()

    with pytest.raises(StorageError, match="closed"):
        store.jobs()
