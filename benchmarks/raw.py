"""What SQLite alone does with the same rows in the same tables: no actors, no checks, no objects; plain SQL."""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from bellringer.storage.sqlite_store import open_store

from .systems import FAR, PAYLOAD

_JOB = (
    "INSERT INTO job (seq, id, handler, chat_id, user_id, payload, delivery, misfire, time_limit_us, created_at) "
    "VALUES (?, ?, 'noop', ?, ?, ?, 'at_most_once', 'run_late', 60000000, ?)"
)
_STATE = "INSERT INTO job_state (seq, status, due_at, next_attempt_at) VALUES (?, 'scheduled', ?, ?)"
_REPLY = "INSERT OR REPLACE INTO reply (client, number, replies, at) VALUES ('raw', ?, '[]', 0)"
_CLAIM = (
    "UPDATE job_state SET status = 'claimed', attempts = 1, token = ?, host = 'raw', lease_until = ?, claimed_at = ? "
    "WHERE seq = ?"
)
_LEDGER = (
    "INSERT INTO occurrence (job_id, job_seq, handler, chat_id, user_id, outcome, due_at, count, started_at, "
    "finished_at, late_by_us, attempts, run_key) VALUES (?, ?, 'noop', ?, ?, ?, ?, 1, ?, ?, 0, 1, ?)"
)
_OVER = ("DELETE FROM job WHERE seq = ?", "DELETE FROM job_state WHERE seq = ?")

LISTING = (
    "SELECT j.id, j.handler, s.status, s.due_at, s.next_attempt_at, j.chat_id, j.user_id, j.thread_id, j.payload, "
    "j.rule, j.delivery, s.attempts, s.waiting_for, s.reason, s.host, s.claimed_at, s.seq "
    "FROM job_state s CROSS JOIN job j ON j.seq = s.seq ORDER BY s.due_at, s.seq LIMIT 10000"
)


class Raw:
    """One connection, set up as the store's."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._run = connection.execute
        self._run_many = connection.executemany
        self._commits = 0

    def insert(self, numbers: range, per_commit: int, *, due_at: int = FAR) -> float:
        """Jobs a second, where each commit holds so many of them and one row for its reply."""
        commits = [
            (
                [(n, f"job:{n}", n, n, PAYLOAD, n) for n in numbers[start : start + per_commit]],
                [(n, due_at + n, due_at + n) for n in numbers[start : start + per_commit]],
            )
            for start in range(0, len(numbers), per_commit)
        ]
        began = time.perf_counter()
        for jobs, states in commits:
            self._run("BEGIN IMMEDIATE")
            self._run_many(_JOB, jobs)
            self._run_many(_STATE, states)
            self._reply()
            self._run("COMMIT")
        return len(numbers) / (time.perf_counter() - began)

    def run(self, numbers: range, per_commit: int) -> float:
        """Jobs a second through a claim and a settlement; each commit settles some and claims as many others."""
        parts = [numbers[start : start + per_commit] for start in range(0, len(numbers), per_commit)]
        began = time.perf_counter()
        for settled, claimed in zip([(), *parts], [*parts, ()], strict=True):
            self._run("BEGIN IMMEDIATE")
            self._end(settled, "done")
            self._run_many(_CLAIM, [(n, n, n, n) for n in claimed])
            self._run("COMMIT")
        return len(numbers) / (time.perf_counter() - began)

    def claim_times(self, numbers: range, pause_s: float) -> list[float]:
        """Milliseconds for the commit of one claim, as often as `pause_s` says."""
        times = []
        for number in numbers:
            began = time.perf_counter()
            self._run("BEGIN IMMEDIATE")
            self._run(_CLAIM, (number, number, number, number))
            self._run("COMMIT")
            times.append((time.perf_counter() - began) * 1e3)
            time.sleep(pause_s)
        return times

    def cancel(self, numbers: range) -> float:
        """Jobs a second, each found by its id and in a commit of its own."""
        began = time.perf_counter()
        for number in numbers:
            self._run("BEGIN IMMEDIATE")
            seq = self._run("SELECT seq FROM job WHERE id = ?", (f"job:{number}",)).fetchone()[0]
            self._end((seq,), "cancelled")
            self._reply()
            self._run("COMMIT")
        return len(numbers) / (time.perf_counter() - began)

    def listing(self) -> float:
        """Seconds for a page of 10,000 rows."""
        began = time.perf_counter()
        self._run(LISTING).fetchall()
        return time.perf_counter() - began

    def _end(self, seqs: Sequence[int], outcome: str) -> None:
        self._run_many(_LEDGER, [(f"job:{n}", n, n, n, outcome, n, n, n, f"{n}:{n}") for n in seqs])
        for sql in _OVER:
            self._run_many(sql, [(n,) for n in seqs])

    def _reply(self) -> None:
        self._commits += 1
        self._run(_REPLY, (self._commits,))


@contextmanager
def opened(path: Path) -> Iterator[Raw]:
    """A database with the store's own tables, new unless the file is there: write-ahead log, `synchronous = FULL`."""
    open_store(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in ("synchronous = FULL", "wal_autocheckpoint = 4000", "cache_size = -8192"):
            connection.execute(f"PRAGMA {pragma}")
        yield Raw(connection)
