"""Instants, durations and foreign text as people read them."""

import re
import shlex
import unicodedata
from datetime import UTC, datetime, timedelta

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_JOINERS = "\u200d\ufe0f"
_PLAIN = re.compile(r"[\x20-\x7e]*")
_MICROSECOND = timedelta(microseconds=1)


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
    try:
        told = datetime.fromtimestamp(int(at.timestamp()), UTC).astimezone()
    except (OverflowError, ValueError):
        told = at
    return f"{told:%Y-%m-%d %H:%M:%S} {told.tzname()}"


def rfc3339(at: datetime | None) -> str | None:
    if at is None:
        return None
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def span(duration: timedelta) -> str:
    """A duration in its two largest units."""
    us = abs(duration // _MICROSECOND)
    if us < 1_000:
        return f"{us} µs" if us else "0 ms"
    if us < 1_000_000:
        return f"{us // 1_000} ms"
    seconds = us / 1_000_000
    if us < 60_000_000:
        return f"{seconds:.1f} s" if us < 10_000_000 and us % 1_000_000 else f"{int(seconds)} s"
    left = us // 1_000_000
    parts = []
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if count or parts:
            parts.append(f"{count} {unit}" if count else "")
        if len(parts) == 2:
            break
    return " ".join(part for part in parts if part)


def from_now(at: datetime, now: datetime) -> str:
    """`in 3 h 10 min`, `5 min ago`, or `now` where it is less than a second."""
    distance = at - now
    if abs(distance) < timedelta(seconds=1):
        return "now"
    told = span(timedelta(seconds=round(abs(distance).total_seconds())))
    return f"in {told}" if distance > timedelta() else f"{told} ago"


def counted(count: int, thing: str) -> str:
    plural = thing[:-1] + "ies" if thing.endswith("y") else thing + "s"
    return f"{count:,} {thing if count == 1 else plural}"


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
