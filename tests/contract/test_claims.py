"""Every store: claims, and how each of them ends."""

import json

import pytest

from bellringer.storage.contract import Store
from bellringer.storage.errors import ImpossibleTransitionError
from bellringer.storage.states import TABLE, Event, after
from bellringer.storage.values import Claim, Ending, Outcome, Settlement, Status
from tests.contract.steps import (
    EVERY_SECOND,
    SECOND,
    T,
    all_due,
    broken_transaction,
    claim_due,
    claim_of,
    done,
    ending,
    failed,
    history,
    job,
    only_order,
    outcomes,
    put,
)


def test_a_claim_hands_out_all_that_a_host_needs(store: Store) -> None:
    spec = job("a", T, payload='{"text":"tea"}', chat_id=42, user_id="7", thread_id=3, time_limit_us=9)
    (seq,) = put(store, spec)

    (order,) = store.claim([Claim(seq, 77, "host-1", T, None, T + 60)], T + 1)

    assert (order.seq, order.token, order.id, order.handler) == (seq, 77, "a", "remind")
    assert (order.chat_id, order.user_id, order.thread_id) == (42, "7", 3)
    assert (order.payload, order.session, order.due_at) == ('{"text":"tea"}', None, T)
    assert (order.attempt, order.time_limit_us) == (1, 9)


def test_a_claim_is_shown_with_its_host_and_lease(store: Store) -> None:
    (seq,) = put(store, job("a", T, rule=EVERY_SECOND, delivery="at_least_once", max_attempts=3, chat_id=42))
    store.claim([Claim(seq, 77, "host-1", T, T + SECOND, T + 60)], T + 1)

    (claimed,) = store.claimed()

    assert (claimed.seq, claimed.token, claimed.host, claimed.id, claimed.handler) == (seq, 77, "host-1", "a", "remind")
    assert (claimed.due_at, claimed.next_due_at, claimed.lease_until, claimed.claimed_at) == (
        T,
        T + SECOND,
        T + 60,
        T + 1,
    )
    assert (claimed.attempts, claimed.crashes, claimed.context_failures) == (1, 0, 0)
    assert (claimed.rule, claimed.delivery, claimed.max_attempts, claimed.chat_id) == (
        EVERY_SECOND,
        "at_least_once",
        3,
        42,
    )
    assert store.claims([seq, 999]) == {seq: claimed}


def test_what_is_claimed_is_not_due_and_can_not_be_claimed_again(store: Store) -> None:
    (seq,) = put(store, job())
    (row,) = all_due(store)

    assert len(store.claim([claim_of(row, token=1)], T)) == 1
    assert store.claim([claim_of(row, token=2)], T) == []
    assert all_due(store) == []
    assert store.claims([seq])[seq].token == 1


def test_a_claim_whose_row_is_gone_is_left_out(store: Store) -> None:
    put(store, job("a"), job("b"))
    rows = all_due(store)
    store.cancel(["a"], T)

    orders = store.claim([claim_of(row) for row in rows], T)

    assert [order.id for order in orders] == ["b"]


def test_orders_come_in_the_order_of_the_claims(store: Store) -> None:
    put(store, *(job(f"j{n}") for n in range(20)))
    rows = list(reversed(all_due(store)))

    orders = store.claim([claim_of(row) for row in rows], T)

    assert [order.seq for order in orders] == [row.seq for row in rows]


def test_a_claim_may_name_a_later_due_time_of_the_series(store: Store) -> None:
    (seq,) = put(store, job(rule=EVERY_SECOND))

    (order,) = store.claim([Claim(seq, 1, "host-1", T + 2 * SECOND, T + 3 * SECOND, T + 60)], T)

    assert order.due_at == T + 2 * SECOND
    assert store.claimed()[0].due_at == T + 2 * SECOND


def test_a_done_one_shot_leaves_only_its_ledger_row(store: Store) -> None:
    order = only_order(store, job("a", chat_id=42, user_id=7))
    end = Ending("done", T, T + 30, T + 10, delivered=("m1", "m2"))

    assert store.settle([done(order, ending=end)], T + 30) == [True]

    assert store.jobs() == []
    assert store.claimed() == []
    (row,) = history(store)
    assert (row.job_id, row.job_seq, row.handler, row.outcome) == ("a", order.seq, "remind", "done")
    assert (row.chat_id, row.user_id, row.attempts, row.count) == (42, 7, 1, 1)
    assert (row.due_at, row.started_at, row.finished_at, row.late_by_us) == (T, T + 10, T + 30, 10)
    assert json.loads(row.delivered or "") == ["m1", "m2"]
    assert row.run_key == order.run_key


def test_a_done_occurrence_of_a_series_is_followed_by_the_next(store: Store) -> None:
    order = only_order(store, job(rule=EVERY_SECOND))

    store.settle([done(order, next_due_at=T + SECOND)], T)

    (row,) = all_due(store)
    assert (row.due_at, row.next_attempt_at, row.next_due_at, row.attempts) == (T + SECOND, T + SECOND, None, 0)
    assert outcomes(store) == ["done"]


def test_a_retry_goes_on_with_the_same_occurrence(store: Store) -> None:
    order = only_order(store, job(rule=EVERY_SECOND))
    retry = Settlement(order.seq, order.token, "retry", next_attempt_at=T + 9, attempts=1, reason="try later")

    assert store.settle([retry], T) == [True]

    (row,) = all_due(store)
    assert (row.due_at, row.next_attempt_at, row.next_due_at, row.attempts) == (T, T + 9, T + SECOND, 1)
    assert history(store) == []
    (again,) = claim_due(store)
    assert (again.attempt, again.run_key) == (2, order.run_key)


def test_a_claim_given_back_does_not_count_as_an_attempt(store: Store) -> None:
    order = only_order(store)

    store.settle([Settlement(order.seq, order.token, "release", next_attempt_at=T, attempts=0)], T)

    (again,) = claim_due(store)
    assert again.attempt == 1


def test_context_failures_and_crashes_are_kept_between_attempts(store: Store) -> None:
    order = only_order(store)
    event = Settlement(order.seq, order.token, "context_failed", next_attempt_at=T, crashes=2, context_failures=4)
    store.settle([event], T)

    assert all_due(store)[0].crashes == 2
    claim_due(store)
    assert (store.claimed()[0].crashes, store.claimed()[0].context_failures) == (2, 4)


@pytest.mark.parametrize("event", ["fail", "park", "interrupt"])
def test_a_one_shot_that_ends_badly_is_parked_with_its_reason(store: Store, event: str) -> None:
    order = only_order(store)

    store.settle([failed(order, event)], T)

    shown = store.get("a")
    assert shown is not None
    assert (shown.status, shown.reason, shown.due_at, shown.attempts) == ("parked", "it broke", T, 1)
    assert all_due(store) == []
    assert store.next_attempt_at() is None


@pytest.mark.parametrize("event", ["fail", "park", "interrupt"])
def test_b51_a_series_goes_on_after_an_occurrence_that_ended_badly(store: Store, event: str) -> None:
    order = only_order(store, job(rule=EVERY_SECOND))

    store.settle([failed(order, event, next_due_at=T + SECOND)], T)

    (row,) = all_due(store)
    assert (row.due_at, row.attempts) == (T + SECOND, 0)
    assert outcomes(store) == ["failed"]


def test_b44_an_interrupted_run_may_be_tried_again_under_the_same_key(store: Store) -> None:
    order = only_order(store, job(delivery="at_least_once"))

    store.settle([Settlement(order.seq, order.token, "interrupt", next_attempt_at=T, attempts=1, crashes=1)], T)

    (again,) = claim_due(store)
    assert again.run_key == order.run_key
    assert history(store) == []


def test_a_claimed_occurrence_can_be_skipped(store: Store) -> None:
    order = only_order(store)

    store.settle([done(order, event="skip", ending=ending(order, Outcome.SKIPPED))], T)

    assert store.jobs() == []
    assert outcomes(store) == ["skipped"]


@pytest.mark.parametrize("event", ["retry", "context_failed", "release"])
def test_an_attempt_that_must_follow_can_not_be_left_out(store: Store, event: str) -> None:
    order = only_order(store)

    with pytest.raises(ImpossibleTransitionError):
        store.settle([Settlement(order.seq, order.token, event)], T)
    assert len(store.claimed()) == 1


@pytest.mark.parametrize("event", ["claim", "schedule", "redrive", "nonsense"])
def test_a_claim_can_not_end_by_an_event_of_another_state(store: Store, event: str) -> None:
    order = only_order(store)

    with pytest.raises(ImpossibleTransitionError):
        store.settle([Settlement(order.seq, order.token, event, next_attempt_at=T)], T)
    assert len(store.claimed()) == 1


def test_every_pair_that_the_table_does_not_hold_is_refused() -> None:
    for status in (None, *Status):
        for event in Event:
            for goes_on in (False, True):
                step = TABLE.get((status, event))
                following = step and (step.going_on if goes_on else step.at_the_end)
                if following is not None:
                    assert after(status, event, goes_on=goes_on) is following
                else:
                    with pytest.raises(ImpossibleTransitionError):
                        after(status, event, goes_on=goes_on)


def test_a_stale_token_changes_nothing(store: Store) -> None:
    order = only_order(store, job(chat_id=1))
    stale = done(order, token=order.token + 1, session_set='{"n":1}', scheduled=(job("new"),), cancelled=("a",))

    assert store.settle([stale], T) == [False]

    assert [row.status for row in store.jobs()] == ["claimed"]
    assert history(store) == []
    assert store.sessions() == []


def test_a_result_counts_once(store: Store) -> None:
    order = only_order(store)

    assert store.settle([done(order), done(order)], T) == [True, False]
    assert store.settle([done(order)], T) == [False]
    assert outcomes(store) == ["done"]


def test_b37_a_late_finisher_can_not_end_the_attempt_that_followed_his(store: Store) -> None:
    order = only_order(store)
    store.settle([Settlement(order.seq, order.token, "interrupt", next_attempt_at=T)], T)
    (row,) = all_due(store)
    (again,) = store.claim([claim_of(row, token=5)], T)

    assert store.settle([done(order)], T) == [False]
    assert store.settle([done(again)], T) == [True]


def test_b55_a_run_that_cancels_its_own_series_is_recorded_and_the_series_ends(store: Store) -> None:
    order = only_order(store, job(rule=EVERY_SECOND))

    assert store.settle([done(order, next_due_at=T + SECOND, cancelled=("a",))], T) == [True]

    assert store.jobs() == []
    assert outcomes(store) == ["done", "cancelled"]


def test_b55_a_run_that_cancels_another_one_of_the_same_batch_wins(store: Store) -> None:
    put(store, job("a"), job("b"), job("c"))
    first, second, third = claim_due(store)

    assert store.settle([done(first, cancelled=("b",)), done(second), done(third)], T) == [True, False, True]
    assert outcomes(store, "b") == ["cancelled"]


def test_b55_a_cancelled_run_may_finish_but_brings_nothing_back(store: Store) -> None:
    order = only_order(store, job(rule=EVERY_SECOND))
    store.cancel(["a"], T)

    assert store.settle([done(order, next_due_at=T + SECOND)], T) == [False]

    assert store.jobs() == []
    assert outcomes(store) == ["cancelled"]


def test_b56_a_run_may_schedule_its_own_id_again_a_hundred_times(store: Store) -> None:
    put(store, job("a"))
    for n in range(100):
        (order,) = claim_due(store)
        store.settle([done(order, scheduled=(job("a", T + n + 1),))], T)

    (row,) = store.jobs()
    assert (row.due_at, row.status) == (T + 100, "scheduled")
    assert outcomes(store) == ["done"] * 100


def test_b56_what_a_failing_run_scheduled_under_its_own_id_survives(store: Store) -> None:
    order = only_order(store)

    store.settle([failed(order, scheduled=(job("a", T + 600),))], T)

    (row,) = store.jobs()
    assert (row.due_at, row.status, row.reason) == (T + 600, "scheduled", None)
    assert outcomes(store)[0] == "failed"


def test_b56_a_rescheduled_job_is_not_touched_by_the_run_of_the_old_one(store: Store) -> None:
    order = only_order(store)
    put(store, job("a", T + 600))

    assert store.settle([done(order)], T) == [False]
    (row,) = store.jobs()
    assert (row.due_at, row.status) == (T + 600, "scheduled")


def test_an_id_that_is_both_cancelled_and_scheduled_stands(store: Store) -> None:
    order = only_order(store)
    put(store, job("b"))

    store.settle([done(order, cancelled=("b",), scheduled=(job("b", T + 9),))], T)

    assert [(row.id, row.due_at) for row in store.jobs()] == [("b", T + 9)]


def test_a_session_is_merged_onto_the_row_as_it_is_then(store: Store) -> None:
    put(store, job("a", chat_id=1, user_id=2), job("b", chat_id=1, user_id=2), job("c", chat_id=1, user_id=2))
    first, second, third = claim_due(store)
    assert first.session is None

    store.settle([done(first, session_set='{"n":1,"old":true}'), done(second, session_set='{"m":"🎂"}')], T)
    store.settle([done(third, session_set='{"n":2}', session_remove=("old", "nothing"))], T + 5)

    (session,) = store.sessions()
    assert json.loads(session.data) == {"n": 2, "m": "🎂"}
    assert (session.chat_id, session.user_id, session.updated_at) == (1, 2, T + 5)
    order = only_order(store, job("d", chat_id=1, user_id=2))
    assert json.loads(order.session or "") == {"n": 2, "m": "🎂"}


def test_each_chat_and_user_has_a_session_of_its_own(store: Store) -> None:
    keys: list[tuple[int | str | None, int | str | None]]
    keys = [(1, 2), ("1", 2), (1, "2"), (1, None), (None, 2), (None, None)]
    put(store, *(job(f"j{n}", chat_id=chat, user_id=user) for n, (chat, user) in enumerate(keys)))
    orders = claim_due(store)
    store.settle([done(order, session_set=json.dumps({"of": order.id})) for order in orders], T)
    put(store, *(job(f"j{n}", chat_id=chat, user_id=user) for n, (chat, user) in enumerate(keys)))

    for order in claim_due(store):
        assert json.loads(order.session or "") == {"of": order.id}
    assert [(row.chat_id, row.user_id) for row in store.sessions()] == keys
    assert [row.user_id for row in store.sessions(chat_id=1)] == [2, "2", None]
    second = store.sessions(limit=2)[-1]
    assert len(store.sessions(after=second.number)) == 4


def test_b65_half_an_emoji_in_a_session_can_be_stored(store: Store) -> None:
    order = only_order(store, job(chat_id=1))

    store.settle([done(order, session_set=json.dumps({"text": "\ud83c"}))], T)

    assert json.loads(store.sessions()[0].data) == {"text": "\ud83c"}


def test_b65_an_error_text_that_is_no_text_does_not_kill_the_recorder(store: Store) -> None:
    order = only_order(store)
    broken = ending(order, Outcome.FAILED, reason="bad \ud83c", traceback="a\0b \udcff é")

    assert store.settle([failed(order, ending=broken, reason="bad \ud83c")], T) == [True]

    (row,) = history(store)
    assert (row.reason, row.traceback) == ("bad \\ud83c", "a\\x00b \\udcff é")
    assert store.jobs()[0].reason == "bad \\ud83c"


@pytest.mark.parametrize("k", [1, 2, 500, 503])
def test_b99_the_hand_over_that_fails_loses_and_doubles_nothing(store: Store, k: int) -> None:
    put(store, *(job(f"j{n:03d}") for n in range(503)))
    rows = all_due(store)

    with broken_transaction(store):
        for row in rows[:k]:
            assert len(store.claim([claim_of(row)], T)) == 1
    assert len(all_due(store)) == 503
    assert store.claimed() == []

    orders = claim_due(store)
    assert store.settle([done(order) for order in orders], T) == [True] * 503
    assert sorted(row.job_id for row in history(store)) == [f"j{n:03d}" for n in range(503)]


@pytest.mark.parametrize("k", [1, 2, 500, 503])
def test_b99_the_settlement_that_fails_loses_and_doubles_nothing(store: Store, k: int) -> None:
    put(store, *(job(f"j{n:03d}", chat_id=1) for n in range(503)))
    orders = claim_due(store)

    with broken_transaction(store):
        for order in orders[:k]:
            assert store.settle([done(order, session_set='{"n":1}')], T) == [True]
    assert history(store) == []
    assert store.sessions() == []
    assert len(store.claimed()) == 503

    assert store.settle([done(order) for order in orders], T) == [True] * 503
    assert len(history(store)) == 503


def test_b45_five_thousand_claims_of_a_dead_host_are_found_and_given_back(store: Store) -> None:
    put(store, *(job(f"j{n}") for n in range(5000)))
    claim_due(store)

    left = store.claimed()
    store.settle([Settlement(row.seq, row.token, "release", next_attempt_at=T) for row in left], T)

    assert len(left) == 5000
    assert len(all_due(store)) == 5000
    assert store.claimed() == []
