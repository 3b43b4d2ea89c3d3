"""Every store: runs of one job that go beside each other. Each is a part: a row of its own, told under the job's id."""

import pytest

from bellringer.storage.contract import Store
from bellringer.storage.errors import ImpossibleTransitionError
from bellringer.storage.values import DueRow, Moved, Outcome, Place, RunOrder, Settlement
from tests.contract.steps import (
    EVERY_SECOND,
    SECOND,
    T,
    all_due,
    broken_transaction,
    claim_due,
    claim_of,
    done,
    failed,
    history,
    job,
    only_order,
    outcomes,
    put,
)


def series(store: Store, **fields: object) -> int:
    spec = job("a", rule=EVERY_SECOND, overlap="parallel", overlap_limit=9)
    (seq,) = put(store, spec._replace(**fields))  # type: ignore[arg-type]
    return seq


def spawn(store: Store, seq: int, due_at: int = T, next_due_at: int | None = T + SECOND) -> int:
    placed = store.spawn(seq, due_at, next_due_at, T)
    assert placed is not None
    assert placed.replaced_seq is None
    return placed.seq


def due_parts(store: Store) -> list[DueRow]:
    return [row for row in all_due(store) if row.series is not None]


def claim_parts(store: Store) -> list[RunOrder]:
    return store.claim([claim_of(row) for row in due_parts(store)], T)


def test_a_part_is_due_under_the_id_of_its_job(store: Store) -> None:
    seq = series(store, chat_id=42, misfire="skip", grace_us=5, stale_after_us=8, catch_up="all", time_limit_us=7)

    part = spawn(store, seq)

    (row,) = due_parts(store)
    assert (row.seq, row.id, row.series, row.due_at, row.next_attempt_at) == (part, "a", seq, T, T)
    assert (row.rule, row.next_due_at, row.attempts) == (None, None, 0)
    assert (row.handler, row.chat_id, row.misfire, row.grace_us) == ("remind", 42, "skip", 5)
    assert (row.stale_after_us, row.catch_up, row.overlap, row.overlap_limit) == (8, "all", "parallel", 9)
    assert row.time_limit_us == 7


def test_the_series_goes_on_while_its_parts_run(store: Store) -> None:
    seq = series(store)

    spawn(store, seq, T, T + SECOND)

    (row,) = [row for row in all_due(store) if row.series is None]
    assert (row.seq, row.id, row.due_at, row.next_attempt_at, row.rule) == (
        *(seq, "a", T + SECOND, T + SECOND),
        EVERY_SECOND,
    )
    assert (row.next_due_at, row.attempts, row.held_by) == (None, 0, None)


def test_the_last_occurrence_of_a_series_leaves_only_its_part(store: Store) -> None:
    seq = series(store)

    part = spawn(store, seq, T, None)

    assert [(row.id, row.seq, row.series) for row in store.jobs()] == [("a", part, seq)]
    shown = store.get("a")
    assert shown is not None
    assert (shown.seq, shown.series) == (part, seq)
    assert store.parts(seq) == 1


def test_a_part_runs_under_the_id_of_its_job_with_a_run_key_of_its_own(store: Store) -> None:
    seq = series(store, payload='{"n":1}', chat_id=1, user_id=2, delivery="at_least_once", max_attempts=3)
    store.patch_session(1, 2, '{"s":1}', (), T)
    part = spawn(store, seq)

    (order,) = claim_parts(store)

    assert (order.id, order.seq, order.payload, order.session) == ("a", part, '{"n":1}', '{"s":1}')
    assert (order.chat_id, order.user_id, order.due_at, order.attempt) == (1, 2, T, 1)
    assert order.run_key == f"{part}:{T}"
    (claimed,) = store.claimed()
    assert (claimed.id, claimed.series, claimed.overlap) == ("a", seq, "parallel")
    assert (claimed.delivery, claimed.max_attempts, claimed.rule) == ("at_least_once", 3, None)
    assert store.claims([part]) == {part: claimed}


def test_the_outcome_of_a_part_is_recorded_for_its_job(store: Store) -> None:
    seq = series(store)
    spawn(store, seq, T, T + SECOND)
    spawn(store, seq, T + SECOND, T + 2 * SECOND)

    later, earlier = reversed(claim_parts(store))
    assert store.settle([done(later), done(earlier)], T) == [True, True]

    assert [(row.job_id, row.due_at) for row in store.history(job_id="a")] == [("a", T), ("a", T + SECOND)]
    assert [row.seq for row in store.jobs()] == [seq]
    assert store.parts(seq) == 0


@pytest.mark.parametrize(("event", "outcome"), [("fail_part", Outcome.FAILED), ("interrupt_part", Outcome.INTERRUPTED)])
def test_a_part_that_ends_badly_is_recorded_and_gone(store: Store, event: str, outcome: str) -> None:
    seq = series(store)
    spawn(store, seq)
    (order,) = claim_parts(store)

    end = failed(order, event)
    store.settle([end._replace(ending=end.ending and end.ending._replace(outcome=outcome))], T)

    assert outcomes(store, "a") == [outcome]
    assert [row.seq for row in store.jobs()] == [seq]


@pytest.mark.parametrize("event", ["fail_part", "interrupt_part"])
def test_a_part_that_ended_badly_does_not_go_on(store: Store, event: str) -> None:
    order = only_order(store)

    with pytest.raises(ImpossibleTransitionError):
        store.settle([failed(order, event, next_due_at=T + SECOND)], T)


def test_a_part_may_be_tried_again(store: Store) -> None:
    seq = series(store)
    spawn(store, seq)
    (order,) = claim_parts(store)

    store.settle([Settlement(order.seq, order.token, "retry", next_attempt_at=T + 5, attempts=1)], T)

    assert store.parts(seq) == 1
    (again,) = claim_parts(store)
    assert (again.id, again.attempt, again.run_key) == ("a", 2, order.run_key)


def test_parts_are_counted_for_each_job(store: Store) -> None:
    seq = series(store)
    (other,) = put(store, job("ab", rule=EVERY_SECOND))
    for n in range(3):
        spawn(store, seq, T + n * SECOND, T + (n + 1) * SECOND)
    spawn(store, other)

    assert (store.parts(seq), store.parts(other), store.parts(999)) == (3, 1, 0)


def test_a_parked_part_is_not_counted_and_can_be_redriven(store: Store) -> None:
    seq = series(store)
    spawn(store, seq)
    (order,) = claim_parts(store)
    store.settle([failed(order)], T)
    assert store.parts(seq) == 0
    assert [(row.id, row.status) for row in store.jobs(status="parked")] == [("a", "parked")]

    assert store.redrive("a", T + 9)

    (row,) = due_parts(store)
    assert (row.id, row.due_at, row.series) == ("a", T + 9, seq)
    assert store.parts(seq) == 1


def test_what_is_gone_or_claimed_or_a_part_spawns_nothing(store: Store) -> None:
    seq = series(store)
    part = spawn(store, seq)
    claim_due(store)

    assert store.spawn(999, T, T + SECOND, T) is None
    assert store.spawn(seq, T, T + SECOND, T) is None
    assert store.spawn(part, T, T + SECOND, T) is None
    (waiting,) = put(store, job("b", rule=EVERY_SECOND))
    nested = spawn(store, waiting)
    assert store.spawn(nested, T, None, T) is None


def test_two_parts_at_one_instant_are_two_occurrences(store: Store) -> None:
    seq = series(store)
    spawn(store, seq, T, T)
    spawn(store, seq, T, T + SECOND)

    assert [(row.due_at, row.next_attempt_at) for row in due_parts(store)] == [(T, T), (T + 1, T)]
    store.settle([done(order) for order in claim_parts(store)], T)
    assert outcomes(store, "a") == ["done", "done"]


def test_what_held_an_occurrence_up_goes_with_its_part(store: Store) -> None:
    seq = series(store)
    store.wait([seq], "lane:1", T)
    store.release("lane:1", 9, T + 5)

    spawn(store, seq)

    own, part = sorted(all_due(store), key=lambda row: row.series or 0)
    assert (part.held_by, part.held_from, part.held_until) == ("lane:1", T, T + 5)
    assert (own.held_by, own.held_from, own.held_until) == (None, None, None)


def test_a_cancelled_job_takes_its_parts_along(store: Store) -> None:
    seq = series(store)
    parts = (spawn(store, seq, T, T + SECOND), spawn(store, seq, T + SECOND, T + 2 * SECOND))
    put(store, job("ab"), job("A"), job("a\x01"))
    (order, *_) = claim_parts(store)

    (removed,) = store.cancel(["a"], T + 5)

    assert removed == (seq, "scheduled", parts)
    assert [row.id for row in store.jobs()] == ["ab", "A", "a\x01"]
    assert [(row.job_id, row.outcome, row.reason) for row in history(store)] == [("a", "cancelled", "cancelled")] * 3
    assert {row.due_at for row in history(store)} == {T, T + SECOND, T + 2 * SECOND}
    assert store.settle([done(order)], T) == [False]


def test_parts_can_be_cancelled_when_their_series_is_over(store: Store) -> None:
    seq = series(store)
    second = spawn(store, seq, T, T + SECOND)
    first = spawn(store, seq, 5, None)
    claim_parts(store)

    (removed, unknown) = store.cancel(["a", "b"], T)

    assert removed == (first, "claimed", (first, second))
    assert unknown is None
    assert store.jobs() == []
    assert outcomes(store, "a") == ["cancelled", "cancelled"]


def test_a_job_that_is_scheduled_again_replaces_its_parts_too(store: Store) -> None:
    seq = series(store)
    part = spawn(store, seq)

    (placed, other) = store.put([job("a", T + 9), job("b")], T)

    assert (placed.replaced_seq, placed.parts) == (seq, (part,))
    assert (other.replaced_seq, other.parts) == (None, ())
    assert [(row.id, row.seq) for row in store.jobs()] == [("b", other.seq), ("a", placed.seq)]
    assert [row.reason for row in history(store)] == ["replaced", "replaced"]


def test_parts_are_replaced_when_their_series_is_over(store: Store) -> None:
    part = spawn(store, series(store), T, None)

    (placed,) = store.put([job("a")], T)

    assert (placed.replaced_seq, placed.parts) == (None, (part,))
    assert [row.seq for row in store.jobs()] == [placed.seq]


def test_a_part_that_cancels_its_own_job_ends_the_series_and_the_other_parts(store: Store) -> None:
    seq = series(store)
    spawn(store, seq, T, T + SECOND)
    spawn(store, seq, T + SECOND, T + 2 * SECOND)
    first, second = claim_parts(store)

    assert store.settle([done(first, cancelled=("a",)), done(second)], T) == [True, False]

    assert store.jobs() == []
    assert sorted(outcomes(store, "a")) == ["cancelled", "cancelled", "done"]


def test_get_tells_the_job_itself_while_it_stands(store: Store) -> None:
    seq = series(store)
    spawn(store, seq)

    shown = store.get("a")

    assert shown is not None
    assert (shown.seq, shown.series) == (seq, None)


def test_pages_of_jobs_with_parts_go_by_place(store: Store) -> None:
    seq = series(store)
    for n in range(3):
        spawn(store, seq, T + n * SECOND, T + (n + 1) * SECOND)
    put(store, job("b", T + 9 * SECOND))
    everything = store.jobs()

    told = page = store.jobs(limit=1)
    while page:
        page = store.jobs(limit=1, after=Place(page[-1].due_at, page[-1].seq))
        told = told + page

    assert told == everything
    assert [row.id for row in told] == ["a", "a", "a", "a", "b"]


def test_a_page_goes_on_behind_a_part_that_has_ended(store: Store) -> None:
    seq = series(store)
    part = spawn(store, seq, T, T + SECOND)
    store.settle([done(order) for order in claim_parts(store)], T)

    assert [row.seq for row in store.jobs(after=Place(T, part))] == [seq]


def test_a_page_goes_on_where_it_ended_though_its_last_job_has_moved(store: Store) -> None:
    a, b, _ = put(store, job("a"), job("b", T + SECOND), job("c", T + 2 * SECOND))
    store.snooze(b, T + 9 * SECOND, T)
    store.move([Moved(b, T + 9 * SECOND, T + 9 * SECOND, None)])

    assert [row.id for row in store.jobs(after=Place(T + SECOND, b))] == ["c", "b"]
    assert [row.id for row in store.jobs(after=Place(T, a))] == ["c", "b"]


def test_a_spawn_that_is_taken_back_has_not_happened(store: Store) -> None:
    seq = series(store)
    before = store.jobs()

    with broken_transaction(store):
        spawn(store, seq, T, None)

    assert store.jobs() == before
    assert store.parts(seq) == 0
    assert spawn(store, seq) > seq
