"""What the plain and the awaitable handle share: one connection, one exchange, one host of this process."""

import asyncio
import os
import secrets
import threading
from collections.abc import Callable, Sequence
from functools import partial

from ..handlers.registry import Registry, default_registry, load
from ..handlers.transports import Transport
from ..storage import door
from ..storage.errors import InvalidJobError
from ..storage.values import JobSpec
from . import questions
from .attachment import Attachment
from .clock import SYSTEM_CLOCK, Clock
from .closures import Closures, Kept, spec
from .connection import Connection
from .errors import SchedulerUnavailableError
from .events import Listener
from .exchange import Exchange
from .forking import call_in_child
from .hosting import Hosting
from .questions import Question, ScheduledJob, Seconds

TIMEOUT_S = 10.0
CLOSURE_LIMIT_S = 60.0


class Core:
    """Everything of a handle but its methods. Nothing is looked up before the first use."""

    def __init__(self, database: str | os.PathLike[str], name: str | None, hosting: Hosting | None = None) -> None:
        self.clock: Clock = SYSTEM_CLOCK
        self.connection = Connection(database, name)
        self.hosting = hosting
        ensure = hosting.ensure if hosting is not None else None
        self.exchange = Exchange(self.connection, ensure)
        self.closures = Closures(self.clock)
        self._ensure: Callable[[], None] | None = ensure
        self._attachment: Attachment | None = None
        call_in_child(self._forget_host)
        self._stopped = False

    def _forget_host(self) -> None:
        """A forked child has none of its parent's threads, and is a host of its own if it wants to be one."""
        self._attachment = None

    def ask(self, question: Question[questions.T], timeout_s: float) -> questions.T:
        return question.answer(self.exchange.call((question.request,), timeout_s)[0])

    # This process as a host

    def host(self) -> Attachment:
        """This process's host: made at the first need, on the event loop that runs at that moment, if one does."""
        if self._stopped:
            raise SchedulerUnavailableError("this handle was stopped; connect again")
        if self._attachment is None or self._attachment.is_over:
            self._attachment = Attachment(
                self.connection, closures=self.closures, rejoined=self._rejoined, ensure=self._ensure
            )
        return self._attachment

    def attach(
        self,
        modules: Sequence[str],
        registry: Registry | None,
        loop: asyncio.AbstractEventLoop | None,
        transport: Transport | None,
        places: int,
        timeout_s: float,
    ) -> None:
        if isinstance(modules, str):
            raise TypeError(f"attach takes a list of module names: write [{modules!r}]")
        registry = registry or default_registry
        load(modules, registry)
        self.host().check_loop(loop)
        self.host().start(loop=loop, registry=registry, transport=transport, places=places, timeout_s=timeout_s)

    def listen(self, listener: Listener, timeout_s: float, loop: asyncio.AbstractEventLoop | None = None) -> None:
        if not callable(listener):
            raise TypeError(f"listen takes a function, not {listener!r}")
        self.host().start(loop=loop or running_loop(), listener=listener, timeout_s=timeout_s)

    def closure(
        self, delay: Seconds, function: Callable[..., object], arguments: tuple[object, ...], *,
        id: str | None, repeat: bool, time_limit: Seconds | None, timeout_s: float,
    ) -> Question[ScheduledJob]:  # fmt: skip
        """Keep a function, and ask for the job that will call it."""
        job_id, kept = self._kept(delay, function, arguments, id, time_limit, repeat=repeat)
        self.host().start(loop=running_loop(), timeout_s=timeout_s)
        return self._scheduled(job_id, kept)

    async def closure_from_loop(
        self, delay: Seconds, function: Callable[..., object], arguments: tuple[object, ...], *,
        id: str | None, repeat: bool, time_limit: Seconds | None, timeout_s: float,
    ) -> Question[ScheduledJob]:  # fmt: skip
        """As `closure`, without blocking the loop while this process becomes a host."""
        job_id, kept = self._kept(delay, function, arguments, id, time_limit, repeat=repeat)
        if not self.host().is_welcome:
            loop = asyncio.get_running_loop()
            await asyncio.to_thread(self.host().start, loop=loop, timeout_s=timeout_s)
        return self._scheduled(job_id, kept)

    def _kept(
        self, delay: Seconds, function: Callable[..., object], arguments: tuple[object, ...],
        id: str | None, time_limit: Seconds | None, *, repeat: bool,
    ) -> tuple[str, Kept]:  # fmt: skip
        if not callable(function):
            raise InvalidJobError(f"{function!r} is to be run, but can't be called: give a function")
        now = self.clock.wall()
        interval_us = door.interval_us(delay, "the interval") if repeat else None
        due_at = now + (interval_us if interval_us is not None else door.delay_us(delay, "the delay", now))
        limit_us = door.interval_us(CLOSURE_LIMIT_S if time_limit is None else time_limit, "time_limit")
        job_id = f"memory:{secrets.token_hex(8)}" if id is None else door.job_id(id)
        return job_id, Kept(partial(function, *arguments) if arguments else function, due_at, interval_us, limit_us)

    def _scheduled(self, job_id: str, kept: Kept) -> Question[ScheduledJob]:
        host = self.host().host
        self.closures.keep(job_id, kept)
        return questions.schedule(spec(job_id, kept, host), in_memory=True, keeper=host)

    def forget_closures(self, ids: Sequence[str]) -> None:
        for job_id in ids:
            self.closures.forget(job_id)

    def _rejoined(self, host: str) -> None:
        """A scheduler that has just started knows nothing of this process's closures."""
        specs: tuple[JobSpec, ...] = self.closures.specs(host)
        if specs:
            self.ask(questions.schedule_many(specs, in_memory=True, keeper=host), TIMEOUT_S)

    @property
    def is_inside(self) -> bool:
        """Whether the caller is one of the runs of this process."""
        return self._attachment is not None and self._attachment.is_inside

    def stop(self, grace_s: float) -> None:
        """End what this handle has begun. From inside of a run it only begins to: that run has to end first."""
        self._stopped = True
        if self.is_inside:
            threading.Thread(target=self._stop, args=(grace_s,), name="bellringer-stop").start()
        else:
            self._stop(grace_s)

    def _stop(self, grace_s: float) -> None:
        if self._attachment is not None:
            self._attachment.close(grace_s)
        self.exchange.close()
        self.connection.close()
        if self.hosting is not None:
            self.hosting.stop()


def running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
