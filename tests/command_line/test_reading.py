"""A store that only reads, for people who look at a file."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bellringer.storage.errors import NewerSchemaError, StorageCorruptError, StorageReadOnlyError
from bellringer.storage.reading import open_for_reading
from bellringer.storage.sqlite_store import open_store
from tests.contract.steps import T, job


def test_it_refuses_every_change(database: Path) -> None:
    store = open_for_reading(database)

    with pytest.raises(StorageReadOnlyError):
        store.put([job()], T)
    with pytest.raises(StorageReadOnlyError):
        store.cancel(["digest"], T)
    store.close()


def test_it_sees_what_is_committed_while_it_is_open(database: Path) -> None:
    writer, reader = open_store(database), open_for_reading(database)

    writer.put([job("new")], T)

    assert reader.get("new") is not None
    reader.close()
    writer.close()


def test_a_scheduler_can_open_the_file_afterwards(database: Path) -> None:
    open_for_reading(database).close()

    store = open_store(database)
    assert store.check() == []
    store.close()


def test_b50_it_shows_what_a_killed_scheduler_has_left_in_the_log(database: Path, tmp_path: Path) -> None:
    writer = open_store(database)
    writer.put([job("in the log")], T)
    (tmp_path / "copy").mkdir()
    for file in database.parent.glob("bot.db*"):
        if file.is_file():
            (tmp_path / "copy" / file.name).write_bytes(file.read_bytes())
    writer.close()

    reader = open_for_reading(tmp_path / "copy" / "bot.db")
    assert reader.get("in the log") is not None
    reader.close()


def test_b50_it_refuses_a_file_of_another_program(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection, connection:
        connection.execute("CREATE TABLE notes (text)")

    with pytest.raises(StorageCorruptError, match="another program"):
        open_for_reading(tmp_path / "other.db")


def test_it_refuses_a_file_of_a_later_version(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA user_version = 999")

    with pytest.raises(NewerSchemaError):
        open_for_reading(database)
