"""The words of days: dates and weekdays, each read from a place in a text.

Local dates are candidates in order, of which the first that lies ahead is meant. Day goes before month where dots are
written.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final, NamedTuple

from ..storage import rules
from .wording import END, MONTH, WEEKDAY, Cursor, PhraseError, pattern, too_far

_RELATIVE_DAY: Final = pattern(rf"(today|tonight|tomorrow|(?:the\s+)?day\s+after\s+tomorrow){END}")
_ISO: Final = pattern(rf"(?:(?:on|at)\s+)?([0-9]{{4}})-([0-9]{{1,2}})-([0-9]{{1,2}})(?:T(?=[0-9])|{END})")
_DOTTED: Final = pattern(rf"(?:on\s+)?([0-9]{{1,2}})\.\s?([0-9]{{1,2}})\.\s?([0-9]{{4}}){END}")
_YEAR: Final = r"(?:,?\s+([0-9]{4}))?"
_DAY_MONTH: Final = pattern(
    rf"(?:on\s+)?(?:the\s+)?([0-9]{{1,2}})(?:st|nd|rd|th)?\.?\s*(?:of\s+)?({MONTH}){_YEAR}{END}"
)
_MONTH_DAY: Final = pattern(
    rf"(on\s+)?({MONTH})\.?\s+(?:the\s+)?([0-9]{{1,2}})(?:st|nd|rd|th)?{_YEAR}{END}(?!\s+[ap]\.?m\b)"
)
_MONTHLESS: Final = pattern(rf"(?:on\s+)?the\s+([0-9]{{1,2}})(?:st|nd|rd|th){END}(?!\s+of\b)")
_WEEKDAY_AHEAD: Final = pattern(rf"(?:(on|next|this|coming)\s+)?({WEEKDAY}){END}")
_ALSO_WORDS: Final = frozenset({"mon", "tue", "wed", "thu", "fri", "sat", "sun", "may", "mar", "march"})
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class Day(NamedTuple):
    """Local dates, in order, of which the first is meant whose time is still to come."""

    dates: tuple[date, ...]
    named: str
    is_also_a_word: bool = False
    """Such as `sat` or `may 5`: too short to be a date without a time of day."""
    is_tonight: bool = False


def day(cursor: Cursor, today: date) -> Day | None:
    """`tomorrow`, `next friday`, `31 dec`, `2026-12-25`, `25.12.2026`, `the 15th`."""
    if found := cursor.take(_RELATIVE_DAY):
        named = found[1].lower()
        number = 0 if named in ("today", "tonight") else 1 if named == "tomorrow" else 2
        return Day(ahead(today, number), named, is_tonight=named == "tonight")
    if found := cursor.take(_WEEKDAY_AHEAD):
        if on := _dated_weekday(cursor, today, found[2]):
            return on
        number = (weekday(found[2]) - today.weekday()) % 7
        if (found[1] or "").lower() == "next":
            return Day(ahead(today, number or 7), found[0])
        return Day(ahead(today, number, number + 7), found[0], found[1] is None and found[2].lower() in _ALSO_WORDS)
    return date_of(cursor, today)


def date_of(cursor: Cursor, today: date) -> Day | None:
    """`31 dec`, `2026-12-25`, `25.12.2026`, `the 15th`."""
    if found := cursor.take(_ISO):
        return _dated(found[0], int(found[1]), int(found[2]), int(found[3]), today)
    if found := cursor.take(_DOTTED):
        return _dated(found[0], int(found[3]), int(found[2]), int(found[1]), today)
    if found := cursor.take(_DAY_MONTH):
        year = None if found[3] is None else int(found[3])
        return _dated(found[0], year, month(found[2]), int(found[1]), today)
    if found := cursor.take(_MONTH_DAY):
        year = None if found[4] is None else int(found[4])
        named_day = _dated(found[0], year, month(found[2]), int(found[3]), today)
        return named_day._replace(is_also_a_word=found[1] is None and found[2].lower() in _ALSO_WORDS)
    if found := cursor.take(_MONTHLESS):
        return _next_of_month(found[0], int(found[1]), today)
    return None


def _dated_weekday(cursor: Cursor, today: date, name: str) -> Day | None:
    """`friday, 3 july`: a date with its weekday, which has to be the right one."""
    behind = cursor.mark
    on = date_of(cursor, today)
    if on is None:
        cursor.back(behind)
        return None
    coming = [one for one in on.dates if one >= today]
    if coming and coming[0].weekday() != weekday(name):
        raise PhraseError(f"{on.named} is no {name.lower()}, but a {coming[0]:%A}. Leave one of the two out.")
    return on


def day_of_year(cursor: Cursor) -> tuple[int, int] | None:
    """`25 dec`, `December 25`, `12-25` as month and day, without a year."""
    for wanted, month_group, day_group in ((_DAY_MONTH, 2, 1), (_MONTH_DAY, 2, 3)):
        if found := cursor.take(wanted):
            if found[3 if wanted is _DAY_MONTH else 4] is not None:
                raise PhraseError("What comes every year has no year of its own: write every year on 25 dec 8:00.")
            _dated(found[0], 2024, month(found[month_group]), int(found[day_group]), date(2024, 1, 1))
            return month(found[month_group]), int(found[day_group])
    return None


def ahead(today: date, *numbers: int) -> tuple[date, ...]:
    try:
        return tuple(today + timedelta(days=days) for days in numbers)
    except OverflowError:
        raise too_far() from None


def _dated(shown: str, year: int | None, month_number: int, day_number: int, today: date) -> Day:
    years = (year,) if year is not None else tuple(range(today.year, min(today.year + 9, 10_000)))
    dates = tuple(_existing(years, month_number, day_number))
    if not dates:
        raise PhraseError(f"There is no {shown.strip().rstrip('T')}. Write the date as in 2030-12-25 08:00.")
    return Day(dates, shown.strip().rstrip("T"))


def _existing(years: tuple[int, ...], month_number: int, day_number: int) -> Iterator[date]:
    for year in years:
        try:
            yield date(year, month_number, day_number)
        except ValueError:
            continue


def _next_of_month(shown: str, day_number: int, today: date) -> Day:
    months = [divmod(today.year * 12 + today.month - 1 + ahead, 12) for ahead in range(13)]
    dates = [on for year, number in months for on in _existing((year,), number + 1, day_number) if on >= today]
    if not dates:
        raise PhraseError(f"There is no {shown.strip()} of any month. Write the date as in 2030-12-25 08:00.")
    return Day(tuple(dates), shown.strip())


def weekday(name: str) -> int:
    """Monday is 0."""
    return _WEEKDAYS.index(name[:3].lower())


def month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def today_at(now: int, zone: str) -> date:
    return rules.naive(rules.zone_named(zone).local(now)).date()
