"""The guardian: the process that a person or a service manager starts. It owns the life of all the others."""

import fcntl
import logging
import os
import select
import signal
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from thespian.actors import ActorSystemException

from ..storage.errors import BellringerError, DatabaseInUseError
from . import corrections, logs, processes
from .clock import SYSTEM_CLOCK, sleep
from .folder import PrivateFolder, Way, free_port
from .heartbeat import Heartbeat
from .messages import GetState, Settings, StateTold, StopClaiming, Stopped, Supervise
from .names import SUPERVISOR
from .supervisor import Supervisor
from .system import ask, start_system

log = logging.getLogger("bellringer.guardian")

HEARTBEAT_S = 1.0
PORTS_TRIED = 5
START_WITHIN_US = 20_000_000
CLOSE_WITHIN_US = 700_000
DATABASE_FREE_TRIES = 30


class GuardianError(BellringerError):
    """The system could not be started, or could not be kept running; the reason is told."""


class Guardian:
    """Runs one system until it is told to stop, by SIGTERM, SIGINT or the end of the lifeline.

    `lifeline` is a descriptor whose end of file means that whoever wanted the system is gone.
    `ready` is called with the port once requests are answered.
    """

    def __init__(
        self, settings: Settings, *, lifeline: int | None = None, ready: Callable[[int], None] | None = None
    ) -> None:
        self._settings = settings
        self._folder = PrivateFolder(settings.database)
        self._lifeline = lifeline
        self._ready = ready
        self._lock: int | None = None
        self._database: int | None = None
        self._signals: tuple[int, int] = (-1, -1)
        self._asked_to_stop = 0
        self._port = 0
        self._system: Any = None
        self._admin: str | None = None
        self._supervisor: Any = None
        self._heart: Heartbeat | None = None
        self._watched: dict[int, str] = {}
        self._restarts: deque[int] = deque()

    def run(self) -> None:
        """Start, keep running, stop. Raises `DatabaseInUseError` or `GuardianError`; leaves no process behind."""
        self._folder.create()
        self._take_lock()
        try:
            logs.write_to(self._folder.log_file, self._settings.log_level)
            processes.adopt_orphans()
            self._lock_database()
            self._catch_signals()
            self._start_system()
            self._folder.write_way(Way(self._port, self._settings.name, processes.identity()))
            self._settings = replace(self._settings, must_exist=True)
            self._lock_database()
            if self._ready is not None:
                self._ready(self._port)
            while not self._asked_to_stop:
                self._wait()
                self._beat()
            self._stop()
        finally:
            self._end_everything()
            self._folder.forget_way()
            for descriptor in (self._database, self._lock):
                if descriptor is not None:
                    corrections.close_kept(descriptor)

    def _take_lock(self) -> None:
        self._lock = os.open(self._folder.guardian_lock, os.O_RDWR | os.O_CREAT, 0o600)
        corrections.keep_from_actors(self._lock)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._lock, 200, 0).decode(errors="replace").strip()
            corrections.close_kept(self._lock)
            self._lock = None
            raise DatabaseInUseError(
                f"{self._folder.database} is served already, by {holder or 'another process'}; "
                "connect to that one, or stop it first"
            ) from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"scheduler {self._settings.name!r}, process {os.getpid()}\n".encode(), 0)

    def _lock_database(self) -> None:
        """Lock the file itself too: by another hard link, or without the folder, it is still the same one.

        Only the guardian may: in a process that has it open for SQLite, closing it would drop SQLite's own locks.
        """
        if self._database is not None or not self._folder.database.is_file():
            return
        self._database = os.open(self._folder.database, os.O_RDONLY | os.O_CLOEXEC)
        corrections.keep_from_actors(self._database)
        for _ in range(DATABASE_FREE_TRIES):
            try:
                fcntl.flock(self._database, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                sleep(0.01)  # a guardian that has just ended gives its two locks free one after the other
            else:
                return
        raise GuardianError(
            f"{self._folder.database} is served already, under another name or from before its folder "
            f"{self._folder.path} was removed; stop that scheduler first"
        )

    def _catch_signals(self) -> None:
        self._signals = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        for descriptor in self._signals:
            corrections.keep_from_actors(descriptor)
        if self._lifeline is not None:
            corrections.keep_from_actors(self._lifeline)
        signal.set_wakeup_fd(self._signals[1], warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def _on_signal(self, *_: object) -> None:
        self._asked_to_stop += 1
        if self._asked_to_stop > 1:
            self._end_everything()
            os._exit(1)

    # Starting

    def _start_system(self) -> None:
        self._restarts.append(SYSTEM_CLOCK.monotonic())
        self._admin = None
        for _ in range(PORTS_TRIED):
            self._port = self._port or free_port()
            try:
                self._system = start_system(self._port, self._folder.make_key())
                self._admin = next((processes.identity(pid) for pid in processes.children()), None)
            except (ActorSystemException, OSError):
                log.exception("no actor system could be started on port %d", self._port)
                self._end_everything()
            if self._admin is not None or self._asked_to_stop:
                break
            # Any connection of this machine may have been given the port meanwhile.
            self._port = 0
        if self._admin is None:
            raise GuardianError("the actor system did not start; bellringer.log in the private folder may say why")
        self._watch(self._admin)
        processes.reap()
        self._start_supervisor()

    def _start_supervisor(self) -> None:
        until = SYSTEM_CLOCK.monotonic() + START_WITHIN_US
        self._supervisor = self._system.createActor(Supervisor, globalName=SUPERVISOR)
        state = self._ask(self._supervisor, Supervise(settings=self._settings), StateTold, 1.0)
        while state is None or not (state.ready or state.failed):
            if SYSTEM_CLOCK.monotonic() > until:
                raise GuardianError("the scheduler did not start in time; see bellringer.log in the private folder")
            if self._asked_to_stop:
                raise GuardianError("stopped while it was starting")
            if state is None:
                # The name of a supervisor that has just ended still leads to it for some milliseconds.
                sleep(0.02)
                self._supervisor = self._system.createActor(Supervisor, globalName=SUPERVISOR)
                state = self._ask(self._supervisor, Supervise(settings=self._settings), StateTold, 1.0)
            else:
                sleep(0.005)
                state = self._ask(self._supervisor, GetState(), StateTold, 1.0)
        self._take_state(state)
        self._watch(state.process)
        self._heart = Heartbeat(self._system, self._supervisor, self._take_state)
        log.info("the system is up on port %d, process %s", self._port, state.process)

    def _take_state(self, state: StateTold) -> None:
        if state.failed is not None:
            raise GuardianError(state.failed)

    def _watch(self, process: str) -> None:
        descriptor = processes.open_pidfd(process)
        if descriptor is not None:
            corrections.keep_from_actors(descriptor)
            self._watched[descriptor] = process

    # Keeping it running

    def _wait(self) -> None:
        """Until something ends, a signal comes, or the next heartbeat is due."""
        inputs = [self._signals[0], *self._watched]
        if self._lifeline is not None:
            inputs.append(self._lifeline)
        ready, _, _ = select.select(inputs, [], [], HEARTBEAT_S)
        if self._signals[0] in ready:
            os.read(self._signals[0], 4_096)
        if self._lifeline is not None and self._lifeline in ready and not os.read(self._lifeline, 1):
            self._asked_to_stop = self._asked_to_stop or 1
        ended = [self._watched[descriptor] for descriptor in ready if descriptor in self._watched]
        if ended:
            self._on_end(ended)

    def _on_end(self, ended: list[str]) -> None:
        # Whoever ends them all does so one after another, and nothing can be made with an admin that is about to end.
        sleep(0.005)
        for descriptor, process in list(self._watched.items()):
            if not processes.is_alive(process):
                corrections.close_kept(descriptor)
                del self._watched[descriptor]
        processes.reap()
        if self._asked_to_stop:
            return
        self._count_restart(ended[0])
        if self._admin is None or not processes.is_alive(self._admin):
            log.warning("the admin has ended, and all actors with it; starting anew")
            self._end_everything()
            self._start_system()
        else:
            log.warning("the supervisor has ended; starting another")
            try:
                self._start_supervisor()
            except (GuardianError, OSError, ActorSystemException):
                log.exception("no supervisor could be started; starting anew")
                self._end_everything()
                self._start_system()
        self._folder.write_way(Way(self._port, self._settings.name, processes.identity()))

    def _count_restart(self, process: str) -> None:
        now = SYSTEM_CLOCK.monotonic()
        settings = self._settings
        while self._restarts and self._restarts[0] < now - int(settings.restarts_within_s * 1e6):
            self._restarts.popleft()
        if len(self._restarts) > settings.restarts:
            raise GuardianError(
                f"process {process} has ended, and {settings.restarts} restarts within "
                f"{settings.restarts_within_s:g} s did not help"
            )
        self._restarts.append(now)

    def _beat(self) -> None:
        heart = self._heart
        if self._asked_to_stop or heart is None:
            return
        try:
            heart.beat()
        except (ActorSystemException, OSError) as error:
            log.warning("a heartbeat failed: %s", error)
            heart.lost()

    def _ask(self, address: Any, message: object, kind: type[Any], timeout_s: float) -> Any:
        return ask(self._system, address, message, kind, timeout_s, SYSTEM_CLOCK.monotonic)

    # Stopping

    def _stop(self) -> None:
        """Stop claiming, let what runs finish within the grace, record the rest as interrupted."""
        grace_us = self._settings.grace_us
        message = StopClaiming(grace_us=grace_us)
        state = self._ask(self._supervisor, message, StateTold, 2.0)
        scheduler = None
        if self._heart is not None:
            self._heart.lost()
            scheduler = self._heart.scheduler()
        if scheduler is not None:
            stopped = self._ask(scheduler, message, Stopped, grace_us / 1e6 + 1.5)
            if stopped is None:
                log.error("the scheduler did not stop in time; what it was running is settled at the next start")
            elif stopped.interrupted:
                log.warning("%d runs were interrupted", stopped.interrupted)
        until = SYSTEM_CLOCK.monotonic() + CLOSE_WITHIN_US
        hosts = state.hosts if state is not None else ()
        while any(processes.is_alive(host) for host in hosts) and SYSTEM_CLOCK.monotonic() < until:
            sleep(0.01)

    def _end_everything(self) -> None:
        """Nothing of this system may outlive it: the admin takes all others with it, and orphans come here."""
        self._heart = None
        for descriptor in list(self._watched):
            corrections.close_kept(descriptor)
            del self._watched[descriptor]
        for _ in range(100):
            left = processes.children()
            if not left:
                break
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            processes.reap()
            sleep(0.005)
        processes.reap()
        self._system = None


def serve(settings: Settings, *, lifeline: int | None = None, announce: int | None = None) -> int:
    """Run a guardian in this process: what `bellringer serve` does. The exit code; reasons go to standard error.

    `announce` is a descriptor that gets one line, `ready PORT`, `failed REASON`, or `busy REASON` where another serves
    the database or is about to, and is closed.
    """

    def tell(line: str) -> None:
        nonlocal announce
        if announce is not None:
            os.write(announce, line.encode() + b"\n")
            corrections.close_kept(announce)
            announce = None

    if announce is not None:
        corrections.keep_from_actors(announce)
    try:
        Guardian(settings, lifeline=lifeline, ready=lambda port: tell(f"ready {port}")).run()
    except BellringerError as error:
        tell(f"{'busy' if isinstance(error, DatabaseInUseError) else 'failed'} {error}")
        sys.stderr.write(f"bellringer: {error}\n")
        return 1
    except Exception as error:  # the border of the process: who waits for it is told
        log.exception("the guardian has failed")
        tell(f"failed unexpectedly: {error!r}".replace("\n", " "))
        raise
    return 0
