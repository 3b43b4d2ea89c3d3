"""A store that only reads: for people who look at a file, whether or not a scheduler runs on it."""

import os
from urllib.parse import quote

from peewee import DatabaseError, SqliteDatabase

from . import migrations, models
from .connection import Connection
from .errors import StorageError
from .opening import mapped, refuse_unsound_file
from .sqlite_store import SqliteStore


def open_for_reading(path: str | os.PathLike[str], *, busy_timeout_ms: int = 2_000) -> SqliteStore:
    """The store of an existing file. It changes nothing there, and each of its writes raises `StorageReadOnlyError`.

    Raises `StorageCorruptError`, `NewerSchemaError` or `StorageError` for a file that can't be read.
    """
    name = os.path.abspath(path)
    refuse_unsound_file(name)
    database = SqliteDatabase(
        f"file:{quote(name)}?{_mode(name)}", uri=True, timeout=busy_timeout_ms / 1000, autoconnect=False
    )
    try:
        database.connect()
        found = migrations.version(database, name)
        if found < models.SCHEMA_VERSION:
            raise StorageError(
                f"{name} has schema {found}, older than this version's {models.SCHEMA_VERSION}: "
                "start a scheduler on it once, which brings it forward"
            )
    except DatabaseError as error:
        database.close()
        raise mapped(error, name) from error
    except StorageError:
        database.close()
        raise
    return SqliteStore(database, Connection(database.connection(), name))


def _mode(path: str) -> str:
    # Even to read a file in WAL mode, SQLite makes its -shm beside it. Where it can't, a file without a log can be
    # read as one that nobody changes.
    if not os.access(os.path.dirname(path), os.W_OK) and not os.path.exists(f"{path}-wal"):
        return "immutable=1"
    return "mode=ro"
