"""The one door to time. Nothing else in Bellringer reads a clock."""

import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks, in microseconds. The wall clock can jump; the monotonic one cannot, and stops in a suspend."""

    def wall(self) -> int:
        """Microseconds since 1970-01-01T00:00Z."""
        ...

    def monotonic(self) -> int:
        """Microseconds since some fixed moment."""
        ...


class SystemClock:
    """This machine's clocks."""

    __slots__ = ()

    def wall(self) -> int:
        return time.time_ns() // 1_000

    def monotonic(self) -> int:
        return time.monotonic_ns() // 1_000


SYSTEM_CLOCK = SystemClock()


def sleep(seconds: float) -> None:
    """Block this thread."""
    time.sleep(seconds)
