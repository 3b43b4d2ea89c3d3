"""Every store: the zones of jobs, and what a change of one moves; which jobs a scope takes in."""

import json

import pytest

from bellringer.storage.contract import Store
from bellringer.storage.values import ChatId, JobRow, Moved, Rezoned, Scope, ZonedRow
from tests.contract.steps import EVERY_SECOND, SECOND, T, all_due, claim_due, failed, job, put

BERLIN, TOKYO = "Europe/Berlin", "Asia/Tokyo"


def shown(store: Store, job_id: str = "a") -> JobRow:
    row = store.get(job_id)
    assert row is not None
    return row


def test_a_job_is_shown_with_its_zone_and_policies(store: Store) -> None:
    spec = job(zone=BERLIN, local_at="2026-12-25T08:00:00", misfire="skip", grace_us=1, max_attempts=2, time_limit_us=3)
    put(store, spec._replace(catch_up="all", catch_up_limit=4, overlap="parallel", overlap_limit=5, stale_after_us=6))

    row = shown(store)

    assert (row.zone, row.local_at) == (BERLIN, "2026-12-25T08:00:00")
    assert (row.misfire, row.grace_us, row.max_attempts, row.time_limit_us) == ("skip", 1, 2, 3)
    assert (row.catch_up, row.catch_up_limit, row.overlap, row.overlap_limit) == ("all", 4, "parallel", 5)
    assert (row.stale_after_us, row.next_due_at, row.series) == (6, None, None)
    (due,) = all_due(store)
    assert (due.catch_up, due.catch_up_limit, due.overlap, due.overlap_limit) == ("all", 4, "parallel", 5)
    assert due.stale_after_us == 6
    claim_due(store)
    (claimed,) = store.claimed()
    assert (claimed.overlap, claimed.held_by, claimed.series, claimed.stale_after_us) == ("parallel", None, None, 6)


def test_jobs_with_and_without_policies_can_be_scheduled_together(store: Store) -> None:
    put(store, job("a", zone=BERLIN), job("b"), job("c", catch_up="none"), job("d", stale_after_us=1))

    assert [(row.id, row.zone, row.catch_up, row.stale_after_us) for row in store.jobs()] == [
        *(("a", BERLIN, "one", None), ("b", None, "one", None)),
        *(("c", None, "none", None), ("d", None, "one", 1)),
    ]


def test_a_claimed_job_shows_its_next_due_time(store: Store) -> None:
    put(store, job(rule=EVERY_SECOND))
    claim_due(store)

    assert shown(store).next_due_at == T + SECOND


def test_how_a_zone_was_read_is_kept_by_its_name(store: Store) -> None:
    assert store.zones() == {}
    store.set_zone(TOKYO, "[1]")
    store.set_zone(BERLIN, "[2]")
    store.set_zone(TOKYO, "[3]")

    assert store.zones() == {BERLIN: "[2]", TOKYO: "[3]"}


def test_the_zones_of_jobs_are_told_once_each(store: Store) -> None:
    assert store.zone_names() == []
    zones = (TOKYO, BERLIN, None, TOKYO, "UTC")
    put(store, *(job(f"j{n}", zone=zone) for n, zone in enumerate(zones)))

    assert store.zone_names() == [TOKYO, BERLIN, "UTC"]
    store.cancel(["j4"], T)
    assert store.zone_names() == [TOKYO, BERLIN]


def test_the_jobs_of_a_zone_come_in_pages_by_seq(store: Store) -> None:
    seqs = put(store, *(job(f"j{n}", T - n, zone=BERLIN) for n in range(5)), job("other", zone=TOKYO), job("none"))

    first = store.zoned(BERLIN, limit=3)
    rest = store.zoned(BERLIN, after=first[-1].seq, limit=3)

    assert [row.seq for row in (*first, *rest)] == seqs[:5]
    assert store.zoned(BERLIN, after=seqs[4], limit=3) == []
    assert store.zoned("UTC", limit=3) == []


def test_a_row_of_a_zone_tells_what_the_change_needs(store: Store) -> None:
    series, once = put(store, job("a", rule=EVERY_SECOND, zone=BERLIN), job("b", T + 9, zone=BERLIN, local_at="x"))
    claim_due(store, T)

    assert store.zoned(BERLIN, limit=9) == [
        ZonedRow(series, "claimed", T, T, T + SECOND, 1, EVERY_SECOND, BERLIN, None),
        ZonedRow(once, "scheduled", T + 9, T + 9, None, 0, None, BERLIN, "x"),
    ]


def test_parts_do_not_move_with_their_zone(store: Store) -> None:
    (seq,) = put(store, job(rule=EVERY_SECOND, zone=BERLIN))
    store.spawn(seq, T, T + SECOND, T)

    assert [row.seq for row in store.zoned(BERLIN, limit=9)] == [seq]


def test_moved_rows_are_due_at_their_new_instants(store: Store) -> None:
    a, b = put(store, job("a"), job("b"))

    store.move([Moved(a, T + 60, T + 60, T + 120), Moved(b, T + 5, None, None), Moved(999, T, T, T)])

    rows = {row.id: (row.due_at, row.next_attempt_at, row.next_due_at) for row in store.jobs()}
    assert rows == {"a": (T + 60, T + 60, T + 120), "b": (T + 5, T, None)}
    assert [row.id for row in all_due(store)] == ["b", "a"]


def test_a_parked_row_is_not_moved(store: Store) -> None:
    (seq,) = put(store, job())
    store.park(seq, "broken", T)

    store.move([Moved(seq, T + 60, T + 60, None)])

    assert (shown(store).due_at, shown(store).next_attempt_at) == (T, None)


def test_a_rezoned_row_has_another_zone_rule_and_instants(store: Store) -> None:
    (seq,) = put(store, job(rule=EVERY_SECOND, zone=BERLIN, payload='{"n":1}'))
    store.wait([seq], "zone:unknown", T)

    store.rezone([Rezoned(seq, TOKYO, '{"new":1}', T + 60, T + 70, T + 80), Rezoned(999, TOKYO, None, T, T, T)])

    row = shown(store)
    assert (row.zone, row.rule, row.payload) == (TOKYO, '{"new":1}', '{"n":1}')
    assert (row.due_at, row.next_attempt_at, row.next_due_at) == (T + 60, T + 70, T + 80)
    assert [due.seq for due in all_due(store)] == [seq]
    assert store.zone_names() == [TOKYO]


def test_a_claimed_row_can_be_rezoned_for_what_follows(store: Store) -> None:
    (seq,) = put(store, job(rule=EVERY_SECOND, zone=BERLIN))
    (order,) = claim_due(store)

    store.rezone([Rezoned(seq, TOKYO, EVERY_SECOND, T, None, T + 60)])

    assert (store.claimed()[0].next_due_at, store.claimed()[0].due_at) == (T + 60, T)
    assert store.settle([failed(order, next_due_at=T + 60)], T) == [True]
    assert shown(store).zone == TOKYO


SCOPES: list[tuple[str, ChatId | None, list[str]]] = [
    (Scope.JOB, "a", ["a"]),
    (Scope.JOB, "nobody", []),
    (Scope.CHAT, 42, ["a", "c"]),
    (Scope.CHAT, "42", ["b"]),
    (Scope.HANDLER, "remind", ["a", "b"]),
    (Scope.ALL, None, ["c", "a", "b"]),
]


@pytest.mark.parametrize(("scope", "key", "ids"), SCOPES)
def test_a_scope_takes_in_unfinished_jobs_in_order_of_seq(
    store: Store, scope: str, key: ChatId | None, ids: list[str]
) -> None:
    put(store, job("c", T + 9, handler="digest", chat_id=42, user_id=7))
    put(store, job("a", rule=EVERY_SECOND, chat_id=42, payload='"long"'), job("b", chat_id="42"))
    (part,) = [row for row in all_due(store) if row.id == "a"]
    store.spawn(part.seq, T, T + SECOND, T)

    found = store.select(scope=scope, key=key, limit=9)

    assert sorted(row.id for row in found) == sorted(ids)
    assert [row.seq for row in found] == sorted(row.seq for row in found)
    assert all(row.payload is None and row.series is None for row in found)


def test_a_scope_is_told_in_pages_and_by_user(store: Store) -> None:
    seqs = put(store, *(job(f"j{n}", chat_id=1, user_id=n % 2) for n in range(6)))

    assert [row.seq for row in store.select(scope=Scope.CHAT, key=1, after=seqs[1], limit=2)] == seqs[2:4]
    assert [row.seq for row in store.select(scope=Scope.ALL, key=None, user_id=1, limit=9)] == seqs[1::2]


def test_a_session_can_be_read_and_changed_outside_of_a_run(store: Store) -> None:
    assert store.session(1, 2) is None

    store.patch_session(1, 2, '{"zone":"Europe/Berlin","old":1}', (), T)
    store.patch_session(1, 2, '{"n":1}', ("old",), T + 5)
    store.patch_session(1, "2", None, ("old",), T)
    store.patch_session(3, None, None, (), T)

    assert json.loads(store.session(1, 2) or "") == {"zone": BERLIN, "n": 1}
    assert store.session(1, "2") == "{}"
    assert store.session(3, None) is None
    assert [row.updated_at for row in store.sessions()] == [T + 5, T]
