"""Lists of days that come again: weekdays, days of the month and of the year, each read from a place in a text."""

from typing import Final

from ..storage.rules import MonthDay, NthWeekday
from . import dates, wording
from .wording import END, Cursor, PhraseError, pattern

DayOfMonth = MonthDay | NthWeekday

ORDINALS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}
_ORDINAL: Final = r"(?:[0-9]{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|last)"
_WEEKDAYS: Final = pattern(rf"(?:on\s+)?(weekdays?|work(?:ing\s+)?days?|weekends?){END}")
NTH: Final = pattern(rf"(?:on\s+)?(?:the\s+)?({_ORDINAL})(?:\s+(day|{wording.WEEKDAY}))?{END}")
_MONTH_DAY: Final = pattern(rf"on\s+(?:the\s+)?([0-9]{{1,2}}){END}")
_OR_LAST: Final = pattern(rf"(?:on\s+)?(?:the\s+)?([0-9]{{1,2}})-or-last{END}")
_WORKING: Final = pattern(rf"(?:week|work)(?:day|end)?s?{END}")
_ITEM_END: Final = r"(?=$|\s|[,;:.!?/&+])"
ON_WEEKDAY: Final = pattern(rf"(?:on\s+)?(?:{wording.WEEKDAY}s?){_ITEM_END}")
_WEEKDAY_ITEM: Final = pattern(
    rf"(?:on\s+)?({wording.WEEKDAY})s?(?:\s*(?:-|\bto\b|\bthrough\b)\s*({wording.WEEKDAY})s?)?{_ITEM_END}"
)
AND: Final = pattern(r"(?:and|or)\s+|[&/+]\s*")


def weekdays(cursor: Cursor) -> tuple[int, ...] | None:
    """`weekday`, `mon-fri`, `monday, wednesday and friday`."""
    if named := cursor.take(_WEEKDAYS):
        return (5, 6) if named[1].lower().startswith("weekend") else tuple(range(5))
    found: list[int] = []
    while item := cursor.take(_WEEKDAY_ITEM):
        first = dates.weekday(item[1])
        last = first if item[2] is None else dates.weekday(item[2])
        found += [(first + step) % 7 for step in range((last - first) % 7 + 1)]
        behind = cursor.mark
        cursor.take(AND)
        if not _WEEKDAY_ITEM.match(cursor.words, cursor.place):
            cursor.back(behind)
            break
    return tuple(sorted(set(found))) or None


def month_days(cursor: Cursor) -> tuple[DayOfMonth, ...]:
    """`on the last day`, `1st and 15th`, `2nd tuesday`, `1st and 3rd monday`, `31-or-last`."""
    found: list[DayOfMonth] = []
    bare: list[int] = []
    """Places of numbers without a word behind them, to which the weekday that follows may belong."""
    joined = True
    while (item := _month_day(cursor)) is not None:
        one, is_bare = item
        if (
            not joined
            and bare
            and bare[-1] == len(found) - 1
            and -1 in (getattr(one, "day", 0), getattr(one, "nth", 0))
        ):
            raise PhraseError("I can't count backwards from the last one. Say it as in every month on the 30th 9:00.")
        if is_bare:
            bare.append(len(found))
        elif isinstance(one, NthWeekday):
            found = [_nth(day, one.weekday) if place in bare else day for place, day in enumerate(found)]
            bare.clear()
        found.append(one)
        behind = cursor.mark
        joined = cursor.take(AND) is not None
        again = cursor.mark
        if _month_day(cursor) is None:
            cursor.back(behind)
            break
        cursor.back(again if joined else behind)
    return tuple(found)


def _nth(day: DayOfMonth, weekday: int) -> DayOfMonth:
    """The number in front of another weekday's: the 1st of "1st and 3rd monday"."""
    if not isinstance(day, MonthDay) or day.day > 5:
        raise PhraseError("Days and weekdays of a month don't go together here. Say each in a reminder of its own.")
    return NthWeekday(day.day, weekday)


def _month_day(cursor: Cursor) -> tuple[DayOfMonth, bool] | None:
    """A day, and whether it is a bare number, as `3rd`."""
    if found := cursor.take(_OR_LAST):
        return MonthDay(_existing(int(found[1])), or_last=True), False
    if found := cursor.take(_MONTH_DAY):
        return MonthDay(_existing(int(found[1]))), False
    begin = cursor.mark
    found = cursor.take(NTH)
    if not found:
        return None
    if _WORKING.match(cursor.words, cursor.place):
        raise PhraseError("I can't count working days. Name a day, as in every month on the last friday 9:00.")
    if dates.day_of_year(Cursor(cursor.words, begin[0])):
        cursor.back(begin)
        return None
    word = found[1].lower()
    number = ORDINALS.get(word) or int(word.rstrip("stndrh"))
    name = (found[2] or "day").lower()
    if name == "day":
        return MonthDay(_existing(number)), found[2] is None
    if number > 5:
        raise PhraseError(f"No month has a {found[1]} {name}: they go from the 1st to the 5th, and the last.")
    return NthWeekday(number, dates.weekday(name)), False


def _existing(number: int) -> int:
    if not (number == -1 or 1 <= number <= 31):
        raise PhraseError(f"There is no day {number} in any month. Say it as in every month on the 15th 9:00.")
    return number


def year_days(cursor: Cursor) -> tuple[tuple[int, DayOfMonth], ...]:
    """`on 25 dec`, `1 jan and 1 july`."""
    found: list[tuple[int, DayOfMonth]] = []
    while (one := dates.day_of_year(cursor)) is not None:
        found.append((one[0], MonthDay(one[1])))
        behind = cursor.mark
        cursor.take(AND)
        again = cursor.mark
        if dates.day_of_year(cursor) is None:
            cursor.back(behind)
            break
        cursor.back(again)
    return tuple(found)
