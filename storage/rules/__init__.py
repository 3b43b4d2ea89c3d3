"""When a job comes: small typed values, each with `next(after)`, and no I/O.

`daily("09:00", zone="Europe/Berlin")`, `weekly("mon-fri", "18:00")`, `monthly("last", "09:00")`,
`yearly("12-25", "08:00")`, `cron("*/30 * * * *")`, `rrule("FREQ=WEEKLY;BYDAY=MO")`, `every(90)`, `at(moment)`; or any
of them as text, with `parse`. All take `zone`, `start`, `until`, `count` and `jitter`, and raise `InvalidJobError`.
"""

from collections.abc import Iterable
from datetime import datetime, time
from typing import Unpack

from ..durations import Duration, microseconds
from ..errors import InvalidJobError
from .base import Rule, spread_us
from .calendar_rules import CalendarRule, Daily, Monthly, Weekly, Yearly, shown_time
from .cron import Cron
from .days import MonthDay, NthWeekday
from .intervals import MAXIMUM_INTERVAL_US, MINIMUM_INTERVAL_US, At, Every, instant_of, local_text
from .notation import Bounds, parse
from .recurrence import Recurrence, recurrence
from .stored import dump, grid, load, of_job, rest, rest_us, rests
from .zones import MAX_INSTANT, Zone, is_zone, local_of, moment, naive
from .zones import zone as zone_named

TimesOfDay = str | time | Iterable[str | time]

__all__ = [
    "MAXIMUM_INTERVAL_US",
    "MAX_INSTANT",
    "MINIMUM_INTERVAL_US",
    "At",
    "Bounds",
    "CalendarRule",
    "Cron",
    "Daily",
    "Every",
    "MonthDay",
    "Monthly",
    "NthWeekday",
    "Recurrence",
    "Rule",
    "Weekly",
    "Yearly",
    "Zone",
    "at",
    "cron",
    "daily",
    "dump",
    "every",
    "grid",
    "instant_of",
    "is_zone",
    "keeps_rhythm",
    "load",
    "local_of",
    "local_text",
    "moment",
    "monthly",
    "naive",
    "of_job",
    "parse",
    "rest",
    "rest_us",
    "rests",
    "rrule",
    "weekly",
    "yearly",
    "zone_named",
]


def keeps_rhythm(rule: Rule) -> bool:
    """Whether it comes as often as the local clock shows its times, and has no local date of its own."""
    return isinstance(rule, CalendarRule) and not rule.follows_wall


def at(when: datetime, *, zone: str | None = None) -> At:
    """Once: at an instant, or at a local time where `when` is naive."""
    return At(at=when, zone=zone)


def every(interval: Duration, **bounds: Unpack[Bounds]) -> Every:
    """A span of real time, in seconds or as a timedelta."""
    return Every(
        interval_us=microseconds(interval, "the interval"), zone=bounds.get("zone"), start=bounds.get("start"),
        until=bounds.get("until"),
        count=bounds.get("count"), jitter_us=spread_us(bounds.get("jitter")),
    )  # fmt: skip


def daily(times: TimesOfDay, *, interval: int = 1, **bounds: Unpack[Bounds]) -> Rule:
    """`daily("09:00,18:00")`; with `interval=2` every other day."""
    return parse(f"{_word('daily', interval)} {_times(times)}", **bounds)


def weekly(weekdays: str | Iterable[str], times: TimesOfDay, *, interval: int = 1, **bounds: Unpack[Bounds]) -> Rule:
    """`weekly("mon,fri", "09:00")`, `weekly("weekdays", "18:00")`."""
    return parse(f"{_word('weekly', interval)} {_listed(weekdays)} {_times(times)}", **bounds)


def monthly(
    days: str | int | Iterable[str | int], times: TimesOfDay, *, interval: int = 1, **bounds: Unpack[Bounds]
) -> Rule:
    """`monthly(15, …)`, `monthly("last", …)`, `monthly("31-or-last", …)`, `monthly("2nd-tue", …)`."""
    return parse(f"{_word('monthly', interval)} {_listed(days)} {_times(times)}", **bounds)


def yearly(days: str | Iterable[str], times: TimesOfDay, *, interval: int = 1, **bounds: Unpack[Bounds]) -> Rule:
    """`yearly("12-25", "08:00")`, `yearly("02-last", …)`."""
    return parse(f"{_word('yearly', interval)} {_listed(days)} {_times(times)}", **bounds)


def cron(expression: str, **bounds: Unpack[Bounds]) -> Cron:
    """Five fields, six with seconds first, or `@daily` and the like; 0 and 7 are Sunday."""
    if not isinstance(expression, str):
        raise InvalidJobError(f"a cron expression is text, not {ascii(expression)[:40]}")
    return Cron(
        expression=" ".join(expression.split()), zone=bounds.get("zone"), start=bounds.get("start"),
        until=bounds.get("until"), count=bounds.get("count"), jitter_us=spread_us(bounds.get("jitter")),
    )  # fmt: skip


def rrule(text: str, **bounds: Unpack[Bounds]) -> Recurrence | Every:
    """A recurrence rule of RFC 5545, with `DTSTART` in front of it or as `start`."""
    return recurrence(
        text, zone=bounds.get("zone"), start=bounds.get("start"), until=bounds.get("until"),
        count=bounds.get("count"), jitter_us=spread_us(bounds.get("jitter")),
    )  # fmt: skip


def _word(kind: str, interval: int) -> str:
    if type(interval) is not int or not 1 <= interval <= 1_000:
        raise InvalidJobError(f"the interval is {interval!r}, but must be a whole number from 1 to 1000")
    return f"{kind}/{interval}" if interval > 1 else kind


def _listed(parts: object) -> str:
    if isinstance(parts, (str, int)):
        return str(parts)
    if not isinstance(parts, Iterable):
        raise InvalidJobError(f"{parts!r} names no days")
    return ",".join(map(str, parts))


def _times(times: object) -> str:
    if isinstance(times, str):
        return times
    if isinstance(times, time):
        if times.tzinfo is not None:
            raise InvalidJobError(f"{times!r} has a zone of its own: give the rule's `zone` instead")
        return shown_time(
            ((times.hour * 60 + times.minute) * 60 + times.second) * 1_000_000 + times.microsecond
        )  # fmt: skip
    if not isinstance(times, Iterable):
        raise InvalidJobError(f"{times!r} is no time of day: write 09:00")
    return ",".join(map(_times, times))
