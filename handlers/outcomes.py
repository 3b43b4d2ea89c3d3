"""What a handler can ask for when it ends: nothing (done), `Retry` or `Park`."""

import math
from datetime import timedelta

MAXIMUM_DELAY_US = 366 * 86_400 * 1_000_000


class HandlerOutcome(Exception):
    """The base of what a handler returns, or raises where returning is awkward.

    Returning is better: a raised outcome is swallowed by an `except Exception` on its way.
    """


class Retry(HandlerOutcome):
    """Run this occurrence again.

    `after` is in seconds, or a timedelta or pendulum Duration; without it the scheduler chooses its backoff.
    It is rounded up to a microsecond; below zero it means at once, and beyond 366 days it means 366 days.
    What the handler did to its session, scheduled and cancelled is kept.
    """

    def __init__(self, after: float | timedelta | None = None, reason: str = "") -> None:
        super().__init__(reason)
        self.after_us = None if after is None else _delay_us(after)
        self.reason = reason


class Park(HandlerOutcome):
    """Set the job aside with this reason until somebody redrives it. Session, schedules and cancels are kept."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _delay_us(after: float | timedelta) -> int:
    if isinstance(after, timedelta):
        # The method of timedelta itself: that of pendulum's Duration fails unless both are Durations.
        microseconds = timedelta.__floordiv__(after, timedelta(microseconds=1))
    elif isinstance(after, bool) or not isinstance(after, (int, float)):
        raise TypeError(f"Retry(after=…) takes seconds or a duration, not {after!r}")
    elif math.isnan(after):
        raise ValueError("Retry(after=nan) names no delay; give seconds or a duration")
    elif isinstance(after, float):
        microseconds = MAXIMUM_DELAY_US if after * 1e6 >= MAXIMUM_DELAY_US else math.ceil(max(after, 0) * 1e6)
    else:
        microseconds = after * 1_000_000
    return min(max(microseconds, 0), MAXIMUM_DELAY_US)
