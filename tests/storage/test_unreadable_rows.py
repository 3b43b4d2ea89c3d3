"""A row that can't be read is parked with its reason; it stops nothing and is never deleted (B46)."""

import pytest

from bellringer.storage.sqlite_store import SqliteStore
from tests.contract.steps import T, all_due, claim_due, claim_of, done, history, job, outcomes, put


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
