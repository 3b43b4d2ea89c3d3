"""In-memory jobs: functions of this process, by job id. The scheduler owns their timers, this process the functions."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ..handlers.context import Context
from ..handlers.registry import Registry
from ..storage import door, rules
from ..storage.values import JobSpec
from .clock import Clock

Closure = Callable[[], object]
PREFIX = "memory:"


class Kept(NamedTuple):
    """A closure and when it runs. `interval_us`: again that long after each end."""

    closure: Closure
    due_at: int
    interval_us: int | None
    time_limit_us: int


class Closures:
    """All closures that are to run. Used from many threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._mutex = threading.Lock()
        self._kept: dict[str, Kept] = {}
        self._underway: dict[str, tuple[Kept, asyncio.Future[None]]] = {}
        self._on_bot_loop = False

    def serve(self, registry: Registry, host: str, *, on_bot_loop: bool) -> None:
        """Be the handler of this host's in-memory jobs."""
        self._on_bot_loop = on_bot_loop
        registry.add(PREFIX + host, self._run)

    def keep(self, job_id: str, kept: Kept) -> None:
        with self._mutex:
            self._kept[job_id] = kept

    def forget(self, job_id: str) -> None:
        with self._mutex:
            self._kept.pop(job_id, None)

    def specs(self, host: str) -> tuple[JobSpec, ...]:
        """All of them as jobs of this host."""
        with self._mutex:
            return tuple(spec(job_id, kept, host) for job_id, kept in self._kept.items())

    async def _run(self, context: Context, _payload: object) -> None:
        job_id = context.job.id
        with self._mutex:
            kept = self._kept.get(job_id)
        if kept is None:
            context.cancel(job_id)
            return
        begun, underway = self._underway.get(job_id, (None, None))
        if underway is not None and begun is kept:
            # A scheduler that has just started orders anew what has been running since before it.
            await asyncio.wait([underway])
            return
        mine = self._underway[job_id] = kept, asyncio.get_running_loop().create_future()
        try:
            await self._call(kept.closure)
        finally:
            mine[1].set_result(None)
            if self._underway.get(job_id) is mine:
                del self._underway[job_id]
            with self._mutex:
                if self._kept.get(job_id) is kept:
                    if kept.interval_us is None:
                        del self._kept[job_id]
                    else:
                        due_at = self._clock.wall() + kept.interval_us
                        self._kept[job_id] = kept._replace(due_at=due_at)

    async def _call(self, closure: Closure) -> None:
        if self._on_bot_loop or _is_coroutine_function(closure):
            value = closure()
        else:
            value = await asyncio.to_thread(closure)
        if inspect.isawaitable(value):
            await value


def spec(job_id: str, kept: Kept, host: str) -> JobSpec:
    return door.job_spec(
        job_id,
        PREFIX + host,
        due_at=kept.due_at,
        rule=None if kept.interval_us is None else rules.rest(kept.interval_us),
        time_limit=kept.time_limit_us / 1e6,
    )


def _is_coroutine_function(closure: Closure) -> bool:
    inner = closure.func if isinstance(closure, partial) else closure
    return inspect.iscoroutinefunction(inner)
