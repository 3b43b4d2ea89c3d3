"""The handle that a bot holds. Safe from many threads; nothing is looked up before its first use."""

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
from .core import TIMEOUT_S, Core
from .events import Listener
from .questions import CancelledJobs, ScheduledJob, Seconds


class SchedulerHandle:
    """A way to one scheduler, by name.

    Every call returns after commit, and raises `SchedulerUnavailableError` when nothing has answered within its
    `timeout` (seconds), `RequestRefusedError` when the scheduler has refused, and `InvalidJobError` before anything
    is sent. A call made while the scheduler restarts is repeated, and done once.
    """

    def __init__(self, core: Core) -> None:
        self._core = core

    # Jobs that survive

    def persisted(
        self,
        id: str,  # the word that users have for it
        handler: str,
        *,
        at: datetime | None = None,
        after: Seconds | None = None,
        timeout: float = TIMEOUT_S,
        **options: Unpack[JobOptions],
    ) -> ScheduledJob:
        """Have `handler` called once, at an instant or after a delay. The same id again replaces; the past is now."""
        return self.schedule(handler, id=id, at=at, after=after, timeout=timeout, **options)

    def persisted_every(
        self,
        id: str,  # the word that users have for it
        handler: str,
        *,
        every: Seconds,
        at: datetime | None = None,
        timeout: float = TIMEOUT_S,
        **options: Unpack[JobOptions],
    ) -> ScheduledJob:
        """Have `handler` called again and again, on a grid that begins one interval from now, or at `at`.

        It stays on its grid however long a run takes; after an outage it runs once and goes on.
        """
        return self.schedule(handler, id=id, at=at, every=every, timeout=timeout, **options)

    def schedule(
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
        """Schedule a job; without an id it gets one.

        With `only_new` an id that exists, or that the ledger still knows, is refused with the code `exists`.
        """
        job = questions.spec(handler, self._core.clock.wall(), id=id, at=at, after=after, every=every, options=options)
        return self._core.ask(questions.schedule(job, only_new=only_new), timeout)

    def schedule_many(self, jobs: Iterable[Mapping[str, object]], *, timeout: float = TIMEOUT_S) -> list[str]:
        """Schedule jobs, each a mapping of what `schedule` takes, in one transaction: all or none. Gives their ids."""
        specs = questions.specs(jobs, self._core.clock.wall())
        return self._core.ask(questions.schedule_many(specs), timeout) if specs else []

    # Jobs in memory

    def run_after(
        self,
        delay: Seconds,
        function: Callable[..., object],
        *arguments: object,
        id: str | None = None,  # the word that users have for it
        time_limit: Seconds | None = None,
        timeout: float = TIMEOUT_S,
    ) -> str:
        """Call a function of this process after a delay, on its event loop if it has one. Gone with the process."""
        question = self._core.closure(
            delay, function, arguments, id=id, repeat=False, time_limit=time_limit, timeout_s=timeout
        )
        return self._core.ask(question, timeout).id

    def run_every(
        self,
        interval: Seconds,
        function: Callable[..., object],
        *arguments: object,
        id: str | None = None,  # the word that users have for it
        time_limit: Seconds | None = None,
        timeout: float = TIMEOUT_S,
    ) -> str:
        """Call a function of this process again and again; each interval begins when the run before has ended."""
        question = self._core.closure(
            interval, function, arguments, id=id, repeat=True, time_limit=time_limit, timeout_s=timeout
        )
        return self._core.ask(question, timeout).id

    # Changing what is scheduled

    def cancel(self, *ids: str, timeout: float = TIMEOUT_S) -> CancelledJobs:
        """Cancel jobs. Unknown ids are ignored; the answer says which. What runs may finish, but settles nothing."""
        self._core.forget_closures(ids)
        return self._core.ask(questions.cancel(ids), timeout)

    def run_now(self, id: str, *, timeout: float = TIMEOUT_S) -> None:  # the word that users have for it
        """Run a scheduled job now. A repeating one runs once more; its grid stays."""
        self._core.ask(questions.run_now(id), timeout)

    def redrive(self, id: str, *, timeout: float = TIMEOUT_S) -> None:  # the word that users have for it
        """Put a parked job back, due now, with all its attempts."""
        self._core.ask(questions.redrive(id), timeout)

    def pause(
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
        """Let nothing of a job, a chat, a handler or of everything run, until `resume`, or `until` an instant.

        What is running may finish. A pause outlasts restarts, and stays when the job's id is scheduled anew. Due times
        of repeating jobs that pass meanwhile are recorded as skipped, or, with `run_one`, the latest runs when it ends;
        jobs that run once run late.
        """
        question = adjustments.pause(id, chat_id, handler, everything, until=until, reason=reason, run_one=run_one)
        self._core.ask(question, timeout)

    def resume(
        self,
        id: str | None = None,  # the word that users have for it
        *,
        chat_id: ChatId | None = None,
        handler: str | None = None,
        everything: bool = False,
        run_one: bool | None = None,
        timeout: float = TIMEOUT_S,
    ) -> None:
        """End a pause of the same scope. `run_one` decides anew about what came due meanwhile. See `pause`."""
        self._core.ask(adjustments.resume(id, chat_id, handler, everything, run_one=run_one), timeout)

    def skip_next(
        self,
        id: str | None = None,  # the word that users have for it
        *,
        chat_id: ChatId | None = None,
        handler: str | None = None,
        everything: bool = False,
        timeout: float = TIMEOUT_S,
    ) -> int:
        """Leave out the next due time of a repeating job, or of all in a scope. It is recorded. Tells how many."""
        count, after = 0, 0
        while True:
            told = self._core.ask(adjustments.skip_next(id, chat_id, handler, everything, after), timeout)
            count += told.count
            if told.after is None:
                return count
            after = told.after

    def snooze(
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
        """Put off what is due next; the series stays as it is.

        A job's next run comes `by` so much later than its due time, or than now if that is past, or at `until`. In a
        wider scope nothing runs until then, counted from now; what has come due meanwhile runs once.
        """
        question = adjustments.snooze(id, chat_id, handler, everything, by=by, until=until, now=self._core.clock.wall())
        self._core.ask(question, timeout)

    def set_zone(self, zone: str, *, chat_id: ChatId, user_id: ChatId | None = None, timeout: float = TIMEOUT_S) -> int:
        """Make this the zone of a chat, or of a user in it, as `Europe/Berlin`. How many jobs have moved.

        All their jobs that have local times keep them, in the new zone, and so do those that are scheduled from now on
        without a zone. It is kept in the session, under the key `zone`.
        """
        count, after = 0, 0
        while True:
            told = self._core.ask(adjustments.change_zone(zone, chat_id, user_id, after), timeout)
            count += told.count
            if told.after is None:
                return count
            after = told.after

    # Looking

    def explain(self, id: str, *, timeout: float = TIMEOUT_S) -> views.Explanation | None:
        """What became of each recent occurrence of a job and why, and what comes next. None: there is no such job."""
        return self._core.ask(adjustments.explain(id), timeout)

    def pauses(self, *, timeout: float = TIMEOUT_S) -> list[views.Pause]:
        """What is paused now."""
        return self._core.ask(adjustments.pauses(), timeout)

    def get(self, id: str, *, timeout: float = TIMEOUT_S) -> views.Job | None:  # the word that users have for it
        """The job; one that has ended is told from its ledger. None: there was never one, or it is long ago."""
        return self._core.ask(questions.get(id), timeout)

    def pending(
        self,
        *,
        chat_id: ChatId | None = None,
        status: str | None = None,
        limit: int = 100,
        after: str | views.Job | None = None,
        timeout: float = TIMEOUT_S,
    ) -> list[views.Job]:
        """Jobs that have not ended, in order of due time. `after` is the job that the page before ended with."""
        return self._core.ask(questions.pending(chat_id, status, limit, after), timeout)

    def history(
        self,
        id: str | None = None,  # the word that users have for it
        *,
        chat_id: ChatId | None = None,
        outcome: str | None = None,
        limit: int = 100,
        before: int | None = None,
        timeout: float = TIMEOUT_S,
    ) -> list[views.Occurrence]:
        """What became of each occurrence, newest first. `before` is the number that the page before ended with."""
        return self._core.ask(questions.history(id, chat_id, outcome, limit, before), timeout)

    def sessions(
        self, *, chat_id: ChatId | None = None, limit: int = 100, timeout: float = TIMEOUT_S
    ) -> list[views.StoredSession]:
        return self._core.ask(questions.sessions(chat_id, limit), timeout)

    def health(self, *, timeout: float = TIMEOUT_S) -> views.Health:
        return self._core.ask(questions.health(), timeout)

    # This process as a host

    def attach(
        self,
        handlers: Sequence[str] = (),
        *,
        registry: Registry | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
        transport: Transport | None = None,
        places: int = 100,
        timeout: float = TIMEOUT_S,
    ) -> Self:
        """Run jobs in this process, up to `places` at once, for handlers that it has registered or `handlers` names.

        They run on `loop` (which must be running, in whatever thread); without one, on a loop in a thread of its own.
        """
        self._core.attach(handlers, registry, loop, transport, places, timeout)
        return self

    def listen(self, listener: Listener, *, timeout: float = TIMEOUT_S) -> None:
        """Have every event (`job.run`, `job.error`, …) told to a function, which must be quick. It may miss some."""
        self._core.listen(listener, timeout)

    def stop(self, *, grace: float = 10.0) -> None:
        """Leave: running handlers of this process get the grace. Ends the system if this handle started it."""
        self._core.stop(grace)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
