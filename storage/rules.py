"""When a repeating job comes next. Pure functions: `now` is an argument.

A rule is stored as a JSON object with one key: `{"every_us": N}` keeps the grid that the first due time
began, `{"rest_us": N}` begins anew N microseconds after the run before has ended.
"""

import json
from typing import NamedTuple

MINIMUM_INTERVAL_US = 1_000


class Missed(NamedTuple):
    """The due times of a grid up to now: how many, the latest of them, and the one that follows now."""

    count: int  # type: ignore[assignment]
    latest: int
    following: int


def every(interval_us: int) -> str:
    return json.dumps({"every_us": interval_us}, separators=(",", ":"))


def rest(interval_us: int) -> str:
    return json.dumps({"rest_us": interval_us}, separators=(",", ":"))


def interval_us(rule: str) -> int:
    """The distance between two due times. Raises `ValueError` for a rule that this version does not know."""
    known = json.loads(rule)
    for key in ("every_us", "rest_us"):
        if isinstance(known, dict) and isinstance(known.get(key), int) and known[key] >= MINIMUM_INTERVAL_US:
            return int(known[key])
    raise ValueError(f"this version does not know the rule {rule!r}")


def rests(rule: str) -> bool:
    """Whether the next due time counts from the end of the run before."""
    return rule.startswith('{"rest_us"')


def up_to(rule: str, due_at: int, now: int) -> Missed:
    """The due times of the grid from `due_at` to `now` (which is not before it), by arithmetic."""
    step = interval_us(rule)
    behind = max(0, now - due_at) // step
    latest = due_at + behind * step
    return Missed(count=behind + 1, latest=latest, following=latest + step)
