"""Rules that count elapsed time: every so often, and once."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, Final, Self

from ..errors import InvalidJobError
from . import zones
from .base import Rule
from .zones import DAY_US, MAX_INSTANT, SECOND_US

MINIMUM_INTERVAL_US: Final = 1_000
MAXIMUM_INTERVAL_US: Final = 36_525 * DAY_US


@dataclass(frozen=True, slots=True, kw_only=True)
class Every(Rule):
    """A span of real time, on the grid that `start` begins: a day is 24 hours, also when the clocks change."""

    interval_us: int

    keeps_local_time: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not MINIMUM_INTERVAL_US <= self.interval_us <= MAXIMUM_INTERVAL_US:
            raise InvalidJobError(
                f"the interval is {self.interval_us} microseconds, but must be from 1 millisecond to 36525 days"
            )
        Rule.__post_init__(self)

    @property
    def text(self) -> str:
        return f"every {shown_span(self.interval_us)}"

    @property
    def is_plain(self) -> bool:
        """Whether nothing but its first due time has to be known."""
        return self.until is None and self.count is None and not self.jitter_us

    @property
    def _anchor(self) -> int:
        return 0 if self._start_at is None else self._start_at

    def _grid_next(self, after: int) -> int | None:
        anchor, step = self._anchor, self.interval_us
        if after < anchor:
            return anchor
        at = anchor + ((after - anchor) // step + 1) * step
        return at if at <= MAX_INSTANT else None

    def _grid_previous(self, at: int) -> int | None:
        anchor, step = self._anchor, self.interval_us
        return None if at < anchor else anchor + (at - anchor) // step * step

    def _grid_total(self, first: int, last: int) -> int:
        anchor, step = self._anchor, self.interval_us
        low = max(0, -((anchor - first) // step))
        return max(0, (last - anchor) // step - low + 1) if last >= anchor else 0

    def _anchored(self, now: int) -> Self:
        """Without a start the grid begins one interval from now."""
        if self.start is not None:
            return self
        if now + self.interval_us > MAX_INSTANT:
            raise InvalidJobError(f"the rule {self} leads past the year 9999")
        return replace(self, start=self._bound(now + self.interval_us))

    def starting_at(self, at: int) -> Self:
        """On the grid that this instant begins."""
        return replace(self, start=self._bound(at))

    def _counted(self) -> Self:
        assert self.count is not None
        last = min(self._anchor + (self.count - 1) * self.interval_us, MAX_INSTANT)
        return replace(self, last=self._bound(last))


@dataclass(frozen=True, slots=True, kw_only=True)
class At(Rule):
    """Once: at an instant, or at a local time of its zone."""

    at: datetime
    _at: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.at, datetime):
            raise InvalidJobError(f"a rule comes at a datetime, not at {ascii(self.at)[:40]}")
        Rule.__post_init__(self)
        if self.zone is not None:
            object.__setattr__(self, "at", self._settled(self.at))
        object.__setattr__(self, "_at", self._instant(self.at))
        if not 0 <= self._at <= MAX_INSTANT:
            raise InvalidJobError(f"{self.at.isoformat()} lies outside of the years 1970 to 9999")

    @property
    def text(self) -> str:
        return f"at {self.at.isoformat(sep=' ')}"

    @property
    def is_local(self) -> bool:
        """Whether it is kept as a local time, and not as an instant."""
        return self.at.tzinfo is None

    def _grid_next(self, after: int) -> int | None:
        return self._at if self._at > after else None

    def _grid_previous(self, at: int) -> int | None:
        return self._at if self._at <= at else None

    def _grid_total(self, first: int, last: int) -> int:
        return int(first <= self._at <= last)


def shown_span(us: int) -> str:
    """`1h30m`, `90s` as `1m30s`, `0.5s`: what the notation reads back."""
    whole, rest = divmod(us, SECOND_US)
    parts = []
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        count, whole = divmod(whole, size)
        if count:
            parts.append(f"{count}{unit}")
    if rest:
        parts.append(f"{whole}.{rest:06}".rstrip("0") + "s")
    elif whole or not parts:
        parts.append(f"{whole}s")
    return "".join(parts)


def local_text(at: At) -> str | None:
    """The local time of a job that runs once, as it is stored beside its zone."""
    return at.at.isoformat() if at.is_local else None


def instant_of(local_at: str, zone: str) -> int:
    """The instant of a stored local time. Raises `InvalidJobError` or `ValueError` for what can't be read."""
    return zones.zone(zone).instant(zones.local_of(datetime.fromisoformat(local_at)))
