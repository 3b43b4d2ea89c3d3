"""The awaitable handle with the manners of the plain one, so that one test speaks to both."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from bellringer.aio import AsyncSchedulerHandle


class Blocking:
    """Runs each call on an event loop in a thread, and waits for it."""

    def __init__(self, handle: AsyncSchedulerHandle) -> None:
        self._handle = handle
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._handle, name)

        def call(*arguments: object, **options: object) -> object:
            return asyncio.run_coroutine_threadsafe(method(*arguments, **options), self._loop).result(20.0)

        return call

    def end(self) -> None:
        self.stop(grace=1.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
