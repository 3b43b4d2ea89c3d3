"""The grammar of what comes again and again: `every 30m`, `every weekday 18:00`, `mondays at 9`. Pure functions.

A number of days or weeks behind `every` is elapsed time, unless a day or a time of day is told. Days without a time of
day are at 09:00. What could mean two things, such as `every second monday`, is refused.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ..storage import rules
from ..storage.errors import InvalidJobError
from ..storage.rules import Rule
from . import day_lists, wording
from .day_lists import DayOfMonth
from .wording import (
    ASSUMED_US,
    END,
    HOUR_US,
    MINUTE_US,
    REPEAT,
    SECOND_US,
    Clock,
    Cursor,
    Found,
    PhraseError,
    UnclearError,
    pattern,
)

_NUMBERED: Final = {"other": 2, **wording.NUMBER_WORDS, **{name: n for name, n in day_lists.ORDINALS.items() if n > 0}}

_EVERY: Final = pattern(r"(?:every|each)\s+")
_HALF_HOUR: Final = pattern(rf"half\s+(?:an\s+)?hour{END}")
_COUNTED: Final = pattern(
    rf"(?:([0-9]{{1,4}}(?:st|nd|rd|th)?|{'|'.join(_NUMBERED)})\s+)?(seconds?|minutes?|hours?|days?|weeks?|months?|years?){END}"
)
_OTHER: Final = pattern(r"other\s+")
_OF_MONTH: Final = pattern(rf"(?:of|in)\s+(the|each|every)\s+month{END}")
_PLURAL: Final = pattern(rf"(?:on\s+)?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days|weekdays|weekends){END}")
_ADVERB: Final = pattern(rf"(hourly|daily|weekly|monthly|yearly|annually)(?:/([0-9]{{1,4}}))?{END}")


def find(cursor: Cursor, zone: str) -> Found | None:
    """The repeating time that begins where the cursor is; it stays there if there is none."""
    begin = cursor.mark
    for read in (_adverb, _every, _plural, _monthly_of):
        if found := read(cursor, zone):
            return found
        cursor.back(begin)
    return None


def behind_clock(cursor: Cursor, zone: str, clock: Clock) -> Found | None:
    """`at 9 every monday`: the time of day stands in front."""
    begin = cursor.mark
    for read in (_every, _plural, _monthly_of):
        found = read(cursor, zone)
        if found is not None:
            if not found.assumed_time:
                raise PhraseError("That names two times of day, or a span and a time of day. Give one of them.")
            assert isinstance(found.rule, rules.Daily | rules.Weekly | rules.Monthly | rules.Yearly)
            _check_midnight(clock, isinstance(found.rule, rules.Daily))
            return found._replace(rule=replace(found.rule, times=(clock.us,)), assumed_time=False, has_clock=True)
        cursor.back(begin)
    return None


class _Series:
    """What is known of a repeating phrase while it is being read: the days, and then the times of day."""

    __slots__ = ("cursor", "times", "zone")

    def __init__(self, cursor: Cursor, zone: str) -> None:
        self.cursor = cursor
        self.zone = zone
        self.times: tuple[int, ...] = ()

    def read_times(self, *, daily: bool = False, bare: bool = True) -> None:
        """`at 9 and 18:00`, once, where it stands."""
        clock = None if self.times else self._clock(daily=daily, bare=bare or bool(self.times))
        while clock is not None:
            self.times += (clock.us,)
            behind = self.cursor.mark
            self.cursor.take(day_lists.AND)
            clock = self._clock(daily=daily, bare=bare or bool(self.times))
            if clock is None:
                self.cursor.back(behind)

    def _clock(self, *, daily: bool, bare: bool) -> Clock | None:
        clock = wording.clock(self.cursor, bare=bare)
        if clock is not None:
            _check_midnight(clock, daily)
        return clock

    def found(self, make: Callable[[tuple[int, ...]], Rule]) -> Found:
        assumed = not self.times
        rule = _valid(lambda: make(self.times or (ASSUMED_US,)))
        return Found(REPEAT, rule, self.cursor.end, assumed, has_clock=not assumed)


def _adverb(cursor: Cursor, zone: str) -> Found | None:
    found = cursor.take(_ADVERB)
    if not found:
        return None
    word, number = found[1].lower(), int(found[2] or 1)
    if word == "hourly":
        return _span_series(cursor, zone, HOUR_US * number)
    unit = {"daily": "day", "weekly": "week", "monthly": "month"}.get(word, "year")
    return _counted(cursor, zone, unit, number, found[0])


def _every(cursor: Cursor, zone: str) -> Found | None:
    if not cursor.take(_EVERY):
        return None
    begin = cursor.mark
    if cursor.take(_HALF_HOUR):
        return _span_series(cursor, zone, HOUR_US // 2)
    if found := _spanned(cursor, zone):
        return found
    cursor.back(begin)
    counted = cursor.take(_COUNTED)
    if counted and counted[2].lower() == "second" and day_lists.ON_WEEKDAY.match(cursor.words, cursor.place):
        cursor.back(begin)
        counted = None
    if counted:
        word = (counted[1] or "1").lower()
        unit = counted[2].lower().rstrip("s")
        is_day_of_month = unit == "day" and cursor.take(_OF_MONTH) is not None
        if not is_day_of_month:
            number = _NUMBERED.get(word) or int(word.rstrip("stndrh"))
            return _counted(cursor, zone, unit, number, f"every {counted[0]}")
        cursor.back(begin)
    if cursor.take(_OTHER):
        days = day_lists.weekdays(cursor)
        if days is None:
            raise _unclear("every other")
        return _weekly(cursor, zone, days, 2)
    days = day_lists.weekdays(cursor)
    if days is not None:
        return _weekly(cursor, zone, days, 1)
    if dates := day_lists.year_days(cursor):
        return _yearly(cursor, zone, dates, 1)
    if found := _monthly_of(cursor, zone):
        return found
    cursor.back(begin)
    if cursor.take(day_lists.NTH):
        raise PhraseError("Of the month, or every so many weeks? Say every 2nd tuesday of the month 9:00, "
                          "or every 2 weeks on tuesday 9:00.")  # fmt: skip
    raise _unclear(f"every {cursor.shown}".strip())


def _spanned(cursor: Cursor, zone: str) -> Found | None:
    """`every 30m`, `every 2 weeks on monday 9:00`: a number of days or weeks is a span until a day or time is told."""
    length = wording.span(cursor)
    if length is None:
        return None
    if length.unit in ("d", "w"):
        behind = cursor.mark
        told = wording.clock(cursor) is not None or (
            length.unit == "w" and bool(day_lists.ON_WEEKDAY.match(cursor.words, cursor.place))
        )
        cursor.back(behind)
        if told:
            return _counted(
                cursor, zone, {"d": "day", "w": "week"}[length.unit], length.number, f"every {length.number} weeks"
            )
    return _span_series(cursor, zone, length.us)


def _span_series(cursor: Cursor, zone: str, us: int) -> Found:
    return Found(REPEAT, _valid(lambda: rules.Every(interval_us=us, zone=zone)), cursor.end)


def _counted(cursor: Cursor, zone: str, unit: str, number: int, shown: str) -> Found:
    if unit in ("second", "minute", "hour"):
        return _span_series(cursor, zone, number * {"second": SECOND_US, "minute": MINUTE_US, "hour": HOUR_US}[unit])
    series = _Series(cursor, zone)
    if unit == "day":
        series.read_times(daily=True)
        return series.found(lambda times: rules.Daily(times=times, interval=number, zone=zone))
    series.read_times(bare=False)
    shown = " ".join(shown.split()).lower()
    if unit == "week":
        weekdays = day_lists.weekdays(cursor)
        if weekdays is None:
            raise PhraseError(f"On which day? Say it as in {shown} on monday 9:00; 7d is a week of elapsed time.")
        return _weekly(cursor, zone, weekdays, number, series)
    if unit == "month":
        days = day_lists.month_days(cursor)
        if not days:
            raise PhraseError(f"On which day? Say it as in {shown} on the 15th 9:00, or {shown} on the last day 9:00.")
        series.read_times()
        return series.found(lambda times: rules.Monthly(times=times, days=days, interval=number, zone=zone))
    dates = day_lists.year_days(cursor)
    if not dates:
        raise PhraseError(f"On which day? Say it as in {shown} on 25 dec 9:00.")
    return _yearly(cursor, zone, dates, number, series)


def _plural(cursor: Cursor, zone: str) -> Found | None:
    """`mondays at 9`, `weekdays 18:00`."""
    if not _PLURAL.match(cursor.words, cursor.place):
        return None
    days = day_lists.weekdays(cursor)
    return None if days is None else _weekly(cursor, zone, days, 1)


def _monthly_of(cursor: Cursor, zone: str) -> Found | None:
    """`2nd tuesday of the month 9:00`, behind `every`; `on the last day of every month` without it."""
    begin = cursor.mark
    days = day_lists.month_days(cursor)
    of = cursor.take(_OF_MONTH) if days else None
    behind_every = cursor.words[: begin[0]].rstrip().lower().endswith(("every", "each"))
    if not of or (of[1].lower() == "the" and not behind_every):
        cursor.back(begin)
        return None
    series = _Series(cursor, zone)
    series.read_times()
    return series.found(lambda times: rules.Monthly(times=times, days=days, zone=zone))


def _weekly(cursor: Cursor, zone: str, weekdays: tuple[int, ...], number: int, series: _Series | None = None) -> Found:
    series = series or _Series(cursor, zone)
    series.read_times()
    return series.found(lambda times: rules.Weekly(times=times, weekdays=weekdays, interval=number, zone=zone))


def _yearly(
    cursor: Cursor, zone: str, dates: tuple[tuple[int, DayOfMonth], ...], number: int, series: _Series | None = None
) -> Found:
    series = series or _Series(cursor, zone)
    series.read_times()
    return series.found(lambda times: rules.Yearly(times=times, days=dates, interval=number, zone=zone))


def _check_midnight(clock: Clock, daily: bool) -> None:
    if clock.is_midnight and not daily:
        raise PhraseError("At which end of that day? Say 00:00 for its beginning, or 23:59 for its end.")


def _valid(make: Callable[[], Rule]) -> Rule:
    try:
        return make()
    except InvalidJobError as error:
        raise refused(error) from None


def refused(error: InvalidJobError) -> PhraseError:
    """What the rules refuse, as a sentence."""
    sentence = str(error)
    return PhraseError(sentence[:1].upper() + sentence[1:] + ("" if sentence[-1:] in (".", "!", "?") else "."))


def _unclear(shown: str) -> UnclearError:
    return UnclearError(
        f"I don't understand how often {shown!r} is. Say it as in every 30m, every day at 9, every weekday 18:00, "
        "every 2 weeks on monday 9:00 or every month on the last day 9:00."
    )
