"""Questions that change when jobs run: pauses, skipping, snoozing, zones; and the question why they ran as they did."""

from datetime import datetime

from ..storage import door, rules
from ..storage.errors import InvalidJobError
from ..storage.values import ChatId, OnResume, Scope
from . import explaining, views
from .messages import (
    Accepted,
    Adjusted,
    ChangeZone,
    ExplainJob,
    JobExplained,
    ListPauses,
    PauseJobs,
    PausesListed,
    Reply,
    ResumeJobs,
    SkipNext,
    SnoozeJob,
)
from .questions import Question, Seconds

COMING = 3


def pause(
    id: str | None,
    chat_id: ChatId | None,
    handler: str | None,
    everything: bool,
    *,
    until: datetime | None,
    reason: str | None,
    run_one: bool = False,
) -> Question[None]:
    scope, key = _scope(id, chat_id, handler, everything)
    ends_at = None if until is None else door.instant(until, "until")
    on_resume = OnResume.RUN_ONE if run_one else OnResume.NEXT
    request = PauseJobs(scope=scope, key=key, until=ends_at, on_resume=on_resume, reason=_reason(reason))
    return Question(request, _nothing)


def resume(
    id: str | None, chat_id: ChatId | None, handler: str | None, everything: bool, *, run_one: bool | None
) -> Question[None]:
    scope, key = _scope(id, chat_id, handler, everything)
    on_resume = None if run_one is None else OnResume.RUN_ONE if run_one else OnResume.NEXT
    return Question(ResumeJobs(scope=scope, key=key, on_resume=on_resume), _nothing)


def skip_next(
    id: str | None, chat_id: ChatId | None, handler: str | None, everything: bool, after: int
) -> Question[Adjusted]:
    scope, key = _scope(id, chat_id, handler, everything)
    return Question(SkipNext(scope=scope, key=key, after=after), _adjusted)


def snooze(
    id: str | None,
    chat_id: ChatId | None,
    handler: str | None,
    everything: bool,
    *,
    by: Seconds | None,
    until: datetime | None,
    now: int,
) -> Question[None]:
    """Of one job the next run; of a wider scope whatever comes due until then, which runs once at the end."""
    scope, key = _scope(id, chat_id, handler, everything)
    if (by is None) == (until is None):
        raise InvalidJobError("give `by`, how much later, or `until`, an instant")
    by_us = None if by is None else door.interval_us(by, "by")
    ends_at = None if until is None else door.instant(until, "until")
    if scope == Scope.JOB:
        assert isinstance(key, str)
        return Question(SnoozeJob(job_id=key, by_us=by_us, until=ends_at), _nothing)
    ends_at = now + (by_us or 0) if ends_at is None else ends_at
    request = PauseJobs(
        scope=scope, key=key, until=ends_at, on_resume=OnResume.RUN_ONE, reason="snoozed", only_longer=True
    )
    return Question(request, _nothing)


def pauses() -> Question[list[views.Pause]]:
    def read(reply: Reply) -> list[views.Pause]:
        assert isinstance(reply, PausesListed)
        return [views.pause(row) for row in reply.pauses]

    return Question(ListPauses(), read)


def change_zone(zone: str, chat_id: ChatId | None, user_id: ChatId | None, after: int) -> Question[Adjusted]:
    rules.zone_named(zone)
    chat, user = door.chat_key(chat_id, "chat_id"), door.chat_key(user_id, "user_id")
    if chat is None:
        raise InvalidJobError("say whose zone it is: give a chat_id, and a user_id if it is one user's")
    return Question(ChangeZone(zone=zone, chat_id=chat, user_id=user, after=after), _adjusted)


def explain(job_id: str) -> Question[views.Explanation | None]:
    def read(reply: Reply) -> views.Explanation | None:
        assert isinstance(reply, JobExplained)
        if reply.job is None:
            return None
        upcoming = explaining.upcoming(reply.job, reply.now, COMING)
        sentences = explaining.explain(
            reply.job, reply.occurrences, reply.outages, reply.pauses, reply.handler_known, upcoming,
            reply.job.zone, reply.now,
        )  # fmt: skip
        return views.Explanation(tuple(sentences), tuple(map(views.moment, upcoming)))

    return Question(ExplainJob(job_id=door.job_id(job_id)), read)


def _scope(id: str | None, chat_id: ChatId | None, handler: str | None, everything: bool) -> tuple[str, ChatId | None]:
    given = [id is not None, chat_id is not None, handler is not None, everything]
    if sum(given) != 1:
        raise InvalidJobError("say what is meant: one id, a chat_id, a handler, or everything=True")
    if id is not None:
        return Scope.JOB, door.job_id(id)
    if chat_id is not None:
        return Scope.CHAT, door.chat_key(chat_id, "chat_id")
    if handler is not None:
        return Scope.HANDLER, door.handler_name(handler)
    return Scope.ALL, None


def _reason(reason: str | None) -> str | None:
    if reason is not None and (not isinstance(reason, str) or not 1 <= len(reason) <= door.MAX_TEXT):
        raise InvalidJobError(f"a reason is text of 1 to {door.MAX_TEXT} characters")
    return reason


def _adjusted(reply: Reply) -> Adjusted:
    assert isinstance(reply, Adjusted)
    return reply


def _nothing(reply: Reply) -> None:
    assert isinstance(reply, Accepted)
