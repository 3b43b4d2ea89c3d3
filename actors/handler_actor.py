"""A handler actor: a process that imports the bot's handler modules and runs jobs on a loop in a thread of its own.

What a handler can do to its process stays in it: a run that blocks the loop is broken off, one that asks the
process to exit only ends itself, and a host that can't go on empties itself and is replaced.
"""

import importlib
import logging
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from thespian.actors import Actor, ActorExitRequest, ThespianWatch, WakeupMessage, WatchMessage

from ..handlers import builtin as _builtin
from ..handlers.environment import Environment
from ..handlers.errors import HandlerImportError
from ..handlers.registry import default_registry, load
from ..handlers.transports import Transport
from . import bounds, logs, processes
from .clock import SYSTEM_CLOCK
from .folder import PrivateFolder
from .host import RunningHost
from .host_loop import HostLoop
from .messages import (
    HandlersLoaded,
    HostBlocked,
    JoinAgain,
    LoadHandlers,
    LoadingFailed,
    MeetScheduler,
    RunBatch,
    Settings,
    StopRunning,
)

log = logging.getLogger("bellringer.host")

LOOK_EVERY = timedelta(milliseconds=250)
WELCOME_WITHIN = timedelta(seconds=1)
END_AFTER = timedelta(milliseconds=100)
END = "end"
BLOCKED_AFTER_US = 300_000
REPLACED_AFTER_US = 750_000
BREAK_OFF_FOR_US = 2_000_000
CLOSE_WITHIN_S = 1.0


class HandlerActor(Actor):
    """Send it `LoadHandlers`, then `MeetScheduler`, again whenever the scheduler is a new one."""

    def __init__(self) -> None:
        super().__init__()
        self._host: RunningHost | None = None
        self._loop: HostLoop | None = None
        self._scheduler: Any = None
        self._supervisor: Any = None
        self._settings: Settings | None = None
        self._pipe: tuple[int, int] | None = None
        self._looking = False
        self._asked_beat = 0
        self._blocked_since: int | None = None
        self._broken_off_at: int | None = None
        self._stopping_until: int | None = None
        self._leaving = False
        self._receivers: dict[type, Callable[[Any, Any], None]] = {
            LoadHandlers: self.receive_load_handlers,
            MeetScheduler: self.receive_meet_scheduler,
            JoinAgain: self.receive_join_again,
            RunBatch: self.receive_run_batch,
            WatchMessage: self.receive_watch,
            WakeupMessage: self.receive_wakeup,
            StopRunning: self.receive_stop_running,
        }

    def receiveMessage(self, message: Any, sender: Any) -> Any:
        receiver = self._receivers.get(type(message))
        if receiver is not None:
            try:
                receiver(message, sender)
            except Exception:  # a receiver that raises is called again with the same message
                log.exception("%s was not handled", type(message).__name__)
        return ThespianWatch([self._pipe[0]]) if self._pipe is not None else None

    # Beginning

    def receive_load_handlers(self, message: LoadHandlers, sender: Any) -> None:
        settings = message.settings
        process = processes.identity()
        if self._host is not None:
            self.send(sender, HandlersLoaded(number=message.number, process=process, handlers=default_registry.names()))
            return
        self._supervisor = sender
        logs.write_to(PrivateFolder(settings.database).log_file, settings.log_level)
        processes.die_of_faults()
        processes.name_this(f"bell-handlers-{message.number}")
        try:
            load(settings.handlers)
            transport = _transport(settings.transport)
        except (HandlerImportError, ValueError) as error:
            self.send(sender, LoadingFailed(number=message.number, process=process, reason=str(error)))
            return
        self._settings = settings
        self._pipe = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        environment = Environment(SYSTEM_CLOCK, threads=settings.places, transport=transport)
        self._loop = HostLoop(environment, self._wake)
        self._host = RunningHost(
            kind="handler actor",
            runner=self._loop,
            places=settings.places,
            incarnation=secrets.token_hex(4),
            handlers=default_registry.names,
        )
        bounds.keep_in(settings.host_memory_mib)
        self.send(sender, HandlersLoaded(number=message.number, process=process, handlers=default_registry.names()))

    def _wake(self) -> None:
        """Called on the loop's thread: only the actor's own thread may send."""
        if self._pipe is not None:
            with suppress(BlockingIOError):  # it is full of calls already
                os.write(self._pipe[1], b"\0")

    def receive_meet_scheduler(self, message: MeetScheduler, _sender: Any) -> None:
        self._scheduler = message.scheduler
        self._join()

    def receive_join_again(self, _message: JoinAgain, _sender: Any) -> None:
        self._join()

    def _join(self) -> None:
        if self._host is not None and self._scheduler is not None:
            self.send(self._scheduler, self._host.joined())
            self.wakeupAfter(WELCOME_WITHIN, WELCOME_WITHIN)

    # Running

    def receive_run_batch(self, batch: RunBatch, sender: Any) -> None:
        if self._host is None:
            return
        self._scheduler = sender
        self._host.take(batch, SYSTEM_CLOCK.monotonic())
        if batch.orders or self._host.running:
            self._look_soon()

    def receive_watch(self, _message: WatchMessage, _sender: Any) -> None:
        assert self._pipe is not None
        try:
            os.read(self._pipe[0], 65_536)
        except BlockingIOError:
            return
        self._report()

    def _report(self) -> None:
        if self._host is not None and self._scheduler is not None:
            self.send(self._scheduler, self._host.report(SYSTEM_CLOCK.monotonic()))

    def _look_soon(self) -> None:
        if not self._looking and self._loop is not None:
            self._looking = True
            self._asked_beat = self._loop.ask_for_a_beat()
            self.wakeupAfter(LOOK_EVERY)

    def receive_wakeup(self, message: WakeupMessage, _sender: Any) -> None:
        """While something runs: does the loop move, does the scheduler know, can this process go on?"""
        if isinstance(message.payload, tuple) and message.payload[0] == END:
            bounds.end_process(message.payload[1])
        if message.payload == WELCOME_WITHIN:
            if self._host is not None and self._host.scheduler is None:
                self._join()
            return
        self._looking = False
        host, loop = self._host, self._loop
        if host is None or loop is None:
            return
        now = SYSTEM_CLOCK.monotonic()
        if loop.beats > self._asked_beat:
            self._blocked_since = self._broken_off_at = None
            if not host.open and not self._leaving:
                host.open = True
                self._report()
        else:
            self._look_at_blocked_loop(host, loop, now)
        if self._leaving or self._worn_out(loop):
            self._leave_when_idle(host)
        if self._stopping_until is not None:
            self._stop_in_time(host, loop, now)
        if host.owes_a_report(now):
            self._report()
        if not host.idle or self._blocked_since is not None or self._leaving or self._stopping_until is not None:
            self._look_soon()

    def _look_at_blocked_loop(self, host: RunningHost, loop: HostLoop, now: int) -> None:
        if self._blocked_since is None:
            self._blocked_since = now
        if host.give_back(now) or (host.open and now - self._blocked_since > BLOCKED_AFTER_US):
            host.open = False
            self._report()
        if not self._leaving and now - self._blocked_since > REPLACED_AFTER_US:
            self._leaving = True
            self.send(self._supervisor, HostBlocked(process=host.process))
        token = loop.current_token()
        limit = host.running[token].time_limit_us if token in host.running else 60_000_000
        if now - self._blocked_since < limit:
            return
        if self._broken_off_at is None:
            self._broken_off_at = now
            log.warning("a handler blocks its host's loop past its time limit; breaking it off")
            bounds.break_off(loop.thread_id)
        elif now - self._broken_off_at > BREAK_OFF_FOR_US:
            if token is not None:
                blocked_s = (now - self._blocked_since) / 1e6
                host.fail(token, f"time limit: the handler blocked its host for {blocked_s:.0f} s")
            self._end_process(host, 70)

    def _worn_out(self, loop: HostLoop) -> bool:
        assert self._settings is not None
        environment = loop.environment
        if environment.stuck_threads or environment.stuck_tasks:
            log.warning("a handler that was cut does not end; this host is to be replaced")
            return True
        if processes.resident_bytes() > self._settings.host_memory_mib << 19:
            log.warning("this host has grown past half of its memory limit, and is to be replaced")
            return True
        return False

    def _leave_when_idle(self, host: RunningHost) -> None:
        if not self._leaving:
            self._leaving = True
            host.open = False
            self._report()
        if host.idle:
            self._end_process(host, 0)

    def _end_process(self, host: RunningHost, status: int) -> None:
        """Tell the scheduler, let that go out, and end; the supervisor puts another in this place."""
        if self._loop is not None:
            host.give_up(self._loop.abandon())
        self.send(self._scheduler, host.left())
        # No thread: a process that is out of memory can't make one. The supervisor ends what does not end itself.
        self.wakeupAfter(END_AFTER, (END, status))

    # Ending

    def receive_stop_running(self, message: StopRunning, _sender: Any) -> None:
        if self._stopping_until is None:
            self._stopping_until = SYSTEM_CLOCK.monotonic() + message.grace_us
            self._look_soon()

    def _stop_in_time(self, host: RunningHost, loop: HostLoop, now: int) -> None:
        assert self._stopping_until is not None
        if host.idle:
            loop.close(CLOSE_WITHIN_S)
            self.send(self.myAddress, ActorExitRequest())
            self._stopping_until = None
        elif now >= self._stopping_until:
            loop.interrupt()


def _transport(path: str | None) -> Transport | None:
    """A transport made by the factory that `module:name` points to."""
    if path is None:
        return None
    module, _, name = path.partition(":")
    try:
        factory = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"the transport {path!r} can't be found ({error}); give it as module:factory") from error
    transport: Transport = factory()
    return transport


del _builtin
