"""What all rules share: their bounds, their zone, and the two ways to ask them."""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from datetime import UTC as UTC_ZONE
from datetime import datetime, timedelta
from typing import ClassVar, Final, Self, overload

import pendulum

from ..durations import Duration, microseconds, shown
from ..errors import InvalidJobError
from . import zones
from .zones import MAX_INSTANT

MAX_COUNT: Final = 100_000
_WALKED: Final = 64
# A count that lasts beyond that need not be counted out: its job will not live to see the end.
_COUNTED_US: Final = 250 * 366 * zones.DAY_US
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC_ZONE)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(ABC):
    """How the due times of a job follow one another. A plain value: equal rules are one rule, and nothing is read.

    `start` and `until` bound it, both included: as local times of its zone where they are naive. `count` ends it
    after so many due times. `jitter_us` spreads jobs that would all be due at once: each job is later by its own
    share of it, `share_us`, which is drawn when it is scheduled and stays, so that distances stay exact.
    """

    zone: str | None = None
    """Where its local times hold. None: where its chat is, or UTC."""
    start: datetime | None = None
    until: datetime | None = None
    count: int | None = None
    jitter_us: int = 0
    share_us: int = 0
    last: datetime | None = None
    """The last of `count` due times, once it is known."""
    _start_at: int | None = field(default=None, init=False, repr=False, compare=False)
    _end_at: int | None = field(default=None, init=False, repr=False, compare=False)

    keeps_local_time: ClassVar[bool] = True
    """Whether it follows the clock on the wall of its zone."""

    def __post_init__(self) -> None:
        if self.zone is not None:
            zones.zone(self.zone)
        if self.count is not None and (type(self.count) is not int or not 1 <= self.count <= MAX_COUNT):
            raise InvalidJobError(f"count is {self.count!r}, but must be from 1 to {MAX_COUNT}; use until for more")
        if not 0 <= self.share_us <= self.jitter_us:
            raise InvalidJobError(f"the job's share of the jitter is {self.share_us}, but must be in the jitter")
        for name in ("start", "until", "last"):
            bound: datetime | None = getattr(self, name)
            if bound is not None:
                if not isinstance(bound, datetime):
                    raise InvalidJobError(f"{name} is {ascii(bound)[:40]}, but must be a datetime")
                object.__setattr__(self, name, self._settled(bound))
        object.__setattr__(self, "_start_at", None if self.start is None else self._instant(self.start))
        ends = [self._instant(bound) for bound in (self.until, self.last) if bound is not None]
        object.__setattr__(self, "_end_at", min(ends, default=None))
        if self._start_at is not None and self._end_at is not None and self._start_at > self._end_at:
            raise InvalidJobError(f"the rule {self} ends before it starts")

    @property
    def is_homeless(self) -> bool:
        """Whether its local times hold in a zone that it does not name."""
        return self.keeps_local_time and self.zone is None

    # What a rule is asked

    @overload
    def next(self, after: int) -> int | None: ...
    @overload
    def next(self, after: datetime) -> pendulum.DateTime | None: ...
    def next(self, after: int | datetime) -> int | pendulum.DateTime | None:
        """The first due time later than `after`, in bounded steps; None: there is none.

        Instants are microseconds since the epoch, or datetimes with a time zone; the answer is of the same kind.
        """
        if isinstance(after, datetime):
            at = self._next(_microseconds(after))
            return None if at is None else self.moment(at)
        return self._next(after)

    def previous(self, at: int) -> int | None:
        """The last due time at or before an instant; None: there is none, back to 1970."""
        self._need_end()
        limit = at - self.share_us
        if self._end_at is not None:
            limit = min(limit, self._end_at)
        found = self._grid_previous(limit)
        if found is None or (self._start_at is not None and found < self._start_at):
            return None
        return found + self.share_us

    def total(self, first: int, last: int) -> int:
        """How many due times lie from one instant to another, both included; by arithmetic, not one by one."""
        self._need_end()
        low, high = first - self.share_us, last - self.share_us
        if self._start_at is not None:
            low = max(low, self._start_at)
        if self._end_at is not None:
            high = min(high, self._end_at)
        return self._grid_total(low, high) if low <= high else 0

    def upcoming(self, after: int, number: int) -> list[int]:
        """The next so many due times, or as many as there are."""
        found: list[int] = []
        at: int | None = after
        while len(found) < number and at is not None:
            at = self._next(at)
            if at is not None:
                found.append(at)
        return found

    def moment(self, at: int) -> pendulum.DateTime:
        """An instant as a datetime in the rule's zone; in UTC where that would be past the year 9999."""
        utc = pendulum.DateTime(1970, 1, 1, tzinfo=pendulum.UTC) + timedelta(microseconds=at)
        try:
            return utc.in_timezone(self.zone or zones.UTC)
        except OverflowError:
            return utc

    # How a rule becomes a job's own

    def in_zone(self, zone: str) -> Self:
        """The same local times in another zone."""
        return replace(self, zone=zone)

    def starting(self, now: int, seed: str = "") -> Self:
        """The rule of one job that is scheduled at `now`: with everything fixed that hangs on when that is.

        The job's share of the jitter is drawn by `seed`. Raises `InvalidJobError` if it has no due time at all.
        """
        rule = self._anchored(now)
        if rule.jitter_us and not rule.share_us:
            drawn = int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=8).digest(), "big")
            rule = replace(rule, share_us=drawn % (rule.jitter_us + 1))
        if rule.count is not None and rule.last is None:
            if rule.start is None:
                rule = rule._from_first(now)
            rule = rule._counted()
        if rule._next(now) is None:
            raise InvalidJobError(f"the rule {self} has no due time after {self.moment(now).isoformat()}")
        return rule

    @property
    @abstractmethod
    def text(self) -> str:
        """The rule without its bounds, as people write it: `daily 09:00`."""

    def __str__(self) -> str:
        parts = [self.text]
        if self.zone is not None and self.keeps_local_time:
            parts.append(f"in {self.zone}")
        for name in ("start", "until"):
            bound = getattr(self, name)
            if bound is not None:
                parts.append(f"{name} {bound.isoformat()}")
        if self.count is not None:
            parts.append(f"{self.count} times")
        if self.jitter_us:
            parts.append(f"spread over {timedelta(microseconds=self.jitter_us)}")
        return ", ".join(parts)

    # What each kind of rule tells, without bounds and jitter

    @abstractmethod
    def _grid_next(self, after: int) -> int | None: ...

    @abstractmethod
    def _grid_previous(self, at: int) -> int | None: ...

    @abstractmethod
    def _grid_total(self, first: int, last: int) -> int: ...

    def _anchored(self, now: int) -> Self:
        return self

    def _from_first(self, now: int) -> Self:
        """With the first due time that comes as its start, if there is one."""
        first = self._grid_next(now)
        return self if first is None else replace(self, start=self._bound(first))

    # Bounds

    def _next(self, after: int) -> int | None:
        if self.count is not None:
            self._need_end()
        low = after - self.share_us
        if self._start_at is not None and low < self._start_at:
            low = self._start_at - 1
        at = self._grid_next(low)
        if at is None or (self._end_at is not None and at > self._end_at):
            return None
        at += self.share_us
        return at if at <= MAX_INSTANT else None

    def _need_end(self) -> None:
        if self.count is not None and self.last is None:
            if self.start is None:
                raise InvalidJobError(f"the rule {self} counts, so it needs a start")
            counted = self._counted()
            object.__setattr__(self, "last", counted.last)
            object.__setattr__(self, "_end_at", counted._end_at)

    def _counted(self) -> Self:
        """With `last` filled in: by arithmetic in growing steps, and then one by one."""
        assert self.count is not None
        assert self._start_at is not None
        place, left, step_us = max(self._start_at, 0) - 1, self.count, zones.DAY_US
        end_at = MAX_INSTANT - 2 * zones.DAY_US if self._end_at is None else self._end_at
        reach_at = min(end_at, place + _COUNTED_US)
        while left > _WALKED and place < reach_at:
            number = self._grid_total(place + 1, place + step_us)
            if number < left:
                place, left, step_us = place + step_us, left - number, step_us * 2
            else:
                step_us //= 2
        at: int | None = place
        for _ in range(left if place < reach_at else 0):
            at = None if at is None else self._grid_next(at)
        if at is None or at >= reach_at:
            at = end_at if self._end_at is not None else max(end_at, self._start_at)
        return replace(self, last=self._bound(at))

    def _bound(self, at: int) -> datetime:
        """An instant as a bound is kept."""
        if self.keeps_local_time and self.zone is not None:
            there = zones.zone(self.zone)
            local = there.local(at)
            if there.instant(local) == at:
                return zones.naive(local)
        return _EPOCH + timedelta(microseconds=at)

    def _settled(self, bound: datetime) -> datetime:
        """A bound as it is kept: local time for a rule that follows the clock on the wall, else an instant."""
        if bound.tzinfo is None and self.keeps_local_time:
            return zones.naive(zones.local_of(bound))
        return self._bound(self._instant(bound))

    def _instant(self, bound: datetime) -> int:
        if bound.tzinfo is not None:
            return _microseconds(bound)
        return zones.zone(self.zone or zones.UTC).instant(zones.local_of(bound))


def _microseconds(moment: datetime) -> int:
    if moment.utcoffset() is None:
        raise InvalidJobError(f"{moment.isoformat()} has no time zone, so it names no instant")
    us = timedelta.__floordiv__(datetime.__sub__(moment, _EPOCH), _MICROSECOND)
    if not 0 <= us <= MAX_INSTANT:
        raise InvalidJobError(f"{moment.isoformat()} lies outside of the years 1970 to 9999")
    return us


def spread_us(jitter: Duration | None) -> int:
    """A jitter as microseconds."""
    us = 0 if jitter is None else microseconds(jitter, "jitter")
    if not 0 <= us <= 366 * zones.DAY_US:
        raise InvalidJobError(f"jitter is {shown(jitter)}, but must be from 0 to 366 days")
    return us
