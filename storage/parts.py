"""Runs of one job that go beside each other: how their rows are named. The names never leave storage."""

from .values import Placed, Removed


def part_id(job_id: str, due_at: int) -> str:
    """Under which id the run at `due_at` is stored. Sorts right behind its job's id, before any other."""
    return f"{job_id}\0{due_at}"


def told_id(stored: str) -> str:
    """The job's id, of its own row as of its parts."""
    return stored.partition("\0")[0]


def with_part(removed: Removed | None, row: Removed, *, is_part: bool) -> Removed:
    """What is told of an id when one more of its rows is gone. Its own row comes first, then its parts in due order."""
    if not is_part:
        return row
    if removed is None:
        return row._replace(parts=(row.seq,))
    return removed._replace(parts=(*removed.parts, row.seq))


def placed_after(seq: int, removed: Removed | None) -> Placed:
    """Where a job landed that took the place of what was removed."""
    if removed is None:
        return Placed(seq, None)
    return Placed(seq, None if removed.seq in removed.parts else removed.seq, removed.parts)
