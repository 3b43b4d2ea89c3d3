"""Who may use a store, and who may own a database."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bellringer.storage.errors import DatabaseInUseError, StorageReadOnlyError, WrongOwnerError
from bellringer.storage.lock import DatabaseLock, lock_path
from bellringer.storage.reading import open_for_reading
from bellringer.storage.sqlite_store import SqliteStore, open_store
from tests.contract.steps import T, job, put
from tests.storage.children import KILLED, in_child, killed_child

ANOTHER_WRITER = """
import sqlite3, sys
sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0).execute("BEGIN IMMEDIATE")
"""

USES: list[Callable[[SqliteStore], object]] = [
    lambda store: store.jobs(),
    lambda store: store.due(T, 1),
    lambda store: store.put([job()], T),
    lambda store: store.transaction().__enter__(),
    lambda store: store.close(),
]


def refusal(use: Callable[[], object]) -> str:
    try:
        use()
    except WrongOwnerError as error:
        return str(error)
    return "allowed"


@pytest.mark.parametrize("use", USES)
def test_b75_a_store_used_from_another_thread_says_so(store: SqliteStore, use: Callable[[SqliteStore], object]) -> None:
    told: list[str] = []
    thread = threading.Thread(target=lambda: told.append(refusal(lambda: use(store))))
    thread.start()
    thread.join()

    assert "store of your own" in told[0]
    put(store, job())


@pytest.mark.parametrize("use", USES)
def test_b75_a_store_used_after_a_fork_says_so(store: SqliteStore, use: Callable[[SqliteStore], object]) -> None:
    assert "store of your own" in in_child(lambda: refusal(lambda: use(store)))
    put(store, job())


def test_b75_a_child_that_was_forked_while_the_file_was_open_can_not_open_it(store: SqliteStore, path: Path) -> None:
    assert "before the fork" in in_child(lambda: refusal(lambda: open_store(path)))
    put(store, job())


def test_b75_a_child_that_was_forked_after_the_store_was_closed_can_open_it(path: Path) -> None:
    open_store(path).close()

    def child() -> int:
        own = open_store(path)
        (seq,) = put(own, job("child"))
        own.close()
        return seq

    assert in_child(child) == 1


def test_b75_a_second_look_from_the_same_process_gives_no_lock_away(store: SqliteStore, path: Path) -> None:
    with store.transaction():
        put(store, job())
        open_store(path).close()
        open_for_reading(path).close()
        # A forked child would share what SQLite knows of this process's locks.
        writer = [sys.executable, "-c", ANOTHER_WRITER, str(path)]
        told = subprocess.run(writer, capture_output=True, text=True, check=False)
    assert "database is locked" in told.stderr


def test_b35_a_second_owner_is_refused_and_told_who_the_first_is(path: Path) -> None:
    with DatabaseLock(path, "main"), pytest.raises(DatabaseInUseError, match=rf"'main' \(process {os.getpid()}\)"):
        DatabaseLock(path, "other")


def test_b35_another_process_is_refused_too(path: Path) -> None:
    def child() -> str:
        try:
            DatabaseLock(path, "child")
        except DatabaseInUseError as error:
            return str(error)
        return "allowed"

    with DatabaseLock(path, "main"):
        assert str(os.getpid()) in in_child(child)
    assert in_child(child) == "allowed"


def test_a_lock_that_was_released_can_be_taken_again(path: Path) -> None:
    first = DatabaseLock(path, "main")
    first.release()
    first.release()

    DatabaseLock(path, "main").release()


def test_b36_a_lock_ends_with_its_process_however_that_ended(path: Path) -> None:
    def child(_: int) -> None:
        DatabaseLock(path, "main")
        os._exit(KILLED)

    killed_child(child)

    DatabaseLock(path, "next").release()


def test_b75_a_forked_child_does_not_keep_the_lock_alive(path: Path) -> None:
    waits, go_on = os.pipe()
    ready, tell = os.pipe()
    lock = DatabaseLock(path, "main")
    child = os.fork()
    if child == 0:
        os.close(go_on)
        os.write(tell, b"x")
        os.read(waits, 1)
        os._exit(0)
    os.read(ready, 1)
    # Released by the death of its holder, not by `release`, which would unlock it for the child as well.
    os.close(lock._fd)
    lock._fd = -1

    DatabaseLock(path, "next").release()

    for end in (go_on, waits, ready, tell):
        os.close(end)
    os.waitpid(child, 0)


def test_links_to_one_database_share_its_lock(path: Path) -> None:
    open_store(path).close()
    link = path.with_name("link.db")
    link.symlink_to(path)

    assert lock_path(link) == lock_path(path)
    with DatabaseLock(path, "main"), pytest.raises(DatabaseInUseError):
        DatabaseLock(link, "other")


def test_the_folder_of_the_lock_is_private(path: Path) -> None:
    with DatabaseLock(path, "main") as lock:
        assert os.stat(os.path.dirname(lock.path)).st_mode & 0o777 == 0o700


def test_a_lock_that_can_not_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StorageReadOnlyError, match="lock"):
        DatabaseLock(tmp_path / "file" / "bot.db")
