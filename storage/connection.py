"""One SQLite connection: who may use it, how a write begins and ends, and what SQLite's errors mean."""

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Final, NoReturn

from .errors import (
    StorageBusyError,
    StorageCorruptError,
    StorageError,
    StorageFullError,
    StorageLostError,
    StorageReadOnlyError,
    WrongOwnerError,
)

Value = str | int | float | bytes | None
Row = tuple[Value, ...]

# SQLITE_IOERR_WRITE, _FSYNC, _DIR_FSYNC, _TRUNCATE and _SHMSIZE: what a full quota or file system shows itself as.
_WRITE_FAILED: Final = frozenset({778, 1034, 1290, 1546, 4874})
_SHORT_READ: Final = 522
_REFUSED: Final = (sqlite3.Error, UnicodeEncodeError, OverflowError)


class Connection:
    """A connection that belongs to the thread and process that opened it. Every write is `BEGIN IMMEDIATE`.

    A failure inside a transaction dooms all of it, even when the caller catches the error and goes on.
    """

    def __init__(self, raw: sqlite3.Connection, path: str) -> None:
        self.path = path
        self.on_rollback: Callable[[], None] = _nothing
        self.garbled = False
        self._raw = raw
        self._execute = raw.execute
        self._thread = threading.get_ident()
        self._pid = os.getpid()
        self._depth = 0
        self._doomed: BaseException | None = None
        self._block = _Block(self)
        self._file = _file(path)
        self._size = os.stat(path).st_size
        _open.add(self)

    def check_owner(self) -> None:
        if threading.get_ident() != self._thread or os.getpid() != self._pid:
            raise WrongOwnerError(
                f"the store of {self.path} belongs to thread {self._thread} of process {self._pid} and was used from "
                f"thread {threading.get_ident()} of process {os.getpid()}: open a store of your own there"
            )

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        """All rows. Text that is no UTF-8 comes with surrogates in place of its bad bytes; `garbled` then tells so.

        No row holds a value that SQLite can't hold: a lone surrogate, say, or a number beyond 64 bits.
        """
        self.check_owner()
        self.garbled = False
        try:
            return self._execute(sql, values).fetchall()
        except sqlite3.OperationalError as error:
            if not str(error).startswith("Could not decode to UTF-8"):
                self._failed(error)
        except (UnicodeEncodeError, OverflowError):
            return []
        except sqlite3.Error as error:
            self._failed(error)
        self.garbled = True
        self._raw.text_factory = _lenient
        try:
            return self._execute(sql, values).fetchall()
        except sqlite3.Error as error:
            self._failed(error)
        finally:
            self._raw.text_factory = str

    def run(self, sql: str, values: Sequence[Value] = ()) -> int:
        """Write, inside a transaction. Returns the number of rows that were changed."""
        self._check_begun()
        try:
            return self._execute(sql, values).rowcount
        except _REFUSED as error:
            self._failed(error)

    def run_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> int:
        self._check_begun()
        try:
            return self._raw.executemany(sql, rows).rowcount
        except _REFUSED as error:
            self._failed(error)

    def transaction(self) -> "_Block":
        return self._block

    def close(self) -> None:
        self.check_owner()
        _open.discard(self)
        try:
            if self._raw.in_transaction:
                self._raw.rollback()
            self._raw.close()
        except sqlite3.ProgrammingError:
            return
        except sqlite3.Error as error:
            raise storage_error(error, self.path) from error

    def begin(self) -> None:
        self.check_owner()
        if self._depth == 0:
            self._doomed = None
            self._check_place()
            try:
                self._execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                raise storage_error(error, self.path) from error
        self._depth += 1

    def _check_place(self) -> None:
        """SQLite goes on writing into a file that nobody will ever read again."""
        try:
            found = os.stat(self.path)
        except OSError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != self._file or found.st_size < self._size:
            raise StorageLostError(
                f"the database {self.path} was removed, replaced or cut short while it was open: "
                "stop the scheduler, put the file back, and start anew"
            )

    def end(self, raised: BaseException | None) -> None:
        self.check_owner()
        self._depth -= 1
        if raised is not None:
            self._doomed = raised
        if self._depth:
            return
        if self._doomed is None:
            try:
                self._execute("COMMIT")
            except sqlite3.Error as error:
                # BUSY at COMMIT leaves the transaction open; FULL has rolled it back already.
                self._roll_back()
                raise storage_error(error, self.path) from error
            return
        doomed, self._doomed = self._doomed, None
        self._roll_back()
        if raised is None:
            raise StorageError(
                f"the transaction on {self.path} was rolled back because a part of it failed: {doomed}"
            ) from doomed

    def _check_begun(self) -> None:
        self.check_owner()
        # Outside of BEGIN IMMEDIATE a write would have to upgrade a read, and SQLite refuses that without waiting.
        if not self._depth:
            raise StorageError(f"a write to {self.path} outside of a transaction: a mistake in the program")
        if self._doomed is not None:
            raise StorageError(f"a part of this transaction on {self.path} has failed already: {self._doomed}")

    def _roll_back(self) -> None:
        self.on_rollback()
        if self._raw.in_transaction:
            try:
                self._execute("ROLLBACK")
            except sqlite3.Error as error:
                raise storage_error(error, self.path) from error

    def _failed(self, error: Exception) -> NoReturn:
        mapped = storage_error(error, self.path)
        if self._depth:
            self._doomed = mapped
        raise mapped from error


class _Block:
    """The transaction of a connection as a context manager; inner ones join the outermost."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.begin()

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, where: TracebackType | None
    ) -> None:
        self._connection.end(raised)


def storage_error(error: Exception, path: str) -> StorageError:
    """What an error of SQLite means to the scheduler, in a sentence that says what to do."""
    extended = getattr(error, "sqlite_errorcode", None) or 0
    code = extended & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StorageBusyError(f"another process holds the write lock of {path} ({error}): try again")
    if code == sqlite3.SQLITE_FULL or extended in _WRITE_FAILED:
        return StorageFullError(f"there is no room to write {path} ({error}): free some, then try again")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return StorageReadOnlyError(
            f"{path} can't be written ({error}): give this user the right to write the file and its folder"
        )
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or extended == _SHORT_READ:
        return damaged(path, str(error))
    return StorageError(f"the database {path} failed: {error}")


def damaged(path: str, what: str) -> StorageCorruptError:
    *others, last = [path, *(f"{path}{end}" for end in ("-wal", "-shm") if os.path.exists(f"{path}{end}"))]
    files = f"{', '.join(others)} and {last}" if others else last
    return StorageCorruptError(
        f"{path} is damaged ({' '.join(what.split())}). Restore it from a backup, or salvage what can be read with the "
        f"`.recover` or `.dump` of the sqlite3 command. To begin with an empty database instead, move "
        f"{files} away."
    )


def is_open_here(path: str) -> bool:
    """Whether this process has the file open already.

    Then nobody may open and close it past SQLite: POSIX would drop the locks of every connection of this process.
    Raises `WrongOwnerError` in a child that was forked while the file was open: SQLite believes there that it still
    holds the parent's locks, and the parent, which knows nothing of the child, could delete the log under it.
    """
    file = _file(path)
    owners = {known._pid for known in list(_open) if known._file == file}
    if owners - {os.getpid()}:
        raise WrongOwnerError(
            f"{path} was open when process {owners.pop()} forked this one, so this one can't open it: close the store "
            f"before the fork, or start the process anew (spawn)"
        )
    return bool(owners)


def _file(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


_open: "weakref.WeakSet[Connection]" = weakref.WeakSet()


def _nothing() -> None:
    pass


def _lenient(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
