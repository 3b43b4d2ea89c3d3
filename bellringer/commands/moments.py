"""Instants as they are written on a command line, and as programs are told them in a zone."""

import re
from datetime import datetime
from typing import Final

from pendulum import DateTime

from ..actors.recounting import offset
from ..actors.views import moment
from ..handlers import phrases
from ..handlers.phrases import PhraseError
from ..storage import door, rules
from ..storage.errors import InvalidJobError
from ..storage.rules.zones import UTC

_WRITTEN: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?) ?([Zz]|[+-]\d{2}:\d{2})?)?", re.ASCII
)
_EXAMPLES: Final = "write 2026-03-28T00:00Z, 2026-03-28 00:00 or 2026-03-28"


def instant(text: str, zone: str) -> int:
    """`2026-03-28T00:00Z`, or with another offset; without one a local time of the zone, midnight where it has none.

    Raises `InvalidJobError`.
    """
    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        raise InvalidJobError(f"{ascii(text)[:60]} is no instant: {_EXAMPLES}")
    date, time, away = found.groups()
    try:
        if away is None:
            return door.in_range(rules.instant_of(f"{date}T{time or '00:00'}", zone), text)
        return door.instant(datetime.fromisoformat(f"{date}T{time}{away.upper()}"), "the instant")
    except InvalidJobError:
        raise
    except (OverflowError, ValueError) as error:
        raise InvalidJobError(f"{ascii(text)[:60]} is no instant ({error}): {_EXAMPLES}") from None


def ahead(text: str, now: int, zone: str) -> DateTime:
    """An instant, or a phrase such as `tomorrow at 9` or `in 2h`, that lies ahead. Raises `InvalidJobError`."""
    if _WRITTEN.fullmatch(text.strip()):
        at: int | None = instant(text, zone)
    else:
        try:
            at = phrases.read(text, now, zone, text_follows=False).rule.next(now)
        except PhraseError as error:
            raise InvalidJobError(str(error)) from None
    if at is None or at <= now:
        raise InvalidJobError(f"{ascii(text)[:60]} lies in the past: give a time ahead")
    return moment(at)


def utc(at: int) -> str:
    """In RFC 3339, with a fraction of a second only where there is one."""
    return f"{rules.naive(at).isoformat()}Z"


def local(at: int, zone: str) -> str:
    """The same in a zone, with its offset."""
    shift = shift_at(at, zone)
    return f"{rules.naive(at + shift).isoformat()}{offset(shift)}"


def zone_or_utc(zone: str | None) -> str:
    """Where to tell instants of a job; a zone that is not known any more is told in UTC."""
    return zone if zone is not None and rules.is_zone(zone) else UTC


def shift_at(at: int, zone: str) -> int:
    """How far the zone is ahead of UTC; 0 where its local time would lie outside of the calendar."""
    shift = rules.zone_named(zone).shift(at)
    try:
        rules.naive(at + shift)
    except OverflowError:
        return 0
    return shift
