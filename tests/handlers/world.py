"""A host without actors: what the tests of handlers run in."""

import asyncio
from collections.abc import Callable, Iterable

from bellringer.handlers.dependencies import Dependencies, Factories
from bellringer.handlers.environment import Environment
from bellringer.handlers.registry import Registry
from bellringer.handlers.run import run
from bellringer.handlers.transports.recorded import RecordedTransport
from bellringer.storage.values import RunOrder, RunResult

SECOND = 1_000_000
NOON = 1_782_907_200 * SECOND  # 2026-07-01T12:00:00Z


class HandClock:
    """Moves only when it is moved."""

    def __init__(self) -> None:
        self.now = NOON

    def wall(self) -> int:
        return self.now

    def monotonic(self) -> int:
        return self.now - NOON


class World:
    def __init__(self) -> None:
        self.clock = HandClock()
        self.registry = Registry()
        self.factories = Factories()
        self.transport = RecordedTransport()

    def environment(self, *, transport: bool = True, threads: int = 4) -> Environment:
        return Environment(
            self.clock,
            registry=self.registry,
            dependencies=Dependencies(self.factories),
            transport=self.transport if transport else None,
            threads=threads,
            grace_s=0.02,
        )

    def order(self, handler: str = "work", **changes: object) -> RunOrder:
        order = RunOrder(
            seq=1,
            token=11,
            id="job:1",
            handler=handler,
            chat_id=42,
            user_id=7,
            thread_id=None,
            payload="null",
            session=None,
            due_at=NOON,
            attempt=1,
            time_limit_us=60 * SECOND,
            run_key="job:1@noon",
        )
        return order._replace(**changes)  # type: ignore[arg-type]

    def add(self, function: Callable[..., object], name: str = "work", needs: Iterable[str] = ()) -> None:
        self.registry.add(name, function, needs)

    def run(self, function: Callable[..., object], **changes: object) -> RunResult:
        """Register the function and run one order for it, on a loop of its own."""
        self.add(function)

        async def main() -> RunResult:
            environment = self.environment()
            result = await run(self.order("work", **changes), environment)
            await environment.close()
            return result

        return asyncio.run(main())
