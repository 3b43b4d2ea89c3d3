"""One wake-up of an actor for the earliest instant that it waits for."""

from datetime import timedelta
from typing import Any

from . import corrections
from .clock import Clock

LONGEST_US = 60_000_000
"""The library's own limit is 24 days, past which the actor never answers again; a minute bounds a clock jump too."""


class Alarm:
    """At most one wake-up is armed. One that rings with the number of an earlier arming means nothing."""

    def __init__(self, actor: Any, clock: Clock) -> None:
        self._actor = actor
        self._clock = clock
        self._number = 0
        self.until: int | None = None
        """The instant that it is armed for."""

    def arm(self, at: int | None, now: int) -> None:
        """Have it ring at this instant, or in a minute at the latest, unless it rings earlier anyway."""
        at = now + LONGEST_US if at is None else min(at, now + LONGEST_US)
        if self.until is not None and now < self.until <= at:
            return
        corrections.forget_wakeups(self._actor)
        self._number += 1
        self.until = at
        # The clock is read anew: a pass has taken its time since `now`.
        after_us = max(at - self._clock.wall(), 1)
        self._actor.wakeupAfter(timedelta(microseconds=after_us), self._number)

    def rings(self, payload: object) -> bool:
        """Whether a wake-up is the one that was armed last; it is spent then."""
        if payload != self._number:
            return False
        self.until = None
        return True

    def is_due(self, now: int) -> bool:
        """Whether it should have rung by now: it was lost, or the clock has jumped."""
        return self.until is None or now >= self.until

    @property
    def armed(self) -> int:
        """How many wake-ups the library holds for this actor."""
        return corrections.armed_wakeups(self._actor)
