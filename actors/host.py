"""The host's side of the protocol, whoever carries its messages: what it was given, what it holds, what it tells."""

from collections.abc import Callable, Iterable
from typing import Protocol

from ..handlers.environment import Environment
from ..storage.values import RunOrder, RunResult
from . import processes
from .closures import PREFIX
from .messages import HostJoined, HostLeft, HostReported, RunBatch

TELL_AGAIN_US = 2_000_000
SIGN_OF_LIFE_US = 5_000_000
START_WITHIN_US = 100_000


class Runner(Protocol):
    """Runs orders, somewhere. `host_loop.HostLoop` is the real one."""

    environment: Environment

    def begin(self, orders: Iterable[RunOrder]) -> None: ...

    def withdraw(self) -> list[RunOrder]: ...

    def finished(self) -> list[RunResult]: ...

    def interrupt(self, tokens: Iterable[int] | None = None) -> None: ...


class RunningHost:
    """Keeps each result until the scheduler has made it durable. Used by one thread.

    It is handed no more than it starts at once; what its loop does not begin in time it gives back.
    """

    def __init__(
        self, *, kind: str, runner: Runner, places: int, incarnation: str, handlers: Callable[[], tuple[str, ...]]
    ) -> None:
        self.process = processes.identity()
        self.host = f"{self.process}/{incarnation}"
        self.runner = runner
        self._kind = kind
        self._places = places
        self._handlers = handlers
        self._received = 0
        self._joining = 0
        self._holding: dict[int, RunOrder] = {}
        self._unsettled: dict[int, RunResult] = {}
        self._told: dict[int, int] = {}
        self._told_at = 0
        self._begun_at = 0
        self.open = True
        self.wants_events = False
        self.scheduler: str | None = None
        """The scheduler's process, once it has welcomed this host."""

    @property
    def idle(self) -> bool:
        """Nothing runs, and nothing is left to be settled."""
        return not self._holding and not self._unsettled

    @property
    def running(self) -> dict[int, RunOrder]:
        return self._holding

    def joined(self) -> HostJoined:
        self._collect()
        self._told = dict.fromkeys(self._unsettled, self._told_at)
        self._received = 0
        self._joining += 1
        self.scheduler = None
        return HostJoined(
            host=self.host,
            kind=self._kind,
            process=self.process,
            handlers=self._handlers(),
            places=self._places,
            holding=tuple(self._holding),
            results=tuple(self._unsettled.values()),
            wants_events=self.wants_events,
            joining=self._joining,
        )

    def take(self, batch: RunBatch, now: int) -> None:
        """Start what a batch orders, and forget what it settles. The same batch again starts nothing."""
        if batch.joining == self._joining:
            self.scheduler = batch.scheduler
        for token in batch.settled:
            self._unsettled.pop(token, None)
            self._told.pop(token, None)
        if batch.dropped:
            # A closure is not begun anew elsewhere, so one whose claim was lost may as well finish.
            held = [self._holding[token] for token in batch.dropped if token in self._holding]
            self.runner.interrupt([order.token for order in held if not order.handler.startswith(PREFIX)])
        if batch.joining != self._joining or not (batch.orders or batch.events):
            return  # orders from before the latest offer have been given to others meanwhile
        if batch.orders and batch.number <= self._received:
            return
        self._received = batch.number
        orders = [
            order for order in batch.orders if order.token not in self._holding and order.token not in self._unsettled
        ]
        if orders:
            self._begun_at = now
            self._holding.update((order.token, order) for order in orders)
            self.runner.begin(orders)

    def report(self, now: int) -> HostReported:
        """What is new; and again what is not settled though it was told a while ago: that report has gone astray."""
        self._collect()
        results = [
            result
            for token, result in self._unsettled.items()
            if token not in self._told or now - self._told[token] > TELL_AGAIN_US
        ]
        self._told.update((result.token, now) for result in results)
        self._told_at = now
        return HostReported(host=self.host, received=self._received, results=tuple(results), open=self.open)

    def owes_a_report(self, now: int) -> bool:
        """Whether something has to be told without being asked: results once more, or that this host lives."""
        if any(now - self._told.get(token, self._told_at) > TELL_AGAIN_US for token in self._unsettled):
            return True
        return bool(self._holding) and now - self._told_at > SIGN_OF_LIFE_US

    def left(self) -> HostLeft:
        self._collect()
        return HostLeft(host=self.host, results=tuple(self._unsettled.values()))

    def give_back(self, now: int) -> bool:
        """Give back what the loop has not begun in time. True: it does not move."""
        if now - self._begun_at < START_WITHIN_US:
            return False
        orders = self.runner.withdraw()
        at = self.runner.environment.clock.wall()
        for order in orders:
            reason = "the host's loop is blocked"
            self._finish(RunResult(order.seq, order.token, "not_started", at, at, reason=reason))
        return bool(orders)

    def decline(self, batch: RunBatch) -> None:
        """Give back a whole batch: there is no loop any more that could begin it."""
        at = self.runner.environment.clock.wall()
        for order in batch.orders:
            self._unsettled[order.token] = RunResult(
                order.seq, order.token, "not_started", at, at, reason="its host's event loop is closed"
            )

    def give_up(self, tokens: Iterable[int]) -> None:
        """Give back what was begun without its handler having been called."""
        at = self.runner.environment.clock.wall()
        for token in tokens:
            order = self._holding.get(token)
            if order is not None:
                self._finish(RunResult(order.seq, token, "not_started", at, at, reason="its host could not go on"))

    def fail(self, token: int, reason: str) -> None:
        """A run that will never end by itself."""
        order = self._holding.get(token)
        if order is not None:
            at = self.runner.environment.clock.wall()
            self._finish(RunResult(order.seq, token, "failed", at, at, reason=reason))

    def _collect(self) -> None:
        for result in self.runner.finished():
            self._finish(result)

    def _finish(self, result: RunResult) -> None:
        if self._holding.pop(result.token, None) is not None:
            self._unsettled[result.token] = result
