"""Every store: what held an occurrence up is told until it has ended; pauses, snoozes and outages."""

import pytest

from bellringer.storage.contract import Store
from bellringer.storage.values import SNOOZE, DueRow, Ending, Outage, Outcome, Pause, Scope, Settlement
from tests.contract.steps import (
    EVERY_SECOND,
    SECOND,
    T,
    all_due,
    broken_transaction,
    claim_due,
    done,
    job,
    only_order,
    put,
)


def held(row: DueRow) -> tuple[str | None, int | None, int | None]:
    return row.held_by, row.held_from, row.held_until


def held_series(store: Store) -> int:
    (seq,) = put(store, job(rule=EVERY_SECOND))
    store.wait([seq], "lane:1", T)
    store.release("lane:1", 9, T + 5)
    return seq


def only_due(store: Store) -> DueRow:
    (row,) = all_due(store)
    return row


def test_what_a_pause_has_left_outlasts_a_wait_for_a_lane(store: Store) -> None:
    (seq,) = put(store, job())
    store.wait([seq], "pause:job:a", T)
    store.release("pause:job:a", 9, T + 5, held_by="pause")

    store.wait([seq], "lane:1", T + 6)
    store.release("lane:1", 9, T + 7)

    assert held(only_due(store)) == ("pause", T, T + 5)


def test_a_pause_counts_more_than_what_had_held_before(store: Store) -> None:
    seq = held_series(store)

    store.wait([seq], "pause:all", T + 6)
    store.release("pause:all", 9, T + 8, held_by="pause")

    assert held(only_due(store)) == ("pause", T, T + 8)


def test_what_waited_tells_for_what_and_how_long(store: Store) -> None:
    (seq,) = put(store, job())
    assert held(only_due(store)) == (None, None, None)

    store.wait([seq], "lane:1", T + 1)
    shown = store.get("a")
    assert shown is not None
    assert (shown.waiting_for, shown.held_by, shown.held_from, shown.held_until) == ("lane:1", None, T + 1, None)
    store.release("lane:1", 9, T + 5)

    assert held(only_due(store)) == ("lane:1", T + 1, T + 5)


def test_what_waited_twice_tells_its_first_wait_and_its_latest_reason(store: Store) -> None:
    seq = held_series(store)

    store.wait([seq], "handler:remind", T + 6)
    store.release("handler:remind", 9, T + 9)

    assert held(only_due(store)) == ("handler:remind", T, T + 9)


def test_a_release_may_give_another_name_to_what_held_up(store: Store) -> None:
    (seq,) = put(store, job())
    store.wait([seq], "pause:chat", T)

    store.release("pause:chat", 9, T + 5, held_by="pause:chat:42 \ud83c")

    assert held(only_due(store)) == ("pause:chat:42 \\ud83c", T, T + 5)


def test_only_what_is_released_tells_that_it_was_held_up(store: Store) -> None:
    seqs = put(store, job("a"), job("b"))
    store.wait(seqs, "lane:1", T)

    store.release("lane:1", 1, T + 5)

    assert [(row.id, row.held_until) for row in store.jobs()] == [("a", T + 5), ("b", None)]


def test_a_claim_and_a_retry_leave_what_held_up(store: Store) -> None:
    held_series(store)
    (order,) = claim_due(store)
    assert store.claimed()[0].held_by == "lane:1"

    store.settle([Settlement(order.seq, order.token, "retry", next_attempt_at=T + 9, attempts=1)], T)

    assert held(only_due(store)) == ("lane:1", T, T + 5)


def test_the_next_occurrence_was_held_up_by_nothing(store: Store) -> None:
    held_series(store)
    (order,) = claim_due(store)

    store.settle([done(order, next_due_at=T + SECOND)], T)

    assert held(only_due(store)) == (None, None, None)


def test_a_settlement_may_say_what_held_the_next_occurrence_up(store: Store) -> None:
    held_series(store)
    put(store, job("b", rule=EVERY_SECOND))
    first, second = claim_due(store)

    store.settle(
        [
            done(first, next_due_at=T + SECOND, held=("run \ud83c", T + 1, T + 7)),
            done(second, next_due_at=T + SECOND),
        ],
        T,
    )

    rows = all_due(store)
    assert [row.due_at for row in rows] == [T + SECOND] * 2
    assert [held(row) for row in rows] == [("run \\ud83c", T + 1, T + 7), (None, None, None)]


def test_a_skip_leaves_nothing_of_what_held_up(store: Store) -> None:
    seq = held_series(store)

    store.skip(seq, [Ending(Outcome.SKIPPED, T, T)], T + SECOND)

    assert held(only_due(store)) == (None, None, None)


def test_several_rows_are_recorded_by_one_skip(store: Store) -> None:
    (seq,) = put(store, job(rule=EVERY_SECOND))
    paused = Ending(Outcome.SKIPPED, T, T + 9, reason="paused", count=3, last_due_at=T + 2 * SECOND)
    late = Ending(Outcome.SKIPPED, T + 3 * SECOND, T + 9, reason="too late")

    store.skip(seq, [paused, late], T + 4 * SECOND)

    assert [(row.reason, row.count, row.due_at) for row in store.history()] == [
        ("too late", 1, T + 3 * SECOND),
        ("paused", 3, T),
    ]
    assert only_due(store).due_at == T + 4 * SECOND


def test_run_now_forgets_what_held_up(store: Store) -> None:
    held_series(store)

    store.run_now("a", T)

    assert held(only_due(store)) == (None, None, None)


def test_redrive_forgets_what_held_up(store: Store) -> None:
    seq = held_series(store)
    store.park(seq, "broken", T)

    store.redrive("a", T)

    assert held(only_due(store)) == (None, None, None)


def test_a_snooze_puts_the_attempt_off_and_never_the_series(store: Store) -> None:
    (seq,) = put(store, job(rule=EVERY_SECOND))
    store.wait([seq], "lane:1", T)

    assert store.snooze(seq, T + 600, T + 5)

    row = only_due(store)
    assert (row.next_attempt_at, row.due_at, row.next_due_at) == (T + 600, T, None)
    assert held(row) == (SNOOZE, T + 5, T + 600)
    assert store.next_attempt_at() == T + 600


def test_only_what_is_scheduled_can_be_snoozed(store: Store) -> None:
    order = only_order(store)

    assert not store.snooze(order.seq, T + 600, T)
    assert not store.snooze(999, T + 600, T)
    assert len(store.claimed()) == 1


PAUSES = [
    Pause(Scope.JOB, "a", T, None, "next", None),
    Pause(Scope.CHAT, 42, T + 1, T + 9, "run_one", "holiday"),
    Pause(Scope.CHAT, "42", T + 2, None, "next", None),
    Pause(Scope.HANDLER, "42", T + 3, None, "next", None),
    Pause(Scope.ALL, None, T + 4, None, "next", "maintenance"),
]


def test_pauses_are_kept_by_scope_and_key(store: Store) -> None:
    for pause in PAUSES:
        store.pause(pause)

    assert store.pauses() == PAUSES


def test_a_second_pause_of_the_same_changes_all_but_its_beginning(store: Store) -> None:
    for pause in PAUSES:
        store.pause(pause)

    for pause in PAUSES:
        store.pause(Pause(pause.scope, pause.key, T + 100, T + 200, "run_one", "again \ud83c"))

    assert store.pauses() == [
        pause._replace(until=T + 200, on_resume="run_one", reason="again \\ud83c") for pause in PAUSES
    ]


@pytest.mark.parametrize("ended", PAUSES)
def test_a_pause_that_is_ended_is_told_once(store: Store, ended: Pause) -> None:
    for pause in PAUSES:
        store.pause(pause)

    assert store.unpause(ended.scope, ended.key) == ended
    assert store.unpause(ended.scope, ended.key) is None

    assert store.pauses() == [pause for pause in PAUSES if pause != ended]


def test_pauses_and_outages_that_are_taken_back_have_not_been(store: Store) -> None:
    store.pause(PAUSES[0])
    (seq,) = put(store, job())

    with broken_transaction(store):
        store.unpause(Scope.JOB, "a")
        store.pause(PAUSES[1])
        store.snooze(seq, T + 5, T)
        store.note_outage(Outage(T, T + 1, "down"))
        store.set_zone("Europe/Berlin", "[]")

    assert store.pauses() == [PAUSES[0]]
    assert only_due(store).next_attempt_at == T
    assert store.outages(0, T + 9) == []
    assert store.zones() == {}


def test_the_outages_that_reach_into_a_time_are_told_the_oldest_first(store: Store) -> None:
    long, short, late = Outage(T, T + 10, "down"), Outage(T + 4, T + 6, "jump"), Outage(T + 20, T + 30, "down")
    for outage in (late, short, long):
        store.note_outage(outage)

    assert store.outages(T + 5, T + 5) == [long, short]
    assert store.outages(T + 7, T + 25) == [long, late]
    assert store.outages(T + 10, T + 20) == [long, late]
    assert store.outages(T + 11, T + 19) == []
    assert store.outages(0, T + 99, limit=2) == [long, short]


def test_old_outages_are_forgotten(store: Store) -> None:
    store.note_outage(Outage(T, T + 4, "down"))
    store.note_outage(Outage(T, T + 5, "down"))

    assert store.trim(finished_before=T + 5, keep=10, limit=10) == 0

    assert store.outages(0, T + 99) == [Outage(T, T + 5, "down")]


def test_a_store_in_which_nothing_ever_ran_shows_no_sign_of_life(store: Store) -> None:
    put(store, job(due_at=T + 9))

    assert store.latest_sign() is None


def test_the_latest_sign_of_life_is_a_run_a_reply_or_a_mark(store: Store) -> None:
    for at in (T + 5, T + 10):
        store.settle([done(only_order(store), at=at)], at)
    assert store.latest_sign() == T + 10

    store.remember_replies("one", 1, "[]", T + 30)
    store.remember_replies("two", 1, "[]", T + 20)
    store.remember_replies("one", 2, "[]", T + 40)
    assert store.latest_sign() == T + 40

    store.set_meta("scheduler.alive_at", "never")
    assert store.latest_sign() == T + 40
    store.set_meta("scheduler.alive_at", str(T + 50))
    assert store.latest_sign() == T + 50
