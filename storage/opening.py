"""How a database file is found sound, created, or refused."""

import errno
import os
import sqlite3
import stat
import struct
from contextlib import suppress
from typing import Final
from urllib.parse import quote

from peewee import DatabaseError, SqliteDatabase

from . import migrations
from .connection import Connection, damaged, is_open_here, storage_error
from .errors import StorageCorruptError, StorageError, StorageReadOnlyError

_MAGIC: Final = b"SQLite format 3\x00"
_SMALL_PAGES: Final = 2_048
_PRAGMAS: Final = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA wal_autocheckpoint = 4000",
    "PRAGMA cache_size = -8192",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cell_size_check = ON",
    "PRAGMA trusted_schema = OFF",
)


def open_database(
    path: str, busy_timeout_ms: int, factory: type[sqlite3.Connection]
) -> tuple[SqliteDatabase, Connection]:
    """An existing database, brought to the current schema, or a new one where no file is.

    A file that is there but empty, damaged, foreign or newer is refused untouched. Small files are checked
    whole; a damaged page of a large one shows when it is read, or in `check`.
    """
    _refuse_long_name(path)
    if not os.path.exists(path):
        _refuse_orphaned_log(path)
        _create(path, factory)
    refuse_unsound_file(path)
    _refuse_unwritable_file(path)
    database = _connect(path, busy_timeout_ms, factory)
    try:
        version = migrations.version(database, path)
        for pragma in _PRAGMAS:
            migrations.answer(database, pragma)
        if int(str(migrations.answer(database, "PRAGMA page_count"))) <= _SMALL_PAGES:
            found = migrations.answer(database, "PRAGMA quick_check(1)")
            if found != "ok":
                raise damaged(path, str(found))
        migrations.migrate(database, version)
    except DatabaseError as error:
        database.close()
        raise mapped(error, path) from error
    except StorageError:
        database.close()
        raise
    return database, Connection(database.connection(), path)


def _connect(path: str, busy_timeout_ms: int, factory: type[sqlite3.Connection]) -> SqliteDatabase:
    # mode=rw: SQLite must never put a new empty file in the place of one that vanished meanwhile.
    database = SqliteDatabase(
        f"file:{quote(os.path.abspath(path))}?mode=rw",
        uri=True,
        timeout=busy_timeout_ms / 1000,
        factory=factory,
        cached_statements=256,
        autoconnect=False,
    )
    try:
        database.connect()
    except DatabaseError as error:
        raise mapped(error, path) from error
    return database


def _create(path: str, factory: type[sqlite3.Connection]) -> None:
    """Build the new file under another name: a death in the middle leaves nothing that looks like a database."""
    building = f"{path}.{os.getpid()}.creating"
    with suppress(FileNotFoundError):
        os.remove(building)
    database = SqliteDatabase(building, factory=factory)
    try:
        database.connect()
        migrations.answer(database, "PRAGMA synchronous = FULL")
        migrations.create(database)
        database.close()
        os.chmod(building, 0o600)
        with suppress(FileExistsError):
            _put_in_place(building, path)
    except DatabaseError as error:
        raise mapped(error, path) from error
    except OSError as error:
        raise StorageReadOnlyError(f"{path} can't be created ({error}): check its folder") from error
    finally:
        database.close()
        with suppress(FileNotFoundError):
            os.remove(building)


def _put_in_place(building: str, path: str) -> None:
    try:
        os.link(building, path)
    except FileExistsError:
        raise
    except OSError:
        os.rename(building, path)
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _refuse_long_name(path: str) -> None:
    try:
        os.stat(f"{path}.{os.getpid()}.creating-journal")
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise StorageReadOnlyError(
                f"the name of the database is too long for this file system, with what is put behind it: {path}. "
                "Take a shorter one"
            ) from None


def _refuse_orphaned_log(path: str) -> None:
    if _size(f"{path}-wal"):
        raise damaged(path, f"the file is missing, but its log {path}-wal is there and holds data")


def refuse_unsound_file(path: str) -> None:
    """Raises for a file that is no healthy database at first sight. Nothing of SQLite has opened it yet."""
    if os.path.exists(path) and is_open_here(path):
        return
    try:
        kind = os.stat(path).st_mode
        if not stat.S_ISREG(kind):
            # Not even opened: a pipe without a writer would never let go.
            raise StorageCorruptError(f"{path} is {_told_kind(kind)}, and no database: name a file")
        with open(path, "rb") as file:
            magic = file.read(16)
    except OSError as error:
        raise StorageReadOnlyError(f"{path} can't be opened ({error}): check its path and rights") from error
    if not magic:
        raise damaged(path, "the file is empty")
    if magic != _MAGIC:
        raise damaged(path, "the file is not an SQLite database")
    lost = _frames_lost(path)
    if lost and _frames_lost(path) == lost:
        raise damaged(path, f"its log {path}-wal lacks {lost} pages that were committed")


def _told_kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def _refuse_unwritable_file(path: str) -> None:
    folder = os.path.dirname(os.path.abspath(path))
    if not os.access(path, os.W_OK) or not os.access(folder, os.W_OK):
        raise StorageReadOnlyError(f"{path} can't be written: give this user the right to write it and its folder")


def _frames_lost(path: str) -> int:
    """How many committed frames the index of the log knows that neither the log nor the database holds.

    A process that is killed leaves `-wal` and `-shm` behind; SQLite itself removes `-shm` only with or after
    `-wal`. So an index whose frames are gone means that somebody took the log away. Offsets: the SQLite file
    format, "WAL-Index Header".
    """
    try:
        with open(f"{path}-shm", "rb") as file:
            header = file.read(136)
    except OSError:
        return 0
    if len(header) < 136 or header[12] != 1:
        return 0
    page_size, frames = struct.unpack_from("=HI", header, 14)
    copied = struct.unpack_from("=I", header, 96)[0]
    page_size = 65_536 if page_size == 1 else page_size
    held = max(0, _size(f"{path}-wal") - 32) // (page_size + 24)
    return int(frames - held) if frames > copied and frames > held else 0


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def mapped(error: Exception, path: str) -> StorageError:
    """What an error that came through peewee means."""
    cause = error.__cause__ or error.__context__ or error
    return storage_error(cause if isinstance(cause, sqlite3.Error) else error, path)
