"""Times as people read them: "18:30:00 today", "1 h 30 min", "every Monday and Thursday at 09:00". Pure functions."""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from ..storage.rules import At, Daily, Every, MonthDay, Monthly, NthWeekday, Rule, Weekly, Yearly
from ..storage.rules.calendar_rules import shown_time
from .wording import SECOND_US

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_SHOWN: Final = 3


def tell_next(rule: Rule, now: int, zone: str, *, assumed_time: bool = False, is_span: bool = False) -> str:
    """What a rule means: its kind, its zone, and its next three due times, in one line."""
    there = ZoneInfo(zone)
    first, *later = rule.upcoming(now, _SHOWN)
    ahead = f"(in {tell_duration(first - now)})"
    assumed = f"; no time of day was given, so {_local(first, there):%H:%M} was taken" if assumed_time else ""
    if isinstance(rule, At):
        by = "by local time" if rule.is_local else "by elapsed time" if is_span else "at that instant"
        return f"at {tell_instant(first, now, there)}, once, {by} in {zone}{assumed} {ahead}"
    by = "by local time" if rule.keeps_local_time else "by elapsed time"
    then = f", then {', '.join(tell_instant(at, now, there) for at in later)}" if later else ", and never again"
    return f"{tell_rule(rule)}, {by} in {zone}{assumed}, first at {tell_instant(first, now, there)} {ahead}{then}"


def tell_rule(rule: Rule) -> str:
    """`every 2 weeks on Monday at 09:00`; other kinds of rules as they are written, and all without their bounds."""
    if isinstance(rule, Every):
        return f"every {tell_duration(rule.interval_us, parts=4)}"
    if isinstance(rule, Daily):
        return f"every {_so_many('day', rule.interval)} at {_times(rule)}"
    if isinstance(rule, Weekly):
        days = _weekdays(rule.weekdays)
        if rule.interval == 1:
            return f"every {days} at {_times(rule)}"
        return f"every {_so_many('week', rule.interval)} on {days} at {_times(rule)}"
    if isinstance(rule, Monthly):
        days = _joined([_day_of_month(day) for day in rule.days])
        return f"every {_so_many('month', rule.interval)} on the {days} at {_times(rule)}"
    if isinstance(rule, Yearly):
        days = _joined([_day_of_year(month, day) for month, day in rule.days])
        return f"every {_so_many('year', rule.interval)} on {days} at {_times(rule)}"
    return rule.text


def tell_instant(at: int, now: int, zone: tzinfo) -> str:
    """`18:30:00 today`, `09:00:00 tomorrow`, or `08:00:00 on Fri 25 Dec 2026`, in the zone's local time."""
    there, here = _local(at, zone), _local(now, zone)
    ahead = there.date() - here.date()
    if ahead == timedelta(0):
        day = "today"
    elif ahead == timedelta(days=1):
        day = "tomorrow"
    else:
        day = f"on {there:%a} {there.day} {there:%b} {there.year}"
    return f"{there:%H:%M:%S} {day}"


def tell_duration(us: int, *, parts: int = 2) -> str:
    """`10 s`, `1 h 30 min`, `25 d 3 h`: whole seconds at the finest, in at most so many parts."""
    left = max(0, round(us / SECOND_US))
    told = []
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        count, left = divmod(left, size)
        if count:
            told.append(f"{count} {unit}")
        elif told and parts <= 2:
            break
    return " ".join(told[:parts]) or "0 s"


def moment(at: int) -> datetime:
    """The instant as a datetime in UTC."""
    return _EPOCH + timedelta(microseconds=at)


def _local(at: int, zone: tzinfo) -> datetime:
    return moment(at).astimezone(zone)


def _so_many(unit: str, number: int) -> str:
    return unit if number == 1 else f"{number} {unit}s"


def _times(rule: "Daily | Weekly | Monthly | Yearly") -> str:
    return _joined([shown_time(us) for us in rule.times])


def _weekdays(days: tuple[int, ...]) -> str:
    if days == (0, 1, 2, 3, 4):
        return "weekday"
    return _joined([_WEEKDAYS[day] for day in days])


def _day_of_month(day: MonthDay | NthWeekday) -> str:
    if isinstance(day, NthWeekday):
        return f"{'last' if day.nth == -1 else _ordinal(day.nth)} {_WEEKDAYS[day.weekday]}"
    if day.day == -1:
        return "last day"
    return f"{_ordinal(day.day)}{' or the last day' if day.or_last else ''}"


def _day_of_year(month: int, day: MonthDay | NthWeekday) -> str:
    if isinstance(day, MonthDay) and day.day > 0 and not day.or_last:
        return f"{day.day} {_MONTHS[month - 1]}"
    return f"the {_day_of_month(day)} of {_MONTHS[month - 1]}"


def _ordinal(number: int) -> str:
    if number < 0:
        return f"{_ordinal(-number)} last"
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
