"""A second opinion about time that shares no code with the rules: slow, and simple enough to be checked by reading.

It reads the compiled zone files of the tzdata package (RFC 9636) itself, writes all local times of a rule out, and maps
each to its instants. Instants and local times are whole seconds since 1970.
"""

import re
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from importlib.resources import files
from itertools import pairwise

DAY = 86_400
FIRST_YEAR, LAST_YEAR = 1970, 2110
_EPOCH = date(1970, 1, 1)
_FOOTER = re.compile(
    r"(?P<std><[^>]+>|[A-Za-z]+)(?P<std_offset>[-+0-9:]+)"
    r"(?:(?P<dst><[^>]+>|[A-Za-z]+)(?P<dst_offset>[-+0-9:]*),(?P<begin>[^,]+),(?P<end>[^,]+))?"
)
_HEADER = struct.Struct(">4sc15x6l")


@dataclass(frozen=True)
class Change:
    """From an instant on, local time is UTC + `after`; until then it was UTC + `before`."""

    at: int
    before: int
    after: int


class ZoneFile:
    """One compiled zone file."""

    def __init__(self, name: str) -> None:
        data = files("tzdata.zoneinfo").joinpath(*name.split("/")).read_bytes()
        body, times, offsets = _second_block(data)
        footer = data[body:].decode().strip("\n")
        at_first = offsets[0] if offsets else _posix_offset(footer)
        told = [(at, offset) for at, offset in zip(times, offsets[1:], strict=True) if at >= 0]
        older = [offset for at, offset in zip(times, offsets[1:], strict=True) if at < 0]
        self.first_offset = older[-1] if older else at_first
        told += [change for change in _from_footer(footer) if change[0] > (times[-1] if times else -1)]
        self.changes: list[Change] = []
        offset = self.first_offset
        for at, after in told:
            if after != offset:
                self.changes.append(Change(at, offset, after))
                offset = after
        self._ats = [change.at for change in self.changes]

    def offset(self, at: int) -> int:
        """How far local time is ahead of UTC."""
        place = bisect_right(self._ats, at)
        return self.changes[place - 1].after if place else self.first_offset

    def pieces(self, first: int, last: int) -> list[tuple[int, int, int]]:
        """The stretches of one offset that make up a time: from when, until when, which offset."""
        cuts = [first, *self._ats[bisect_right(self._ats, first) : bisect_right(self._ats, last)], last + 1]
        return [(begin, end, self.offset(begin)) for begin, end in pairwise(cuts)]

    def wall(self, local: int) -> int:
        """The instant that a local time means: the earlier of two; within a gap by the offset before it."""
        meant = [local - offset for offset in self._offsets_around(local) if self.offset(local - offset) == offset]
        if meant:
            return min(meant)
        for change in self.changes:
            if change.at + change.before <= local < change.at + change.after:
                return local - change.before
        raise AssertionError(f"{local} is neither a local time nor in a gap")

    def _offsets_around(self, local: int) -> set[int]:
        return {offset for _, _, offset in self.pieces(local - 2 * DAY, local + 2 * DAY)}


@dataclass(frozen=True)
class Local:
    """What a rule asks for: on which local dates, at which seconds of the day, in order.

    `rhythm`: at every instant at which the local clock shows such a time; otherwise once for each date and time.
    """

    on: Callable[[date], bool]
    times: Sequence[int]
    rhythm: bool = False


def occurrences(zone: ZoneFile, asked: Local, first: int, last: int) -> list[int]:
    """All instants of a rule within a time, both ends included, in order."""
    if asked.rhythm:
        found = [
            local - offset
            for begin, end, offset in zone.pieces(first, last)
            for local in _local_times(asked, begin + offset, end - 1 + offset)
        ]
    else:
        near = _local_times(asked, first - 3 * DAY, last + 3 * DAY)
        found = [at for at in map(zone.wall, near) if first <= at <= last]
    return sorted(set(found))


def _local_times(asked: Local, first: int, last: int) -> list[int]:
    found: list[int] = []
    for day in range(first // DAY, last // DAY + 1):
        if asked.on(_EPOCH + timedelta(days=day)):
            low = bisect_left(asked.times, first - day * DAY)
            high = bisect_right(asked.times, last - day * DAY)
            found += [day * DAY + time for time in asked.times[low:high]]
    return found


@cache
def zone_file(name: str) -> ZoneFile:
    return ZoneFile(name)


@cache
def zone_names() -> tuple[str, ...]:
    names = files("tzdata").joinpath("zones").read_text().split()
    return tuple(sorted(name for name in names if name not in ("Factory", "localtime")))


@cache
def distinct_zones() -> tuple[str, ...]:
    """One name for each clock: many zones are but other names of another."""
    alike: dict[tuple[int, tuple[Change, ...]], str] = {}
    for name in zone_names():
        alike.setdefault((zone_file(name).first_offset, tuple(zone_file(name).changes)), name)
    return tuple(alike.values())


def _second_block(data: bytes) -> tuple[int, list[int], list[int]]:
    """Where the block with 64 bits ends, its instants, and its offsets, with the one before the first in front."""
    start = 0
    for width in (4, 8):
        magic, _, isutc, isstd, leaps, count, types, characters = _HEADER.unpack_from(data, start)
        assert magic == b"TZif"
        at = start + _HEADER.size
        times = list(struct.unpack_from(f">{count}{'q' if width == 8 else 'l'}", data, at))
        at += count * width
        chosen = data[at : at + count]
        at += count
        kinds = [struct.unpack_from(">l", data, at + 6 * number)[0] for number in range(types)]
        start = at + 6 * types + characters + leaps * (width + 4) + isstd + isutc
    return start, times, [kinds[0], *(kinds[number] for number in chosen)]


def _posix_offset(footer: str) -> int:
    found = _FOOTER.fullmatch(footer)
    assert found is not None
    return -_seconds(found["std_offset"])


def _from_footer(footer: str) -> list[tuple[int, int]]:
    found = _FOOTER.fullmatch(footer)
    if found is None or found["dst"] is None:
        return []
    standard = -_seconds(found["std_offset"])
    summer = -_seconds(found["dst_offset"]) if found["dst_offset"] else standard + 3_600
    changes = []
    for year in range(FIRST_YEAR, LAST_YEAR + 1):
        changes.append((_local_change(found["begin"], year) - standard, summer))
        changes.append((_local_change(found["end"], year) - summer, standard))
    return sorted(changes)


def _local_change(rule: str, year: int) -> int:
    """`M3.5.0/3` is the last Sunday of March, 03:00 on the clock that is still running."""
    day, _, time = rule.partition("/")
    month, week, weekday = map(int, day.removeprefix("M").split("."))
    days = [date(year, month, 1) + timedelta(days=ahead) for ahead in range(31)]
    fitting = [on for on in days if on.month == month and on.isoweekday() % 7 == weekday]
    on = fitting[-1] if week == 5 else fitting[week - 1]
    return (on - _EPOCH).days * DAY + (_seconds(time) if time else 7_200)


def _seconds(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    parts = [int(part) for part in text.lstrip("+-").split(":")] + [0, 0]
    return sign * (parts[0] * 3_600 + parts[1] * 60 + parts[2])
