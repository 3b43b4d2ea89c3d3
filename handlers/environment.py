"""What a host has for its runs."""

import asyncio
from typing import Protocol

from .dependencies import Dependencies
from .registry import Registry, default_registry
from .threads import Threads
from .transports import Transport


class Clock(Protocol):
    """Two clocks, in microseconds. Read from any thread."""

    def wall(self) -> int:
        """Since the epoch. It can jump."""
        ...

    def monotonic(self) -> int:
        """Since some start. It never goes back."""
        ...


class Environment:
    """The handlers, dependencies, transport and clock of one host. Belongs to one event loop."""

    def __init__(
        self,
        clock: Clock,
        *,
        registry: Registry = default_registry,
        dependencies: Dependencies | None = None,
        transport: Transport | None = None,
        threads: int = 32,
        grace_s: float = 1.0,
    ) -> None:
        """`threads`: how many plain `def` handlers run at once; the host's number of places fits.

        `grace_s`: how long a handler may take to end after its run was cut, before it is left behind.
        """
        self.clock = clock
        self.registry = registry
        self.dependencies = Dependencies() if dependencies is None else dependencies
        self.transport = transport
        self.threads = Threads(threads)
        self.grace_s = grace_s
        self.abandoned = False
        """Nothing is to begin here any more: what has not is told as never begun, and runs elsewhere."""
        self._stuck: set[asyncio.Task[None]] = set()

    @property
    def stuck_threads(self) -> int:
        """Plain handlers that were reported as ended but still hold a thread. A host with one should be replaced."""
        return self.threads.stuck

    @property
    def stuck_tasks(self) -> int:
        """Async handlers that were reported as ended but refuse to be cancelled."""
        return len(self._stuck)

    def leave_behind(self, task: asyncio.Task[None]) -> None:
        self._stuck.add(task)
        task.add_done_callback(self._stuck.discard)

    async def close(self) -> None:
        """Close the dependencies and the transport, and let the threads go. Call it when no run is left."""
        self.threads.close()
        await self.dependencies.close()
        if self.transport is not None:
            await self.transport.close()
