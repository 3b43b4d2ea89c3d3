"""The days of a recurrence rule, period by period: neither an old start nor a rule that never comes costs anything."""

from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Final, NamedTuple

from .days import EPOCH_DAY, month_length

WEEKDAY_CODES: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


class _Chosen(NamedTuple):
    months: frozenset[int]
    week_numbers: frozenset[int]
    year_days: frozenset[int]
    month_days: frozenset[int]
    weekdays: frozenset[tuple[int, int]]
    """Each with its number within the month or the year; 0 is any."""
    positions: tuple[int, ...]
    week_start: int


@dataclass(frozen=True, slots=True)
class RecurrenceDays:
    """The days of a rule, by the parts that choose days; `anchor` is the day number of its start."""

    frequency: str
    interval: int
    parts: tuple[tuple[str, str], ...]
    anchor: int

    def in_month(self, year: int, month: int) -> tuple[int, ...]:
        first = date(year, month, 1).toordinal()
        month_end = first + month_length(year, month)
        found: list[int] = []
        at = first
        while at < month_end:
            begin, end = self._period(date.fromordinal(at))
            if self._is_in_turn(begin):
                found += (day for day in self._in_period(begin, end, at, month_end) if at <= day < month_end)
            at = end
        return tuple(day - first + 1 for day in found)

    def _period(self, on: date) -> tuple[int, int]:
        """The year, month, week or day around a date, as ordinals, without the end."""
        if self.frequency == "YEARLY":
            return date(on.year, 1, 1).toordinal(), date(on.year, 12, 31).toordinal() + 1
        if self.frequency == "MONTHLY":
            begin = on.replace(day=1).toordinal()
            return begin, begin + month_length(on.year, on.month)
        begin = on.toordinal()
        if self.frequency == "WEEKLY":
            begin -= (on.weekday() - _chosen(self.parts).week_start) % 7
            return begin, begin + 7
        return begin, begin + 1

    def _is_in_turn(self, begin: int) -> bool:
        if self.interval == 1:
            return True
        anchor = date.fromordinal(self.anchor + EPOCH_DAY)
        first, on = date.fromordinal(self._period(anchor)[0]), date.fromordinal(begin)
        if self.frequency == "YEARLY":
            passed = on.year - first.year
        elif self.frequency == "MONTHLY":
            passed = (on.year - first.year) * 12 + on.month - first.month
        else:
            passed = (on - first).days // (7 if self.frequency == "WEEKLY" else 1)
        return passed % self.interval == 0

    def _in_period(self, begin: int, end: int, at: int, until: int) -> tuple[int, ...]:
        if _chosen(self.parts).positions:
            return _picked(self, begin, end)
        return tuple(day for day in range(max(begin, at), min(end, until)) if self._matches(date.fromordinal(day)))

    def _matches(self, on: date) -> bool:
        chosen = _chosen(self.parts)
        if chosen.months and on.month not in chosen.months:
            return False
        if chosen.month_days:
            back = on.day - month_length(on.year, on.month) - 1
            if on.day not in chosen.month_days and back not in chosen.month_days:
                return False
        if chosen.weekdays and not self._matches_weekday(on):
            return False
        if chosen.year_days:
            number, back = _place_in_year(on)
            if number not in chosen.year_days and back not in chosen.year_days:
                return False
        if chosen.week_numbers:
            week, weeks = _week_of_year(on, chosen.week_start)
            return week in chosen.week_numbers or week - weeks - 1 in chosen.week_numbers
        return True

    def _matches_weekday(self, on: date) -> bool:
        chosen = _chosen(self.parts)
        weekday = on.weekday()
        if (0, weekday) in chosen.weekdays:
            return True
        if self.frequency == "MONTHLY" or (self.frequency == "YEARLY" and chosen.months):
            number, back = on.day, on.day - month_length(on.year, on.month) - 1
        else:
            number, back = _place_in_year(on)
        return ((number + 6) // 7, weekday) in chosen.weekdays or (-((-back + 6) // 7), weekday) in chosen.weekdays


def _place_in_year(on: date) -> tuple[int, int]:
    """The number of the day within its year, and the same counted backwards."""
    return on.timetuple().tm_yday, (on - date(on.year, 12, 31)).days - 1


def _week_of_year(on: date, week_start: int) -> tuple[int, int]:
    """The number of the week, and how many weeks its year has. The first week has at least four days in the year."""
    # The middle of the week decides which year it belongs to.
    begin = on.toordinal() - (on.weekday() - week_start) % 7
    middle = date.fromordinal(min(begin + 3, date.max.toordinal()))
    last = date(middle.year, 12, 31)
    last_middle = last.toordinal() - (last.weekday() - week_start - 3) % 7
    weeks = (last_middle - date(middle.year, 1, 1).toordinal()) // 7 + 1
    return (middle.timetuple().tm_yday - 1) // 7 + 1, weeks


@lru_cache(maxsize=1_024)
def _picked(days: RecurrenceDays, begin: int, end: int) -> tuple[int, ...]:
    """Of the days of a whole period those at the positions asked for."""
    last = min(end, date.max.toordinal() + 1)
    found = [day for day in range(begin, last) if days._matches(date.fromordinal(day))]
    places = {place - 1 if place > 0 else len(found) + place for place in _chosen(days.parts).positions}
    return tuple(day for place, day in enumerate(found) if place in places)


@lru_cache(maxsize=4_096)
def _chosen(parts: tuple[tuple[str, str], ...]) -> _Chosen:
    given = dict(parts)

    def numbers(name: str) -> tuple[int, ...]:
        return tuple(map(int, given[name].split(","))) if name in given else ()

    weekdays = set()
    for part in given.get("BYDAY", "").split(",") if "BYDAY" in given else ():
        weekdays.add((int(part[:-2] or 0), WEEKDAY_CODES.index(part[-2:])))
    return _Chosen(
        months=frozenset(numbers("BYMONTH")),
        week_numbers=frozenset(numbers("BYWEEKNO")),
        year_days=frozenset(numbers("BYYEARDAY")),
        month_days=frozenset(numbers("BYMONTHDAY")),
        weekdays=frozenset(weekdays),
        positions=numbers("BYSETPOS"),
        week_start=WEEKDAY_CODES.index(given.get("WKST", "MO")),
    )
