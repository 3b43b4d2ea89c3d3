"""Schema versions. A file knows its version (`PRAGMA user_version`) and is brought forward in one transaction.

A new file is created from the models; an older one is taken up step by step. Both ways must end in the same
schema, which a test compares.
"""

from collections.abc import Callable, Mapping
from typing import Final

from peewee import SqliteDatabase

from . import models
from .connection import damaged
from .errors import NewerSchemaError, StorageCorruptError

Step = Callable[[SqliteDatabase], None]

# Spelled out, as what a step does must not change when the models do.
_TO_2: Final = (
    'ALTER TABLE "job" ADD COLUMN "zone" TEXT',
    'ALTER TABLE "job" ADD COLUMN "local_at" TEXT',
    """ALTER TABLE "job" ADD COLUMN "catch_up" TEXT NOT NULL DEFAULT 'one'""",
    'ALTER TABLE "job" ADD COLUMN "catch_up_limit" INTEGER',
    """ALTER TABLE "job" ADD COLUMN "overlap" TEXT NOT NULL DEFAULT 'queue_one'""",
    'ALTER TABLE "job" ADD COLUMN "overlap_limit" INTEGER',
    'ALTER TABLE "job" ADD COLUMN "stale_after_us" INTEGER',
    'ALTER TABLE "job" ADD COLUMN "series" INTEGER',
    "CREATE INDEX job_zone ON job (zone, seq) WHERE zone IS NOT NULL",
    "CREATE INDEX job_series ON job (series) WHERE series IS NOT NULL",
    'ALTER TABLE "job_state" ADD COLUMN "held_by" TEXT',
    'ALTER TABLE "job_state" ADD COLUMN "held_from" INTEGER',
    'ALTER TABLE "job_state" ADD COLUMN "held_until" INTEGER',
    'DROP TABLE "lane"',
    'CREATE TABLE "pause" ("number" INTEGER NOT NULL PRIMARY KEY, "scope" TEXT NOT NULL, "key" NOT NULL, '
    '"since" INTEGER NOT NULL, "until" INTEGER, "on_resume" TEXT NOT NULL, "reason" TEXT)',
    "CREATE UNIQUE INDEX pause_key ON pause (scope, key)",
    'CREATE TABLE "outage" ("number" INTEGER NOT NULL PRIMARY KEY, "began_at" INTEGER NOT NULL, '
    '"ended_at" INTEGER NOT NULL, "kind" TEXT NOT NULL)',
    'CREATE TABLE "zone" ("name" TEXT NOT NULL PRIMARY KEY, "changes" TEXT NOT NULL)',
)


def _to_2(database: SqliteDatabase) -> None:
    for sql in _TO_2:
        answer(database, sql)


STEPS: Final[Mapping[int, Step]] = {1: _to_2}
"""By the version that a step leaves behind: the step from 1 to 2 stands under 1."""


def create(database: SqliteDatabase) -> None:
    """Make an empty file a database of the current version."""
    with database.atomic("IMMEDIATE"):
        models.create_all(database)
        answer(database, f"PRAGMA application_id = {models.APPLICATION_ID}")
        answer(database, f"PRAGMA user_version = {models.SCHEMA_VERSION}")


def version(database: SqliteDatabase, path: str, newest: int = models.SCHEMA_VERSION) -> int:
    """The file's version. Refuses, untouched, a foreign file and one of a later version."""
    if answer(database, "PRAGMA application_id") != models.APPLICATION_ID:
        if answer(database, "SELECT count(*) FROM sqlite_master") == 0:
            raise damaged(path, "it is an empty database")
        raise StorageCorruptError(f"{path} is a database of another program: choose another path")
    found = int(str(answer(database, "PRAGMA user_version")))
    if found > newest:
        raise NewerSchemaError(
            f"{path} has schema {found}, and this version of Bellringer knows schemas up to {newest}: "
            f"install the later version again"
        )
    return found


def migrate(
    database: SqliteDatabase, found: int, newest: int = models.SCHEMA_VERSION, steps: Mapping[int, Step] = STEPS
) -> None:
    """Bring the file forward. Either every step is done, or the file is as it was."""
    if found == newest:
        return
    with database.atomic("IMMEDIATE"):
        for version_before in range(found, newest):
            if version_before not in steps:
                raise StorageCorruptError(f"no step leads on from schema {version_before}: install a later version")
            steps[version_before](database)
        answer(database, f"PRAGMA user_version = {newest}")


def answer(database: SqliteDatabase, sql: str) -> object:
    """The first value that a statement gives, if it gives any."""
    row = database.execute_sql(sql).fetchone()
    return row[0] if row else None
