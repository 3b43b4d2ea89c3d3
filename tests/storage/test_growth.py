"""A file that is trimmed stays as large as it is."""

from bellringer.storage.sqlite_store import SqliteStore
from tests.contract.steps import T, claim_due, done, failed, job, put


def run_and_trim(store: SqliteStore, rounds: int) -> int:
    """A hundred jobs a round, every tenth of which fails. The number of pages in use afterwards."""
    for _ in range(rounds):
        put(store, *(job(f"j{n}", chat_id=n) for n in range(100)))
        store.settle([failed(order) if order.seq % 10 == 0 else done(order) for order in claim_due(store)], T)
        while store.trim(finished_before=0, keep=300, limit=50) == 50:
            pass
    return int(str(store._connection.rows("PRAGMA page_count")[0][0]))


def test_b81_the_file_reaches_a_plateau(store: SqliteStore) -> None:
    plateau = run_and_trim(store, 20)

    assert run_and_trim(store, 60) <= plateau * 1.1
    assert store.counts().occurrences <= 300 + 100
    assert store.check() == []


def test_b81_one_batch_deletes_no_more_than_its_limit(store: SqliteStore) -> None:
    put(store, *(job(f"j{n}") for n in range(500)))
    store.settle([done(order) for order in claim_due(store)], T)

    assert store.trim(finished_before=T + 10, keep=0, limit=50) == 50
    assert store.counts().occurrences == 450


def test_b81_kept_failures_do_not_hide_what_can_go(store: SqliteStore) -> None:
    put(store, *(job(f"bad{n}") for n in range(100)))
    store.settle([failed(order) for order in claim_due(store)], T)
    put(store, *(job(f"good{n}") for n in range(100)))
    store.settle([done(order) for order in claim_due(store)], T)

    gone = [store.trim(finished_before=T + 10, keep=0, limit=30) for _ in range(5)]

    assert gone == [30, 30, 30, 10, 0]
    assert store.counts().occurrences == 100
