"""Rules as text: `daily 02:30`, `weekly mon,fri 00:30`, `monthly last 09:00`, `*/30 * * * *`, `every 90s`, `RRULE:…`.

What a rule's `text` tells is read back as the same rule.
"""

import re
from datetime import datetime
from typing import Final, TypedDict, Unpack

from ..durations import Duration
from ..errors import InvalidJobError
from .base import Rule, spread_us
from .calendar_rules import WEEKDAYS, Daily, Monthly, Weekly, Yearly
from .cron import Cron
from .days import DayOfMonth, MonthDay, NthWeekday
from .intervals import At, Every
from .recurrence import recurrence
from .zones import SECOND_US


class Bounds(TypedDict, total=False):
    """What bounds a rule, whatever its kind."""

    zone: str | None
    start: datetime | None
    until: datetime | None
    count: int | None
    jitter: Duration | None
    """Seconds, or a timedelta."""


_UNITS_S: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_SPAN: Final = re.compile(r"(?:[0-9]+(?:\.[0-9]{1,6})?[wdhms])+", re.IGNORECASE)
_SPAN_PART: Final = re.compile(r"([0-9]+)(?:\.([0-9]{1,6}))?([wdhms])", re.IGNORECASE)
_TIME: Final = re.compile(r"([0-9]{1,2})(?::([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?)?\s*(am|pm)?", re.IGNORECASE)
_WORD: Final = re.compile(r"(daily|weekly|monthly|yearly)(?:/([0-9]{1,4}))?", re.IGNORECASE)
_CRON: Final = re.compile(r"@\S+|[0-9*]\S*(?:\s+\S+){4,5}")
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAMES: Final = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_WEEKDAY_NAMES: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NTH: Final = {"1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5, "first": 1, "second": 2, "third": 3, "fourth": 4,
               "fifth": 5, "last": -1}  # fmt: skip
HINT: Final = (
    "write daily 09:00, weekly mon,fri 09:00, monthly last 09:00, yearly 12-25 09:00, every 90s, "
    "a cron expression, RRULE:…, or at 2030-12-25 08:00"
)


def parse(text: str, **bounds: Unpack[Bounds]) -> Rule:
    """The rule that a text means. Raises `InvalidJobError` with what it does not understand."""
    if not isinstance(text, str):
        raise InvalidJobError(f"a rule is text or one of the kinds of rules, not {type(text).__name__}")
    words = text.split()
    if not words or len(text) > 1_024:
        raise InvalidJobError(f"the rule has {len(text)} characters, but must have 1 to 1024: {HINT}")
    first = words[0].lower()
    if first.startswith(("rrule:", "dtstart", "freq=")):
        return recurrence(
            text.strip(), zone=bounds.get("zone"), start=bounds.get("start"), until=bounds.get("until"),
            count=bounds.get("count"), jitter_us=spread_us(bounds.get("jitter")),
        )  # fmt: skip
    common = _common(bounds)
    if first == "every" and len(words) == 2:
        return Every(interval_us=span(words[1]), **common)
    if first == "at":
        return At(at=_moment(" ".join(words[1:])), **common)
    word = _WORD.fullmatch(words[0])
    if word is not None:
        return _calendar_rule(word[1].lower(), int(word[2] or 1), words[1:], text, common)
    if _CRON.fullmatch(text.strip()):
        return Cron(expression=" ".join(words), **common)
    raise InvalidJobError(f"the rule {ascii(text)[:60]} is not understood: {HINT}")


class _Common(TypedDict):
    zone: str | None
    start: datetime | None
    until: datetime | None
    count: int | None
    jitter_us: int


def _common(bounds: Bounds) -> _Common:
    return _Common(
        zone=bounds.get("zone"), start=bounds.get("start"), until=bounds.get("until"), count=bounds.get("count"),
        jitter_us=spread_us(bounds.get("jitter")),
    )  # fmt: skip


def _calendar_rule(kind: str, interval: int, words: list[str], text: str, common: _Common) -> Rule:
    if not words or (kind != "daily" and len(words) < 2):
        raise InvalidJobError(f"the rule {ascii(text)[:60]} lacks a part: {HINT}")
    if len(words) > 1 and words[-1].lower() in ("am", "pm"):
        words = [*words[:-2], words[-2] + words[-1]]
    times = times_of_day(words[-1])
    named = "-".join(word for word in words[:-1] if word.lower() not in ("at", "on", "the")) if kind != "daily" else ""
    if kind == "daily":
        if len([word for word in words if word.lower() != "at"]) > 1:
            raise InvalidJobError(f"the rule {ascii(text)[:60]}: daily takes times only, as in daily 09:00,18:00")
        return Daily(times=times, interval=interval, **common)
    if kind == "weekly":
        return Weekly(times=times, interval=interval, weekdays=weekdays(named), **common)
    if kind == "monthly":
        return Monthly(times=times, interval=interval, days=tuple(map(day_of_month, named.split(","))), **common)
    return Yearly(times=times, interval=interval, days=tuple(map(day_of_year, named.split(","))), **common)


def span(text: str) -> int:
    """`90s`, `1h30m`, `0.5s` as microseconds."""
    if not _SPAN.fullmatch(text) or len(text) > 60:
        raise InvalidJobError(f"{ascii(text)[:60]} is no interval: write 90s, 10m, 1h30m, 2d or 1w")
    total = 0
    for whole, part, unit in _SPAN_PART.findall(text):
        total += (int(whole) * SECOND_US + int((part or "0").ljust(6, "0"))) * _UNITS_S[unit.lower()]
    return total


def times_of_day(text: str) -> tuple[int, ...]:
    """`09:00,18:30` as microseconds since midnight."""
    return tuple(map(time_of_day, text.split(",")))


def time_of_day(text: str) -> int:
    """`9:00`, `09:00:30`, `9am`, `9:30pm` as microseconds since midnight."""
    found = _TIME.fullmatch(text)
    if found is None or (found[2] is None and found[5] is None):
        raise InvalidJobError(f"{ascii(text)[:60]} is no time of day: write 09:00, 18:30:15 or 9am")
    hour, minute, second = int(found[1]), int(found[2] or 0), int(found[3] or 0)
    half = (found[5] or "").lower()
    if half and not 1 <= hour <= 12:
        raise InvalidJobError(f"{ascii(text)[:60]} is no time of day: with am and pm they go from 1 to 12")
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    if hour > 23 or minute > 59 or second > 59:
        raise InvalidJobError(f"{ascii(text)[:60]} is no time of day: they go from 00:00 to 23:59:59")
    return ((hour * 60 + minute) * 60 + second) * SECOND_US + int((found[4] or "0").ljust(6, "0"))


def weekdays(text: str) -> tuple[int, ...]:
    """`mon,wed-fri`, `weekdays`, `weekend` as numbers; Monday is 0. A range may run over the weekend."""
    found: list[int] = []
    for part in text.lower().split(","):
        if part in ("weekday", "weekdays", "workdays"):
            found += range(5)
        elif part in ("weekend", "weekends"):
            found += (5, 6)
        else:
            first, dash, last = part.partition("-")
            start = weekday(first)
            found += [(start + step) % 7 for step in range((weekday(last) - start) % 7 + 1)] if dash else [start]
    return tuple(sorted(set(found)))


def weekday(name: str) -> int:
    """Monday is 0. Numbers are refused, because they mean different days to different people."""
    lower = name.lower()
    for number, (short, whole) in enumerate(zip(WEEKDAYS, _WEEKDAY_NAMES, strict=True)):
        if lower == short or (len(lower) >= 3 and whole.startswith(lower)) or lower == whole + "s":
            return number
    raise InvalidJobError(f"{ascii(name)[:30]} is no weekday: write mon, tue, wed, thu, fri, sat or sun")


def month(name: str) -> int:
    """`dec`, `December` or `12` as 12."""
    lower = name.lower()
    if lower.isdecimal() and lower.isascii() and 1 <= int(lower) <= 12:
        return int(lower)
    for number, (short, whole) in enumerate(zip(_MONTHS, _MONTH_NAMES, strict=True), start=1):
        if lower == short or (len(lower) >= 3 and whole.startswith(lower)):
            return number
    raise InvalidJobError(f"{ascii(name)[:30]} is no month: write jan to dec, or 1 to 12")


def day_of_month(text: str) -> DayOfMonth:
    """`15`, `last`, `31-or-last`, `2nd-tue`, `last-fri`."""
    lower = text.lower()
    if lower == "last" or lower in ("last-day", "day-last"):
        return MonthDay(-1)
    if lower.endswith("-or-last"):
        return MonthDay(_day_number(lower.removesuffix("-or-last"), text), or_last=True)
    nth, dash, name = lower.partition("-")
    if dash and nth in _NTH:
        return NthWeekday(_NTH[nth], weekday(name))
    return MonthDay(_day_number(lower, text))


def day_of_year(text: str) -> tuple[int, DayOfMonth]:
    """`12-25`, `dec-25`, `25-dec`, `02-last`, `11-4th-thu`."""
    first, dash, rest = text.partition("-")
    if dash and first.isdecimal() and rest.isalpha() and rest.lower() != "last":
        return month(rest), MonthDay(_day_number(first, text))
    if not dash:
        raise InvalidJobError(f"{ascii(text)[:30]} is no date of a year: write 12-25, 25-dec or 02-last")
    return month(first), day_of_month(rest)


def _day_number(digits: str, text: str) -> int:
    lower = digits.lower().removesuffix("st").removesuffix("nd").removesuffix("rd").removesuffix("th")
    if not (lower.isdecimal() and lower.isascii()) or len(lower) > 3:
        raise InvalidJobError(f"{ascii(text)[:30]} is no day of a month: write 1 to 31, last, 31-or-last or 2nd-tue")
    return int(lower)


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidJobError(f"{ascii(text)[:40]} is no date and time: write 2030-12-25 08:00") from None
