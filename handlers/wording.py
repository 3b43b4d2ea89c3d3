"""The words of time: spans and times of day, each read from a place in a text.

House rules: an hour without am or pm is of 24, and a bare number is no time but behind a day.
"""

import re
from fractions import Fraction
from typing import Final, NamedTuple

from ..storage.rules import Rule

SECOND_US: Final = 1_000_000
MINUTE_US: Final = 60 * SECOND_US
HOUR_US: Final = 60 * MINUTE_US
DAY_US: Final = 24 * HOUR_US
WEEK_US: Final = 7 * DAY_US
FARTHEST_US: Final = 36_500 * DAY_US

# What may stand behind a word of time: nothing, white space, or a mark that ends a clause.
END: Final = r"(?=$|\s|[,;:.!?](?:\s|$))"
WEEKDAY: Final = (
    r"(?:mon(?:day)?|tue(?:s|sday)?|wed(?:nesday)?|thu(?:r|rs|rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
)
MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
UNIT: Final = r"(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)"
NUMBER_WORDS: Final = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip

_UNITS_US: Final = {"s": SECOND_US, "m": MINUTE_US, "h": HOUR_US, "d": DAY_US, "w": WEEK_US}
_MAXIMUM_DIGITS: Final = 18
_SHOWN: Final = 40
_DIGITS: Final = frozenset("0123456789")


def pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE | re.ASCII)


_GAP: Final = re.compile(r"[\s,]*")
_PIECE: Final = pattern(rf"([0-9]+(?:[.,][0-9]+)?)\s*({UNIT})(?:(?=[0-9])|{END})")
_JOIN: Final = pattern(r"\s*(?:,\s*|and\s+)?")
_WORDY: Final = pattern(rf"({'|'.join(NUMBER_WORDS)}|half\s+an?)\s+(seconds?|minutes?|hours?|days?|weeks?){END}")
_CALENDAR_UNIT: Final = pattern(rf"(?:[0-9]+|{'|'.join(NUMBER_WORDS)})\s*(mos?|months?|y|yrs?|years?){END}")
_NEGATIVE: Final = re.compile(r"[-\u2212]\s*[0-9]")
_AT: Final = r"(?:at\s+|@\s*)"
_HALF: Final = r"\s*([ap])\.?m\.?"
_CLOCK: Final = pattern(
    rf"{_AT}?([0-9]{{1,2}})"
    rf"(?::([0-9]{{2}})(?::([0-9]{{2}}))?(?:{_HALF})?|[.]([0-9]{{2}}){_HALF}|{_HALF}|\s*o['\u2019]?\s*clock){END}"
)
_AT_HOUR: Final = pattern(rf"{_AT}([0-9]{{1,2}})(?:[.]([0-9]{{2}}))?{END}")
_BARE_HOUR: Final = pattern(rf"([0-9]{{1,2}}){END}")
_NAMED_CLOCK: Final = pattern(rf"{_AT}?(noon|midday|midnight){END}")
_NUMBER_NEXT: Final = pattern(r"\s+[0-9]")
_CONNECTED: Final = pattern(r"[\s,]*(?:$|[:;.!?]|(?:to|that|about|and|&|on|every|each)(?:\s|$))")


AFTER: Final = "after"
AT: Final = "at"
REPEAT: Final = "repeat"

ASSUMED_US: Final = 9 * HOUR_US
"""The time of day of a date that has none."""


class PhraseError(ValueError):
    """The words name no usable time. The message is a sentence for whoever wrote them."""


class UnclearError(PhraseError):
    """The words begin like a time, and go on as no time does: `every child`. Within a text they are text."""


class Found(NamedTuple):
    """A time that was read, up to the place `end` of the text."""

    kind: str
    rule: Rule
    end: int
    assumed_time: bool = False
    has_date: bool = True
    has_clock: bool = True


class Cursor:
    """A place in a text. What is taken ends at `end`; the place goes on behind the white space and commas there."""

    __slots__ = ("end", "place", "words")

    def __init__(self, words: str, place: int = 0) -> None:
        self.words = words
        self.place = self.end = place

    def take(self, wanted: re.Pattern[str]) -> re.Match[str] | None:
        found = wanted.match(self.words, self.place)
        if found:
            self.move(found.end())
        return found

    def move(self, end: int) -> None:
        self.end = end
        gap = _GAP.match(self.words, end)
        self.place = gap.end() if gap else end

    def back(self, to: tuple[int, int]) -> None:
        self.place, self.end = to

    @property
    def mark(self) -> tuple[int, int]:
        return self.place, self.end

    @property
    def shown(self) -> str:
        """The next few words, for a sentence."""
        return " ".join(self.words[self.place : self.place + _SHOWN].split()[:4])


class Clock(NamedTuple):
    """A time of day, in microseconds since midnight."""

    us: int
    half_told: bool = False
    is_midnight: bool = False


class Span(NamedTuple):
    us: int
    unit: str
    """The letter of the unit where it is one, in whole numbers; empty where several are added up."""
    number: int


# Spans


def span(cursor: Cursor, *, wordy: bool = False) -> Span | None:
    """`1h30m`, `90 min`, `1 hour and 30 minutes`; with `wordy` also `an hour` and `two weeks`."""
    if wordy and (named := cursor.take(_WORDY)):
        unit = named[2][0].lower()
        number = NUMBER_WORDS.get(named[1].lower())
        return Span(_UNITS_US[unit] // 2, "", 0) if number is None else Span(number * _UNITS_US[unit], unit, number)
    if _NEGATIVE.match(cursor.words, cursor.place):
        raise PhraseError("That lies in the past. Give a time ahead, such as 10m or 18:30.")
    start, place, end = cursor.place, cursor.place, -1
    total, smallest, pieces, last = 0, WEEK_US + 1, 0, Fraction(0)
    unit = ""
    while piece := _PIECE.match(cursor.words, place):
        digits, letter = piece[1].replace(",", "."), piece[2][0].lower()
        if _UNITS_US[letter] >= smallest:
            break
        if len(digits) > _MAXIMUM_DIGITS:
            raise too_far()
        last, unit, smallest = Fraction(digits), letter, _UNITS_US[letter]
        total += round(last * smallest)
        pieces, end = pieces + 1, piece.end()
        joined = _JOIN.match(cursor.words, end)
        place = joined.end() if joined else end
    if end < 0:
        return None
    if end < len(cursor.words) and cursor.words[end] in _DIGITS:
        raise _glued(cursor.words[start:].split()[0])
    if total <= 0:
        raise too_soon()
    cursor.move(end)
    single = pieces == 1 and last.denominator == 1
    return Span(total, unit if single else "", int(last) if single else 0)


def names_months(cursor: Cursor) -> bool:
    """Whether a number of months or years follows, whose length nobody knows."""
    return _CALENDAR_UNIT.match(cursor.words, cursor.place) is not None


# Times of day


def clock(cursor: Cursor, *, bare: bool = False) -> Clock | None:
    """`18:00`, `9am`, `at 9`, `noon`; with `bare`, which is for behind a date, also `9` where no text follows it."""
    if named := cursor.take(_NAMED_CLOCK):
        is_midnight = named[1].lower() == "midnight"
        return Clock(0 if is_midnight else 12 * HOUR_US, half_told=True, is_midnight=is_midnight)
    if found := cursor.take(_CLOCK):
        half = found[4] or found[6] or found[7]
        return _clock(found[0], found[1], found[2] or found[5], found[3], half)
    if found := cursor.take(_AT_HOUR):
        if found[2] is None and _NUMBER_NEXT.match(cursor.words, cursor.end):
            raise PhraseError(f"Is {cursor.words[found.start(1) :].split()[0]} the hour? Write it as {found[1]}:00.")
        return _clock(found[0], found[1], found[2], None, None)
    if bare and (found := _BARE_HOUR.match(cursor.words, cursor.place)) and int(found[1]) < 24:
        if not _CONNECTED.match(cursor.words, found.end()):
            raise PhraseError(f"Is {found[1]} the time? Then write {found[1]}:00, else put the time first, as in 9:00.")
        cursor.move(found.end())
        return _clock(found[0], found[1], None, None, None)
    return None


def _clock(shown: str, hours: str, minutes: str | None, seconds: str | None, half: str | None) -> Clock:
    hour, minute, second = int(hours), int(minutes or 0), int(seconds or 0)
    shown = shown.strip()
    if half and not 1 <= hour <= 12:
        raise PhraseError(f"{shown} is no time of day: with am and pm they go from 1 to 12.")
    if half:
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    if hour > 23 or minute > 59 or second > 59:
        raise PhraseError(f"{shown} is no time of day: they go from 00:00 to 23:59.")
    return Clock(((hour * 60 + minute) * 60 + second) * SECOND_US, half_told=half is not None)


# Refusals


def too_far() -> PhraseError:
    return PhraseError("That is too far away: I remember things for a hundred years at most.")


def too_soon() -> PhraseError:
    return PhraseError("That is no time at all. Give at least a second, such as 10s.")


def _glued(word: str) -> PhraseError:
    return PhraseError(
        f"I can't read {word[:_SHOWN]}: give each part its unit, the largest first, as in 1h30m, "
        "and write a space before the text."
    )
