"""How older files are brought forward. `schema_N.sql` is what version N left behind, and never changes."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from peewee import SqliteDatabase

from bellringer.storage import migrations, models
from bellringer.storage.errors import StorageCorruptError
from bellringer.storage.sqlite_store import open_store
from tests.contract.steps import EVERY_SECOND, SECOND, T, all_due, claim_due, done, failed, job, outcomes

NOW = models.SCHEMA_VERSION
JOBS_OF_1 = f"""
INSERT INTO job VALUES
(1, 'once', 'remind', 42, '7', NULL, '{{"n":1}}', NULL, 'at_most_once', 'run_late', NULL, NULL, 9, NULL, {T}),
(2, 'often', 'remind', NULL, NULL, NULL, 'null', '{EVERY_SECOND}', 'at_least_once', 'skip', 5, 3, 9, {T}, {T}),
(3, 'runs', 'remind', NULL, NULL, NULL, 'null', NULL, 'at_most_once', 'run_late', NULL, NULL, 9, NULL, {T}),
(4, 'failed', 'remind', NULL, NULL, NULL, 'null', NULL, 'at_most_once', 'run_late', NULL, NULL, 9, NULL, {T}),
(5, 'waits', 'remind', NULL, NULL, NULL, 'null', NULL, 'at_most_once', 'run_late', NULL, NULL, 9, NULL, {T});
INSERT INTO job_state VALUES
(1, 'scheduled', {T}, {T}, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL),
(2, 'scheduled', {T}, {T}, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL),
(3, 'claimed', {T}, {T}, NULL, 1, 0, 0, NULL, NULL, 77, 'host-1', {T}, {T + 9}),
(4, 'parked', {T}, NULL, NULL, 1, 0, 0, NULL, 'it broke', NULL, NULL, NULL, NULL),
(5, 'scheduled', {T}, {T}, NULL, 0, 0, 0, 'handler:remind', NULL, NULL, NULL, NULL, NULL);
INSERT INTO lane (chat_id, state) VALUES (42, 'paused');
INSERT INTO meta VALUES ('store.next_seq', '6');
"""


def frozen(version: int) -> str:
    return Path(__file__).with_name(f"schema_{version}.sql").read_text(encoding="utf-8")


def made(path: Path, *scripts: str) -> None:
    database = sqlite3.connect(path)
    for script in scripts:
        database.executescript(script)
    database.close()


def schema(database: sqlite3.Connection) -> list[tuple[str, str]]:
    rows = database.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()
    return [(name, " ".join(sql.split())) for name, sql in rows]


def test_a_new_file_has_the_schema_that_its_version_promises(path: Path, tmp_path: Path) -> None:
    open_store(path).close()
    made(tmp_path / "frozen.db", frozen(NOW))

    assert schema(sqlite3.connect(path)) == schema(sqlite3.connect(tmp_path / "frozen.db"))


@pytest.mark.parametrize("version", range(1, NOW + 1))
def test_a_file_of_any_version_comes_to_the_schema_of_a_new_one(tmp_path: Path, version: int) -> None:
    made(tmp_path / "old.db", frozen(version))
    open_store(tmp_path / "old.db").close()
    open_store(tmp_path / "new.db").close()

    old, new = sqlite3.connect(tmp_path / "old.db"), sqlite3.connect(tmp_path / "new.db")
    assert schema(old) == schema(new)
    assert old.execute("PRAGMA user_version").fetchone() == (NOW,)


def test_the_jobs_of_a_file_of_version_1_go_on(path: Path) -> None:
    made(path, frozen(1), JOBS_OF_1)

    store = open_store(path)

    assert store.check() == []
    assert {row.id: row.status for row in store.jobs()} == {
        "once": "scheduled",
        "often": "scheduled",
        "runs": "claimed",
        "failed": "parked",
        "waits": "scheduled",
    }
    (claimed,) = store.claimed()
    (running,) = [order for order in claim_due(store) if order.id == "once"]
    assert store.settle([done(running)], T) == [True]
    assert store.settle([failed(running._replace(seq=claimed.seq, token=77))], T) == [True]
    assert store.redrive("failed", T)
    assert store.release("handler:remind", 9, T) == 1
    assert {order.id for order in claim_due(store)} == {"failed", "waits"}
    assert (outcomes(store, "once"), outcomes(store, "runs")) == (["done"], ["failed"])
    assert store.put([job("once")], T)[0].seq == 6
    store.close()


def test_the_jobs_of_version_1_catch_up_once_and_never_overlap(path: Path) -> None:
    made(path, frozen(1), JOBS_OF_1)

    store = open_store(path)

    (often,) = [row for row in all_due(store) if row.id == "often"]
    assert (often.catch_up, often.catch_up_limit, often.overlap, often.overlap_limit) == (
        "one",
        None,
        "queue_one",
        None,
    )
    assert (often.stale_after_us, often.held_by, often.held_from, often.held_until) == (None, None, None, None)
    assert (often.series, often.grace_us, often.rule) == (None, 5, EVERY_SECOND)
    store.close()


def test_a_series_of_version_1_can_overlap_and_be_paused_afterwards(path: Path) -> None:
    made(path, frozen(1), JOBS_OF_1)
    store = open_store(path)

    placed = store.spawn(2, T, T + SECOND, T)

    assert placed is not None
    assert [row.id for row in all_due(store) if row.series == 2] == ["often"]
    assert store.pauses() == []
    store.close()


@pytest.fixture
def current(path: Path) -> Iterator[SqliteDatabase]:
    store = open_store(path)
    store.put([job(f"j{n}") for n in range(50)], T)
    store.close()
    database = SqliteDatabase(str(path))
    database.connect()
    yield database
    database.close()


def add_colour(database: SqliteDatabase) -> None:
    database.execute_sql("ALTER TABLE job ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'")


def count_colours(database: SqliteDatabase) -> None:
    database.execute_sql("CREATE TABLE colours AS SELECT colour, count(*) AS jobs FROM job GROUP BY colour")


def test_steps_bring_an_old_file_forward_one_after_another(current: SqliteDatabase) -> None:
    migrations.migrate(current, NOW, NOW + 2, {NOW: add_colour, NOW + 1: count_colours})

    assert migrations.answer(current, "PRAGMA user_version") == NOW + 2
    assert migrations.answer(current, "SELECT jobs FROM colours WHERE colour = 'red'") == 50


def test_a_step_that_fails_leaves_the_file_as_it_was(current: SqliteDatabase) -> None:
    before = schema(current.connection())

    def fails(database: SqliteDatabase) -> None:
        count_colours(database)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        migrations.migrate(current, NOW, NOW + 2, {NOW: add_colour, NOW + 1: fails})

    assert migrations.answer(current, "PRAGMA user_version") == NOW
    assert schema(current.connection()) == before


def test_a_version_that_no_step_leads_on_from_is_refused(current: SqliteDatabase) -> None:
    with pytest.raises(StorageCorruptError, match=f"schema {NOW + 1}"):
        migrations.migrate(current, NOW, NOW + 2, {NOW: add_colour})

    assert migrations.answer(current, "PRAGMA user_version") == NOW
