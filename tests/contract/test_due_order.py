"""Every store: what is due, what is next, and what waits."""

from bellringer.storage.contract import Store
from bellringer.storage.values import WAITING, Cursor, Ending, Outcome
from tests.contract.steps import EVERY_SECOND, SECOND, T, all_due, history, job, put


def test_nothing_is_due_before_its_time(store: Store) -> None:
    put(store, job("a", T + 1))

    assert store.due(T, 10) == []
    assert [row.id for row in store.due(T + 1, 10)] == ["a"]


def test_what_is_due_comes_in_order_and_past_the_cursor(store: Store) -> None:
    put(store, job("c", T + 2), job("a", T), job("b", T), job("d", T + 3))

    first, second = store.due(T + 9, 2)
    rest = store.due(T + 9, 10, Cursor(second.next_attempt_at, second.seq))

    assert [first.id, second.id] == ["a", "b"]
    assert [row.id for row in rest] == ["c", "d"]
    assert store.due(T + 9, 10, Cursor(T + 3, rest[-1].seq)) == []


def test_a_due_row_tells_what_the_decision_needs(store: Store) -> None:
    put(store, job("a", T, chat_id=42, rule=EVERY_SECOND, misfire="skip", grace_us=5, time_limit_us=9))

    (row,) = store.due(T, 1)

    assert (row.handler, row.chat_id, row.rule, row.misfire, row.grace_us) == ("remind", 42, EVERY_SECOND, "skip", 5)
    assert (row.attempts, row.crashes, row.time_limit_us, row.next_due_at) == (0, 0, 9, None)


def test_the_next_instant_is_the_earliest_that_waits_for_nothing(store: Store) -> None:
    assert store.next_attempt_at() is None
    (first, _) = put(store, job("a", T), job("b", T + 5))
    assert store.next_attempt_at() == T
    assert store.next_attempt_at(Cursor(T, first)) == T + 5

    store.wait([first], "handler:remind", T)

    assert store.next_attempt_at() == T + 5


def test_what_waits_is_not_due_until_it_is_released(store: Store) -> None:
    seqs = put(store, job("a"), job("b", T + 1), job("c", T + 2))
    store.wait(seqs, "handler:remind", T)
    assert all_due(store) == []
    assert [row.waiting_for for row in store.jobs()] == ["handler:remind"] * 3

    assert store.release("handler:other", 10, T) == 0
    assert store.release("handler:remind", 2, T) == 2
    assert [row.id for row in all_due(store)] == ["a", "b"]
    assert store.release("handler:remind", 2, T) == 1
    assert [row.waiting_for for row in store.jobs()] == [None] * 3


def test_the_reasons_for_waiting_are_told_once_each(store: Store) -> None:
    seqs = put(store, *(job(f"j{n}") for n in range(6)))
    for seq, reason in zip(seqs, ["handler:b", "handler:a", "handler:b", "lane:1", "lane:2", "handle"], strict=True):
        store.wait([seq], reason, T)

    assert store.waiting("handler:") == ["handler:a", "handler:b"]
    assert store.waiting("lane:") == ["lane:1", "lane:2"]
    assert store.waiting("nothing:") == []


def test_waiting_for_something_with_a_broken_name_is_possible(store: Store) -> None:
    (seq,) = put(store, job())
    store.wait([seq], "handler:\ud83c", T)

    assert store.release("handler:\ud83c", 5, T) == 1


def test_what_waits_is_looked_at_again_when_it_is_run_now(store: Store) -> None:
    (seq,) = put(store, job())
    store.wait([seq], "lane:1", T)

    store.run_now("a", T)

    assert [row.seq for row in all_due(store)] == [seq]


def test_a_skipped_one_shot_is_finished_and_recorded(store: Store) -> None:
    (seq,) = put(store, job())

    store.skip(seq, [Ending(Outcome.SKIPPED, T, T + 99, reason="too late")], None)

    assert store.jobs() == []
    (row,) = history(store)
    assert (row.outcome, row.reason, row.late_by_us, row.started_at, row.count) == ("skipped", "too late", 99, None, 1)


def test_skipped_occurrences_of_a_series_are_told_in_one_row_and_it_goes_on(store: Store) -> None:
    (seq,) = put(store, job(rule=EVERY_SECOND))

    store.skip(seq, [Ending(Outcome.SKIPPED, T, T + 9, count=4, last_due_at=T + 3 * SECOND)], T + 4 * SECOND)

    (row,) = all_due(store)
    assert (row.seq, row.due_at, row.next_attempt_at, row.next_due_at) == (seq, T + 4 * SECOND, T + 4 * SECOND, None)
    (recorded,) = history(store)
    assert (recorded.count, recorded.due_at, recorded.last_due_at) == (4, T, T + 3 * SECOND)


def test_skipping_what_is_gone_records_nothing(store: Store) -> None:
    store.skip(12345, [Ending(Outcome.SKIPPED, T, T)], None)

    assert history(store) == []


def test_b46_a_row_that_can_not_be_decided_about_is_parked_with_its_reason(store: Store) -> None:
    seq, _ = put(store, job("a", rule='{"by_moon":1}'), job("b", T + 1))

    store.park(seq, "this version does not know the rule", T + 5)

    shown = store.get("a")
    assert shown is not None
    assert (shown.status, shown.reason) == ("parked", "this version does not know the rule")
    assert [row.id for row in all_due(store)] == ["b"]
    (recorded,) = history(store)
    assert (recorded.outcome, recorded.due_at, recorded.reason) == ("failed", T, "this version does not know the rule")
    assert store.redrive("a", T + 9)
    assert {row.id for row in all_due(store)} == {"a", "b"}


def test_only_what_is_scheduled_can_be_parked_so(store: Store) -> None:
    store.park(12345, "gone", T)

    assert history(store) == []


def test_what_waits_can_be_listed_alone(store: Store) -> None:
    unknown, _, busy = put(store, job("unknown"), job("free"), job("busy", chat_id=1))
    store.wait([unknown], "handler:nobody", T)
    store.wait([busy], "lane:1", T)

    assert [row.id for row in store.jobs(status=WAITING)] == ["unknown", "busy"]
    assert [row.id for row in store.jobs(status=WAITING, chat_id=1)] == ["busy"]
