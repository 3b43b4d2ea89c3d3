"""Time zones as arithmetic: which local time an instant is, and which instant a local time is.

A local time is an integer too: the microseconds since 1970-01-01T00:00 that a clock on the wall there has counted.
A local time that a clock change skips is read with the offset before it (02:30 becomes 03:30); one that comes twice
means the first time.
"""

import difflib
import zoneinfo
from bisect import bisect_right
from collections.abc import Callable, Iterator
from datetime import UTC as UTC_ZONE
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import Final, NamedTuple

from ..errors import InvalidJobError

SECOND_US: Final = 1_000_000
DAY_US: Final = 86_400 * SECOND_US
MAX_INSTANT: Final = 253_402_300_799_999_999
UTC: Final = "UTC"

_SPAN_US: Final = 731 * DAY_US
# No zone has changed its offset twice within six days since 1970, nor by more than a day at once.
_PROBE_US: Final = 3 * DAY_US
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  local times and UTC are both counted from here
_MICROSECOND: Final = timedelta(microseconds=1)
_LAST_PROBE: Final = MAX_INSTANT - 2 * DAY_US
# Names that mean something else on every machine, and the copies of the database that count leap seconds.
_FOREIGN: Final = ("localtime", "posixrules", "Factory")
_FOREIGN_PARTS: Final = ("right/", "posix/")


class Piece(NamedTuple):
    """A stretch of time, from `start_at` up to and without `end_at`, in which local time is instant + `shift`."""

    start_at: int
    end_at: int
    shift: int


class _Span(NamedTuple):
    wall: tuple[Piece, ...]
    real: tuple[Piece, ...]
    starts: tuple[int, ...]
    local_ends: tuple[int, ...]
    shifts: tuple[int, ...]


Pieces = Callable[[_Span], tuple[Piece, ...]]
_WALL: Final[Pieces] = attrgetter("wall")
_REAL: Final[Pieces] = attrgetter("real")


class Zone:
    """One zone of the time zone database."""

    __slots__ = ("_info", "_spans", "name")

    def __init__(self, name: str, info: zoneinfo.ZoneInfo) -> None:
        self.name = name
        self._info = info
        self._spans: dict[int, _Span] = {}

    def local(self, at: int) -> int:
        """The local time at an instant."""
        return at + self.shift(at)

    def shift(self, at: int) -> int:
        """How far the local clock is ahead of UTC, in microseconds."""
        span = self._span(at // _SPAN_US)
        return span.shifts[max(0, bisect_right(span.starts, at) - 1)]

    def instant(self, local: int) -> int:
        """The instant that a local time means; see the rule above for what is skipped and what comes twice."""
        span = self._span(local // _SPAN_US)
        return local - span.shifts[bisect_right(span.local_ends, local)]

    def wall(self, at: int) -> Iterator[Piece]:
        """From an instant on: pieces in which each local time comes exactly once, those that are skipped included.

        In order of their start. What a clock change skips is a piece of its own, beside the one that follows it.
        """
        return self._from(at, _WALL)

    def real(self, at: int) -> Iterator[Piece]:
        """From an instant on: pieces in which each instant comes exactly once, so that a local time may come twice."""
        return self._from(at, _REAL)

    def wall_before(self, at: int) -> Iterator[Piece]:
        """The pieces of `wall` that begin at or before an instant, the latest first."""
        return self._before(at, _WALL)

    def real_before(self, at: int) -> Iterator[Piece]:
        return self._before(at, _REAL)

    def changes(self, from_at: int, until_at: int) -> list[tuple[int, int]]:
        """From when on which shift holds, beginning with the one at `from_at`."""
        found = [(from_at, self.shift(from_at))]
        for piece in self.real(from_at):
            if piece.start_at >= until_at:
                break
            if piece.shift != found[-1][1]:
                found.append((piece.start_at, piece.shift))
        return found

    def _from(self, at: int, kind: Pieces) -> Iterator[Piece]:
        for number in range(max(at, 0) // _SPAN_US, MAX_INSTANT // _SPAN_US + 1):
            for piece in kind(self._span(number)):
                if piece.end_at > at:
                    yield piece

    def _before(self, at: int, kind: Pieces) -> Iterator[Piece]:
        for number in range(min(at, MAX_INSTANT) // _SPAN_US, -1, -1):
            for piece in reversed(kind(self._span(number))):
                if piece.start_at <= at:
                    yield piece

    def _span(self, number: int) -> _Span:
        span = self._spans.get(number)
        if span is None:
            span = self._spans[number] = self._measured(number)
        return span

    def _measured(self, number: int) -> _Span:
        """Find the changes of the offset within a span by looking every few days, and then by halving."""
        start_at, end_at = number * _SPAN_US, (number + 1) * _SPAN_US
        segments: list[Piece] = []
        since = at = start_at - _PROBE_US
        shift = self._look(at)
        # A local time is up to a day away from its instant.
        while at < end_at + _PROBE_US:
            ahead = at + _PROBE_US
            then = self._look(ahead)
            if then != shift:
                change = self._change_between(at, ahead, shift)
                segments.append(Piece(since, change, shift))
                since, shift = change, then
            at = ahead
        segments.append(Piece(since, at, shift))
        wall: list[Piece] = []
        before = segments[0].shift
        for piece in segments:
            gap_us = piece.shift - before
            if gap_us > 0:
                wall.append(Piece(piece.start_at, piece.start_at + gap_us, before))
            wall.append(piece if gap_us >= 0 else piece._replace(start_at=piece.start_at - gap_us))
            before = piece.shift
        local_ends = tuple(piece.end_at + max(piece.shift, after.shift) for piece, after in pairwise(segments))
        return _Span(
            wall=tuple(sorted(_clip(wall, start_at, end_at))),
            real=tuple(_clip(segments, start_at, end_at)),
            starts=tuple(piece.start_at for piece in segments),
            local_ends=local_ends,
            shifts=tuple(piece.shift for piece in segments),
        )

    def _change_between(self, low: int, high: int, shift: int) -> int:
        while high - low > SECOND_US:
            middle = (low + high) // 2 // SECOND_US * SECOND_US
            if middle <= low:
                middle = low + SECOND_US
            if self._look(middle) == shift:
                low = middle
            else:
                high = middle
        return high

    def _look(self, at: int) -> int:
        utc = _EPOCH + timedelta(microseconds=min(max(at, DAY_US), _LAST_PROBE))
        there = self._info.fromutc(utc.replace(tzinfo=self._info)).replace(tzinfo=None)
        return (there - utc) // _MICROSECOND


def _clip(pieces: list[Piece], start_at: int, end_at: int) -> Iterator[Piece]:
    for piece in pieces:
        clipped = Piece(max(piece.start_at, start_at), min(piece.end_at, end_at), piece.shift)
        if clipped.start_at < clipped.end_at:
            yield clipped


@lru_cache(maxsize=1_024)
def zone(name: str) -> Zone:
    """The zone of this name, as `Europe/Berlin`. Raises `InvalidJobError` for one that is not in the database.

    `Etc/GMT+3` is three hours *behind* UTC: these names count westwards.
    """
    if not isinstance(name, str) or name in _FOREIGN or name.startswith(_FOREIGN_PARTS):
        raise _unknown(name)
    try:
        return Zone(name, zoneinfo.ZoneInfo(name))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise _unknown(name) from None


def is_zone(name: str) -> bool:
    try:
        zone(name)
    except InvalidJobError:
        return False
    return True


def _unknown(name: object) -> InvalidJobError:
    shown = ascii(name)[:60]
    hint = "as in Europe/Berlin or UTC"
    if isinstance(name, str):
        known = sorted(known for known in zoneinfo.available_timezones() if known not in _FOREIGN)
        lower = {one.lower(): one for one in known}
        like = difflib.get_close_matches(name.strip().lower(), lower, n=1, cutoff=0.8)
        if like:
            hint = f"did you mean {lower[like[0]]}?"
    return InvalidJobError(f"there is no time zone {shown}: give a name of the time zone database, {hint}")


def local_of(moment: datetime) -> int:
    """A naive datetime as local time."""
    # Spelled out, because datetimes of pendulum answer with intervals of their own.
    return timedelta.__floordiv__(datetime.__sub__(moment, _EPOCH), _MICROSECOND)


def moment(at: int) -> datetime:
    """An instant as a datetime in UTC."""
    return _EPOCH.replace(tzinfo=UTC_ZONE) + timedelta(microseconds=at)


def naive(local: int) -> datetime:
    """A local time as a naive datetime."""
    return _EPOCH + timedelta(microseconds=local)
