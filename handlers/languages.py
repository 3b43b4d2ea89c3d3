"""Times in other languages, by the library dateparser where it is installed (`bellringer[dateparser]`).

It is asked only for what our own grammar does not know, and believed only where each number of the words is found in
its answer: left to itself it drops the 9 of "morgen um 9".
"""

import importlib
import importlib.util
import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, Protocol

from ..storage import rules
from . import telling, wording
from .wording import AFTER, ASSUMED_US, AT, Found

_LANGUAGES: Final = ("de", "fr", "es", "it", "pt", "nl", "pl", "cs", "sv", "da", "fi", "tr", "ru", "uk")
_LONGEST_WORDS: Final = 6
_LONGEST: Final = 60
_HOUR: Final = re.compile(
    r"\s(?:um|\u00e0|a las|a la|alle|alle ore|\u00e0s|om|o|v|\u0432|kl\.?|saat)\s+([0-9]{1,2})\s*(?:h|uhr|uur)?$",
    re.IGNORECASE,
)
_DIGITS: Final = re.compile(r"[0-9]+")
_WORD: Final = re.compile(r"\S+")
_LETTERS: Final = re.compile(r"[^\W\d_]{2}")
# What is relative keeps the fraction of a second that it is counted from.
_TOKEN_US: Final = 1
_MICROSECOND: Final = timedelta(microseconds=1)


class _Answer(Protocol):
    date_obj: datetime | None
    parts: tuple[str, ...]


class _Parser(Protocol):
    def get_date_data(self, date_string: str, /) -> _Answer: ...


def find(words: str, now: int, zone: str, *, text_follows: bool) -> Found | None:
    """The time that the words begin with, the longest; None: there is none, or nobody to ask."""
    if not _is_installed():
        return None
    ends = [word.end() for word in _WORD.finditer(words[:_LONGEST])][:_LONGEST_WORDS]
    if not text_follows:
        ends = [len(words)] if ends and ends[-1] == len(words) else []
    for end in reversed(ends):
        part = words[:end].rstrip(" ,;:.!")
        found = _read(part, end, now, zone) if _LETTERS.search(part) else None
        # Other words beside a day may be its time of day, which the library drops.
        if found is not None and (found.has_clock or (end == len(words) and (" " not in part or _DIGITS.search(part)))):
            return found
    return None


def _read(part: str, end: int, now: int, zone: str) -> Found | None:
    there = rules.zone_named(zone)
    base = rules.naive(there.local(now)).replace(microsecond=_TOKEN_US)
    answer = _asked(_HOUR.sub(r" \1:00", part), base)
    if answer is None or answer.date_obj is None or not {"day", "month"} <= set(answer.parts):
        return None
    local = answer.date_obj.replace(tzinfo=None)
    has_clock = "time" in answer.parts
    numbers = {int(digits) for digits in _DIGITS.findall(part)}
    if has_clock and local.microsecond == _TOKEN_US:
        us = (local - base) // _MICROSECOND
        if not numbers <= _sizes(us):
            return None
        return _ahead(Found(AFTER, rules.At(at=telling.moment(now + us)), end), now + us, now, part)
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    today = base.replace(hour=0, minute=0, second=0, microsecond=0)
    told = {local.day, local.month, local.year} | _sizes((midnight - today) // _MICROSECOND)
    if has_clock:
        told |= {local.hour, local.minute, local.second}
    if not numbers <= told:
        return None
    local = local.replace(microsecond=0) if has_clock else midnight + timedelta(microseconds=ASSUMED_US)
    found = Found(AT, rules.At(at=local, zone=zone), end, not has_clock, has_clock=has_clock)
    return _ahead(found, there.instant(rules.local_of(local)), now, part)


def _ahead(found: Found, at: int, now: int, part: str) -> Found:
    if at <= now:
        raise wording.PhraseError(f"{part} is past already. Give a time ahead.")
    if at - now > wording.FARTHEST_US:
        raise wording.too_far()
    return found


def _sizes(us: int) -> set[int]:
    """The numbers by which a span can be told."""
    units = (wording.SECOND_US, wording.MINUTE_US, wording.HOUR_US, wording.DAY_US, wording.WEEK_US)
    return {us // unit for unit in units if us % unit == 0}


def _asked(part: str, base: datetime) -> _Answer | None:
    try:
        return _parser(base).get_date_data(part)
    except Exception:  # noqa: BLE001  the library raises errors of many kinds for odd text
        return None


def _parser(base: datetime) -> _Parser:
    settings = {
        "RELATIVE_BASE": base,
        "PREFER_DATES_FROM": "future",
        "RETURN_AS_TIMEZONE_AWARE": False,
        "PARSERS": ["relative-time", "absolute-time"],
        "DATE_ORDER": "DMY",
    }
    made: _Parser = importlib.import_module("dateparser.date").DateDataParser(
        languages=list(_LANGUAGES), settings=settings
    )
    return made


@lru_cache(maxsize=1)
def _is_installed() -> bool:
    return importlib.util.find_spec("dateparser") is not None
