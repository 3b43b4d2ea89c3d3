"""Where requests are answered. One batch is one transaction, and its answers are durable with it."""

import logging
from collections import OrderedDict
from collections.abc import Callable
from contextlib import nullcontext

from ..storage.errors import BellringerError, InvalidJobError, StorageError
from ..storage.values import JobRow, JobSpec, Status
from . import replies
from .adjusting import Adjusting
from .dispatch import Dispatch
from .messages import (
    Accepted,
    Cancel,
    Cancelled,
    ChangeZone,
    ExplainJob,
    GetHealth,
    GetJob,
    HealthTold,
    HistoryListed,
    JobsListed,
    ListHistory,
    ListJobs,
    ListPauses,
    ListSessions,
    PauseJobs,
    Redrive,
    Refused,
    Reply,
    ReplyBatch,
    Request,
    RequestBatch,
    ResumeJobs,
    RunNow,
    Schedule,
    Scheduled,
    SessionsListed,
    SkipNext,
    SnoozeJob,
)
from .shelf import Shelf
from .zone_data import ZoneData

CLIENTS_REMEMBERED = 1_000
ROWS_AT_ONCE = 10_000
LISTED_PAYLOAD = 4_096
CHANGES = (Schedule, Cancel, RunNow, Redrive, PauseJobs, ResumeJobs, SkipNext, SnoozeJob, ChangeZone)

log = logging.getLogger("bellringer.scheduler")


class Desk:
    """Answers each batch once. `health` is asked of the scheduler, which knows the rest of it."""

    def __init__(self, dispatch: Dispatch, zone_data: ZoneData, health: Callable[[int], HealthTold]) -> None:
        self._dispatch = dispatch
        self._zone_data = zone_data
        self._health = health
        self._adjusting = Adjusting(dispatch, zone_data, self._look_at)
        self._answered: OrderedDict[str, ReplyBatch] = OrderedDict()
        self.earliest: int | None = None
        """The earliest attempt that the last batch made, for the timer."""
        self.kept_in_memory: dict[str, set[str]] = {}

    def answer(self, batch: RequestBatch, now: int) -> ReplyBatch | None:
        """None for a batch that its client has given up: a later one of its own is answered already."""
        self.earliest = None
        before = self._answered.get(batch.client)
        if before is None:
            try:
                told = self._dispatch.durable.store.recall_replies(batch.client)
            except StorageError as error:
                refusals = (_refusal(error),) * len(batch.requests)
                return ReplyBatch(client=batch.client, number=batch.number, replies=refusals)
            if told is not None and told[0] >= batch.number:
                return None if told[0] > batch.number else self._told_before(batch, told[1], now)
        elif before.number >= batch.number:
            return before if before.number == batch.number else None
        answers = self._carry_out(batch, now)
        reply = ReplyBatch(client=batch.client, number=batch.number, replies=tuple(answers))
        if not any(isinstance(answer, Refused) and answer.again for answer in answers):
            self._answered[batch.client] = reply
            self._answered.move_to_end(batch.client)
            if len(self._answered) > CLIENTS_REMEMBERED:
                self._answered.popitem(last=False)
        return reply

    def _told_before(self, batch: RequestBatch, text: str, now: int) -> ReplyBatch:
        answers = [
            answer if answer is not None else self._answer(request, now)
            for request, answer in zip(batch.requests, replies.from_text(text), strict=True)
        ]
        return ReplyBatch(client=batch.client, number=batch.number, replies=tuple(answers))

    def _carry_out(self, batch: RequestBatch, now: int) -> list[Reply]:
        if not any(isinstance(request, CHANGES) for request in batch.requests):
            return [self._answer_alone(request, now) for request in batch.requests]
        store = self._dispatch.durable.store
        try:
            with store.transaction(), self._dispatch.in_memory.store.transaction():
                answers = [self._answer(request, now) for request in batch.requests]
                store.remember_replies(batch.client, batch.number, replies.to_text(answers), now)
                return answers
        except StorageError as error:
            self._dispatch.start_over()
            return [
                _refusal(error) if isinstance(request, CHANGES) else self._answer_alone(request, now)
                for request in batch.requests
            ]
        except Exception:  # the border of one batch: what is wrong with one request costs that one only
            log.exception("a batch of %d requests failed; each is tried alone", len(batch.requests))
        self._dispatch.start_over()
        answers = [self._answer_alone(request, now) for request in batch.requests]
        try:
            store.remember_replies(batch.client, batch.number, replies.to_text(answers), now)
        except StorageError as error:
            log.warning("the answers to a batch could not be kept: %s", error)
        return answers

    def _answer_alone(self, request: Request, now: int) -> Reply:
        try:
            with self._dispatch.durable.store.transaction() if isinstance(request, CHANGES) else nullcontext():
                return self._answer(request, now)
        except StorageError as error:
            refused = _refusal(error)
        except Exception as error:  # the border of one request
            log.exception("a request failed: %s", type(request).__name__)
            sentence = f"{type(request).__name__} failed inside the scheduler: {error!r}"
            refused = Refused(code="failed", sentence=sentence)
        if isinstance(request, CHANGES):
            self._dispatch.start_over()
        return refused

    def _answer(self, request: Request, now: int) -> Reply:
        durable = self._dispatch.durable.store
        match request:
            case Schedule():
                return self._schedule(request, now)
            case Cancel():
                return self._cancel(request, now)
            case RunNow():
                return self._run_now(request, now)
            case Redrive():
                return self._redrive(request, now)
            case GetJob():
                row = self._job(request.job_id)
                return JobsListed(jobs=() if row is None else (row,))
            case ListJobs():
                if isinstance(request.after, str) and self._job(request.after) is None:
                    return Refused(code="not_found", sentence=f"job {request.after!r}, to go on behind, is not there")
                return JobsListed(jobs=tuple(self._jobs(request)))
            case ListHistory():
                return HistoryListed(
                    occurrences=tuple(
                        durable.history(
                            job_id=request.job_id,
                            chat_id=request.chat_id,
                            outcome=request.outcome,
                            limit=min(request.limit, ROWS_AT_ONCE),
                            before=request.before,
                        )
                    )
                )
            case ListSessions():
                return SessionsListed(
                    sessions=tuple(
                        durable.sessions(
                            chat_id=request.chat_id, limit=min(request.limit, ROWS_AT_ONCE), after=request.after
                        )
                    )
                )
            case GetHealth():
                return self._health(now)
            case PauseJobs() | ResumeJobs() | SkipNext() | SnoozeJob() | ChangeZone() | ListPauses() | ExplainJob():
                return self._adjusting.answer(request, now)

    def _job(self, job_id: str) -> JobRow | None:
        row = self._dispatch.durable.store.get(job_id)
        if row is None or row.seq == 0:
            row = self._dispatch.in_memory.store.get(job_id) or row
        return row

    def _jobs(self, request: ListJobs) -> list[JobRow]:
        limit = min(request.limit, ROWS_AT_ONCE)
        rows = self._dispatch.durable.store.jobs(
            chat_id=request.chat_id, status=request.status, limit=limit, after=request.after
        )
        if len(rows) < limit and request.after is None:
            rows += self._dispatch.in_memory.store.jobs(
                chat_id=request.chat_id, status=request.status, limit=limit - len(rows)
            )
            rows.sort(key=lambda row: row.due_at)
        # A page of payloads of a megabyte each would be too large a message.
        return [row if len(row.payload or "") <= LISTED_PAYLOAD else row._replace(payload=None) for row in rows]

    def _schedule(self, request: Schedule, now: int) -> Reply:
        shelf = self._dispatch.in_memory if request.in_memory else self._dispatch.durable
        if request.only_new:
            for spec in request.jobs:
                if shelf.store.get(spec.id) is not None:
                    return Refused(code="exists", sentence=f"job {spec.id!r} exists already, or has: take another id")
        jobs = [spec if spec.due_until is None else _put_off(spec, shelf.store.get(spec.id)) for spec in request.jobs]
        known: list[tuple[int, int]] = []
        try:
            for place, spec in enumerate(jobs):
                jobs[place] = self._zone_data.settled(spec, now)
                if jobs[place].due_at != spec.due_at:
                    known.append((place, jobs[place].due_at))
        except InvalidJobError as error:
            return Refused(code="invalid_job", sentence=str(error))
        placed = shelf.store.put(jobs, now)
        replaced = []
        for place, (spec, at) in enumerate(zip(jobs, placed, strict=True)):
            self._appeared(shelf, spec.due_at)
            if at.replaced_seq is not None:
                replaced.append(place)
            for seq in (*at.parts, *(() if at.replaced_seq is None else (at.replaced_seq,))):
                self._dispatch.vanished(shelf, seq)
        if request.keeper is not None:
            self.kept_in_memory.setdefault(request.keeper, set()).update(spec.id for spec in request.jobs)
        return Scheduled(replaced=tuple(replaced), due_at=tuple(known))

    def _cancel(self, request: Cancel, now: int) -> Reply:
        unknown = set(range(len(request.ids)))
        for shelf in self._dispatch.shelves:
            for place, removed in enumerate(shelf.store.cancel(request.ids, now)):
                if removed is not None:
                    unknown.discard(place)
                    for seq in (removed.seq, *removed.parts):
                        self._dispatch.vanished(shelf, seq)
        return Cancelled(unknown=tuple(sorted(unknown)))

    def _run_now(self, request: RunNow, now: int) -> Reply:
        for shelf in self._dispatch.shelves:
            row = shelf.store.get(request.job_id)
            if row is not None and shelf.store.run_now(request.job_id, now):
                self._dispatch.vanished(shelf, row.seq)
                self._appeared(shelf, now)
                return Accepted()
        return self._not_possible(request.job_id, "run now", "only a scheduled job can be run now")

    def _redrive(self, request: Redrive, now: int) -> Reply:
        store = self._dispatch.durable.store
        if store.redrive(request.job_id, now):
            self._appeared(self._dispatch.durable, now)
            return Accepted()
        return self._not_possible(request.job_id, "redriven", "only a parked job can be redriven")

    def _not_possible(self, job_id: str, what: str, why: str) -> Reply:
        row = self._dispatch.durable.store.get(job_id)
        if row is None:
            return Refused(code="not_found", sentence=f"job {job_id!r} is not there")
        return Refused(code="wrong_state", sentence=f"job {job_id!r} is {row.status}, not {what}: {why}")

    def _appeared(self, shelf: Shelf, at: int) -> None:
        shelf.backlog.rewind(at)
        self._look_at(at)

    def _look_at(self, at: int) -> None:
        if self.earliest is None or at < self.earliest:
            self.earliest = at

    def forget_keeper(self, host: str, now: int) -> None:
        """A process is gone, and its closures with it."""
        ids = self.kept_in_memory.pop(host, None)
        if ids:
            shelf = self._dispatch.in_memory
            for removed in shelf.store.cancel(sorted(ids), now):
                if removed is not None:
                    self._dispatch.vanished(shelf, removed.seq)


def _put_off(spec: JobSpec, earlier: JobRow | None) -> JobSpec:
    """A job that is asked for again while it waits keeps the limit that was set the first time."""
    if spec.due_until is None or earlier is None or earlier.status != Status.SCHEDULED or earlier.due_until is None:
        return spec
    due_until = min(spec.due_until, earlier.due_until)
    return spec._replace(due_at=min(spec.due_at, due_until), due_until=due_until)


def _refusal(error: BellringerError) -> Refused:
    name = type(error).__name__.removesuffix("Error")
    code = "".join("_" + letter.lower() if letter.isupper() else letter for letter in name).lstrip("_")
    fatal = isinstance(error, StorageError) and error.fatal
    return Refused(code=code, sentence=str(error), again=not fatal)
