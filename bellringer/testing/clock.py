"""A clock that moves only when it is moved."""

from datetime import UTC, datetime, timedelta

import pendulum

from ..actors.views import moment

Duration = float | timedelta
"""Seconds, a timedelta or a pendulum.Duration."""

START = datetime(2026, 1, 1, tzinfo=UTC)
MONOTONIC_START_US = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class ManualClock:
    """A wall clock and a monotonic clock, moved together or apart. Both are read in microseconds."""

    def __init__(self, at: datetime = START) -> None:
        self._wall = _instant_us(at)
        self._monotonic = MONOTONIC_START_US

    def wall(self) -> int:
        return self._wall

    def monotonic(self) -> int:
        return self._monotonic

    @property
    def now(self) -> pendulum.DateTime:
        """What the wall clock shows, in UTC."""
        return moment(self._wall)

    def advance(self, duration: Duration = 0, **parts: float) -> None:
        """Let time pass on both clocks: `advance(1.5)` seconds, or `advance(hours=2, minutes=30)`."""
        passed = duration_us(duration, parts)
        if passed < 0:
            raise ValueError("time passes forwards: move the wall clock back with jump(wall=…)")
        self._wall += passed
        self._monotonic += passed

    def jump(self, *, wall: Duration | datetime = 0, monotonic: Duration = 0) -> None:
        """Move the clocks apart. The wall clock goes by a duration, either way, or to an instant.

        `jump(wall=300)` is a suspend, or a clock that was set forward; `jump(wall=-3600)` one that was set back.
        """
        passed = duration_us(monotonic, {})
        if passed < 0:
            raise ValueError("a monotonic clock never goes back")
        self._monotonic += passed
        self._wall = _instant_us(wall) if isinstance(wall, datetime) else self._wall + duration_us(wall, {})


def duration_us(duration: Duration, parts: dict[str, float]) -> int:
    """Microseconds of a duration and of parts such as `minutes=30` together."""
    whole = duration if isinstance(duration, timedelta) else timedelta(seconds=duration)
    microseconds = timedelta.__floordiv__(whole, _MICROSECOND)
    return microseconds + timedelta(**parts) // _MICROSECOND


def _instant_us(at: datetime) -> int:
    if at.utcoffset() is None:
        raise ValueError(f"{at.isoformat()} has no time zone, so it names no instant")
    return timedelta.__floordiv__(datetime.__sub__(at, _EPOCH), _MICROSECOND)
