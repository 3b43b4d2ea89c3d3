"""A process's way into a running system: contexts to talk through, and where the scheduler is."""

import os
import threading
from contextlib import suppress
from typing import Any

from thespian.actors import ActorAddress, ActorSystemException

from . import processes, system
from .clock import SYSTEM_CLOCK
from .corrections import NoSystemError
from .errors import SchedulerUnavailableError, WrongSchedulerError
from .folder import NotRunningError, PrivateFolder
from .names import SCHEDULER

LOOK_UP_S = 0.5


class Connection:
    """Finds the system of one database, again after each time that it was lost. Used by many threads."""

    def __init__(self, database: str | os.PathLike[str], name: str | None) -> None:
        self.folder = PrivateFolder(database)
        self._name = name
        self._mutex = threading.Lock()
        self._system: Any = None
        self._port = 0
        self._guardian = ""
        self._pid = 0
        self._generation = 0

    def open(self) -> "Context":
        """A context of one's own, with the scheduler's address. It is used by one thread at a time.

        Raises `SchedulerUnavailableError` where nothing runs, and `WrongSchedulerError`.
        """
        with self._mutex:
            self._join()
            clone = self._system._systemBase.external_clone()
            generation = self._generation
        context = Context(clone, generation)
        try:
            process = self.folder.read_scheduler()
            if process is not None:
                context.watch_scheduler(process)
            context.find_scheduler()
        except BaseException:
            context.close()
            self.lost(generation)
            raise
        return context

    def lost(self, generation: int) -> None:
        """The system that a context belonged to did not answer: look for it anew."""
        with self._mutex:
            if generation == self._generation:
                self._leave()

    def close(self) -> None:
        with self._mutex:
            self._leave()

    def _join(self) -> None:
        if self._system is not None and self._pid == os.getpid():
            return
        self._leave()
        try:
            way = self.folder.read_way()
            key = self.folder.read_key()
        except NotRunningError as error:
            raise SchedulerUnavailableError(
                f"{error}; start one with `bellringer serve --database {self.folder.database}` or bellringer.start()"
            ) from None
        if self._name is not None and way.name != self._name:
            raise WrongSchedulerError(
                f"the scheduler on {self.folder.database} is named {way.name!r}, not {self._name!r}"
            )
        try:
            self._system = system.join_system(way.port, key)
        except NoSystemError as error:
            raise SchedulerUnavailableError(f"{self.folder.database}: no scheduler answers: {error}") from error
        self._port, self._guardian, self._pid = way.port, way.guardian, os.getpid()
        self._generation += 1

    def _leave(self) -> None:
        if self._system is not None:
            with suppress(OSError):  # its sockets may be closed from the other side, or belong to before a fork
                self._system._systemBase.transport.close()
            self._system = None


class Context:
    """One endpoint of its own in the system: what is sent through it is answered to it."""

    def __init__(self, base: Any, generation: int) -> None:
        self._base = base
        self.generation = generation
        self.scheduler: ActorAddress | None = None
        self._process = ""
        self._pidfd: int | None = None
        self._also: list[int] = []

    def __del__(self) -> None:
        # The library closes its sockets when they are dropped; this descriptor is ours.
        descriptor: int | None = getattr(self, "_pidfd", None)
        if descriptor is not None:
            os.close(descriptor)

    def find_scheduler(self) -> ActorAddress:
        """Resolve the name. Raises `SchedulerUnavailableError` while nobody has it."""
        try:
            self.scheduler = system.find_actor(self._base, self._base.adminAddr, SCHEDULER, LOOK_UP_S)
        except (OSError, ValueError, ActorSystemException) as error:
            raise SchedulerUnavailableError(f"the actor system does not answer: {error}") from error
        if self.scheduler is None:
            raise SchedulerUnavailableError("the scheduler is being restarted, and has no address yet")
        return self.scheduler

    def ask(self, message: object, timeout_s: float) -> object:
        """Send to the scheduler, and take whatever comes next; None when nothing does, or its process ends."""
        assert self.scheduler is not None
        system.tell(self._base, self.scheduler, message)
        return self.listen(timeout_s)

    def tell(self, message: object) -> None:
        """Raises `SchedulerUnavailableError` where nobody is there any more."""
        try:
            self._base.tell(self.scheduler, message)
        except (OSError, ActorSystemException) as error:
            raise SchedulerUnavailableError(f"the scheduler does not answer: {error}") from error

    def watch_scheduler(self, process: str) -> None:
        """Have `ask` and `listen` return None at once when this process ends."""
        if process != self._process:
            self._process = process
            self._close_pidfd()
            self._pidfd = processes.open_pidfd(process)
            self._set_watch()

    @property
    def scheduler_has_ended(self) -> bool:
        """Whether the process that is watched is gone."""
        return self._pidfd is None or processes.wait_for_end(self._pidfd, 0)

    def _close_pidfd(self) -> None:
        # A closed descriptor in the watch list would be another thing's soon.
        self._base.transport.set_watch(self._also)
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None

    def _set_watch(self) -> None:
        self._base.transport.set_watch(self._also if self._pidfd is None else [*self._also, self._pidfd])

    def listen(self, timeout_s: float) -> object:
        return system.listen(self._base, timeout_s, SYSTEM_CLOCK.monotonic)

    def watch(self, descriptors: list[int]) -> None:
        """Have `listen` return None at once while one of these is readable, too."""
        self._also = descriptors
        self._set_watch()

    def close(self) -> None:
        self._also = []
        self._close_pidfd()
        with suppress(OSError):  # its sockets may be closed from the other side
            self._base.exit_context()
