"""How an ended occurrence becomes a ledger row, the same in every store."""

import json
from collections.abc import Sequence
from typing import Final

from .connection import Connection, Row, Value
from .parts import told_id
from .values import Ending

INSERT: Final = (
    "INSERT INTO occurrence (job_id, job_seq, handler, chat_id, user_id, outcome, due_at, last_due_at, count, "
    "started_at, finished_at, late_by_us, attempts, reason, traceback, delivered, run_key) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (job_seq, due_at) DO NOTHING"
)


def run_key(seq: int, due_at: int) -> str:
    """The same for every attempt at one occurrence, and for no other."""
    return f"{seq}:{due_at}"


def storable(text: str | None) -> str | None:
    """Text of an error as SQLite can keep it: lone surrogates and NUL become escapes."""
    if text is None or (text.isascii() and "\0" not in text):
        return text
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()


def row(owner: Sequence[Value], attempts: int, ending: Ending) -> Row:
    """`owner` begins with the job's id, seq, handler, chat_id and user_id."""
    seq = owner[1]
    assert isinstance(seq, int)
    began = ending.finished_at if ending.started_at is None else ending.started_at
    job_id = owner[0]
    return (
        _told(told_id(job_id) if type(job_id) is str and "\0" in job_id else job_id),
        seq,
        _told(owner[2]),
        _told(owner[3]),
        _told(owner[4]),
        ending.outcome,
        ending.due_at,
        ending.last_due_at,
        ending.count,
        ending.started_at,
        ending.finished_at,
        max(0, began - ending.due_at),
        attempts,
        storable(ending.reason),
        storable(ending.traceback),
        json.dumps(ending.delivered) if ending.delivered else None,
        f"{seq}:{ending.due_at}",
    )


def _told(value: Value) -> Value:
    """What names the job, with escapes in place of bytes that were no text in a broken row."""
    return value if type(value) is not str or value.isascii() else storable(value)


def write(connection: Connection, rows: Sequence[Row]) -> None:
    if rows:
        connection.run_many(INSERT, rows)


def free_due_at(connection: Connection, seq: int, now: int) -> int:
    """The first instant from `now` at which this job has no outcome yet, so that the ledger can hold another."""
    while connection.rows("SELECT 1 FROM occurrence WHERE job_seq = ? AND due_at = ?", (seq, now)):
        now += 1
    return now


def whole(value: Value, otherwise: int) -> int:
    """A number as it should stand in the row, or `otherwise` where the row is broken."""
    return value if type(value) is int else otherwise


def number(text: Value) -> int | None:
    """A number that is stored as text, or None where it is none."""
    try:
        return int(text) if type(text) is str else None
    except ValueError:
        return None
