"""What a drive drives: the real supervisor and scheduler over a real store, hosts, and the clock of them all."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from typing import TypeVar

from ..actors import alarm
from ..actors.errors import SchedulerUnavailableError
from ..actors.messages import (
    Event,
    GetState,
    MeetScheduler,
    Reply,
    ReplyBatch,
    Request,
    RequestBatch,
    Settings,
    StateTold,
    StopClaiming,
    Stopped,
    Supervise,
    Tick,
    Ticked,
)
from ..actors.names import SCHEDULER
from ..actors.synchronous import Address, Leave, Report, SynchronousSystem, Thaw, host_actor, supervisor
from ..handlers.registry import Registry
from ..storage.values import Cursor
from .clock import ManualClock
from .hosts import DriveHost
from .kernel import DriveKernel
from .registries import FactoriesOnTop, RegistryOnTop
from .store import DriveStore, SchedulerCrash
from .transport import DriveTransport

T = TypeVar("T")
BEAT_US = 1_000_000
REPEAT_AFTER_US = 50_000
LAST_SEQ = 2**63 - 1
ROUNDS_AT_ONE_INSTANT = 100_000


class World:
    """Everything of a drive but its public methods. `settle` lets happen what can happen at this instant."""

    def __init__(self, clock: ManualClock, store: DriveStore, settings: Settings, *, places: int) -> None:
        self.clock = clock
        self.store = store
        self.settings = settings
        self.registry = RegistryOnTop()
        self.factories = FactoriesOnTop()
        self.transport = DriveTransport(clock)
        self.hosts: list[DriveHost] = []
        self.events: list[Event] = []
        self.rejoined: Callable[[DriveHost], None] = _nothing
        self.ticking = True
        self.system: SynchronousSystem
        self.supervisor: Address
        self._places = places
        self._names = count(1)
        self._numbers = count(1)
        self._client = f"drive-{secrets.token_hex(4)}"
        self.kernel = DriveKernel(self.hosts)
        self._told: list[object] = []
        self._met: Address | None = None
        self._unwelcome: set[DriveHost] = set()
        self._settling = False
        self._held = False
        self.running = False

    # Beginning and ending

    def start(self) -> None:
        self.running = True
        self.system = SynchronousSystem(self.clock)
        self._met = None
        kind = supervisor(self._make_handler_actor, self._end_process)
        self.supervisor = self.system.make(kind)
        self.system.post(
            self.supervisor,
            Supervise(settings=self.settings, clock=self.clock, store=self.store.as_store(), kernel=self.kernel),
        )
        for host in self.hosts:
            self._seat(host)
        self.settle()

    def crash(self) -> None:
        """Kill every process at once."""
        for host in self.hosts:
            host.dispose()
        self._end()

    def stop(self, grace_us: int) -> int:
        """End in good order, as a guardian does; the number of runs that were interrupted."""
        message = StopClaiming(grace_us=grace_us)
        self.system.post(self.supervisor, message)
        scheduler = self.system.find(SCHEDULER)
        interrupted = 0
        if scheduler is not None:
            self.system.post(scheduler, message)
            self.settle()
            until = self.clock.monotonic() + grace_us + 2_000_000
            while (stopped := self._last(Stopped)) is None and self.clock.monotonic() < until:
                self.pass_time(min(BEAT_US, until - self.clock.monotonic()))
            if stopped is not None:
                interrupted = stopped.interrupted
                self.kernel.forget()  # the scheduler has closed them
        for host in self.hosts:
            host.dispose()
        self._end(cleanly=True)
        return interrupted

    def _end(self, *, cleanly: bool = False) -> None:
        self.running = False
        self.hosts.clear()
        self._unwelcome.clear()
        self._told.clear()
        self.kernel.close()
        self.store.reopen(cleanly=cleanly)

    def dispose(self) -> None:
        for host in self.hosts:
            host.dispose()
        self.kernel.close()
        self.store.dispose()

    # Hosts

    def add_host(
        self,
        registry: Registry,
        *,
        places: int,
        kind: str = "attached",
        name: str = "bot",
        on_event: Callable[[Event], None] | None = None,
    ) -> DriveHost:
        host = DriveHost(
            f"{name}{next(self._names)}",
            clock=self.clock,
            registry=registry,
            factories=self.factories,
            transport=self.transport,
            places=places,
            kind=kind,
            on_event=on_event,
        )
        host.runner.held = self._held
        self.hosts.append(host)
        if kind == "attached" and self.running:
            self._seat(host)
        return host

    def _make_handler_actor(self) -> DriveHost:
        host = self.add_host(self.registry, places=self._places, kind="handler actor", name="handlers")
        host.joins_after_listener = self._met is None
        return host

    def _seat(self, host: DriveHost) -> None:
        host.address = self.system.make(host_actor(lambda: host))
        self.introduce(host)

    def introduce(self, host: DriveHost) -> None:
        """Have an attached host offer its places to the scheduler that there is."""
        self._unwelcome.add(host)
        if self._met is not None and host.address is not None:
            self.system.post(host.address, MeetScheduler(scheduler=self._met))

    def offer_again(self) -> None:
        """Have every host tell the handlers that it knows by now."""
        for host in self.hosts:
            if host.address is not None and self._met is not None:
                self.system.post(host.address, MeetScheduler(scheduler=self._met))
        self.settle()

    def crash_host(self, host: DriveHost) -> None:
        """Kill a host's process. The kernel tells the scheduler, and the supervisor if it is a handler actor."""
        process, address = host.process, host.address
        host.dispose()
        self.hosts.remove(host)
        self._unwelcome.discard(host)
        scheduler = self.system.find(SCHEDULER)
        if scheduler is None:
            self.kernel.close(process)
        else:
            self.system.tell_of_ends(scheduler, self.kernel.ended(process))
        if address is not None:
            self.system.kill(address)

    def _end_process(self, process: str) -> None:
        for host in [host for host in self.hosts if host.process == process]:
            self.crash_host(host)

    def leave(self, host: DriveHost) -> None:
        assert host.address is not None
        self.system.post(host.address, Leave())
        self.settle()
        self.crash_host(host)

    def thaw(self, host: DriveHost) -> None:
        host.frozen = False
        self._go_on(host)

    def _go_on(self, host: DriveHost) -> None:
        if host.address is not None:
            self.system.post(host.address, Thaw())

    def hold(self, *, held: bool) -> None:
        self._held = held
        for host in self.hosts:
            host.runner.held = held

    # One instant

    def settle(self) -> None:
        """Deliver, run and report until nothing more happens without time passing."""
        if self._settling or not self.running:
            return
        with self._alone():
            for _ in range(ROUNDS_AT_ONE_INSTANT):
                self._deliver()
                self._meet_new_scheduler()
                reported = False
                for host in [host for host in self.hosts if host.moves]:
                    if host.step() and host.moves and not host.keeps_back and host.address is not None:
                        self.system.post(host.address, Report())
                        reported = True
                self._greet_welcome()
                if not reported and self.system.is_idle:
                    return
            raise AssertionError("the drive does not come to rest at this instant")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._settling = True
        try:
            yield
        finally:
            self._settling = False

    def _deliver(self) -> None:
        while True:
            try:
                told = self.system.run()
                break
            except SchedulerCrash:
                self.kill_scheduler()
        self._told += [message for message in told if not isinstance(message, Ticked)]

    def kill_scheduler(self) -> None:
        scheduler = self.system.find(SCHEDULER) if self.running else None
        if scheduler is None:
            raise SchedulerUnavailableError("no scheduler lives: let its supervisor make one, with advance(…)")
        self.kernel.close()
        self.store.reopen()
        self.system.kill(scheduler)
        self._met = None
        for host in self.hosts:
            host.joins_after_listener = host.kind == "handler actor"

    def _meet_new_scheduler(self) -> None:
        scheduler = self.system.find(SCHEDULER)
        if scheduler is not None and scheduler != self._met:
            self._met = scheduler
            for host in self.hosts:
                if host.kind == "attached":
                    self.introduce(host)
            self._deliver()
            # The test's own host listens: it comes first, so that it hears all that follows.
            for host in self.hosts:
                if host.joins_after_listener:
                    host.joins_after_listener = False
                    self._go_on(host)

    def _greet_welcome(self) -> None:
        for host in [host for host in self._unwelcome if host.running.scheduler is not None]:
            self._unwelcome.discard(host)
            self.rejoined(host)

    def tick(self) -> None:
        """The guardian's heartbeat."""
        for host in list(self._unwelcome):
            if host.alive and self._met is not None and host.address is not None:
                self.system.post(host.address, MeetScheduler(scheduler=self._met))
        scheduler = self.system.find(SCHEDULER) if self.running else None
        if scheduler is not None:
            self.system.post(scheduler, Tick())
        self.settle()

    # Time

    def pass_time(self, passing_us: int) -> None:
        """Let time pass, and let happen on the way what then happens, each at its own instant."""
        if self._settling:
            raise RuntimeError("time can't be moved from inside a handler: it runs at one instant")
        self.settle()
        until = self.clock.monotonic() + passing_us
        while self.running:
            now = self.clock.monotonic()
            busy = self._is_busy()
            beat = now + BEAT_US if busy else None
            at = min((at for at in (*self._coming(busy=busy), beat) if at is not None and at > now), default=until)
            if at >= until:
                break
            self._move(at - now)
            if at == beat:
                self._beat()
        self._move(until - self.clock.monotonic())
        if self.running and self.ticking:
            self.tick()

    def _move(self, passing_us: int) -> None:
        self.clock.advance(timedelta(microseconds=passing_us))
        self.settle()

    def _beat(self) -> None:
        for host in self.hosts:
            if host.moves and host.owes_a_sign and host.address is not None:
                self.system.post(host.address, Report())
        if self.ticking:
            self.tick()
        self.settle()

    def _is_busy(self) -> bool:
        if any(not host.running.idle or host.frozen for host in self.hosts) or self._unwelcome:
            return True
        if self.store.inner.jobs(status="claimed", limit=1):
            return True
        # After a jump what is due already has no instant to come.
        return bool(self.store.inner.due(self.clock.wall(), 1))

    def _coming(self, *, busy: bool) -> Iterator[int | None]:
        """When something happens next: superfluous instants do no harm."""
        now, wall = self.clock.monotonic(), self.clock.wall()
        attempt = self.store.inner.next_attempt_at(Cursor(wall, LAST_SEQ))
        yield None if attempt is None else attempt - wall + now
        ends = [pause.until for pause in self.store.inner.pauses() if pause.until is not None and pause.until > wall]
        yield min(ends) - wall + now if ends else None
        for waiting in self.system.wakeups:
            # One that only looks whether there is anything to do can be left out when there is not.
            if busy or waiting.duration_us != alarm.LONGEST_US:
                yield waiting.at
        for host in self.hosts:
            if host.moves:
                yield host.loop.next_timer_at

    # Asking

    def ask(self, request: Request, timeout_us: int) -> Reply:
        """One reply. As a client does, the question is repeated until it is answered or the time is up."""
        batch = RequestBatch(client=self._client, number=next(self._numbers), requests=(request,))
        until = self.clock.monotonic() + timeout_us
        while self.running:
            scheduler = self.system.find(SCHEDULER)
            if scheduler is not None:
                self.system.post(scheduler, batch)
                self._deliver()
                reply = self._reply(batch.number)
                if reply is not None:
                    self.settle()
                    return reply
            left = until - self.clock.monotonic()
            if left <= 0 or self._settling:
                break
            self.pass_time(min(REPEAT_AFTER_US, left))
        raise SchedulerUnavailableError("the scheduler does not answer: it was stopped, or its supervisor has given up")

    def _reply(self, number: int) -> Reply | None:
        for told in self._told:
            if isinstance(told, ReplyBatch) and told.number == number:
                self._told.remove(told)
                return told.replies[0]
        return None

    def _last(self, kind: type[T]) -> T | None:
        return next((told for told in reversed(self._told) if isinstance(told, kind)), None)

    def state(self) -> StateTold:
        """What the supervisor tells the guardian."""
        self._told.clear()
        self.system.post(self.supervisor, GetState())
        self._deliver()
        told = self._last(StateTold)
        assert told is not None
        return told


def _nothing(_host: DriveHost) -> None:
    pass
