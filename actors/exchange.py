"""Requests out, replies in. Calls that come while a batch is under way travel together in the next.

There is no thread of its own: whoever calls while nothing is under way carries the batch, and hands over to the
next in line. A batch that gets no answer is repeated under its number until its callers' time is up.
"""

import secrets
import threading
from collections.abc import Callable, Sequence
from itertools import count

from thespian.actors import ActorSystemException

from . import processes
from .clock import SYSTEM_CLOCK, sleep
from .connection import Connection, Context
from .errors import SchedulerUnavailableError
from .forking import call_in_child
from .messages import Refused, Reply, ReplyBatch, Request, RequestBatch

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 4.0
PAUSE_S = 0.02
REQUESTS_AT_ONCE = 1_000


class Call:
    """Requests of one caller. `done` is set when they are answered, or when the caller is to carry on itself."""

    __slots__ = ("done", "error", "leading", "refused", "replies", "requests", "until")

    def __init__(self, requests: Sequence[Request], until: int) -> None:
        self.requests = requests
        self.until = until
        self.replies: Sequence[Reply] | None = None
        self.refused: Sequence[Reply] | None = None
        """What it was told the last time, while it tries again."""
        self.error: BaseException | None = None
        self.leading = False
        self.done: threading.Event | None = None


class Exchange:
    """One client of one scheduler. Safe to call from many threads, and in a child after a fork."""

    def __init__(self, connection: Connection, ensure: Callable[[], None] | None = None) -> None:
        """`ensure` is called when nothing runs: it may start something."""
        self._connection = connection
        self._ensure = ensure
        self._mutex = threading.Lock()
        self._begin()
        call_in_child(self._begin_after_fork)

    def _begin(self) -> None:
        self._client = f"{processes.identity()}/{secrets.token_hex(8)}"
        self._numbers = count(1)
        self._waiting: list[Call] = []
        self._carried = False
        self._context: Context | None = None
        self._closed = False
        self._left_over: tuple[RequestBatch, list[Call]] | None = None

    def _begin_after_fork(self) -> None:
        self._mutex = threading.Lock()
        self._begin()

    def call(self, requests: Sequence[Request], timeout_s: float) -> Sequence[Reply]:
        """The replies, in the order of the requests. Raises `SchedulerUnavailableError` past the timeout."""
        call = Call(requests, SYSTEM_CLOCK.monotonic() + int(timeout_s * 1e6))
        with self._mutex:
            if self._closed:
                raise SchedulerUnavailableError("this handle was stopped; connect again")
            self._waiting.append(call)
            if self._carried:
                call.done = threading.Event()
            else:
                self._carried = call.leading = True
        if call.done is not None:
            self._wait(call)
        if call.leading:
            try:
                while call.replies is None and call.error is None:
                    self._carry(call)
            finally:
                self._hand_over(call)
        if call.error is not None:
            raise call.error
        if call.replies is None:
            raise self._too_late()
        return call.replies

    def close(self) -> None:
        with self._mutex:
            self._closed = True
            if not self._carried and self._context is not None:
                self._context.close()
                self._context = None

    def _wait(self, call: Call) -> None:
        assert call.done is not None
        left = (call.until - SYSTEM_CLOCK.monotonic()) / 1e6
        if not call.done.wait(max(0.0, left)):
            with self._mutex:
                if call.replies is None and not call.leading:
                    call.replies = call.refused
                    call.error = self._too_late() if call.refused is None else None
                    if call in self._waiting:
                        self._waiting.remove(call)

    def _too_late(self) -> SchedulerUnavailableError:
        return SchedulerUnavailableError(
            f"the scheduler on {self._connection.folder.database} has not answered in time; "
            "see `bellringer health`, and try again"
        )

    def _hand_over(self, leader: Call) -> None:
        with self._mutex:
            if leader in self._waiting:
                self._waiting.remove(leader)
            left_over = self._left_over[1] if self._left_over is not None else []
            for call in (*left_over, *self._waiting):
                if call.error is None and call.replies is None and call.done is not None:
                    call.leading = True
                    call.done.set()
                    return
            self._carried = False
            self._left_over = None
            if self._closed and self._context is not None:
                self._context.close()
                self._context = None

    def _carry(self, leader: Call) -> None:
        """Have one batch answered; give up when the leader's time is up, and leave the batch to the next leader."""
        with self._mutex:
            if self._left_over is not None:
                batch, calls = self._left_over
            else:
                calls = self._take()
                requests = tuple(request for call in calls for request in call.requests)
                batch = RequestBatch(client=self._client, number=next(self._numbers), requests=requests)
                self._left_over = batch, calls
        try:
            replies = self._exchange(batch, leader.until)
        except SchedulerUnavailableError as error:
            leader.error = error
            with self._mutex:
                if all(call.error is not None for call in calls):
                    self._left_over = None
            return
        except BaseException as error:
            with self._mutex:
                self._left_over = None
            for call in calls:
                call.error = error
                if call.done is not None:
                    call.done.set()
            raise
        with self._mutex:
            self._left_over = None
            refused = self._deliver(calls, replies, leader)
        if refused == len(calls):
            sleep(PAUSE_S * 4)

    def _deliver(self, calls: Sequence[Call], replies: Sequence[Reply], leader: Call) -> int:
        """Hand out replies. Who may try again does, behind those who wait; how many those are."""
        place, refused = 0, 0
        soon = SYSTEM_CLOCK.monotonic() + int(PAUSE_S * 4e6)
        for call in calls:
            part = replies[place : place + len(call.requests)]
            place += len(call.requests)
            if call.until > soon and any(isinstance(reply, Refused) and reply.again for reply in part):
                refused += 1
                call.refused = part
                self._waiting.append(call)
                continue
            call.replies = part
            if call.done is not None and call is not leader:
                call.done.set()
        return refused

    def _take(self) -> list[Call]:
        taken: list[Call] = []
        requests = 0
        while self._waiting and (not taken or requests + len(self._waiting[0].requests) <= REQUESTS_AT_ONCE):
            call = self._waiting.pop(0)
            taken.append(call)
            requests += len(call.requests)
        return taken

    def _exchange(self, batch: RequestBatch, until: int) -> Sequence[Reply]:
        wait_s = FIRST_WAIT_S
        reason: SchedulerUnavailableError | None = None
        while True:
            left_s = (until - SYSTEM_CLOCK.monotonic()) / 1e6
            if left_s <= 0:
                raise reason or self._too_late()
            try:
                replies = self._try(batch, min(wait_s, left_s))
            except SchedulerUnavailableError as error:
                reason = error
                if self._ensure is not None:
                    self._ensure()
                sleep(min(PAUSE_S, left_s))
                continue
            if replies is None:
                reason = None
                waited_s = left_s - (until - SYSTEM_CLOCK.monotonic()) / 1e6
                if waited_s >= wait_s:
                    wait_s = min(wait_s * 2, LONGEST_WAIT_S)
                else:
                    sleep(min(PAUSE_S, left_s))
                continue
            return replies

    def _try(self, batch: RequestBatch, wait_s: float) -> Sequence[Reply] | None:
        """Send once. None: no answer, so the next try looks the scheduler up anew."""
        if self._context is None:
            self._context = self._connection.open()
        context = self._context
        until = SYSTEM_CLOCK.monotonic() + int(wait_s * 1e6)
        try:
            answer = context.ask(batch, wait_s)
            while answer is not None:
                if isinstance(answer, ReplyBatch) and answer.number == batch.number:
                    context.watch_scheduler(answer.process)
                    return answer.replies
                answer = context.listen(max(0.0, (until - SYSTEM_CLOCK.monotonic()) / 1e6))
        except (OSError, ValueError, ActorSystemException):
            pass  # the socket broke: as good as no answer
        self._context = None
        context.close()
        self._connection.lost(context.generation)
        return None
