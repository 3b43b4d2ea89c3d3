"""The event loop on which a host's handlers run, and the hand-over between it and the thread that has the messages."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable

from ..handlers.environment import Environment
from ..handlers.run import Run, start
from ..storage.values import RunOrder, RunResult

GATHER_S = 0.002
"""How long the first of several results waits for company, and a batch for its confirmation."""


class HostLoop:
    """Starts orders on a loop. `begin`, `withdraw`, `finished` and `interrupt` are called from the messages' thread.

    `wake` is called on the loop when there is something to report; it must be safe to call from any thread.
    """

    def __init__(
        self, environment: Environment, wake: Callable[[], None], loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self.environment = environment
        self._wake = wake
        self._waiting: deque[RunOrder] = deque()
        self._finished: deque[RunResult] = deque()
        self._runs: dict[int, Run] = {}
        self._gathering: asyncio.TimerHandle | None = None
        self._beat = 0
        self.thread_id: int | None = None
        self._own = loop is None
        if loop is None:
            loop = asyncio.new_event_loop()
            started = threading.Event()
            thread = threading.Thread(target=self._serve, args=(loop, started), name="bellringer-loop", daemon=True)
            thread.start()
            started.wait()
        self.loop = loop

    def _serve(self, loop: asyncio.AbstractEventLoop, started: threading.Event) -> None:
        self.thread_id = threading.get_ident()
        asyncio.set_event_loop(loop)
        loop.call_soon(started.set)
        loop.run_forever()
        loop.close()

    # From the messages' thread

    def begin(self, orders: Iterable[RunOrder]) -> None:
        self._waiting.extend(orders)
        self.loop.call_soon_threadsafe(self._begin)

    def withdraw(self) -> list[RunOrder]:
        """Take back what the loop has not begun."""
        orders = []
        while self._waiting:
            try:
                orders.append(self._waiting.popleft())
            except IndexError:
                break
        return orders

    def abandon(self) -> list[int]:
        """Let nothing begin any more on a loop that does not move; the tokens of what had not begun."""
        self.environment.abandoned = True
        return [token for token, run in list(self._runs.items()) if run.started_at is None]

    def finished(self) -> list[RunResult]:
        """The results that came since the last call."""
        results = []
        while self._finished:
            results.append(self._finished.popleft())
        return results

    def interrupt(self, tokens: Iterable[int] | None = None) -> None:
        """Cut these runs, or all of them."""
        self.loop.call_soon_threadsafe(self._interrupt, None if tokens is None else tuple(tokens))

    def ask_for_a_beat(self) -> int:
        """Ask the loop to move; `beats` is above what this returns once it has."""
        before = self._beat
        self.loop.call_soon_threadsafe(self._count)
        return before

    @property
    def beats(self) -> int:
        return self._beat

    def current_token(self) -> int | None:
        """The run whose handler the loop is inside of at this moment."""
        task = asyncio.current_task(self.loop)
        if task is None:
            return None
        return next((token for token, run in list(self._runs.items()) if run.task is task), None)

    def close(self, within_s: float) -> None:
        """Close what the environment holds, and end the loop if it is this host's own."""
        if self.loop.is_closed():
            self.environment.threads.close()
            return
        closing = asyncio.run_coroutine_threadsafe(self.environment.close(), self.loop)
        try:
            closing.result(within_s)
        except TimeoutError:
            closing.cancel()
        finally:
            if self._own:
                self.loop.call_soon_threadsafe(self.loop.stop)

    # On the loop

    def _begin(self) -> None:
        began = False
        for order in self.withdraw():
            self._runs[order.token] = start(order, self.environment, self._end)
            began = True
        if began:
            self._gather()

    def _end(self, result: RunResult) -> None:
        self._runs.pop(result.token, None)
        self._finished.append(result)
        if self._runs or self._waiting:
            self._gather()
        else:
            self._report()

    def _gather(self) -> None:
        if self._gathering is None:
            self._gathering = self.loop.call_later(GATHER_S, self._report)

    def _report(self) -> None:
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        self._wake()

    def _interrupt(self, tokens: tuple[int, ...] | None) -> None:
        for token, run in list(self._runs.items()):
            if tokens is None or token in tokens:
                run.interrupt()

    def _count(self) -> None:
        self._beat += 1
