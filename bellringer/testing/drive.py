"""A whole Bellringer in one thread, under a clock that a test moves."""

from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import count
from pathlib import Path

from ..actors.client import SchedulerHandle
from ..actors.closures import Closures
from ..actors.messages import Event, Settings
from ..actors.synchronous import Wakeup
from ..handlers.dependencies import dependency
from ..handlers.registry import F, Function, Registry, handler
from ..storage.contract import Store
from ..storage.memory_store import MemoryStore
from ..storage.sqlite_store import open_store
from .clock import START, Duration, ManualClock, duration_us
from .core import DriveCore
from .hosts import DriveHost
from .store import DriveStore
from .transport import DriveTransport, SentMessage
from .world import World


class Drive(SchedulerHandle):
    """A `SchedulerHandle` on a system of its own, with the means to move its time and to break its parts.

    Supervisor, scheduler, store, hosts and runs are the real ones, in this thread. Nothing sleeps: what can happen
    at the present instant has happened when a call returns, and what lies ahead happens while `advance` passes it.
    Hand it to whatever takes a handle.

    Handlers run on a loop under the drive's clock, so `await asyncio.sleep(5)` ends when the drive has advanced by
    five seconds. A plain `def` handler runs in a thread for which everything waits; it must not wait for time.
    """

    def __init__(
        self,
        folder: Path,
        *,
        store: str | Store = "sqlite",
        at: datetime = START,
        hosts: int = 1,
        places: int = 100,
        restarts: int = 10,
        keep_days: float = 30.0,
        keep_occurrences: int = 1_000_000,
    ) -> None:
        """`store` is "sqlite" (a file in `folder`), "memory", or a store. `hosts` are handler actors."""
        self.clock = ManualClock(at)
        self.database = folder / "bot.db"
        settings = Settings(
            database=str(self.database),
            name="drive",
            handlers=("drive",) if hosts else (),
            handler_actors=hosts,
            places=places,
            restarts=restarts,
            keep_days=keep_days,
            keep_occurrences=keep_occurrences,
        )
        self.store = DriveStore(_opener(store, self.database))
        self._world = World(self.clock, self.store, settings, places=places)
        self._bot_core = DriveCore(self._world)
        super().__init__(self._bot_core)
        self.start()

    # Beginning and ending

    def start(self) -> None:
        """Start again on the same data, after `stop` or `crash`."""
        self._bot_core.bot.start()
        self._world.start()

    def crash(self) -> None:
        """Kill everything at once. Closures are gone; `start` finds what was stored."""
        self._world.crash()
        self._bot_core.closures = Closures(self.clock)

    def close(self) -> None:
        """Drop everything, without a word to anybody. The fixture does it."""
        self._world.dispose()

    # Time

    def advance(self, duration: Duration = 0, **parts: float) -> None:
        """Let time pass: `advance(1.5)` seconds, `advance(minutes=30)`. What falls due on the way runs on time."""
        self._world.pass_time(duration_us(duration, parts))

    def jump(self, *, wall: Duration | datetime = 0, monotonic: Duration = 0) -> None:
        """Move the clocks apart, and let nothing happen yet. See `ManualClock.jump`."""
        self.clock.jump(wall=wall, monotonic=monotonic)

    def run_due(self) -> None:
        """Let everything happen that is due: wake-ups ring whose time has come, and the guardian's heartbeat ticks."""
        self._world.tick()

    def settle(self) -> None:
        """Let happen what can happen at this instant, without a heartbeat."""
        self._world.settle()

    @property
    def ticking(self) -> bool:
        """Whether the guardian's heartbeat comes by itself while time passes: each second while anything runs."""
        return self._world.ticking

    @ticking.setter
    def ticking(self, ticking: bool) -> None:
        self._world.ticking = ticking

    @property
    def wakeups(self) -> tuple[Wakeup, ...]:
        """The wake-ups that are armed, of all actors."""
        return self._world.system.wakeups

    def drop_wakeups(self) -> int:
        """Lose every armed wake-up; how many there were."""
        return self._world.system.drop_wakeups()

    def ring_wakeups(self) -> None:
        """Have every armed wake-up ring at once, before its time."""
        self._world.system.ring()
        self._world.settle()

    # Handlers

    @property
    def registry(self) -> Registry:
        """The handlers of this drive, on top of those that the bot's modules register."""
        return self._world.registry

    def handler(self, name: str, *, needs: Iterable[str] = ()) -> Callable[[F], F]:
        """As `bellringer.handler`, for this drive only. It hides a handler of the same name."""

        def register(function: F) -> F:
            handler(name, needs=needs, registry=self._world.registry)(function)
            self._world.offer_again()
            return function

        return register

    def dependency(self, name: str) -> Callable[[F], F]:
        """As `bellringer.dependency`, for this drive only. It hides a dependency of the same name."""
        return dependency(name, factories=self._world.factories)

    def register_dependency(self, name: str, value: object) -> None:
        """Have handlers find this value under the name."""

        def give() -> object:
            return value

        factory: Function = give
        self._world.factories.add(name, factory)

    # What was seen

    @property
    def transport(self) -> DriveTransport:
        return self._world.transport

    @property
    def sent(self) -> list[SentMessage]:
        """What the handlers sent, in order."""
        return self._world.transport.messages

    @property
    def events(self) -> list[Event]:
        """What operators were told, in order. What a scheduler had not told when it was killed is missing."""
        return self._world.events

    @property
    def restarts(self) -> int:
        """How often the supervisor has made a child anew."""
        return self._world.state().restarts

    @property
    def failure(self) -> str | None:
        """Why the supervisor has given up, if it has."""
        return self._world.state().failed

    # Breaking things

    @property
    def hosts(self) -> list[DriveHost]:
        """The hosts that live, without the test's own."""
        return [host for host in self._world.hosts if not self._bot_core.bot.is_seated_in(host)]

    def host(self, registry: Registry | None = None, *, places: int = 100) -> DriveHost:
        """Attach one more host, which knows the drive's handlers, or those of a registry of its own."""
        host = self._world.add_host(registry or self._world.registry, places=places)
        self._world.settle()
        return host

    def remove_host(self, host: DriveHost) -> None:
        """Have a host leave in good order."""
        self._world.leave(host)

    def crash_scheduler(self) -> None:
        """Kill the scheduler: nothing is closed. Its supervisor makes another, after a pause if that happens often."""
        self._world.kill_scheduler()
        self._world.settle()

    def crash_host(self, host: DriveHost | None = None) -> None:
        """Kill a host, the first one if none is named. The supervisor replaces it if it is a handler actor."""
        self._world.crash_host(host or self.hosts[0])
        self._world.settle()

    def freeze_host(self, host: DriveHost | None = None) -> None:
        """Stop a host where it is, as SIGSTOP does: it lives, runs nothing, and says nothing."""
        (host or self.hosts[0]).frozen = True

    def thaw_host(self, host: DriveHost | None = None) -> None:
        """Let a frozen host go on, with what has come meanwhile."""
        self._world.thaw(host or self.hosts[0])
        self._world.settle()

    def hold_results(self) -> None:
        """Have every host sit on its results: what has run seems to be still running, until `release_results`."""
        self._world.hold(held=True)

    def release_results(self) -> None:
        self._world.hold(held=False)
        self._world.settle()

    def lose_messages(self, *kinds: type, times: int | None = None) -> None:
        """Lose the next messages of these kinds (see `bellringer.actors.messages`), or all; without a kind, none."""
        left = count(0) if times is None else range(times)
        lost = iter(left)
        self.lose_messages_if(lambda message: isinstance(message, kinds) and next(lost, None) is not None)

    def lose_messages_if(self, losing: Callable[[object], bool]) -> None:
        """Lose each message of which this says so, from now on."""
        self._world.system.lose(losing)


def _opener(store: str | Store, database: Path) -> Callable[[], Store]:
    if store == "sqlite":
        return lambda: open_store(database)
    if isinstance(store, str) and store != "memory":
        raise ValueError(f'store is {store!r}, but must be "sqlite", "memory" or a store')
    kept: Store = MemoryStore() if isinstance(store, str) else store
    return lambda: kept
