"""The store on SQLite: durable, one file, one writer."""

import os
import sqlite3

from . import ledger, models
from .connection import damaged
from .errors import StorageCorruptError
from .opening import open_database
from .sqlite_views import SqliteViews
from .values import Scope, Status


class SqliteStore(SqliteViews):
    """A `Store` whose data lies in one SQLite file. Open it with `open_store`."""

    _trimmed_to = 0

    def close(self) -> None:
        self._connection.close()

    def remember_replies(self, client: str, number: int, replies: str, now: int) -> None:
        with self._connection.transaction():
            self._connection.run(
                "INSERT OR REPLACE INTO reply (client, number, replies, at) VALUES (?, ?, ?, ?)",
                (client, number, replies, now),
            )

    def recall_replies(self, client: str) -> tuple[int, str] | None:
        found = self._connection.rows("SELECT number, replies FROM reply WHERE client = ?", (client,))
        return (ledger.whole(found[0][0], 0), str(found[0][1])) if found else None

    def meta(self, key: str) -> str | None:
        found = self._connection.rows("SELECT value FROM meta WHERE key = ?", (key,))
        return str(found[0][0]) if found else None

    def set_meta(self, key: str, value: str) -> None:
        with self._connection.transaction():
            self._connection.run("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))

    def trim(self, *, finished_before: int, keep: int, limit: int) -> int:
        with self._connection.transaction():
            self._connection.run("DELETE FROM reply WHERE at < ?", (finished_before,))
            self._connection.run("DELETE FROM outage WHERE ended_at < ?", (finished_before,))
            newest = self._connection.rows("SELECT max(number) FROM occurrence")[0][0]
            excess = self._excess(ledger.whole(newest, 0) - keep, finished_before, limit)
            self._connection.run_many("DELETE FROM occurrence WHERE number = ?", [(number,) for number in excess])
        # The failures that stay lie in front of what the next call of this round looks at.
        self._trimmed_to = excess[-1] if len(excess) == limit and limit else 0
        return len(excess)

    def _excess(self, beyond: int, finished_before: int, limit: int) -> list[int]:
        """The oldest rows that are to go. Rows are written as they end: behind one that is new enough, all are."""
        excess: list[int] = []
        place = self._trimmed_to
        while len(excess) < limit:
            rows = self._connection.rows(_OLDEST, (place, beyond, finished_before, limit))
            excess += [ledger.whole(number, 0) for number, is_old, stays in rows if is_old and not stays]
            if len(rows) < limit or not rows[-1][1]:
                break
            place = ledger.whole(rows[-1][0], 0)
        return excess[:limit]

    def check(self) -> list[str]:
        try:
            found = [str(row[0]) for row in self._connection.rows("PRAGMA integrity_check(20)")]
            wrong = [f"SQLite: {line}" for line in found if line != "ok"]
            for sql, sentence in _CHECKS:
                wrong += [f"{sentence}: {row[0]!r}" for row in self._connection.rows(f"{sql} LIMIT 20")]
        except StorageCorruptError as error:
            return [str(error)]
        return wrong


_OLDEST = (
    "SELECT number, number <= ?2 OR finished_at < ?3, "
    f"{models.FAILED} AND NOT EXISTS (SELECT 1 FROM occurrence later WHERE later.job_id = o.job_id "
    f"AND later.{models.FAILED} AND later.number > o.number) "
    "FROM occurrence o WHERE number > ?1 ORDER BY number LIMIT ?4"
)
_STATES = ", ".join(f"'{status}'" for status in Status)
_SCOPES = ", ".join(f"'{scope}'" for scope in Scope)
_CHECKS = (
    ("SELECT id FROM job WHERE seq NOT IN (SELECT seq FROM job_state)", "a job has no state"),
    ("SELECT seq FROM job_state WHERE seq NOT IN (SELECT seq FROM job)", "a state has no job"),
    (f"SELECT seq FROM job_state WHERE status NOT IN ({_STATES})", "a job's status is unknown"),
    (
        f"SELECT seq FROM job_state WHERE status = '{Status.SCHEDULED}' "
        "AND (typeof(next_attempt_at) <> 'integer' OR typeof(due_at) <> 'integer')",
        "a scheduled job has no readable due time",
    ),
    (
        f"SELECT seq FROM job_state WHERE {models.CLAIMED} AND (token IS NULL OR host IS NULL OR lease_until IS NULL)",
        "a claim lacks its token, host or lease",
    ),
    ("SELECT id FROM job WHERE NOT json_valid(payload)", "a job's payload is not JSON"),
    ("SELECT number FROM session WHERE NOT json_valid(data)", "a session is not JSON"),
    (
        "SELECT chat_id FROM session GROUP BY chat_id, user_id HAVING count(*) > 1",
        "a session is stored twice, for chat",
    ),
    (
        "SELECT part.seq FROM job part JOIN job series ON series.seq = part.series "
        "WHERE part.series IS NOT NULL AND series.series IS NOT NULL",
        "a part of a job belongs to a part",
    ),
    (f"SELECT scope FROM pause WHERE scope NOT IN ({_SCOPES})", "a pause's scope is unknown"),
    (
        "SELECT key FROM pause WHERE typeof(since) <> 'integer' OR typeof(until) NOT IN ('integer', 'null')",
        "a pause can't be read, of",
    ),
)


def open_store(
    path: str | os.PathLike[str],
    *,
    busy_timeout_ms: int = 200,
    connection_factory: type[sqlite3.Connection] = sqlite3.Connection,
) -> SqliteStore:
    """Open the database, or create it where no file is; it belongs to the calling thread.

    Raises `StorageCorruptError`, `NewerSchemaError` or `StorageReadOnlyError` for a file that can't be used, and
    changes nothing of it.
    """
    name = os.fspath(path)
    if name == ":memory:":
        raise damaged(name, "a database in memory is not durable: use MemoryStore")
    database, connection = open_database(name, busy_timeout_ms, connection_factory)
    return SqliteStore(database, connection)
