"""The exchange for event loops: what the tasks of a loop ask at one moment travels together."""

import asyncio
import threading
from collections.abc import Sequence
from typing import NamedTuple

from .clock import SYSTEM_CLOCK
from .errors import SchedulerUnavailableError
from .exchange import REQUESTS_AT_ONCE, Exchange
from .messages import Reply, Request


class Asked(NamedTuple):
    request: Request
    until: int
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Reply]"


class AsyncExchange:
    """A thread that carries the requests of tasks, over an `Exchange`. Used from any number of loops."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._changed = threading.Condition()
        self._asked: list[Asked] = []
        self._thread: threading.Thread | None = None
        self._closed = False

    async def call(self, request: Request, timeout_s: float) -> Reply:
        """Raises `SchedulerUnavailableError` past the timeout. What a cancelled task asked for may still be done."""
        loop = asyncio.get_running_loop()
        until = SYSTEM_CLOCK.monotonic() + int(timeout_s * 1e6)
        asked = Asked(request, until, loop, loop.create_future())
        with self._changed:
            if self._closed:
                raise SchedulerUnavailableError("this handle was stopped; connect again")
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._serve, name="bellringer-requests", daemon=True)
                self._thread.start()
            self._asked.append(asked)
            if len(self._asked) == 1:
                self._changed.notify()
        return await asked.future

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not self._asked:
                    if self._closed:
                        return
                    self._changed.wait()
                taken = self._asked[:REQUESTS_AT_ONCE]
                del self._asked[:REQUESTS_AT_ONCE]
            self._carry(taken)

    def _carry(self, taken: Sequence[Asked]) -> None:
        """Ask for all of them, as long as the shortest of them waits; the others go on after that."""
        now = SYSTEM_CLOCK.monotonic()
        shortest = min(asked.until for asked in taken)
        try:
            replies = self._exchange.call([asked.request for asked in taken], max(0.0, (shortest - now) / 1e6))
        except SchedulerUnavailableError as error:
            now = SYSTEM_CLOCK.monotonic()
            over = [asked for asked in taken if asked.until <= now + 1_000 or len(taken) == 1]
            self._tell([(asked, error) for asked in over or taken])
            again = [asked for asked in taken if over and asked not in over]
            with self._changed:
                self._asked[:0] = again
        except Exception as error:  # noqa: BLE001  the border of a thread: whoever asked is told what went wrong
            self._tell([(asked, error) for asked in taken])
        else:
            self._tell(list(zip(taken, replies, strict=True)))

    @staticmethod
    def _tell(answers: Sequence[tuple[Asked, Reply | Exception]]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Asked, Reply | Exception]]] = {}
        for asked, answer in answers:
            by_loop.setdefault(asked.loop, []).append((asked, answer))
        for loop, told in by_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, told)


def _settle(told: Sequence[tuple[Asked, Reply | Exception]]) -> None:
    for asked, answer in told:
        if not asked.future.done():
            if isinstance(answer, Exception):
                asked.future.set_exception(answer)
            else:
                asked.future.set_result(answer)
