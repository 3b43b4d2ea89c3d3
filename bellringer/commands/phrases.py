"""Instants, durations and foreign text as people read them."""

import re
import shlex
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_JOINERS = "\u200d\ufe0f"
_PLAIN = re.compile(r"[\x20-\x7e]*")


def safe(text: str) -> str:
    """Text that can be printed on one line whatever it holds: what steers a terminal, or is no text, is escaped."""
    if _PLAIN.fullmatch(text):
        return text
    return "".join(letter if letter in _JOINERS or not _steers(letter) else _escape(letter) for letter in text)


def safe_lines(text: str) -> list[str]:
    """Like `safe`, for text of several lines."""
    return [safe(line.replace("\t", "    ")) for line in text.splitlines()]


def shell_word(text: str) -> str:
    """The text as a shell takes it back, on one line."""
    if safe(text) == text:
        return shlex.quote(text)
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(_escape(letter) if _steers(letter) else letter for letter in quoted) + "'"


def cells(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(_cells(letter) for letter in text)


def clipped(text: str, room: int) -> str:
    """The text, or as much of its beginning as fits, with an ellipsis."""
    if cells(text) <= room:
        return text
    kept: list[str] = []
    left = room - 1
    for letter in text:
        left -= _cells(letter)
        if left < 0:
            break
        kept.append(letter)
    return "".join(kept) + "…" if room > 0 else ""


def local(at: datetime) -> str:
    """Local time with its zone; UTC for the instants at the ends of the calendar that have no local time."""
    return " ".join(_local(at))


def local_column(title: str, instants: Sequence[datetime]) -> tuple[str, list[str]]:
    """The title and the cells of a column of instants: the zone stands in the title where all have the same."""
    told = [_local(at) for at in instants]
    zones = {zone for _, zone in told}
    if len(zones) == 1:
        return f"{title} ({zones.pop()})", [time for time, _ in told]
    return title, [" ".join(parts) for parts in told]


def rfc3339(at: datetime | None) -> str | None:
    if at is None:
        return None
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def span(duration: timedelta) -> str:
    """A duration in its two largest units."""
    us = abs(round(duration.total_seconds() * 1_000_000))
    if us < 1_000:
        return f"{us} µs" if us else "0 ms"
    if us < 1_000_000:
        return f"{us // 1_000} ms"
    if us < 10_000_000 and us % 1_000_000:
        return f"{us / 1_000_000:.1f} s"
    return _in_units(us // 1_000_000)


def from_now(at: datetime, now: datetime) -> str:
    """`in 3 h 10 min`, `in 12 d`, `5 min ago`, or `now` where it is less than a second."""
    seconds = (at - now).total_seconds()
    if abs(seconds) < 1:
        return "now"
    told = _in_units(round(abs(seconds)), enough=10)
    return f"in {told}" if seconds > 0 else f"{told} ago"


def counted(count: int, thing: str) -> str:
    plural = thing[:-1] + "ies" if thing.endswith("y") else thing + "s"
    return f"{count:,} {thing if count == 1 else plural}"


def _local(at: datetime) -> tuple[str, str]:
    try:
        told = datetime.fromtimestamp(int(at.timestamp()), UTC).astimezone()
    except (OverflowError, ValueError):
        told = at
    return f"{told:%Y-%m-%d %H:%M:%S}", told.tzname() or "UTC"


def _in_units(seconds: int, enough: int | None = None) -> str:
    """The largest unit, and the one below it unless there is `enough` of the largest."""
    for place, (size, unit) in enumerate(_UNITS):
        count, left = divmod(seconds, size)
        if count or size == 1:
            told = f"{count:,} {unit}"
            if place + 1 == len(_UNITS) or (enough is not None and count >= enough):
                return told
            smaller, below = _UNITS[place + 1]
            return f"{told} {left // smaller} {below}" if left // smaller else told
    raise AssertionError("the last unit is always large enough")


def _steers(letter: str) -> bool:
    return unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _escape(letter: str) -> str:
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(letter)
    number = ord(letter)
    if short is not None:
        return short
    return f"\\x{number:02x}" if number < 0x80 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _cells(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in ("W", "F") else 1
