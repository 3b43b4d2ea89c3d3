"""The handle of a bot that lives on an event loop: what the plain one offers, awaitable. No call blocks the loop."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self, Unpack

from ..handlers.registry import Registry
from ..handlers.transports import Transport
from ..storage.planning import JobOptions
from ..storage.values import ChatId
from . import adjustments, questions, views
from .async_exchange import AsyncExchange
from .core import TIMEOUT_S, Core
from .events import Listener
from .questions import CancelledJobs, Question, ScheduledJob, Seconds, T


class AsyncSchedulerHandle:
    """As `SchedulerHandle`, whose docstrings hold here too. What many tasks ask at once travels together."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._exchange = AsyncExchange(core.exchange)

    async def _ask(self, question: Question[T], timeout_s: float) -> T:
        return question.answer(await self._exchange.call(question.request, timeout_s))

    # Jobs that survive

    async def persisted(
        self,
        id: str,  # the word that users have for it
        handler: str,
        *,
        at: datetime | None = None,
        after: Seconds | None = None,
        timeout: float = TIMEOUT_S,
        **options: Unpack[JobOptions],
    ) -> ScheduledJob:
        return await self.schedule(handler, id=id, at=at, after=after, timeout=timeout, **options)

    async def persisted_every(
        self,
        id: str,  # the word that users have for it
        handler: str,
        *,
        every: Seconds,
        at: datetime | None = None,
        timeout: float = TIMEOUT_S,
        **options: Unpack[JobOptions],
    ) -> ScheduledJob:
        return await self.schedule(handler, id=id, at=at, every=every, timeout=timeout, **options)

    async def schedule(
        self,
        handler: str,
        *,
        id: str | None = None,  # the word that users have for it
        at: datetime | None = None,
        after: Seconds | None = None,
        every: Seconds | None = None,
        only_new: bool = False,
        timeout: float = TIMEOUT_S,
        **options: Unpack[JobOptions],
    ) -> ScheduledJob:
        job = questions.spec(handler, self._core.clock.wall(), id=id, at=at, after=after, every=every, options=options)
        return await self._ask(questions.schedule(job, only_new=only_new), timeout)

    async def schedule_many(self, jobs: Iterable[Mapping[str, object]], *, timeout: float = TIMEOUT_S) -> list[str]:
        specs = questions.specs(jobs, self._core.clock.wall())
        return await self._ask(questions.schedule_many(specs), timeout) if specs else []

    # Jobs in memory

    async def run_after(
        self,
        delay: Seconds,
        function: Callable[..., object],
        *arguments: object,
        id: str | None = None,  # the word that users have for it
        time_limit: Seconds | None = None,
        timeout: float = TIMEOUT_S,
    ) -> str:
        question = await self._core.closure_from_loop(
            delay, function, arguments, id=id, repeat=False, time_limit=time_limit, timeout_s=timeout
        )
        return (await self._ask(question, timeout)).id

    async def run_every(
        self,
        interval: Seconds,
        function: Callable[..., object],
        *arguments: object,
        id: str | None = None,  # the word that users have for it
        time_limit: Seconds | None = None,
        timeout: float = TIMEOUT_S,
    ) -> str:
        question = await self._core.closure_from_loop(
            interval, function, arguments, id=id, repeat=True, time_limit=time_limit, timeout_s=timeout
        )
        return (await self._ask(question, timeout)).id

    # Changing what is scheduled

    async def cancel(self, *ids: str, timeout: float = TIMEOUT_S) -> CancelledJobs:
        self._core.forget_closures(ids)
        return await self._ask(questions.cancel(ids), timeout)

    async def run_now(self, id: str, *, timeout: float = TIMEOUT_S) -> None:  # the word that users have for it
        await self._ask(questions.run_now(id), timeout)

    async def redrive(self, id: str, *, timeout: float = TIMEOUT_S) -> None:  # the word that users have for it
        await self._ask(questions.redrive(id), timeout)

    async def pause(
        self,
        id: str | None = None,  # the word that users have for it
        *,
        chat_id: ChatId | None = None,
        handler: str | None = None,
        everything: bool = False,
        until: datetime | None = None,
        reason: str | None = None,
        run_one: bool = False,
        timeout: float = TIMEOUT_S,
    ) -> None:
        question = adjustments.pause(id, chat_id, handler, everything, until=until, reason=reason, run_one=run_one)
        await self._ask(question, timeout)

    async def resume(
        self,
        id: str | None = None,  # the word that users have for it
        *,
        chat_id: ChatId | None = None,
        handler: str | None = None,
        everything: bool = False,
        run_one: bool | None = None,
        timeout: float = TIMEOUT_S,
    ) -> None:
        await self._ask(adjustments.resume(id, chat_id, handler, everything, run_one=run_one), timeout)

    async def skip_next(
        self,
        id: str | None = None,  # the word that users have for it
        *,
        chat_id: ChatId | None = None,
        handler: str | None = None,
        everything: bool = False,
        timeout: float = TIMEOUT_S,
    ) -> int:
        count, after = 0, 0
        while True:
            told = await self._ask(adjustments.skip_next(id, chat_id, handler, everything, after), timeout)
            count += told.count
            if told.after is None:
                return count
            after = told.after

    async def snooze(
        self,
        id: str | None = None,  # the word that users have for it
        *,
        chat_id: ChatId | None = None,
        handler: str | None = None,
        everything: bool = False,
        by: Seconds | None = None,
        until: datetime | None = None,
        timeout: float = TIMEOUT_S,
    ) -> None:
        question = adjustments.snooze(id, chat_id, handler, everything, by=by, until=until, now=self._core.clock.wall())
        await self._ask(question, timeout)

    async def set_zone(
        self, zone: str, *, chat_id: ChatId, user_id: ChatId | None = None, timeout: float = TIMEOUT_S
    ) -> int:
        count, after = 0, 0
        while True:
            told = await self._ask(adjustments.change_zone(zone, chat_id, user_id, after), timeout)
            count += told.count
            if told.after is None:
                return count
            after = told.after

    # Looking

    async def explain(self, id: str, *, timeout: float = TIMEOUT_S) -> views.Explanation | None:
        return await self._ask(adjustments.explain(id), timeout)

    async def pauses(self, *, timeout: float = TIMEOUT_S) -> list[views.Pause]:
        return await self._ask(adjustments.pauses(), timeout)

    async def get(self, id: str, *, timeout: float = TIMEOUT_S) -> views.Job | None:  # the word that users have for it
        return await self._ask(questions.get(id), timeout)

    async def pending(
        self,
        *,
        chat_id: ChatId | None = None,
        status: str | None = None,
        limit: int = 100,
        after: str | views.Job | None = None,
        timeout: float = TIMEOUT_S,
    ) -> list[views.Job]:
        return await self._ask(questions.pending(chat_id, status, limit, after), timeout)

    async def history(
        self,
        id: str | None = None,  # the word that users have for it
        *,
        chat_id: ChatId | None = None,
        outcome: str | None = None,
        limit: int = 100,
        before: int | None = None,
        timeout: float = TIMEOUT_S,
    ) -> list[views.Occurrence]:
        return await self._ask(questions.history(id, chat_id, outcome, limit, before), timeout)

    async def sessions(
        self, *, chat_id: ChatId | None = None, limit: int = 100, timeout: float = TIMEOUT_S
    ) -> list[views.StoredSession]:
        return await self._ask(questions.sessions(chat_id, limit), timeout)

    async def health(self, *, timeout: float = TIMEOUT_S) -> views.Health:
        return await self._ask(questions.health(), timeout)

    # This process as a host

    async def attach(
        self,
        handlers: Sequence[str] = (),
        *,
        registry: Registry | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
        transport: Transport | None = None,
        places: int = 100,
        timeout: float = TIMEOUT_S,
    ) -> Self:
        here = loop or asyncio.get_running_loop()
        await asyncio.to_thread(self._core.attach, handlers, registry, here, transport, places, timeout)
        return self

    async def listen(self, listener: Listener, *, timeout: float = TIMEOUT_S) -> None:
        await asyncio.to_thread(self._core.listen, listener, timeout, asyncio.get_running_loop())

    async def stop(self, *, grace: float = 10.0) -> None:
        self._exchange.close()
        if self._core.is_inside:
            self._core.stop(grace)
        else:
            await asyncio.to_thread(self._core.stop, grace)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()
