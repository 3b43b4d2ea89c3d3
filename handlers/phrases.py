"""Times as people write and read them: "1h30m", "tomorrow 9:00", "18:30:00 today". Pure functions.

Instants are microseconds since the epoch; `now` and the time zone are arguments. A local time that a clock change
skips is read with the offset before the change (02:30 becomes 03:30); one that comes twice means the first time.
"""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from fractions import Fraction
from typing import Final, NamedTuple

SECOND_US: Final = 1_000_000
MINUTE_US: Final = 60 * SECOND_US
HOUR_US: Final = 60 * MINUTE_US
DAY_US: Final = 24 * HOUR_US
WEEK_US: Final = 7 * DAY_US
FARTHEST_US: Final = 36_500 * DAY_US

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS_US: Final = {"s": SECOND_US, "m": MINUTE_US, "h": HOUR_US, "d": DAY_US, "w": WEEK_US}
_PIECE: Final = re.compile(
    r"([0-9]+(?:[.,][0-9]+)?)\s*"
    r"(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)(?![^\s0-9])\s*",
    re.IGNORECASE,
)
_IN: Final = re.compile(r"in\s+", re.IGNORECASE)
_NEGATIVE: Final = re.compile(r"[-\u2212]\s*[0-9]")
_NUMBER: Final = re.compile(r"([0-9]+(?:[.,][0-9]+)?)(?=\s|$)")
_DAY: Final = re.compile(r"(today|tomorrow|([0-9]{4})-([0-9]{1,2})-([0-9]{1,2}))(?:[\sT]+|$)", re.IGNORECASE)
_HALF: Final = r"\s*([ap])\.?m\.?"
_CLOCK: Final = re.compile(
    rf"(?:at\s+)?([0-9]{{1,2}})(?::([0-9]{{2}})(?::([0-9]{{2}}))?(?:{_HALF})?|{_HALF})(?=\s|$)", re.IGNORECASE
)
_MAXIMUM_DIGITS: Final = 18
_SHOWN: Final = 40
_DIGITS: Final = frozenset("0123456789")


class PhraseError(ValueError):
    """The words name no usable time. The message is a sentence for whoever wrote them."""


class Phrase(NamedTuple):
    """An instant or a duration that was read, in microseconds, and the text that followed it."""

    us: int
    text: str


def read_when(words: str, now: int, zone: tzinfo) -> Phrase:
    """The instant that the words begin with, which lies ahead. Raises `PhraseError`."""
    words = words.strip()
    day = _DAY.match(words)
    clock = _CLOCK.match(words, day.end() if day else 0)
    if day or clock:
        at = _local_instant(day, clock, now, zone)
        text = words[clock.end() :].strip() if clock else ""
    else:
        delay, text = read_duration(words)
        if delay < SECOND_US:
            raise _too_soon()
        at = now + delay
    if at - now > FARTHEST_US:
        raise _too_far()
    return Phrase(at, text)


def read_duration(words: str) -> Phrase:
    """The duration above zero that the words begin with. Raises `PhraseError`."""
    words = words.strip()
    begun = _IN.match(words)
    start = place = begun.end() if begun else 0
    if _NEGATIVE.match(words, place):
        raise PhraseError("That lies in the past. Give a time ahead, such as 10m or 18:30.")
    total, smallest = 0, WEEK_US + 1
    while piece := _PIECE.match(words, place):
        number, unit_us = piece[1].replace(",", "."), _UNITS_US[piece[2][0].lower()]
        if unit_us >= smallest:
            break
        if len(number) > _MAXIMUM_DIGITS:
            raise _too_far()
        total += round(Fraction(number) * unit_us)
        smallest, place = unit_us, piece.end()
    if place == start:
        raise _not_understood(words[start:])
    if total <= 0:
        raise _too_soon()
    if place < len(words) and words[place] in _DIGITS and not words[place - 1].isspace():
        raise _glued(words[start:].split()[0])
    if total > FARTHEST_US:
        raise _too_far()
    return Phrase(total, words[place:].strip())


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
        elif told:
            break
    return " ".join(told[:parts]) or "0 s"


def moment(at: int) -> datetime:
    """The instant as a datetime in UTC."""
    return _EPOCH + timedelta(microseconds=at)


def _local(at: int, zone: tzinfo) -> datetime:
    return moment(at).astimezone(zone)


def _local_instant(day: re.Match[str] | None, clock: re.Match[str] | None, now: int, zone: tzinfo) -> int:
    today = _local(now, zone).date()
    named = day[1].lower() if day else None
    if clock is None:
        raise PhraseError(f"At what time? Say it as in {named} 9:00.")
    wanted = _time_of_day(clock)
    if day is None:
        at = _instant(today, wanted, zone)
        return at if at > now else _instant(today + timedelta(days=1), wanted, zone)
    if named == "today":
        on = today
    elif named == "tomorrow":
        on = today + timedelta(days=1)
    else:
        on = _date(day)
    at = _instant(on, wanted, zone)
    if at <= now:
        raise PhraseError(f"{clock[0].strip()} {named} is past already. Give a time ahead.")
    return at


def _date(day: re.Match[str]) -> date:
    try:
        return date(int(day[2]), int(day[3]), int(day[4]))
    except ValueError:
        raise PhraseError(f"There is no {day[1]}. Write the date as in 2030-12-25 08:00.") from None


def _time_of_day(clock: re.Match[str]) -> time:
    hour, half = int(clock[1]), (clock[4] or clock[5] or "").lower()
    if half and not 1 <= hour <= 12:
        raise PhraseError(f"{clock[0].strip()} is no time of day: with am and pm they go from 1 to 12.")
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    try:
        return time(hour, int(clock[2] or 0), int(clock[3] or 0))
    except ValueError:
        raise PhraseError(f"{clock[0].strip()} is no time of day: they go from 00:00 to 23:59.") from None


def _instant(on: date, wanted: time, zone: tzinfo) -> int:
    # fold=0, the default, is the offset before the change, both for a skipped time and for one that comes twice.
    try:
        local = datetime.combine(on, wanted, tzinfo=zone).astimezone(UTC)
    except OverflowError:
        raise _too_far() from None
    return (local - _EPOCH) // timedelta(microseconds=1)


def _too_far() -> PhraseError:
    return PhraseError("That is too far away: I remember things for a hundred years at most.")


def _too_soon() -> PhraseError:
    return PhraseError("That is no time at all. Give at least a second, such as 10s.")


def _glued(word: str) -> PhraseError:
    return PhraseError(
        f"I can't read {word[:_SHOWN]}: give each part its unit, the largest first, as in 1h30m, "
        "and write a space before the text."
    )


def _not_understood(words: str) -> PhraseError:
    number = _NUMBER.match(words)
    if number:
        given = number[1]
        return PhraseError(f"{given} of what? Say {given}s, {given}m, {given}h or {given}d.")
    return PhraseError(
        "I don't see a time there. Write it first, as 10s, 1h30m, in 2h, 18:30, tomorrow 9:00 or 2030-12-25 08:00."
    )
