"""The actors in one thread, under a clock that somebody moves: what `bellringer.testing` drives.

Nothing here waits. Messages are delivered when `run` is called, and wake-ups ring when the clock has been moved
to their time.
"""

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple, Protocol

from thespian.actors import Actor, ActorAddress, ActorExitRequest, ActorSystem, WakeupMessage, WatchMessage
from thespian.system.simpleSystemBase import ActorSystemBase, PendingSend

from .clock import Clock
from .messages import (
    EndHost,
    HandlersLoaded,
    HostJoined,
    HostLeft,
    HostReported,
    JoinAgain,
    LoadHandlers,
    MeetScheduler,
    RunBatch,
    StopRunning,
)
from .supervisor import Supervisor

log = logging.getLogger("bellringer.synchronous")

_MICROSECOND = timedelta(microseconds=1)
Address = ActorAddress


class Wakeup(NamedTuple):
    """An armed wake-up, in microseconds of the monotonic clock."""

    actor: ActorAddress
    at: int
    payload: object
    duration_us: int


class SynchronousSystem(ActorSystem):
    """An actor system of its own for one drive."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        super().__init__(transientUnique=True)

    def _startupActorSys(self, *_arguments: Any) -> Any:
        self.systemAddress = ActorAddress("/ActorSys")
        self.capabilities: dict[str, object] = {}
        self._systemBase = _Base(self, self._clock)
        return self._systemBase

    def make(self, kind: type[Actor]) -> ActorAddress:
        """One more actor, whom nobody supervises."""
        address: ActorAddress = self.createActor(kind)
        return address

    def post(self, address: ActorAddress, message: object) -> None:
        """Queue a message; it is delivered by `run`."""
        self._systemBase.actor_send(self._systemBase.outside.address, address, message)

    def run(self) -> list[object]:
        """Deliver until nothing is left to deliver. What was sent to the outside."""
        self._systemBase._runSends()
        told = getattr(self._systemBase.outside.instance, "responses", [])
        self._systemBase.outside.instance.responses = []
        return list(told)

    @property
    def is_idle(self) -> bool:
        return not self._systemBase._pendingSends and all(
            waiting.at > self._clock.monotonic() for waiting in self._systemBase._wakeUps
        )

    def find(self, name: str) -> ActorAddress | None:
        """The actor of this name that lives."""
        address: ActorAddress | None = self._systemBase._globalNames.get(name)
        return address

    def kill(self, address: ActorAddress) -> None:
        """End an actor as a kill does: no receiver of it runs, and its parent is told."""
        base = self._systemBase
        reference = base.actorRegistry.get(address.actorAddressString)
        if reference is not None and reference.instance is not None:
            base._killActor(reference, PendingSend(address, ActorExitRequest(), address))
        base._wakeUps = [waiting for waiting in base._wakeUps if waiting.actor != address]

    def tell_of_ends(self, address: ActorAddress, descriptors: list[int]) -> None:
        """Let an actor know that these watched descriptors have become readable."""
        self.post(address, WatchMessage(descriptors))

    # Wake-ups

    @property
    def wakeups(self) -> tuple[Wakeup, ...]:
        return tuple(self._systemBase._wakeUps)

    def ring(self) -> None:
        """Have every armed wake-up ring now, before its time."""
        self._systemBase.ring_all()

    def drop_wakeups(self) -> int:
        """Lose every armed wake-up; how many there were."""
        lost = len(self._systemBase._wakeUps)
        self._systemBase._wakeUps = []
        return lost

    def lose(self, losing: Callable[[object], bool] | None) -> None:
        """Drop the messages for which this is true."""
        self._systemBase.losing = losing


class _Base(ActorSystemBase):
    """The library's own timers are kept as rounded floats; these are exact, and read the given clock."""

    def __init__(self, system: SynchronousSystem, clock: Clock) -> None:
        super().__init__(system, logDefs=False)
        self._clock = clock
        self._wakeUps: list[Wakeup] = []
        self.losing: Callable[[object], bool] | None = None

    @property
    def outside(self) -> Any:
        return self.actorRegistry["System:ExternalRequester"]

    def _add_wakeup(self, from_actor: ActorAddress, time_period: timedelta, payload: object) -> None:
        duration_us = time_period // _MICROSECOND
        self._wakeUps.append(Wakeup(from_actor, self._clock.monotonic() + duration_us, payload, duration_us))

    def _realizeWakeups(self) -> None:
        now = self._clock.monotonic()
        self._ring([waiting for waiting in self._wakeUps if waiting.at <= now])

    def ring_all(self) -> None:
        self._ring(list(self._wakeUps))

    def _ring(self, ringing: list[Wakeup]) -> None:
        if not ringing:
            return
        self._wakeUps = [waiting for waiting in self._wakeUps if waiting not in ringing]
        for actor, _, payload, duration_us in sorted(ringing, key=lambda waiting: waiting.at):
            message = WakeupMessage(timedelta(microseconds=duration_us), payload)
            self.actor_send(actor, actor, message)

    def _runSends(self, timeout: object = None, stop_on_available: object = False) -> None:
        self._realizeWakeups()
        super()._runSends()

    def _runSingleSend(self, sending: Any) -> None:
        if self.losing is None or not self.losing(sending.msg):
            super()._runSingleSend(sending)


class HostSide(Protocol):
    """What sits behind a host's actor and does its work."""

    process: str
    address: ActorAddress | None

    @property
    def keeps_back(self) -> bool:
        """Whether messages wait until it is thawed."""
        ...

    def names(self) -> tuple[str, ...]: ...

    def joined(self) -> HostJoined: ...

    def take(self, batch: RunBatch) -> None: ...

    def report(self) -> HostReported: ...

    def left(self) -> HostLeft: ...

    def stop_running(self, grace_us: int) -> None: ...


class Report:
    """To a host's actor: tell the scheduler what is new."""


class Leave:
    """To a host's actor: leave the scheduler in good order."""


class Thaw:
    """To a host's actor: go on with what came while its side was keeping back."""


class HostActor(Actor):
    """Carries the messages of one host."""

    make: Callable[[], HostSide]

    def __init__(self) -> None:
        super().__init__()
        self._side: HostSide | None = None
        self._scheduler: Any = None
        self._kept: list[tuple[object, Any]] = []

    def receiveMessage(self, message: Any, sender: Any) -> None:
        if self._side is None:
            self._side = type(self).make()
            self._side.address = self.myAddress
        try:
            self._receive_one(self._side, message, sender)
        except Exception:  # a receiver that raises is called again with the same message
            log.exception("%s was not handled", type(message).__name__)

    def _receive_one(self, side: HostSide, message: object, sender: Any) -> None:
        if side.keeps_back:
            self._kept.append((message, sender))
            return
        match message:
            case LoadHandlers():
                self.send(sender, HandlersLoaded(number=message.number, process=side.process, handlers=side.names()))
            case MeetScheduler():
                self._scheduler = message.scheduler
                self.send(self._scheduler, side.joined())
            case JoinAgain():
                self.send(self._scheduler, side.joined())
            case RunBatch():
                self._scheduler = sender
                side.take(message)
            case StopRunning():
                side.stop_running(message.grace_us)
            case Report():
                self.send(self._scheduler, side.report())
            case Leave():
                self.send(self._scheduler, side.left())
            case Thaw():
                kept, self._kept = self._kept, []
                for earlier, its_sender in kept:
                    self._receive_one(side, earlier, its_sender)
            case _:
                pass


def host_actor(make_side: Callable[[], HostSide]) -> type[HostActor]:
    """A class of actors each of which gets a side of its own."""

    class OneHostActor(HostActor):
        make = staticmethod(make_side)

    return OneHostActor


def supervisor(make_side: Callable[[], HostSide], end_host: Callable[[str], None]) -> type[Supervisor]:
    """The real supervisor, with handler actors that live here. `end_host` stands for the kill of a process."""

    class DrivenSupervisor(Supervisor):
        def _handler_actor(self) -> type[Actor]:
            return host_actor(make_side)

        def receive_end_host(self, message: EndHost, _sender: Any) -> None:
            end_host(message.process)

    return DrivenSupervisor
