"""Every store: how jobs come in, are replaced, cancelled and shown."""

import pytest

from bellringer.storage.contract import Store
from bellringer.storage.values import Counts, Outcome, Status
from tests.contract.steps import (
    EVERY_SECOND,
    SECOND,
    T,
    all_due,
    broken_transaction,
    claim_due,
    done,
    failed,
    history,
    job,
    only_order,
    outcomes,
    put,
)


def test_a_scheduled_job_is_shown_as_it_was_given(store: Store) -> None:
    spec = job("a", T + 5, payload='{"text":"tea"}', chat_id=42, user_id="7", thread_id=-1, rule=EVERY_SECOND)
    (seq,) = put(store, spec)

    shown = store.get("a")

    assert shown is not None
    assert (shown.id, shown.handler, shown.status, shown.seq) == ("a", "remind", Status.SCHEDULED, seq)
    assert (shown.due_at, shown.next_attempt_at, shown.attempts) == (T + 5, T + 5, 0)
    assert (shown.chat_id, shown.user_id, shown.thread_id) == (42, "7", -1)
    assert (shown.payload, shown.rule, shown.delivery) == ('{"text":"tea"}', EVERY_SECOND, "at_most_once")
    assert (shown.waiting_for, shown.reason, shown.host, shown.claimed_at) == (None, None, None, None)


def test_nothing_is_shown_of_a_job_that_never_was(store: Store) -> None:
    assert store.get("a") is None
    assert store.get("\ud83c") is None
    assert store.jobs() == []
    assert store.history(job_id="\ud83c") == []
    assert store.jobs(after="\ud83c") == []
    assert store.jobs(chat_id=2**70) == []
    assert not store.run_now("\ud83c", T)
    assert not store.redrive("\ud83c", T)
    assert store.recall_replies("\ud83c") is None


def test_a_number_and_a_text_are_two_chats(store: Store) -> None:
    put(store, job("number", chat_id=42), job("text", chat_id="42"))

    assert [row.id for row in store.jobs(chat_id=42)] == ["number"]
    assert [row.id for row in store.jobs(chat_id="42")] == ["text"]


def test_a_chat_may_have_the_largest_number(store: Store) -> None:
    put(store, job("a", chat_id=2**63 - 1, user_id=-(2**63)))

    shown = store.get("a")

    assert shown is not None
    assert (shown.chat_id, shown.user_id) == (2**63 - 1, -(2**63))


def test_scheduling_an_id_again_replaces_the_job_whole(store: Store) -> None:
    (old,) = put(store, job("a", T, payload="1", chat_id=1))

    (placed,) = store.put([job("a", T + 9, payload="2")], T + 1)

    assert placed.replaced_seq == old
    assert placed.seq != old
    (row,) = store.jobs()
    assert (row.seq, row.due_at, row.payload, row.chat_id) == (placed.seq, T + 9, "2", None)


def test_the_replaced_occurrence_is_recorded_cancelled(store: Store) -> None:
    put(store, job("a", T + 5))

    store.put([job("a", T + 9)], T + 1)

    (row,) = history(store)
    assert (row.outcome, row.reason, row.due_at, row.finished_at) == (Outcome.CANCELLED, "replaced", T + 5, T + 1)
    assert row.late_by_us == 0


def test_a_seq_is_never_used_twice(store: Store) -> None:
    seqs: set[int] = set()
    for _ in range(50):
        seqs.update(put(store, job("a"), job("b")))
        store.cancel(["a", "b"], T)

    assert len(seqs) == 100


def test_a_seq_that_was_rolled_back_is_never_confused_with_another(store: Store) -> None:
    with broken_transaction(store):
        put(store, job("lost"))
    (first,) = put(store, job("a"))
    (second,) = put(store, job("b"))

    assert first < second
    assert store.get("lost") is None


def test_b58_the_same_id_twice_in_one_call_leaves_the_last(store: Store) -> None:
    placed = store.put([job("a", payload="1"), job("b"), job("a", payload="2")], T)

    assert placed[0] == placed[2]
    assert [row.payload for row in store.jobs() if row.id == "a"] == ["2"]
    assert history(store) == []


@pytest.mark.parametrize("state", ["scheduled", "claimed", "waiting", "parked"])
def test_b58_the_rule_of_replacing_is_the_same_in_every_state(store: Store, state: str) -> None:
    (seq,) = put(store, job("a"))
    if state in ("claimed", "parked"):
        (order,) = claim_due(store)
        if state == "parked":
            store.settle([failed(order)], T)
    elif state == "waiting":
        store.wait([seq], "handler:remind", T)

    (placed,) = store.put([job("a", T + 9, payload="2")], T + 7)

    assert placed.replaced_seq == seq
    (row,) = store.jobs()
    assert (row.status, row.due_at, row.payload, row.attempts, row.waiting_for) == ("scheduled", T + 9, "2", 0, None)
    assert outcomes(store)[-1] == Outcome.CANCELLED


def test_b39_putting_the_same_job_twice_makes_one_run(store: Store) -> None:
    put(store, job("a"))
    put(store, job("a"))

    assert len(claim_due(store)) == 1
    assert claim_due(store) == []


def test_b40_the_same_handler_and_time_in_two_chats_makes_two_runs(store: Store) -> None:
    put(store, job("a", chat_id=1), job("b", chat_id=2), job("c", chat_id=2, payload="1"))

    assert [order.id for order in claim_due(store)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "job_id",
    [
        "a:b",
        "a'b",
        'a"; DROP TABLE job;--',
        "a\nb",
        "🎂",
        "👨‍👩‍👧",
        "\u200f\u05e9\u05dc\u05d5\u05dd",
        "%",
        "_",
        "x" * 512,
        " a ",
        "é",
        "e\u0301",
        "a]b",
        "[1]",
        "\x01",
        "\\u0041",
    ],
)
def test_b59_every_accepted_id_is_kept_byte_for_byte(store: Store, job_id: str) -> None:
    put(store, job(job_id), job("other"))

    assert [row.id for row in store.jobs() if row.id != "other"] == [job_id]
    shown = store.get(job_id)
    assert shown is not None
    assert shown.id == job_id
    assert store.cancel([job_id], T)[0] is not None
    assert [row.id for row in store.jobs()] == ["other"]
    assert [row.job_id for row in store.history(job_id=job_id)] == [job_id]


def test_b59_ids_that_only_look_alike_are_two_jobs(store: Store) -> None:
    put(store, job("é"), job("e\u0301"), job("a"), job("A"), job("a "))

    assert len(store.jobs()) == 5


def test_a_cancelled_job_never_runs(store: Store) -> None:
    (seq,) = put(store, job("a"))

    (removed,) = store.cancel(["a"], T + 1)

    assert removed is not None
    assert (removed.seq, removed.status) == (seq, Status.SCHEDULED)
    assert claim_due(store) == []
    assert store.next_attempt_at() is None
    (row,) = history(store)
    assert (row.outcome, row.reason, row.due_at, row.job_seq) == (Outcome.CANCELLED, "cancelled", T, seq)


def test_cancelling_what_is_not_there_is_told_and_harms_nothing(store: Store) -> None:
    put(store, job("a"))

    removed = store.cancel(["nobody", "a", "a", "\ud83c"], T)

    assert [gone is not None for gone in removed] == [False, True, False, False]
    assert store.cancel(["a"], T) == [None]
    assert store.cancel([], T) == []


def test_cancelling_a_parked_job_is_recorded_beside_its_failure(store: Store) -> None:
    order = only_order(store)
    store.settle([failed(order)], T)

    (removed,) = store.cancel(["a"], T)

    assert removed is not None
    assert removed.status == Status.PARKED
    assert outcomes(store) == [Outcome.FAILED, Outcome.CANCELLED]


def test_a_one_shot_that_is_run_now_is_moved_up(store: Store) -> None:
    put(store, job("a", T + 9 * SECOND))

    assert store.run_now("a", T + 1)

    (row,) = all_due(store, T + 1)
    assert (row.next_attempt_at, row.due_at) == (T + 1, T + 1)


def test_a_late_one_shot_keeps_its_due_time_when_it_is_run_now(store: Store) -> None:
    (seq,) = put(store, job("a", T))
    store.wait([seq], "handler:remind", T)

    assert store.run_now("a", T + 7)

    (row,) = all_due(store, T + 7)
    assert (row.next_attempt_at, row.due_at) == (T + 7, T)


def test_a_repeating_job_that_is_run_now_gets_an_extra_occurrence(store: Store) -> None:
    put(store, job("a", T + SECOND, rule=EVERY_SECOND))

    assert store.run_now("a", T + 3)

    (order,) = claim_due(store, T + 3)
    assert order.due_at == T + 3
    (claimed,) = store.claimed()
    assert claimed.next_due_at == T + SECOND
    store.settle([done(order, next_due_at=T + SECOND)], T + 4)
    (row,) = store.jobs()
    assert row.due_at == T + SECOND


def test_a_repeating_job_that_waits_for_its_retry_is_only_moved_up(store: Store) -> None:
    order = only_order(store, job("a", T, rule=EVERY_SECOND))
    retry = done(order, event="retry", ending=None, next_attempt_at=T + 9 * SECOND, attempts=1)
    store.settle([retry], T)

    assert store.run_now("a", T + 5)

    (row,) = all_due(store, T + 5)
    assert (row.due_at, row.next_due_at, row.next_attempt_at, row.attempts) == (T, T + SECOND, T + 5, 1)


def test_a_second_extra_occurrence_in_the_same_instant_is_still_its_own(store: Store) -> None:
    put(store, job("a", T + SECOND, rule=EVERY_SECOND))
    for _ in range(2):
        assert store.run_now("a", T + 3)
        (order,) = claim_due(store, T + 3)
        store.settle([done(order, next_due_at=T + SECOND)], T + 4)

    assert outcomes(store) == [Outcome.DONE, Outcome.DONE]


def test_what_is_not_scheduled_can_not_be_run_now(store: Store) -> None:
    only_order(store)

    assert not store.run_now("a", T)
    assert not store.run_now("nobody", T)


def test_a_parked_job_that_is_redriven_begins_anew(store: Store) -> None:
    order = only_order(store)
    store.settle([failed(order, attempts=3, crashes=2)], T + 2)

    assert store.redrive("a", T + 50)

    (row,) = all_due(store, T + 50)
    assert (row.due_at, row.next_attempt_at, row.attempts, row.crashes) == (T + 50, T + 50, 0, 0)
    (again,) = claim_due(store, T + 50)
    assert again.attempt == 1
    assert again.run_key != order.run_key
    store.settle([done(again)], T + 60)
    assert outcomes(store) == [Outcome.FAILED, Outcome.DONE]


def test_a_redrive_in_the_instant_of_the_failure_has_an_outcome_of_its_own(store: Store) -> None:
    order = only_order(store)
    store.settle([failed(order, at=T)], T)

    store.redrive("a", T)
    (again,) = claim_due(store)
    store.settle([done(again, at=T)], T)

    assert outcomes(store) == [Outcome.FAILED, Outcome.DONE]


def test_what_is_not_parked_can_not_be_redriven(store: Store) -> None:
    put(store, job("a"))

    assert not store.redrive("a", T)
    assert not store.redrive("nobody", T)


def test_a_finished_job_is_told_from_its_ledger(store: Store) -> None:
    order = only_order(store, job("a", chat_id=42))
    store.settle([done(order)], T)

    shown = store.get("a")

    assert shown is not None
    assert (shown.status, shown.due_at, shown.seq, shown.chat_id, shown.payload) == ("done", T, order.seq, 42, None)


def test_jobs_come_in_pages_in_order_of_their_due_time(store: Store) -> None:
    put(store, *(job(f"j{n}", T + n % 3) for n in range(9)))

    first = [row.id for row in store.jobs(limit=4)]
    second = [row.id for row in store.jobs(limit=4, after=first[-1])]
    third = [row.id for row in store.jobs(limit=4, after=second[-1])]

    assert first + second + third == ["j0", "j3", "j6", "j1", "j4", "j7", "j2", "j5", "j8"]
    assert store.jobs(after="nobody") == []


def test_a_page_goes_on_after_a_job_that_has_run_meanwhile(store: Store) -> None:
    put(store, job("a", T), job("b", T + 1), job("c", T + 2))
    (order,) = claim_due(store, T)
    store.settle([done(order)], T)

    assert [row.id for row in store.jobs(after="a")] == ["b", "c"]


def test_jobs_are_told_by_status(store: Store) -> None:
    order = only_order(store)
    put(store, job("b", T + 9))

    assert [row.id for row in store.jobs(status="scheduled")] == ["b"]
    (claimed,) = store.jobs(status="claimed")
    assert (claimed.host, claimed.claimed_at, claimed.attempts) == ("host-1", T + 3600 * SECOND, 1)
    store.settle([failed(order)], T)
    (parked,) = store.jobs(status="parked")
    assert (parked.reason, parked.next_attempt_at, parked.host) == ("it broke", None, None)
    assert store.jobs(status="dreaming") == []


def test_counts_tell_how_many_stand_where(store: Store) -> None:
    only_order(store, job("claimed"))
    put(store, job("parked"))
    (order,) = claim_due(store)
    store.settle([failed(order)], T)
    (waiting,) = put(store, job("waiting"))
    store.wait([waiting], "lane:1", T)
    put(store, job("due"))

    assert store.counts() == Counts(scheduled=2, claimed=1, parked=1, waiting=1, occurrences=1)
