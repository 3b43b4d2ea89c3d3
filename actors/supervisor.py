"""The supervisor: makes the scheduler and the handler actors, and makes anew whichever of them ends."""

import logging
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from thespian.actors import Actor, ActorExitRequest, ChildActorExited, ThespianWatch, WakeupMessage, WatchMessage

from . import logs, processes
from .clock import SYSTEM_CLOCK, Clock
from .folder import PrivateFolder
from .handler_actor import HandlerActor
from .messages import (
    DatabaseOpened,
    EndHost,
    GetState,
    HandlersLoaded,
    HostBlocked,
    LoadHandlers,
    LoadingFailed,
    MeetScheduler,
    OpenDatabase,
    OpeningFailed,
    StateTold,
    StopClaiming,
    Supervise,
)
from .names import SCHEDULER
from .scheduler import Scheduler
from .watch import Watch

log = logging.getLogger("bellringer.supervisor")

FIRST_PAUSE_US = 20_000
LONGEST_PAUSE_US = 500_000
RETIRED_PER_HOST = 2
AGAIN_WITHIN_US = 2_000_000
ANSWER_WITHIN = timedelta(milliseconds=150)


@dataclass(slots=True)
class Child:
    """One place to be filled. `number` is None for the scheduler."""

    number: int | None
    address: Any = None
    process: str | None = None
    tries: int = 0


class Supervisor(Actor):
    """Send it `Supervise`. Past the restart budget it stops, and says why when it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self._order: Supervise | None = None
        self._clock: Clock = SYSTEM_CLOCK
        self._scheduler = Child(None)
        self._hosts: list[Child] = []
        self._restarts: deque[int] = deque()
        self._restarted = 0
        self._failed: str | None = None
        self._ending = False
        self._watch = Watch()
        self._retired: set[str] = set()
        self._receivers: dict[type, Callable[[Any, Any], None]] = {
            Supervise: self.receive_supervise,
            DatabaseOpened: self.receive_database_opened,
            OpeningFailed: self.receive_opening_failed,
            HandlersLoaded: self.receive_handlers_loaded,
            LoadingFailed: self.receive_loading_failed,
            ChildActorExited: self.receive_child_exited,
            WatchMessage: self.receive_watch,
            WakeupMessage: self.receive_wakeup,
            EndHost: self.receive_end_host,
            HostBlocked: self.receive_host_blocked,
            GetState: self.receive_get_state,
            StopClaiming: self.receive_stop_claiming,
            ActorExitRequest: self.receive_exit,
        }

    def receiveMessage(self, message: Any, sender: Any) -> Any:
        receiver = self._receivers.get(type(message))
        if receiver is not None:
            try:
                receiver(message, sender)
            except Exception:  # a receiver that raises is called again with the same message
                log.exception("%s was not handled", type(message).__name__)
        watched = self._watch.descriptors
        return ThespianWatch(watched) if watched else None

    def receive_supervise(self, message: Supervise, sender: Any) -> None:
        if self._order is None:
            self._order = message
            self._clock = message.clock or SYSTEM_CLOCK
            settings = message.settings
            if message.clock is None:
                logs.write_to(PrivateFolder(settings.database).log_file, settings.log_level)
                processes.name_this("bell-supervisor")
                processes.die_of_faults()
            self._hosts = [Child(number) for number in range(settings.handler_actors if settings.handlers else 0)]
            for child in (self._scheduler, *self._hosts):
                self._make(child)
        self.receive_get_state(GetState(), sender)

    # Making children

    def _make(self, child: Child) -> None:
        assert self._order is not None
        order = self._order
        child.tries += 1
        child.process = None
        if child.number is None:
            child.address = self.createActor(Scheduler, globalName=SCHEDULER)
            message: object = OpenDatabase(
                settings=order.settings,
                restarts=self._restarted,
                supervisor="" if order.clock else processes.identity(),
                clock=order.clock,
                store=order.store,
                kernel=order.kernel,
            )
        else:
            child.address = self.createActor(self._handler_actor())
            message = LoadHandlers(settings=order.settings, number=child.number)
        self.send(child.address, message)
        # The name of a scheduler that has just ended still leads to it for some milliseconds.
        self.wakeupAfter(ANSWER_WITHIN, ("answer", child.number, child.tries))

    def _handler_actor(self) -> type[Actor]:
        return HandlerActor

    def receive_database_opened(self, message: DatabaseOpened, sender: Any) -> None:
        self._filled(self._scheduler, message.process, sender)
        if self._order is not None and not self._order.settings.must_exist:
            self._order = replace(self._order, settings=replace(self._order.settings, must_exist=True))
        for host in self._hosts:
            if host.process is not None:
                self.send(host.address, MeetScheduler(scheduler=sender))

    def receive_handlers_loaded(self, message: HandlersLoaded, sender: Any) -> None:
        child = self._hosts[message.number]
        self._filled(child, message.process, sender)
        if self._scheduler.process is not None:
            self.send(sender, MeetScheduler(scheduler=self._scheduler.address))

    def _filled(self, child: Child, process: str, address: Any) -> None:
        child.address, child.process = address, process
        in_one_process = self._order is not None and self._order.clock is not None
        if not in_one_process and not self._watch.add(process, processes):
            self._ended(child)

    def receive_opening_failed(self, message: OpeningFailed, sender: Any) -> None:
        if message.fatal:
            self._give_up(message.reason)
        else:
            log.warning("the database could not be opened: %s", message.reason)
            self._restart_later(self._scheduler, message.reason)

    def receive_loading_failed(self, message: LoadingFailed, sender: Any) -> None:
        self._give_up(message.reason)

    # Children that end

    def receive_watch(self, message: WatchMessage, _sender: Any) -> None:
        for process in self._watch.ended(message.ready):
            self._retired.discard(process)
            for child in (self._scheduler, *self._hosts):
                if child.process == process:
                    self._ended(child)

    def receive_child_exited(self, message: ChildActorExited, _sender: Any) -> None:
        if self._order is not None and self._order.clock is not None:
            for child in (self._scheduler, *self._hosts):
                if child.address == message.childAddress:
                    self._ended(child)

    def _ended(self, child: Child) -> None:
        if self._ending or self._failed is not None:
            return
        what = "the scheduler" if child.number is None else f"handler actor {child.number}"
        log.warning("%s, process %s, has ended", what, child.process)
        loaded = child.number is not None and child.process is not None
        child.process = None
        self._restart_later(child, f"{what} has ended", counted=not loaded)

    def _restart_later(self, child: Child, reason: str, *, counted: bool = True) -> None:
        """At once the first time; with growing pauses when it happens again and again; not at all past the budget.

        A handler actor that had begun to work is not counted: it ended of what it ran, and the job that did it is
        counted instead.
        """
        assert self._order is not None
        settings = self._order.settings
        now = self._clock.monotonic()
        while self._restarts and self._restarts[0] < now - int(settings.restarts_within_s * 1e6):
            self._restarts.popleft()
        if counted and len(self._restarts) >= settings.restarts:
            self._give_up(
                f"{reason}, and {settings.restarts} restarts within {settings.restarts_within_s:g} s did not help"
            )
            return
        recent = sum(1 for at in self._restarts if at > now - AGAIN_WITHIN_US)
        self._restarts.append(now)
        self._restarted += 1
        if recent < 2:
            self._make(child)
        else:
            pause = min(FIRST_PAUSE_US << min(recent - 2, 10), LONGEST_PAUSE_US)
            child.tries += 1
            self.wakeupAfter(timedelta(microseconds=pause), ("make", child.number, child.tries))

    def receive_wakeup(self, message: WakeupMessage, _sender: Any) -> None:
        kind, number, tries = message.payload
        child = self._scheduler if number is None else self._hosts[number]
        if child.tries != tries or child.process is not None or self._failed is not None or self._ending:
            return
        if kind == "make" or child.number is None:
            self._make(child)

    def receive_host_blocked(self, message: HostBlocked, _sender: Any) -> None:
        """Put another in its place at once; it ends by itself when it can. So many and no more at a time."""
        for child in self._hosts:
            if child.process == message.process and len(self._retired) < RETIRED_PER_HOST * len(self._hosts):
                log.warning(
                    "handler actor %d, process %s, is blocked; another takes its place", child.number, child.process
                )
                self._retired.add(message.process)
                self._make(child)

    def receive_end_host(self, message: EndHost, _sender: Any) -> None:
        known = self._retired | {child.process for child in self._hosts}
        if message.process in known and processes.is_alive(message.process):
            log.warning("ending handler process %s: %s", message.process, message.reason)
            os.kill(int(message.process.partition("-")[0]), 9)

    def _give_up(self, reason: str) -> None:
        self._failed = reason
        log.error("giving up: %s", reason)

    # What the guardian asks

    def receive_get_state(self, _message: GetState, sender: Any) -> None:
        children = (self._scheduler, *self._hosts)
        self.send(
            sender,
            StateTold(
                ready=all(child.process is not None for child in children),
                failed=self._failed,
                process=processes.identity(),
                scheduler=self._scheduler.process,
                hosts=tuple(child.process for child in self._hosts if child.process is not None),
                restarts=self._restarted,
            ),
        )

    def receive_stop_claiming(self, message: StopClaiming, sender: Any) -> None:
        """From here on children that end are not made again."""
        self._ending = True
        self.receive_get_state(GetState(), sender)

    def receive_exit(self, _message: ActorExitRequest, _sender: Any) -> None:
        self._ending = True
