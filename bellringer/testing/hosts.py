"""A host of a drive: the real host's side of the protocol and the real runs, on a loop under the manual clock."""

from collections.abc import Callable, Iterable

from ..actors.host import RunningHost
from ..actors.messages import Event, HostJoined, HostLeft, HostReported, RunBatch
from ..actors.synchronous import Address
from ..handlers.dependencies import Dependencies, Factories
from ..handlers.environment import Environment
from ..handlers.registry import Registry
from ..handlers.run import Run, start
from ..handlers.transports import Transport
from ..storage.values import RunOrder, RunResult
from .clock import ManualClock
from .loop import LockstepThreads, ManualLoop


class SteppedRunner:
    """Runs orders on a manual loop. While `held`, no result leaves it: to its host, everything still runs."""

    def __init__(self, environment: Environment, loop: ManualLoop) -> None:
        self.environment = environment
        self.held = False
        self._loop = loop
        self._runs: dict[int, Run] = {}
        self._results: list[RunResult] = []

    @property
    def has_news(self) -> bool:
        return bool(self._results) and not self.held

    def begin(self, orders: Iterable[RunOrder]) -> None:
        for order in orders:
            self._loop.call_soon(self._begin, order)

    def withdraw(self) -> list[RunOrder]:
        return []

    def finished(self) -> list[RunResult]:
        if self.held:
            return []
        results, self._results = self._results, []
        return results

    def interrupt(self, tokens: Iterable[int] | None = None) -> None:
        for token in list(self._runs) if tokens is None else tokens:
            if token in self._runs:
                self._loop.call_soon(self._runs[token].interrupt)

    def _begin(self, order: RunOrder) -> None:
        self._runs[order.token] = start(order, self.environment, self._end)

    def _end(self, result: RunResult) -> None:
        self._runs.pop(result.token, None)
        self._results.append(result)


class DriveHost:
    """One host. The drive makes it; a test may freeze it, crash it or have it leave."""

    def __init__(
        self,
        name: str,
        *,
        clock: ManualClock,
        registry: Registry,
        factories: Factories,
        transport: Transport,
        places: int,
        kind: str,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self._clock = clock
        self._on_event = on_event
        self.loop = ManualLoop(clock)
        self.environment = Environment(
            clock, registry=registry, dependencies=Dependencies(factories), transport=transport
        )
        self.environment.threads = LockstepThreads(self.loop)
        self.runner = SteppedRunner(self.environment, self.loop)
        self.running = RunningHost(kind=kind, runner=self.runner, places=places, incarnation="1", handlers=self.names)
        self.process = self.running.process = f"{name}-drive"
        self.running.host = f"{self.process}/1"
        self.running.wants_events = on_event is not None
        self.registry = registry
        self.address: Address | None = None
        self.kind = kind
        self.frozen = False
        self.joins_after_listener = False
        self.alive = True
        self._owes = False

    def __repr__(self) -> str:
        state = "dead" if not self.alive else "frozen" if self.frozen else "alive"
        return f"<DriveHost {self.process}: {state}, runs {len(self.running.running)}>"

    # What its actor asks

    @property
    def keeps_back(self) -> bool:
        return self.frozen or self.joins_after_listener

    def names(self) -> tuple[str, ...]:
        return self.registry.names()

    def joined(self) -> HostJoined:
        self._owes = False
        return self.running.joined()

    def take(self, batch: RunBatch) -> None:
        self.running.take(batch, self._clock.monotonic())
        self._owes = self._owes or bool(batch.orders or batch.events)
        if self._on_event is not None:
            for event in batch.events:
                self._on_event(event)

    def report(self) -> HostReported:
        self._owes = False
        return self.running.report(self._clock.monotonic())

    def left(self) -> HostLeft:
        return self.running.left()

    def stop_running(self, grace_us: int) -> None:
        self.loop.call_later(grace_us / 1e6, self.runner.interrupt)

    # What the drive asks

    @property
    def moves(self) -> bool:
        return self.alive and not self.frozen

    def step(self) -> bool:
        """Run what is ready. True: there is something to report."""
        self.loop.run_ready()
        return self._owes or self.runner.has_news

    @property
    def owes_a_sign(self) -> bool:
        return self.running.owes_a_report(self._clock.monotonic())

    def dispose(self) -> None:
        """Drop what still runs, without a word: as with a killed process, nothing of it goes on."""
        self.alive = False
        self.environment.threads.close()
        self.loop.abandon()
