"""An event loop whose time is a manual clock, and threads that keep step with it."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple, Unpack

from ..handlers.environment import Clock
from ..handlers.threads import Call, Threads

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

TURNS_AT_ONE_INSTANT = 100_000
THREAD_ANSWERS_WITHIN_S = 30.0


class StuckError(AssertionError):
    """A handler does not let the drive go on."""


class ManualLoop(asyncio.BaseEventLoop):
    """Runs what is ready and never waits for time: timers run once the clock has been moved to them. No network."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._manual = clock
        self._selector = _NothingToSelect()
        self._clock_resolution = 0.6e-6  # timers are floats, the clock counts whole microseconds
        self._called = threading.Event()
        self.busy_threads = 0
        """Calls that run in other threads; the loop waits for them before it calls itself idle."""

    def time(self) -> float:
        return self._manual.monotonic() / 1e6

    @property
    def next_timer_at(self) -> int | None:
        """When the earliest timer is due, in microseconds of the monotonic clock."""
        return min((round(timer.when() * 1e6) for timer in self._timers() if not timer.cancelled()), default=None)

    def run_ready(self) -> bool:
        """Run until nothing is ready at this instant. False: nothing was. Raises `StuckError`."""
        turns = 0
        while self._is_ready() or self.busy_threads:
            if not self._is_ready():
                self._wait_for_a_thread()
                continue
            turns += 1
            if turns > TURNS_AT_ONE_INSTANT:
                raise StuckError("a handler keeps its loop busy without ever waiting for time to pass")
            self.call_soon(self.stop)
            self.run_forever()
        return turns > 0

    def _is_ready(self) -> bool:
        at = self.next_timer_at
        return bool(self._ready) or (at is not None and at <= self._manual.monotonic())

    def _wait_for_a_thread(self) -> None:
        if not self._called.wait(THREAD_ANSWERS_WITHIN_S):
            raise StuckError(
                "a plain handler, or a call in a thread, does not end: time stands still until it does, so it must not "
                "wait for time to pass"
            )
        self._called.clear()

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Arguments]], T], *args: *Arguments
    ) -> asyncio.Future[T]:
        running = super().run_in_executor(executor, func, *args)
        self.busy_threads += 1
        running.add_done_callback(self._thread_ended)
        return running

    def _thread_ended(self, _future: object) -> None:
        self.busy_threads -= 1

    def note_call(self) -> None:
        """Something has happened in another thread."""
        self._called.set()

    def abandon(self) -> None:
        """Close the loop with whatever is on it. Handlers that it was running see nothing of it but their end."""
        for task in asyncio.all_tasks(self):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        self.close()

    def _timers(self) -> list[asyncio.TimerHandle]:
        timers: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        return timers

    _ready: Any
    _write_to_self = note_call

    def _process_events(self, _events: object) -> None:
        pass


class _NothingToSelect:
    def select(self, _timeout: float | None) -> list[object]:
        return []


class LockstepThreads(Threads):
    """Runs plain handlers one after another in one thread, while the loop that they belong to waits for them."""

    def __init__(self, loop: ManualLoop) -> None:
        super().__init__(1)
        self._loop = loop

    def submit(self, work: Callable[[], None]) -> Call:
        loop = self._loop
        loop.busy_threads += 1

        def end() -> None:
            loop.busy_threads -= 1

        def counted() -> None:
            try:
                work()
            finally:
                loop.call_soon_threadsafe(end)

        return super().submit(counted)

    def withdraw(self, call: Call) -> bool:
        withdrawn = super().withdraw(call)
        if withdrawn:
            self._loop.busy_threads -= 1
        return withdrawn
