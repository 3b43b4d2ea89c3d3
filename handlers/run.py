"""One order, one run, one result: whatever the handler does."""

import asyncio
import contextlib
import json
from collections.abc import Callable

from ..storage.values import RunOrder, RunResult
from . import text, verdicts
from .base_context import BaseContext
from .context import Context, SyncContext
from .dependencies import NOTHING_DECLARED
from .environment import Environment
from .errors import SessionValueError
from .outcomes import Park
from .registry import Handler
from .sessions import Session
from .threads import Call
from .verdicts import Verdict

Report = Callable[[RunResult], None]


async def run(order: RunOrder, environment: Environment) -> RunResult:
    """Run an order and tell what became of it. Raises nothing.

    Cancelling it interrupts the handler; what is returned then says so.
    """
    results: list[RunResult] = []
    told = asyncio.Event()

    def report(result: RunResult) -> None:
        results.append(result)
        told.set()

    running = start(order, environment, report)
    while not results:
        try:
            await told.wait()
        except asyncio.CancelledError:
            running.interrupt()
    return results[0]


def start(order: RunOrder, environment: Environment, report: Report) -> "Run":
    """Begin to run an order on the running event loop. `report` gets the one result, on the loop; it must not raise.

    Cheaper than `run`: one task an order.
    """
    return Run(order, environment, report)


class Run:
    """An order that was begun. A failed or interrupted one keeps what it scheduled and cancelled, not its session."""

    __slots__ = ("_call", "_context", "_cut", "_environment", "_loop", "_report", "_timer", "order", "task")

    def __init__(self, order: RunOrder, environment: Environment, report: Report) -> None:
        self.order = order
        self._environment = environment
        self._report: Report | None = report
        self._context: BaseContext | None = None
        self._cut: Verdict | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._call: Call | None = None
        self._loop = asyncio.get_running_loop()
        self.task = self._loop.create_task(self._drive())

    @property
    def started_at(self) -> int | None:
        """When its handler was called, or None before that."""
        return self._context.started_at or None if self._context is not None else None

    def interrupt(self) -> None:
        """Cut it: within the grace of the environment it is told as interrupted, or not_started where that is so."""
        if self._report is not None:
            self._stop(Verdict("interrupted", reason="interrupted: its host stopped"))

    async def _drive(self) -> None:
        order = self.order
        value: object = None
        try:
            handler = self._environment.registry.get(order.handler)
            if handler is None:
                self._tell(Verdict("not_started", reason=f"this host knows no handler {order.handler!r}"))
                return
            payload = None if order.payload == "null" else _payload(order)
            session = None if order.session is None else Session(order.session)
            given = await self._environment.dependencies.declared(handler.needs) if handler.needs else NOTHING_DECLARED
            if handler.is_async:
                self._context = context = Context(order, self._environment, session, given)
                self._limit()
                if self._environment.abandoned:
                    return
                context.started_at = self._environment.clock.wall()
                value = await handler.function(context, payload)  # type: ignore[misc]
            else:
                self._context = blocking = SyncContext(order, self._environment, session, given)
                value = await self._in_a_thread(handler, blocking, payload)
        # The border to the bot's own code: whatever it raises, sys.exit() included, costs this run only.
        except BaseException as error:  # noqa: BLE001
            if self._loop.is_closed():
                return
            self._tell(verdicts.of_error(error))
        else:
            self._tell(verdicts.of_value(value))

    async def _in_a_thread(self, handler: Handler, context: SyncContext, payload: object) -> object:
        loop, clock = self._loop, self._environment.clock
        ended: asyncio.Future[tuple[object, BaseException | None]] = loop.create_future()

        def end(value: object, error: BaseException | None) -> None:
            if not ended.done():
                ended.set_result((value, error))

        def work() -> None:
            value, raised = None, None
            try:
                loop.call_soon_threadsafe(self._limit)
                if self._environment.abandoned:
                    return
                context.started_at = clock.wall()
                value = handler.function(context, payload)
            except BaseException as error:  # noqa: BLE001  raised again on the loop
                raised = error
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile, and nobody waits any more
                loop.call_soon_threadsafe(end, value, raised)

        self._call = self._environment.threads.submit(work)
        value, error = await ended
        if error is None:
            return value
        try:
            raise error
        finally:
            del error  # its traceback holds this frame

    def _limit(self) -> None:
        if self._report is not None and self._cut is None:
            self._timer = self._loop.call_later(self.order.time_limit_us / 1e6, self._overrun)

    def _overrun(self) -> None:
        limit = self.order.time_limit_us / 1e6
        self._stop(verdicts.failed(f"time limit: the handler ran longer than {limit:g} s"))

    def _stop(self, verdict: Verdict) -> None:
        if self._cut is not None:
            return
        self._cut = verdict
        if self._context is None:
            # A task that is cancelled before its first step never gets to tell anything.
            self._tell(verdict)
            self.task.cancel()
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(self._environment.grace_s, self._give_up)
        if self._call is None or self._environment.threads.withdraw(self._call):
            self.task.cancel()
        elif self._context is not None:
            self._context.end()

    def _give_up(self) -> None:
        assert self._cut is not None
        if self._call is not None:
            where = self._environment.threads.leave(self._call)
            self._cut = self._cut._replace(traceback=where and text.end(where))
            self._tell(self._cut)
            self.task.cancel()
        else:
            self._environment.leave_behind(self.task)
            self._tell(self._cut)

    def _tell(self, verdict: Verdict) -> None:
        report, self._report = self._report, None
        if report is None:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._cut is not None:
            verdict = self._after_a_cut(verdict)
        order, context = self.order, self._context
        now = self._environment.clock.wall()
        if context is None:
            report(
                RunResult(
                    order.seq, order.token, verdict.name, now, now, verdict.after_us, verdict.reason, verdict.traceback
                )
            )
            return
        context.end()
        session_set: str | None = None
        session_remove: tuple[str, ...] = ()
        if context._session is not None and verdict.keeps_session:
            try:
                session_set, session_remove = context._session.patch()
            except SessionValueError as error:
                verdict = verdicts.of_error(error)
        report(
            RunResult(
                order.seq,
                order.token,
                verdict.name,
                context.started_at or now,
                now,
                verdict.after_us,
                verdict.reason,
                verdict.traceback,
                session_set,
                session_remove,
                context.scheduled,
                context.cancelled,
                context.delivered,
            )
        )

    def _after_a_cut(self, verdict: Verdict) -> Verdict:
        """A handler that was cut says nothing credible, except a thread that finished by itself in time."""
        assert self._cut is not None
        if self._cut.name == "interrupted":
            if self.started_at is None:
                return Verdict("not_started", reason=self._cut.reason)
            if self._call is not None and verdict.name != "failed":
                return verdict
        return self._cut._replace(traceback=self._cut.traceback or verdict.traceback)


def _payload(order: RunOrder) -> object:
    try:
        return json.loads(order.payload)
    except (ValueError, RecursionError) as error:
        raise Park(f"the stored payload is not JSON ({error}); schedule job {order.id!r} again") from error
