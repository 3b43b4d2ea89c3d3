"""What changes when jobs run, without changing the jobs: pauses, skipping, snoozing, another zone; and why they ran."""

import json
from collections.abc import Callable

from ..storage import rules
from ..storage.errors import InvalidJobError
from ..storage.values import Ending, JobRow, Outcome, Pause, Rezoned, Scope, Status
from .dispatch import Dispatch
from .messages import (
    Accepted,
    Adjusted,
    Adjustment,
    ChangeZone,
    ExplainJob,
    JobExplained,
    ListPauses,
    PauseJobs,
    PausesListed,
    Refused,
    Reply,
    ResumeJobs,
    SkipNext,
    SnoozeJob,
)
from .pauses import PAUSE
from .relocating import Standing, relocate
from .zone_data import ZONE_KEY, ZoneData

PAGE = 500
EXPLAINED = 20


class Adjusting:
    """Answers for the desk, in its transaction. `look_at` is told of each instant at which something is to be done."""

    def __init__(self, dispatch: Dispatch, zone_data: ZoneData, look_at: Callable[[int], None]) -> None:
        self._dispatch = dispatch
        self._zone_data = zone_data
        self._store = dispatch.durable.store
        self._look_at = look_at

    def answer(self, request: Adjustment | ListPauses | ExplainJob, now: int) -> Reply:
        match request:
            case PauseJobs():
                return self._pause(request, now)
            case ResumeJobs():
                return self._resume(request, now)
            case SkipNext():
                self._zone_data.finish(now)
                return self._skip_next(request, now)
            case SnoozeJob():
                return self._snooze(request, now)
            case ChangeZone():
                self._zone_data.finish(now)
                return self._change_zone(request, now)
            case ListPauses():
                return PausesListed(pauses=tuple(self._dispatch.pauses.standing(now)))
            case ExplainJob():
                return self._explain(request.job_id, now)

    # Pauses

    def _pause(self, request: PauseJobs, now: int) -> Reply:
        if request.until is not None and request.until <= now:
            return Refused(code="in_the_past", sentence="a pause has to end later than now: give a later `until`")
        pause = Pause(request.scope, request.key, now, request.until, request.on_resume, request.reason)
        if not request.only_longer or self._dispatch.pauses.is_longer(pause, now):
            self._dispatch.pauses.begin(pause)
        if request.until is not None:
            self._look_at(request.until)
        return Accepted()

    def _resume(self, request: ResumeJobs, now: int) -> Reply:
        if not self._dispatch.pauses.end(request.scope, request.key, now, request.on_resume):
            what = "all" if request.scope == Scope.ALL else f"{request.scope} {request.key!r}"
            return Refused(code="not_paused", sentence=f"{what} is not paused: see `bellringer pause --list`")
        self._look_at(now)
        return Accepted()

    # Leaving out, and putting off

    def _skip_next(self, request: SkipNext, now: int) -> Reply:
        rows = self._store.select(scope=request.scope, key=request.key, after=request.after, limit=PAGE)
        if request.scope == Scope.JOB:
            refused = self._not_skippable(rows[0] if rows else None, str(request.key), now)
            if refused is not None:
                return refused
        skippable = [row for row in rows if self._not_skippable(row, row.id, now) is None]
        for row in skippable:
            self._leave_out(row, now, "skipped: it was asked to leave out the next one")
        return Adjusted(count=len(skippable), after=rows[-1].seq if len(rows) == PAGE else None)

    def _not_skippable(self, row: JobRow | None, job_id: str, now: int) -> Refused | None:
        if row is None:
            return Refused(code="not_found", sentence=f"job {job_id!r} is not there")
        if row.rule is None:
            return Refused(code="wrong_state", sentence=f"job {job_id!r} runs once: cancel it, or snooze it")
        if row.status != Status.SCHEDULED or row.attempts or _passed_in_a_pause(row, now):
            why = "is running" if row.status == Status.CLAIMED else "waits for its next attempt"
            if row.status == Status.SCHEDULED and not row.attempts:
                why = "is paused, and its due time has passed"
            why = "is parked" if row.status == Status.PARKED else why
            return Refused(code="wrong_state", sentence=f"job {job_id!r} {why}: only a due time to come can be skipped")
        return None

    def _leave_out(self, row: JobRow, now: int, reason: str) -> None:
        assert row.rule is not None
        following = row.next_due_at
        if following is None:
            try:
                following = rules.of_job(row.rule, row.due_at).next(row.due_at)
            except ValueError:
                return  # it is parked when it is due
        ending = Ending(Outcome.SKIPPED, row.due_at, now, reason=reason, last_due_at=row.due_at)
        self._store.skip(row.seq, [ending], following)
        self._moved(row.seq, following)

    def _snooze(self, request: SnoozeJob, now: int) -> Reply:
        row = self._store.get(request.job_id)
        if row is None or row.is_finished:
            return Refused(code="not_found", sentence=f"job {request.job_id!r} is not there")
        at = request.until if request.until is not None else max(now, row.due_at) + (request.by_us or 0)
        at = min(at, rules.MAX_INSTANT)
        planned = row.due_at if not row.attempts else now
        if at <= max(now, planned):
            sentence = f"job {request.job_id!r}: give an instant later than now and than its due time"
            return Refused(code="too_early", sentence=sentence)
        if not self._store.snooze(row.seq, at, now):
            sentence = f"job {request.job_id!r} is {row.status}: only a scheduled job can be snoozed"
            return Refused(code="wrong_state", sentence=sentence)
        self._moved(row.seq, at)
        return Accepted()

    # Zones

    def _change_zone(self, request: ChangeZone, now: int) -> Reply:
        if request.after == 0:
            patch = json.dumps({ZONE_KEY: request.zone}, separators=(",", ":"))
            self._store.patch_session(request.chat_id, request.user_id, patch, (), now)
            self._zone_data.note(request.zone, now)
        rows = self._store.select(
            scope=Scope.CHAT, key=request.chat_id, user_id=request.user_id, after=request.after, limit=PAGE
        )
        count = sum(
            self._move_to(row, request.zone, now)
            for row in rows
            if request.user_id is not None or not self._zone_data.has_own(row.chat_id, row.user_id)
        )
        return Adjusted(count=count, after=rows[-1].seq if len(rows) == PAGE else None)

    def _move_to(self, row: JobRow, zone: str, now: int) -> bool:
        """The same local times in another zone, of what is still to come."""
        if row.zone is None or row.zone == zone:
            return False
        there = rules.zone_named(zone)
        try:
            before = rules.zone_named(row.zone)
            rule = None if row.rule is None else rules.load(row.rule).in_zone(zone)
        except (ValueError, InvalidJobError):
            return False  # it is parked when it is due
        standing = Standing(row.status, row.due_at, row.next_attempt_at, row.next_due_at, bool(row.attempts))
        reason = "skipped: its local time had passed in the new zone"
        found = relocate(standing, rule, lambda at: there.instant(before.local(at)), now, reason)
        if found.is_over:
            self._store.skip(row.seq, [found.passed] if found.passed else [], None)
            self._moved(row.seq, None)
            return True
        if found.passed is not None:
            self._store.record(row.seq, found.passed)
        text = None if rule is None else rules.dump(rule)
        self._store.rezone([Rezoned(row.seq, zone, text, found.due_at, found.next_attempt_at, found.next_due_at)])
        self._moved(row.seq, found.next_attempt_at)
        return True

    # Why

    def _explain(self, job_id: str, now: int) -> Reply:
        job = self._store.get(job_id)
        if job is None:
            return JobExplained(job=None, now=now)
        occurrences = self._store.history(job_id=job_id, limit=EXPLAINED)
        since = min([job.due_at, *(row.due_at for row in occurrences)])
        return JobExplained(
            job=job,
            occurrences=tuple(occurrences),
            outages=tuple(self._store.outages(since, now)),
            pauses=tuple(self._dispatch.pauses.over(job.id, job.chat_id, job.handler, now)),
            handler_known=self._dispatch.hosts.knows(job.handler),
            now=now,
        )

    def _moved(self, seq: int, at: int | None) -> None:
        """A row is looked at anew, at another instant."""
        self._dispatch.vanished(self._dispatch.durable, seq)
        if at is not None:
            self._dispatch.durable.backlog.rewind(at)
            self._look_at(at)


def _passed_in_a_pause(row: JobRow, now: int) -> bool:
    """What comes next is then known only when the pause ends."""
    return row.due_at < now and (row.waiting_for or "").startswith(PAUSE)
