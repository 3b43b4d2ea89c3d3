"""Rules as they are stored: JSON text with the rule as people write it, and its bounds.

`{"every_us": N}` keeps the grid that the first due time began, `{"rest_us": N}` begins anew N microseconds after the
run before has ended; the latter is for jobs in memory only.
"""

import json
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from ..errors import InvalidJobError
from . import notation
from .base import Rule
from .intervals import MINIMUM_INTERVAL_US, Every

_BOUNDS = ("start", "until", "last")


def dump(rule: Rule) -> str:
    """A rule as text from which `load` makes an equal one."""
    told: dict[str, object] = {"rule": rule.text}
    if rule.zone is not None:
        told["zone"] = rule.zone
    for name in _BOUNDS:
        bound: datetime | None = getattr(rule, name)
        if bound is not None:
            told[name] = bound.isoformat()
    for name in ("count", "jitter_us", "share_us"):
        if value := getattr(rule, name):
            told[name] = value
    return json.dumps(told, separators=(",", ":"))


@lru_cache(maxsize=20_000)
def load(text: str) -> Rule:
    """The rule of a stored text. Raises `ValueError` for one that this version does not know."""
    try:
        told = json.loads(text)
        if "every_us" in told:
            return Every(interval_us=told["every_us"])
        bounds = {name: datetime.fromisoformat(told[name]) for name in _BOUNDS if name in told}
        start, until = bounds.get("start"), bounds.get("until")
        rule = notation.parse(told["rule"], zone=told.get("zone"), start=start, until=until)
        counted = {name: told[name] for name in ("count", "jitter_us", "share_us") if name in told}
        return replace(rule, last=bounds.get("last"), **counted) if counted else rule
    except (InvalidJobError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"this version does not know the rule {text[:200]!r}: {error}") from None


def of_job(text: str, due_at: int) -> Rule:
    """The rule of a job; a grid without a beginning of its own is the one that this due time lies on."""
    rule = load(text)
    if type(rule) is Every and rule.start is None:
        return _through(rule.interval_us, due_at % rule.interval_us)
    return rule


@lru_cache(maxsize=20_000)
def _through(interval_us: int, phase: int) -> Every:
    return Every(interval_us=interval_us).starting_at(phase)


def grid(interval_us: int) -> str:
    """The stored form of an interval that nothing bounds: short, and the same for all jobs that have it."""
    return json.dumps({"every_us": interval_us}, separators=(",", ":"))


def rest(interval_us: int) -> str:
    return json.dumps({"rest_us": interval_us}, separators=(",", ":"))


def rests(text: str) -> bool:
    """Whether the next due time counts from the end of the run before."""
    return text.startswith('{"rest_us"')


def rest_us(text: str) -> int:
    """The pause of a rule that rests. Raises `ValueError`."""
    told = json.loads(text)
    value = told.get("rest_us") if isinstance(told, dict) else None
    if isinstance(value, int) and value >= MINIMUM_INTERVAL_US:
        return value
    raise ValueError(f"this version does not know the rule {text[:200]!r}")
