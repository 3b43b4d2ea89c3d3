"""The grammar of phrases: what comes once, after a span or at a local time. What repeats is in `repeating`.

What a phrase leaves open is decided here, once: a day without a time of day is at 09:00, `tonight` is at 20:00, and
`next friday` is the first one after today. What could mean two things is refused.
"""

from datetime import datetime, timedelta
from typing import Final

from ..storage import rules
from ..storage.rules.zones import MAX_INSTANT
from . import dates, repeating, telling, wording
from .dates import Day
from .wording import (
    AFTER,
    ASSUMED_US,
    AT,
    DAY_US,
    END,
    FARTHEST_US,
    HOUR_US,
    MINUTE_US,
    SECOND_US,
    Clock,
    Cursor,
    Found,
    PhraseError,
    pattern,
)

TONIGHT_US: Final = 20 * HOUR_US

_IN: Final = pattern(r"in\s+")
_FROM_NOW: Final = pattern(rf"from\s+now{END}")
_GLUED: Final = pattern("[0-9]")
_AGO: Final = pattern(rf"ago{END}")
_ISO_INSTANT: Final = pattern(
    r"(?:at\s+)?([0-9]{4}-[0-9]{2}-[0-9]{2})[T\s]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)\s?"
    rf"(Z|[+-][0-9]{{2}}:?[0-9]{{2}}){END}"
)


def find(words: str, place: int, now: int, zone: str) -> Found | None:
    """The time that begins at a place. Raises `PhraseError` where one begins that can't be meant."""
    cursor = Cursor(words, place)
    return repeating.find(cursor, zone) or _after(cursor, now, zone) or _once(cursor, now, zone)


# Once


def _after(cursor: Cursor, now: int, zone: str) -> Found | None:
    begun = cursor.take(_IN) is not None
    length = wording.span(cursor, wordy=begun)
    if length is None:
        if wording.names_months(cursor):
            raise PhraseError("Months and years differ in length: give a date, as in 31 dec 9:00, or days, as in 30d.")
        return None
    cursor.take(_FROM_NOW)
    if cursor.take(_AGO):
        raise PhraseError("That lies in the past. Give a time ahead, such as 10m or 18:30.")
    if length.unit in ("d", "w"):
        end = cursor.mark
        if clock := wording.clock(cursor):
            return _on_day(cursor, now, zone, clock, length.us // DAY_US)
        if dates.day(cursor, dates.today_at(now, zone)):
            raise PhraseError("That names a span and a day. Give one of them, as in 2w, or 31 dec 9:00.")
        cursor.back(end)
    if length.us < SECOND_US:
        raise wording.too_soon()
    if length.us > FARTHEST_US or now + length.us > MAX_INSTANT:
        raise wording.too_far()
    return Found(AFTER, rules.At(at=telling.moment(now + length.us)), cursor.end)


def _on_day(cursor: Cursor, now: int, zone: str, clock: Clock, days: int) -> Found:
    if days > FARTHEST_US // DAY_US:
        raise wording.too_far()
    (on,) = dates.ahead(dates.today_at(now, zone), days)
    return _first_ahead(cursor, now, zone, Day((on,), f"{on:%d %b}"), clock)


def _instant(cursor: Cursor, now: int) -> Found | None:
    """`2026-12-25T08:00Z`: it tells its own offset, so that the zone doesn't matter."""
    found = cursor.take(_ISO_INSTANT)
    if not found:
        return None
    try:
        on = datetime.fromisoformat(f"{found[1]}T{found[2]}{found[3].upper()}")
        at = (on - telling.moment(0)) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        raise PhraseError(f"There is no {found[0]}. Write it as in 2030-12-25T08:00Z.") from None
    if at <= now:
        raise PhraseError(f"{found[0]} is past already. Give a time ahead.")
    if at - now > FARTHEST_US:
        raise wording.too_far()
    return Found(AT, rules.At(at=telling.moment(at)), cursor.end)


def _once(cursor: Cursor, now: int, zone: str) -> Found | None:
    start = cursor.place
    if found := _instant(cursor, now):
        return found
    today = dates.today_at(now, zone)
    clock = wording.clock(cursor)
    between = cursor.mark
    day = dates.day(cursor, today)
    if clock is not None and day is None:
        cursor.back(between)
        return repeating.behind_clock(cursor, zone, clock) or _next_time(cursor, now, zone, clock)
    if day is None:
        return None
    if clock is None:
        end = cursor.mark
        clock = wording.clock(cursor, bare=True)
        if clock is None:
            cursor.back(end)
            if cursor.words[cursor.end - 1] in "Tt" and _GLUED.match(cursor.words, cursor.end):
                shown = cursor.words[start:].split()[0][:40]
                raise PhraseError(f"I can't read the time of day in {shown}. Write it as in 2030-12-25T08:00.")
            return _without_clock(cursor, now, zone, day, start)
    return _first_ahead(cursor, now, zone, day, clock)


def _next_time(cursor: Cursor, now: int, zone: str, clock: Clock) -> Found:
    day = Day(dates.ahead(dates.today_at(now, zone), 0, 1, 2), "")
    return _first_ahead(cursor, now, zone, day, clock._replace(is_midnight=False))._replace(has_date=False)


def _without_clock(cursor: Cursor, now: int, zone: str, day: Day, start: int) -> Found:
    named = " ".join(cursor.words[start : cursor.end].split())
    if day.is_also_a_word and cursor.words[cursor.end :].strip(" .!"):
        raise PhraseError(f"At what time? Say it as in {named} 9:00.")
    clock = Clock(TONIGHT_US if day.is_tonight else ASSUMED_US, half_told=True)
    if len(day.dates) == 1 and _at(day, clock, now, zone) is None and day.named.lower() in ("today", "tonight"):
        raise PhraseError(f"At what time {day.named.lower()}? Say it as in {day.named.lower()} 23:00.")
    return _first_ahead(cursor, now, zone, day, clock)._replace(assumed_time=True, has_clock=False)


def _first_ahead(cursor: Cursor, now: int, zone: str, day: Day, clock: Clock) -> Found:
    if clock.is_midnight:
        raise PhraseError("At which end of that day? Say 00:00 for its beginning, or 23:59 for its end.")
    if day.is_tonight and not clock.half_told and clock.us < 12 * HOUR_US:
        if clock.us < 5 * HOUR_US:
            raise PhraseError("Is that tonight or tomorrow? Say it as in tonight at 20:00, or tomorrow at 2:00.")
        clock = clock._replace(us=clock.us + 12 * HOUR_US)
    rule = _at(day, clock, now, zone)
    if rule is None:
        shown = f"{clock.us // HOUR_US:02}:{clock.us // MINUTE_US % 60:02}"
        raise PhraseError(f"{shown} {day.named.strip().lower()} is past already. Give a time ahead.")
    return Found(AT, rule, cursor.end)


def _at(day: Day, clock: Clock, now: int, zone: str) -> rules.At | None:
    there = rules.zone_named(zone)
    for on in day.dates:
        if not 1970 <= on.year <= 9999:
            continue
        local = datetime(on.year, on.month, on.day) + timedelta(microseconds=clock.us)  # noqa: DTZ001  local time
        at = there.instant(rules.local_of(local))
        if at > now:
            if at - now > FARTHEST_US:
                raise wording.too_far()
            return rules.At(at=local, zone=zone)
    return None
