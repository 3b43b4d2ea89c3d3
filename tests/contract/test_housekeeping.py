"""Every store: transactions, the ledger's pages and retention, and small things remembered."""

import pytest

from bellringer.storage.contract import Store
from bellringer.storage.errors import StorageError
from bellringer.storage.values import Ending, Outcome
from tests.contract.steps import T, all_due, broken_transaction, claim_due, done, failed, history, job, only_order, put


def record(store: Store, job_id: str, outcome: str, finished_at: int) -> None:
    """One ledger row."""
    put(store, job(job_id))
    (order,) = claim_due(store)
    end = Ending(outcome, T, finished_at)
    if outcome == Outcome.FAILED:
        store.settle([failed(order, ending=end, next_due_at=T + 1)], T)
        store.skip(order.seq, [Ending(Outcome.SKIPPED, T + 1, finished_at)], None)
    else:
        store.settle([done(order, ending=end)], T)


def test_a_transaction_that_fails_has_not_happened(store: Store) -> None:
    order = only_order(store, job("b", chat_id=1))
    put(store, job("stays"))
    before = (store.jobs(), store.history(), store.counts(), store.sessions())

    with broken_transaction(store):
        put(store, job("new"), job("stays", T + 5))
        store.settle([done(order, session_set='{"n":1}')], T)
        store.cancel(["stays"], T)
        store.set_meta("key", "value")
        store.remember_replies("client", 1, "[]", T)

    assert (store.jobs(), store.history(), store.counts(), store.sessions()) == before
    assert store.meta("key") is None
    assert store.recall_replies("client") is None


def test_transactions_nest_and_the_outermost_decides(store: Store) -> None:
    with broken_transaction(store), store.transaction():
        put(store, job())

    assert store.jobs() == []


def test_a_part_that_failed_dooms_the_whole_even_if_its_error_is_caught(store: Store) -> None:
    def half_caught() -> None:
        with store.transaction():
            put(store, job("a"))
            with broken_transaction(store):
                put(store, job("b"))

    with pytest.raises(StorageError):
        half_caught()
    assert store.jobs() == []
    put(store, job("c"))
    assert [row.id for row in all_due(store)] == ["c"]


def test_the_ledger_comes_in_pages_newest_first(store: Store) -> None:
    for n in range(5):
        record(store, f"j{n}", Outcome.DONE, T + n)

    first = store.history(limit=2)
    rest = store.history(limit=9, before=first[-1].number)

    assert [row.job_id for row in first] == ["j4", "j3"]
    assert [row.job_id for row in rest] == ["j2", "j1", "j0"]


def test_the_ledger_is_told_by_job_chat_and_outcome(store: Store) -> None:
    order = only_order(store, job("a", chat_id=42))
    store.settle([failed(order)], T)
    order = only_order(store, job("b", chat_id="42"))
    store.settle([done(order)], T)

    assert [row.job_id for row in store.history(job_id="a")] == ["a"]
    assert [row.job_id for row in store.history(chat_id=42)] == ["a"]
    assert [row.job_id for row in store.history(chat_id="42")] == ["b"]
    assert [row.job_id for row in store.history(outcome="done")] == ["b"]
    assert [row.job_id for row in store.history(outcome="failed")] == ["a"]
    assert store.history(outcome="skipped") == []
    assert store.history(outcome="dreamt") == []
    assert store.history(job_id="a", outcome="done") == []


def test_b81_old_rows_go_in_small_batches(store: Store) -> None:
    for n in range(7):
        record(store, f"j{n}", Outcome.DONE, T + n)

    gone = [store.trim(finished_before=T + 5, keep=100, limit=2) for _ in range(4)]

    assert gone == [2, 2, 1, 0]
    assert [row.job_id for row in history(store)] == ["j6", "j5"]


def test_b81_rows_beyond_the_count_go_the_oldest_first(store: Store) -> None:
    for n in range(7):
        record(store, f"j{n}", Outcome.DONE, T)

    assert store.trim(finished_before=0, keep=3, limit=100) == 4
    assert [row.job_id for row in history(store)] == ["j6", "j5", "j4"]
    assert store.trim(finished_before=0, keep=3, limit=100) == 0


def test_b81_the_latest_failure_of_each_job_is_always_kept(store: Store) -> None:
    for outcome in (Outcome.FAILED, Outcome.DONE, Outcome.FAILED, Outcome.DONE):
        record(store, "a", outcome, T)
    record(store, "b", Outcome.FAILED, T)
    latest = store.history(job_id="a", outcome=Outcome.FAILED, limit=1)

    while store.trim(finished_before=T + 9, keep=0, limit=2) == 2:
        pass

    assert [row.outcome for row in history(store)] == ["failed", "failed"]
    assert store.history(job_id="a") == latest


def test_b81_a_trimmed_ledger_does_not_let_a_seq_come_back(store: Store) -> None:
    order = only_order(store)
    store.settle([done(order)], T)
    store.trim(finished_before=T + 9, keep=0, limit=10)

    (seq,) = put(store, job("b"))

    assert seq > order.seq


def test_the_answer_to_the_latest_batch_of_a_client_is_remembered(store: Store) -> None:
    assert store.recall_replies("client") is None
    store.remember_replies("client", 1, "[1]", T)
    store.remember_replies("client", 2, "[2]", T)
    store.remember_replies("other", 9, "[9]", T)

    assert store.recall_replies("client") == (2, "[2]")


def test_old_answers_are_forgotten(store: Store) -> None:
    store.remember_replies("old", 1, "[]", T)
    store.remember_replies("new", 1, "[]", T + 9)

    store.trim(finished_before=T + 5, keep=10, limit=10)

    assert store.recall_replies("old") is None
    assert store.recall_replies("new") == (1, "[]")


def test_single_values_are_kept_by_key(store: Store) -> None:
    assert store.meta("key") is None
    store.set_meta("key", "one")
    store.set_meta("key", "two")

    assert store.meta("key") == "two"
