"""The days of a calendar rule. Each kind tells the days of one month; what is asked again is remembered."""

import calendar
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final, Protocol

from .zones import DAY_US

EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
LAST_DAY: Final = date(9999, 12, 31).toordinal() - EPOCH_DAY
FAR_US: Final = 44_000 * DAY_US
"""What pauses for 120 years has ended. The longest interval is a hundred, and weekdays repeat within 40."""


MONTHS_KEPT: Final = 2_000


class Days(Protocol):
    """Which days of a month belong to the rule, in order.

    No named tuples: those of two kinds are equal where their fields are, and rules would be that differ.
    """

    def in_month(self, year: int, month: int) -> tuple[int, ...]: ...


@dataclass(frozen=True, slots=True)
class MonthDay:
    """A day of the month, from 1 on, or from -1 backwards. `or_last`: the last day, where a month has not so many."""

    day: int
    or_last: bool = False

    def resolve(self, year: int, month: int) -> int | None:
        length = month_length(year, month)
        if self.day < 0:
            return length + 1 + self.day if -self.day <= length else None
        return self.day if self.day <= length else length if self.or_last else None


@dataclass(frozen=True, slots=True)
class NthWeekday:
    """The nth of a weekday (Monday is 0) in a month; -1 is the last."""

    nth: int
    weekday: int

    def resolve(self, year: int, month: int) -> int | None:
        if self.nth < 0:
            length = month_length(year, month)
            back = (calendar.weekday(year, month, length) - self.weekday) % 7
            day = length - back + 7 * (self.nth + 1)
            return day if day >= 1 else None
        day = 1 + (self.weekday - calendar.weekday(year, month, 1)) % 7 + 7 * (self.nth - 1)
        return day if day <= month_length(year, month) else None


DayOfMonth = MonthDay | NthWeekday


@dataclass(frozen=True, slots=True)
class EveryDay:
    """Every `interval` days, counted from the day number `anchor`."""

    interval: int = 1
    anchor: int = 0

    def in_month(self, year: int, month: int) -> tuple[int, ...]:
        first = day_number(year, month, 1)
        ahead = (self.anchor - first) % self.interval
        return tuple(range(1 + ahead, month_length(year, month) + 1, self.interval))


@dataclass(frozen=True, slots=True)
class WeekDays:
    """These weekdays (Monday is 0) of every `interval` weeks, counted from the week of the day number `anchor`."""

    weekdays: tuple[int, ...]
    interval: int = 1
    anchor: int = 0

    def in_month(self, year: int, month: int) -> tuple[int, ...]:
        first = day_number(year, month, 1)
        weekday = calendar.weekday(year, month, 1)
        anchor_week = week_number(self.anchor)
        return tuple(
            day + 1
            for day in range(month_length(year, month))
            if (weekday + day) % 7 in self.weekdays and (week_number(first + day) - anchor_week) % self.interval == 0
        )


@dataclass(frozen=True, slots=True)
class MonthDays:
    """These days of every `interval` months, counted from the month number `anchor` (year * 12 + month - 1)."""

    days: tuple[DayOfMonth, ...]
    interval: int = 1
    anchor: int = 0

    def in_month(self, year: int, month: int) -> tuple[int, ...]:
        if (year * 12 + month - 1 - self.anchor) % self.interval:
            return ()
        return _resolved(self.days, year, month)


@dataclass(frozen=True, slots=True)
class YearDays:
    """These days, each with its month, of every `interval` years, counted from the year `anchor`."""

    days: tuple[tuple[int, DayOfMonth], ...]
    interval: int = 1
    anchor: int = 0

    def in_month(self, year: int, month: int) -> tuple[int, ...]:
        if (year - self.anchor) % self.interval:
            return ()
        return _resolved(tuple(day for of, day in self.days if of == month), year, month)


def _resolved(days: tuple[DayOfMonth, ...], year: int, month: int) -> tuple[int, ...]:
    found = {day.resolve(year, month) for day in days}
    return tuple(sorted(day for day in found if day is not None))


class Remembered:
    """The days of a rule, each month worked out once; most questions are about a few months."""

    __slots__ = ("_days", "_found")

    def __init__(self, days: Days) -> None:
        self._days = days
        self._found: dict[int, tuple[int, ...]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remembered) and self._days == other._days

    def __hash__(self) -> int:
        return hash(self._days)

    def in_month(self, year: int, month: int) -> tuple[int, ...]:
        number = year * 12 + month
        found = self._found.get(number)
        if found is None:
            if len(self._found) >= MONTHS_KEPT:
                self._found.clear()
            found = self._found[number] = self._days.in_month(year, month)
        return found


def from_day(days: Days, first: int, last: int) -> int | None:
    """The earliest day number of the rule from one to another, both included."""
    for year, month, low, high in _months(first, last):
        found = days.in_month(year, month)
        place = bisect_left(found, low)
        if place < len(found):
            return day_number(year, month, found[place]) if found[place] <= high else None
    return None


def up_to_day(days: Days, first: int, last: int) -> int | None:
    """The latest day number of the rule from one to another, both included."""
    for year, month, low, high in _months(first, last, backwards=True):
        found = days.in_month(year, month)
        place = bisect_right(found, high)
        if place:
            return day_number(year, month, found[place - 1]) if found[place - 1] >= low else None
    return None


def count_days(days: Days, first: int, last: int) -> int:
    """How many days of the rule lie from one day number to another, both included. A step for each month."""
    total = 0
    for year, month, low, high in _months(first, last):
        found = days.in_month(year, month)
        total += bisect_right(found, high) - bisect_left(found, low)
    return total


def _months(first: int, last: int, *, backwards: bool = False) -> Iterator[tuple[int, int, int, int]]:
    first, last = max(first, 0), min(last, LAST_DAY)
    if first > last:
        return
    begin = date.fromordinal(first + EPOCH_DAY)
    end = date.fromordinal(last + EPOCH_DAY)
    from_, to = begin.year * 12 + begin.month - 1, end.year * 12 + end.month - 1
    for number in range(to, from_ - 1, -1) if backwards else range(from_, to + 1):
        low = begin.day if number == from_ else 1
        high = end.day if number == to else 31
        yield number // 12, number % 12 + 1, low, high


def day_number(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01."""
    return date(year, month, day).toordinal() - EPOCH_DAY


def week_number(day: int) -> int:
    """Weeks, from Monday on, since the one of 1970-01-01."""
    return (day + 3) // 7


def month_length(year: int, month: int) -> int:
    return calendar.monthrange(year, month)[1]
