"""Threads for plain `def` handlers. One that never comes back can be left behind without costing a place."""

import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable


class Call:
    """Work that was handed in."""

    __slots__ = ("_ended", "_left", "_started_in", "_work")

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._started_in: int | None = None
        self._ended = False
        self._left = False


class Threads:
    """At most `limit` threads at work. They are daemons: a stuck one must not keep the process from ending."""

    def __init__(self, limit: int = 32) -> None:
        self._limit = limit
        self._changed = threading.Condition()
        self._queue: deque[Call] = deque()
        self._alive = 0
        self._idle = 0
        self._stuck = 0
        self._closed = False

    @property
    def stuck(self) -> int:
        """How many threads were left behind and are still not back."""
        return self._stuck

    def submit(self, work: Callable[[], None]) -> Call:
        """Have it called in a thread as soon as one is free. It must not raise."""
        call = Call(work)
        with self._changed:
            self._queue.append(call)
            if self._idle >= len(self._queue):
                self._changed.notify()
            else:
                self._grow()
        return call

    def withdraw(self, call: Call) -> bool:
        """Take back what has not begun. False: it has."""
        with self._changed:
            if call._started_in is not None:
                return False
            if call in self._queue:
                self._queue.remove(call)
            return True

    def leave(self, call: Call) -> str | None:
        """Give up on a call that has begun: where it stands, or None if it has ended after all."""
        with self._changed:
            if call._ended or call._left:
                return None
            call._left = True
            self._stuck += 1
            self._alive -= 1
            if self._queue:
                self._grow()
        frame = sys._current_frames().get(call._started_in or 0)
        return "".join(traceback.format_stack(frame))

    def close(self) -> None:
        """Let the threads end after what they have begun."""
        with self._changed:
            self._closed = True
            self._queue.clear()
            self._changed.notify_all()

    def _grow(self) -> None:
        if self._alive < self._limit:
            self._alive += 1
            threading.Thread(target=self._serve, name="bellringer-handler", daemon=True).start()

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not self._queue:
                    if self._closed:
                        self._alive -= 1
                        return
                    self._idle += 1
                    self._changed.wait()
                    self._idle -= 1
                call = self._queue.popleft()
                call._started_in = threading.get_ident()
            call._work()
            with self._changed:
                call._ended = True
                if call._left:
                    self._stuck -= 1
                    return
            del call
