"""Which files are opened, created, brought forward or refused."""

import os
import random
import shutil
import socket
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bellringer.storage import models
from bellringer.storage.connection import damaged
from bellringer.storage.errors import (
    NewerSchemaError,
    StorageCorruptError,
    StorageError,
    StorageReadOnlyError,
)
from bellringer.storage.reading import open_for_reading
from bellringer.storage.sqlite_store import open_store
from tests.contract.steps import T, job, put
from tests.storage.children import KILLED, killed_child, without_root_rights


def filled(path: Path, jobs: int = 50, payload: str = "null") -> None:
    store = open_store(path)
    store.put([job(f"j{n}", payload=payload) for n in range(jobs)], T)
    store.close()


def killed_with_a_log(path: Path, jobs: int = 50) -> None:
    """Leave a database as a kill does: what was committed last stands in its log only."""

    def child(_: int) -> None:
        store = open_store(path)
        store.put([job(f"j{n}") for n in range(jobs)], T)
        os._exit(KILLED)

    killed_child(child)


def test_a_path_that_does_not_exist_is_created(path: Path) -> None:
    open_store(path).close()

    assert path.stat().st_size > 0
    assert [file.name for file in path.parent.iterdir()] == ["bot.db"]


def test_what_was_stored_is_there_when_the_file_is_opened_again(path: Path) -> None:
    filled(path)

    store = open_store(path)
    assert store.counts().scheduled == 50
    (seq,) = put(store, job("new"))
    assert seq > 50
    store.close()


@pytest.mark.parametrize("name", ["a b.db", "100%.db", "what?#.db", "ü🎂.db"])
def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    filled(tmp_path / name)

    assert open_store(tmp_path / name).counts().scheduled == 50
    assert (tmp_path / name).exists()


def test_every_commit_is_durable_and_readers_do_not_block(path: Path) -> None:
    store = open_store(path)

    assert store._connection.rows("PRAGMA synchronous") == [(2,)]
    assert store._connection.rows("PRAGMA journal_mode") == [("wal",)]
    store.close()


def test_b52_what_was_committed_before_a_kill_is_there(path: Path) -> None:
    killed_with_a_log(path)

    store = open_store(path)
    assert store.counts().scheduled == 50
    store.close()


def test_b50_an_empty_file_is_refused_and_left_alone(path: Path) -> None:
    path.touch()

    with pytest.raises(StorageCorruptError, match=r"empty.*backup"):
        open_store(path)
    assert path.stat().st_size == 0
    assert [file.name for file in path.parent.iterdir()] == ["bot.db"]


@pytest.mark.parametrize(
    "content", [b"x", b"SQLite format 3", b"hello\n" * 1000, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_b50_a_file_that_is_no_database_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)

    with pytest.raises(StorageCorruptError, match="backup"):
        open_store(path)
    assert path.read_bytes() == content


def test_b50_a_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE job (a)")
    other.close()
    content = path.read_bytes()

    with pytest.raises(StorageCorruptError, match="another program"):
        open_store(path)
    assert path.read_bytes() == content


def test_b50_four_kilobytes_overwritten_anywhere_are_noticed(path: Path) -> None:
    filled(path, 300)
    content = path.read_bytes()
    pages = len(content) // 4096
    assert pages > 20
    noise = random.Random(1)
    for page in range(pages):
        path.write_bytes(content[: page * 4096] + noise.randbytes(4096) + content[(page + 1) * 4096 :])

        with pytest.raises(StorageCorruptError, match="backup"):
            open_store(path)


def test_b50_a_damaged_page_of_a_large_file_shows_when_it_is_read(path: Path) -> None:
    filled(path, 6_000, payload=f'"{"x" * 2_000}"')
    size = path.stat().st_size
    assert size > 2_048 * 4_096
    with path.open("r+b") as file:
        file.seek(size // 2 // 4_096 * 4_096)
        file.write(random.Random(1).randbytes(4_096 * 8))

    store = open_store(path)

    assert store.check() != []
    with pytest.raises(StorageCorruptError):
        store.jobs(limit=10_000)
    store.close()


@pytest.mark.parametrize("left", [0, 32, 4_096])
def test_b50_a_log_that_was_taken_away_is_noticed(path: Path, left: int) -> None:
    killed_with_a_log(path)
    log = path.with_name("bot.db-wal")
    log.write_bytes(log.read_bytes()[:left])
    if not left:
        log.unlink()

    with pytest.raises(StorageCorruptError, match="-wal lacks"):
        open_store(path)


def test_b50_a_log_without_its_database_is_noticed(path: Path) -> None:
    killed_with_a_log(path)
    path.unlink()

    with pytest.raises(StorageCorruptError, match="missing"):
        open_store(path)
    assert not path.exists()


def test_b50_a_log_that_another_program_has_merged_raises_no_alarm(path: Path) -> None:
    killed_with_a_log(path)
    other = sqlite3.connect(path)
    assert other.execute("SELECT count(*) FROM job").fetchone() == (50,)
    other.close()
    assert not path.with_name("bot.db-wal").exists()

    store = open_store(path)
    assert store.counts().scheduled == 50
    store.close()


def test_a_second_store_may_look_while_the_first_is_open(path: Path) -> None:
    first = open_store(path)
    put(first, job())

    second = open_store(path)

    assert second.counts().scheduled == 1
    second.close()
    put(first, job("b"))
    first.close()


def test_a_file_of_a_later_version_is_refused_and_left_alone(path: Path) -> None:
    filled(path)
    newer = sqlite3.connect(path)
    newer.execute(f"PRAGMA user_version = {models.SCHEMA_VERSION + 1}")
    newer.close()

    with pytest.raises(NewerSchemaError, match=f"schema {models.SCHEMA_VERSION + 1}"):
        open_store(path)
    left = sqlite3.connect(path)
    assert left.execute("PRAGMA user_version").fetchone() == (models.SCHEMA_VERSION + 1,)
    assert left.execute("SELECT count(*) FROM job").fetchone() == (50,)


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that a user without rights can reach, too."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_file_that_this_user_may_not_write_is_refused(public_folder: Path, what: str) -> None:
    path = public_folder / "bot.db"
    filled(path)
    path.chmod(0o444 if what == "file" else 0o666)
    public_folder.chmod(0o777 if what == "file" else 0o555)

    def opens() -> str:
        try:
            open_store(path)
        except StorageReadOnlyError as error:
            return str(error)
        return "opened"

    assert "give this user the right" in without_root_rights(opens)


def test_a_file_that_can_not_be_created_is_refused(public_folder: Path) -> None:
    public_folder.chmod(0o555)

    def opens() -> str:
        try:
            open_store(public_folder / "bot.db")
        except StorageReadOnlyError as error:
            return str(error)
        return "opened"

    assert "can't be" in without_root_rights(opens)


@pytest.mark.parametrize("name", ["no folder/bot.db", ".", ":memory:"])
def test_a_path_that_can_be_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StorageError):
        open_store(name if name == ":memory:" else tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as unbound:
        unbound.bind(str(path))


def device(path: Path) -> None:
    path.symlink_to(os.devnull)


@pytest.mark.parametrize("kind", [pipe, listening, device, Path.mkdir])
@pytest.mark.parametrize("opened", [open_store, open_for_reading])
def test_what_is_no_file_is_refused_and_never_opened(
    path: Path, kind: Callable[[Path], None], opened: Callable[[Path], object]
) -> None:
    kind(path)

    with pytest.raises(StorageCorruptError, match=r"is a (pipe|socket|device|folder), and no database: name a file"):
        opened(path)


def test_a_name_that_is_too_long_is_refused_at_once_and_for_good(path: Path) -> None:
    with pytest.raises(StorageReadOnlyError, match=r"too long for this file system.*Take a shorter one") as refused:
        open_store(path.with_name("x" * 245))

    assert refused.value.fatal
    assert not list(path.parent.iterdir())


def test_the_advice_for_a_damaged_file_names_only_files_that_are_there(path: Path) -> None:
    path.touch()
    with pytest.raises(StorageCorruptError, match=rf"move {path} away"):
        open_store(path)

    path.with_name("bot.db-wal").write_bytes(b"x")
    with pytest.raises(StorageCorruptError, match=rf"move {path} and {path}-wal away"):
        open_store(path)


def test_the_sentence_about_a_damaged_file_is_one_line(path: Path) -> None:
    assert "\n" not in str(damaged(path.name, "*** in database main ***\nPage 7: never used"))
