"""The guardian's heartbeat: it covers lost wake-ups, suspends and clock jumps, and finds what hangs."""

import logging
import os
import signal
from collections.abc import Callable
from typing import Any

from thespian.actors import ActorAddress

from . import processes
from .clock import SYSTEM_CLOCK
from .messages import GetState, StateTold, Tick, Ticked
from .names import SCHEDULER
from .system import ask, find_actor

log = logging.getLogger("bellringer.guardian")

STATE_EVERY = 5
ANSWER_EVERY = 5
ANSWERED_LATELY_US = 6_000_000
HUNG_AFTER_US = 10_000_000


class Heartbeat:
    """One for each system that the guardian starts. Most beats are not answered, as an answer costs as much again."""

    def __init__(self, system: Any, supervisor: ActorAddress, take_state: Callable[[StateTold], None]) -> None:
        """`take_state` is called with what the supervisor tells of itself."""
        self._system = system
        self._supervisor = supervisor
        self._take_state = take_state
        self._known: ActorAddress | None = None
        self._answered_at = SYSTEM_CLOCK.monotonic()
        self._beats = 0

    def beat(self) -> None:
        """Have the scheduler look at the clock. One that has not answered for long is ended, and made anew."""
        self._beats += 1
        if self._beats % STATE_EVERY == 0:
            self.ask_state()
        scheduler = self.scheduler()
        now = SYSTEM_CLOCK.monotonic()
        if scheduler is not None and self._beats % ANSWER_EVERY and now - self._answered_at < ANSWERED_LATELY_US:
            self._system.tell(scheduler, Tick(answer=False))
            return
        if scheduler is not None:
            answer = ask(self._system, scheduler, Tick(), Ticked, 2.0, SYSTEM_CLOCK.monotonic)
            if answer is not None:
                self._answered_at = now
                return
        self.lost()
        told = self.ask_state()
        if told is not None and told.scheduler is not None and now - self._answered_at > HUNG_AFTER_US:
            log.error("the scheduler has not answered for %d s; ending it", HUNG_AFTER_US // 1_000_000)
            if processes.is_alive(told.scheduler):
                os.kill(int(told.scheduler.partition("-")[0]), signal.SIGKILL)
            self._answered_at = now

    def ask_state(self) -> StateTold | None:
        told = ask(self._system, self._supervisor, GetState(), StateTold, 2.0, SYSTEM_CLOCK.monotonic)
        if told is not None:
            self._take_state(told)
        return told

    def scheduler(self) -> ActorAddress | None:
        """Its address, remembered until it is `lost`."""
        if self._known is None:
            self._known = find_actor(self._system, self._system._systemBase.adminAddr, SCHEDULER, timeout_s=1.0)
        return self._known

    def lost(self) -> None:
        """Look the scheduler up anew the next time."""
        self._known = None
