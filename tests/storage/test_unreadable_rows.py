"""A row that can't be read is parked with its reason; it stops nothing and is never deleted (B46)."""

import pytest

from bellringer.storage.sqlite_store import SqliteStore
from bellringer.storage.values import Outage, Pause, Scope
from tests.contract.steps import (
    EVERY_SECOND,
    SECOND,
    T,
    all_due,
    claim_due,
    claim_of,
    done,
    history,
    job,
    outcomes,
    put,
)


def spoil(store: SqliteStore, table: str, column: str, value: str | int | bytes | None, seq: int) -> None:
    with store.transaction():
        store._connection.run(f"UPDATE {table} SET {column} = ? WHERE seq = ?", (value, seq))


def spoil_text(store: SqliteStore, table: str, column: str, seq: int) -> None:
    """Bytes that are no UTF-8, in a column that says it is text."""
    with store.transaction():
        store._connection.run(f"UPDATE {table} SET {column} = CAST(x'6aff6b' AS TEXT) WHERE seq = ?", (seq,))


DUE_FIELDS: list[tuple[str, str, str | bytes]] = [
    ("job_state", "due_at", "soon"),
    ("job_state", "due_at", b"\x00"),
    ("job_state", "attempts", "many"),
    ("job_state", "next_due_at", "later"),
    ("job", "handler", b"\x01\x02"),
    ("job", "id", b"bad"),
    ("job", "chat_id", b"\x00"),
    ("job", "time_limit_us", "long"),
    ("job", "rule", b"\xff"),
    ("job", "misfire", b"\xff"),
    ("job", "catch_up", b"\xff"),
    ("job", "overlap", b"\xff"),
    ("job", "overlap_limit", "few"),
    ("job", "stale_after_us", "soon"),
    ("job", "series", "all"),
    ("job_state", "held_by", b"\xff"),
    ("job_state", "held_from", "then"),
]


@pytest.mark.parametrize(("table", "column", "value"), DUE_FIELDS)
def test_b46_a_due_row_that_is_broken_does_not_stop_the_scan(
    store: SqliteStore, table: str, column: str, value: str | bytes
) -> None:
    bad, _ = put(store, job("bad"), job("good"))
    spoil(store, table, column, value, bad)

    assert [row.id for row in all_due(store)] == ["good"]
    assert [row.id for row in claim_due(store)] == ["good"]

    (parked,) = store.jobs(status="parked")
    assert (parked.seq, parked.reason) == (bad, "the stored job can't be read")
    assert [row.outcome for row in history(store)] == ["failed"]


@pytest.mark.parametrize("column", ["id", "handler", "misfire", "rule"])
def test_b46_text_that_is_no_text_does_not_stop_the_scan(store: SqliteStore, column: str) -> None:
    bad, _ = put(store, job("bad"), job("good"))
    spoil_text(store, "job", column, bad)

    assert [row.id for row in all_due(store)] == ["good"]
    (parked,) = store.jobs(status="parked")
    assert parked.seq == bad
    assert all(text.isprintable() for text in parked if isinstance(text, str))


@pytest.mark.parametrize("payload", ["{", "", "NaN", b"\x00\xff", b"null"])
def test_b46_a_payload_that_is_no_json_is_parked_when_it_is_claimed(store: SqliteStore, payload: str | bytes) -> None:
    bad, good = put(store, job("bad"), job("good"))
    spoil(store, "job", "payload", payload, bad)

    orders = store.claim([claim_of(row) for row in all_due(store)], T)

    assert [order.seq for order in orders] == [good]
    assert [row.seq for row in store.claimed()] == [good]
    assert [row.seq for row in store.jobs(status="parked")] == [bad]
    assert outcomes(store, "bad") == ["failed"]
    assert store.settle([done(orders[0])], T) == [True]


def test_b46_a_payload_of_broken_text_is_parked_when_it_is_claimed(store: SqliteStore) -> None:
    bad, good = put(store, job("bad"), job("good"))
    spoil_text(store, "job", "payload", bad)

    assert [order.seq for order in claim_due(store)] == [good]
    assert [row.seq for row in store.jobs(status="parked")] == [bad]


def test_b46_a_parked_row_can_be_mended_and_redriven(store: SqliteStore) -> None:
    (bad,) = put(store, job("bad"))
    spoil(store, "job", "payload", "{", bad)
    claim_due(store)
    spoil(store, "job", "payload", '"mended"', bad)

    assert store.redrive("bad", T + 5)

    (order,) = claim_due(store)
    assert order.payload == '"mended"'


def test_b46_an_unknown_rule_or_handler_is_handed_out_as_it_is_stored(store: SqliteStore) -> None:
    put(store, job("a", rule='{"by_moon":1}'))

    (row,) = all_due(store)

    assert row.rule == '{"by_moon":1}'


@pytest.mark.parametrize("column", ["host", "token", "lease_until", "due_at"])
def test_b46_a_claim_that_is_broken_does_not_stop_a_restart(store: SqliteStore, column: str) -> None:
    bad, good = put(store, job("bad"), job("good"))
    claim_due(store)
    spoil(store, "job_state", column, b"\xff", bad)

    assert [row.seq for row in store.claimed()] == [good]
    assert list(store.claims([bad, good])) == [good]
    assert [row.seq for row in store.jobs(status="parked")] == [bad]


@pytest.mark.parametrize("data", ["{", "[]", "", b"\xff"])
def test_a_session_that_can_not_be_read_is_never_overwritten(store: SqliteStore, data: str | bytes) -> None:
    put(store, job("a", chat_id=1))
    (order,) = claim_due(store)
    store.settle([done(order, session_set='{"n":1}')], T)
    with store.transaction():
        store._connection.run("UPDATE session SET data = ?", (data,))

    put(store, job("b", chat_id=1))
    (order,) = claim_due(store)
    assert order.session == (data if isinstance(data, str) else "")
    assert store.settle([done(order, session_set='{"n":2}')], T) == [True]

    assert [row.data for row in store.sessions()] == [data]


@pytest.mark.parametrize(
    ("table", "column", "value", "sentence"),
    [
        ("job_state", "next_attempt_at", None, "no readable due time"),
        ("job_state", "due_at", "soon", "no readable due time"),
        ("job_state", "status", "dreaming", "status is unknown"),
        ("job", "payload", "{", "payload is not JSON"),
        ("job", "seq", 999, "has no state"),
        ("job_state", "seq", 999, "has no job"),
        ("job", "series", 1, "belongs to a part"),
    ],
)
def test_a_check_says_what_is_wrong(
    store: SqliteStore, table: str, column: str, value: str | int | None, sentence: str
) -> None:
    put(store, job())
    assert store.check() == []
    (seq,) = (row.seq for row in store.jobs())

    spoil(store, table, column, value, seq)

    assert sentence in " ".join(store.check())


def test_b46_nothing_that_is_broken_keeps_a_job_from_being_cancelled_or_replaced(store: SqliteStore) -> None:
    for table, column, value in DUE_FIELDS:
        if column == "id":
            continue
        (bad,) = put(store, job("bad"))
        spoil(store, table, column, value, bad)
        (placed,) = store.put([job("bad")], T)
        assert placed.replaced_seq == bad
        spoil(store, table, column, value, placed.seq)
        assert store.cancel(["bad"], T) != [None]
    assert store.jobs() == []


def test_a_check_says_that_a_pause_is_of_no_known_scope_or_time(store: SqliteStore) -> None:
    store.pause(Pause(Scope.CHAT, 42, T, None, "next", None))
    assert store.check() == []

    for column, sentence in (("since", "a pause can't be read, of: 42"), ("scope", "scope is unknown: 'dreams'")):
        with store.transaction():
            store._connection.run(f"UPDATE pause SET {column} = 'dreams'")
        assert sentence in " ".join(store.check())


def test_b46_a_pause_or_outage_that_can_not_be_read_does_not_hide_the_others(store: SqliteStore) -> None:
    sound = Pause(Scope.CHAT, 42, T, None, "next", None)
    store.pause(Pause(Scope.JOB, "a", T, None, "next", None))
    store.pause(Pause(Scope.JOB, "b", T, None, "next", None))
    store.pause(sound)
    store.note_outage(Outage(T, T + 1, "down"))
    store.note_outage(Outage(T, T + 2, "down"))
    with store.transaction():
        store._connection.run("UPDATE pause SET since = x'ff' WHERE key = 'a'")
        store._connection.run("UPDATE pause SET scope = 'dreams' WHERE key = 'b'")
        store._connection.run("UPDATE outage SET kind = x'ff' WHERE ended_at = ?", (T + 1,))

    assert store.pauses() == [sound]
    assert store.outages(T, T) == [Outage(T, T + 2, "down")]


def test_b46_a_row_of_a_zone_that_can_not_be_read_is_left_out_of_a_full_page(store: SqliteStore) -> None:
    seqs = put(store, *(job(f"j{n}", zone="UTC") for n in range(5)))
    spoil(store, "job_state", "due_at", "soon", seqs[0])
    spoil(store, "job", "rule", b"\xff", seqs[2])
    spoil_text(store, "job", "zone", seqs[4])

    assert [row.seq for row in store.zoned("UTC", limit=2)] == [seqs[1], seqs[3]]
    assert store.zone_names() == ["UTC"]


@pytest.mark.parametrize(("table", "column", "value"), DUE_FIELDS)
def test_b46_a_part_that_is_broken_is_parked_and_goes_with_its_job(
    store: SqliteStore, table: str, column: str, value: str | bytes
) -> None:
    (seq,) = put(store, job("a", rule=EVERY_SECOND))
    placed = store.spawn(seq, T, T + SECOND, T)
    assert placed is not None
    spoil(store, table, column, value, placed.seq)

    assert [row.id for row in all_due(store)] == ["a"]
    assert [row.seq for row in store.jobs(status="parked")] == [placed.seq]
    if column != "id":
        assert store.cancel(["a"], T)[0] == (seq, "scheduled", (placed.seq,))
