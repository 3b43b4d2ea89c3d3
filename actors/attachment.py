"""A bot process as a host: it lends its event loop, so that handlers and closures see its live objects.

One thread carries the messages. It sleeps until the scheduler has something, a handler has ended, or the
scheduler's process ends; then it finds the next scheduler and tells it what it holds.
"""

import asyncio
import logging
import os
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress

from ..handlers.environment import Environment
from ..handlers.registry import Handler, Registry
from ..handlers.transports import Transport
from ..storage.errors import BellringerError
from .clock import SYSTEM_CLOCK, sleep
from .closures import Closures
from .connection import Connection, Context
from .errors import SchedulerUnavailableError, WrongSchedulerError
from .events import Listener
from .host import RunningHost
from .host_loop import HostLoop
from .messages import Event, JoinAgain, RunBatch, StopRunning

log = logging.getLogger("bellringer.host")

LOOK_EVERY_S = 0.25
WELCOME_WITHIN_US = 1_000_000
FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 1.0


class Attachment:
    """The one host of this process for one scheduler. Made when it is first needed."""

    def __init__(
        self,
        connection: Connection,
        *,
        closures: Closures,
        rejoined: Callable[[str], None],
        ensure: Callable[[], None] | None = None,
    ) -> None:
        """`rejoined` is called, with this host's id, after each new scheduler has welcomed it."""
        self._connection = connection
        self._closures = closures
        self._rejoined = rejoined
        self._ensure = ensure
        self._mutex = threading.Lock()
        self._listeners: list[Listener] = []
        self._registry = Registry()
        self._attached: Registry | None = None
        self._loop: HostLoop | None = None
        self._host: RunningHost | None = None
        self._thread: threading.Thread | None = None
        self._pipe = (-1, -1)
        self._join_again = threading.Event()
        self._welcomed = threading.Event()
        self._closing = threading.Event()
        self._stop_running_until: int | None = None
        self._joined_at = 0

    @property
    def host(self) -> str:
        assert self._host is not None
        return self._host.host

    @property
    def is_over(self) -> bool:
        """Its event loop was closed: nothing can run here any more."""
        return self._loop is not None and self._loop.loop.is_closed()

    def check_loop(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Raise `BellringerError` where handlers would run on another loop than the one that is asked for."""
        if loop is not None and self._loop is not None and loop is not self._loop.loop:
            raise BellringerError(
                "this handle's host runs on another event loop already: connect() gives a handle for this one"
            )

    @property
    def is_inside(self) -> bool:
        """Whether this thread is inside of one of this host's runs, which ends only when the caller goes on."""
        thread = threading.current_thread()
        if self._loop is None or thread.name == "bellringer-handler":
            return self._loop is not None
        try:
            return asyncio.get_running_loop() is self._loop.loop and self._loop.current_token() is not None
        except RuntimeError:
            return False

    @property
    def is_welcome(self) -> bool:
        return self._host is not None and self._welcomed.is_set()

    def start(
        self,
        *,
        loop: asyncio.AbstractEventLoop | None = None,
        registry: Registry | None = None,
        transport: Transport | None = None,
        places: int = 100,
        listener: Listener | None = None,
        timeout_s: float = 10.0,
    ) -> None:
        """Become a host, or offer more as one; returns once the scheduler knows.

        Raises `SchedulerUnavailableError`. The loop is settled by the first call: without one, a thread runs one.
        """
        with self._mutex:
            changed = self._host is None
            if self._host is None:
                self._begin(loop, places)
            assert self._host is not None
            assert self._loop is not None
            if transport is not None:
                self._loop.environment.transport = transport
            if registry is not None and registry is not self._attached:
                self._attached = registry
                changed = True
            if listener is not None:
                self._listeners.append(listener)
                changed = changed or not self._host.wants_events
                self._host.wants_events = True
            if changed:
                self._welcomed.clear()
                self._join_again.set()
                self._wake()
        if not self._welcomed.wait(timeout_s):
            raise SchedulerUnavailableError(
                f"the scheduler on {self._connection.folder.database} has not welcomed this process as a host in time"
            )

    def _begin(self, loop: asyncio.AbstractEventLoop | None, places: int) -> None:
        self._pipe = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        incarnation = secrets.token_hex(4)
        environment = Environment(SYSTEM_CLOCK, registry=_Both(self), threads=places)
        self._loop = HostLoop(environment, self._wake, loop)
        self._host = RunningHost(
            kind="attached", runner=self._loop, places=places, incarnation=incarnation, handlers=self._names
        )
        self._closures.serve(self._registry, self._host.host, on_bot_loop=loop is not None)
        self._thread = threading.Thread(target=self._carry, name="bellringer-messages", daemon=True)
        self._thread.start()

    def _names(self) -> tuple[str, ...]:
        attached = self._attached.names() if self._attached is not None else ()
        return (*self._registry.names(), *attached)

    def _wake(self) -> None:
        with suppress(BlockingIOError, OSError):  # it is full of calls already, or this host has just closed
            os.write(self._pipe[1], b"\0")

    def close(self, grace_s: float) -> None:
        """Let what runs finish within the grace, tell what came of it, and leave."""
        with self._mutex:
            if self._thread is None or self._closing.is_set():
                return
            self._stop_running_until = SYSTEM_CLOCK.monotonic() + int(grace_s * 1e6)
            self._closing.set()
            self._wake()
        if threading.current_thread() is not self._thread:
            self._thread.join(grace_s + 3.0)

    # On the messages' thread

    def _carry(self) -> None:
        context: Context | None = None
        pause_s = FIRST_PAUSE_S
        while not (self._closing.is_set() and self._may_leave(context)):
            try:
                if context is None:
                    self._join_again.clear()
                    context = self._join()
                elif self._join_again.is_set():
                    self._join_again.clear()
                    context.tell(self._here.joined())
                self._serve(context)
                pause_s = FIRST_PAUSE_S
            except (SchedulerUnavailableError, WrongSchedulerError, OSError, ValueError) as error:
                self._lose(context)
                context = None
                if self._closing.is_set():
                    break
                log.debug("no scheduler for this host yet: %s", error)
                self._call_ensure()
                sleep(pause_s)
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
            except Exception:  # the thread must live as long as the process wants to be a host
                log.exception("a message was not handled")
                self._lose(context)
                context = None
                sleep(LONGEST_PAUSE_S)
        self._leave(context)

    @property
    def _here(self) -> RunningHost:
        assert self._host is not None
        return self._host

    def _call_ensure(self) -> None:
        if self._ensure is not None:
            try:
                self._ensure()
            except Exception as error:  # noqa: BLE001  whatever keeps a system from starting, the next try may not
                log.warning("no scheduler could be started: %s", error)

    def _join(self) -> Context:
        context = self._connection.open()
        context.watch([self._pipe[0]])
        context.tell(self._here.joined())
        self._joined_at = SYSTEM_CLOCK.monotonic()
        if not self._closing.is_set():
            self._stop_running_until = None
        return context

    def _serve(self, context: Context) -> None:
        """Wait for one thing to happen, and deal with it."""
        here = self._here
        busy = not here.idle or self._closing.is_set() or here.scheduler is None
        message = context.listen(LOOK_EVERY_S if busy else 30.0)
        now = SYSTEM_CLOCK.monotonic()
        match message:
            case RunBatch():
                self._take(context, message, now)
            case JoinAgain():
                context.tell(here.joined())
            case StopRunning():
                self._stop_running_until = now + message.grace_us
            case _:
                pass
        self._look(context, now)

    def _take(self, context: Context, batch: RunBatch, now: int) -> None:
        here = self._here
        if self.is_over:
            here.decline(batch)
            self._closing.set()
            return
        stranger = here.scheduler is None
        here.take(batch, now)
        if stranger and here.scheduler is not None and not self._join_again.is_set():
            context.watch_scheduler(here.scheduler)
            self._welcomed.set()
            self._rejoined(here.host)
        for event in batch.events:
            self._tell_listeners(event)
        if batch.events and not batch.orders:
            context.tell(here.report(now))

    def _look(self, context: Context, now: int) -> None:
        here = self._here
        if here.scheduler is None and now - self._joined_at > WELCOME_WITHIN_US:
            raise SchedulerUnavailableError("the scheduler has not welcomed this host")
        called = False
        with suppress(BlockingIOError):
            called = bool(os.read(self._pipe[0], 65_536))
        if here.scheduler is not None and context.scheduler_has_ended:
            raise SchedulerUnavailableError("the scheduler has ended")
        moves = not here.give_back(now)
        if here.open != moves:
            here.open = moves
            called = True
        if self._stop_running_until is not None and now >= self._stop_running_until:
            here.runner.interrupt()
        if called or here.owes_a_report(now):
            context.tell(here.report(now))

    def _tell_listeners(self, event: Event) -> None:
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:  # a listener's fault is its own
                log.exception("a listener failed on %s", event.kind)

    def _lose(self, context: Context | None) -> None:
        if context is not None:
            context.close()
            self._connection.lost(context.generation)

    def _may_leave(self, context: Context | None) -> bool:
        return context is None or self.is_over or self._here.idle

    def _leave(self, context: Context | None) -> None:
        if context is not None:
            with suppress(SchedulerUnavailableError, ValueError):  # the scheduler may have gone first
                context.tell(self._here.left())
            self._lose(context)
        assert self._loop is not None
        self._loop.close(1.0)
        pipe, self._pipe = self._pipe, (-1, -1)
        for descriptor in pipe:
            os.close(descriptor)


class _Both(Registry):
    """This process's closures, and the handlers that it has attached."""

    def __init__(self, attachment: Attachment) -> None:
        super().__init__()
        self._attachment = attachment

    def get(self, name: str) -> Handler | None:
        own = self._attachment._registry.get(name)
        attached = self._attachment._attached
        return own or (attached.get(name) if attached is not None else None)

    def names(self) -> tuple[str, ...]:
        return self._attachment._names()
