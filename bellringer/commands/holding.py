"""The commands that hold jobs up and let them go on: pause, resume, skip-next and snooze; and a chat's zone."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final, NamedTuple, TypeVar

import click

from ..actors import views
from ..storage import door, rules
from ..storage.errors import InvalidJobError
from ..storage.rules.notation import span
from ..storage.rules.zones import UTC
from ..storage.values import ChatId
from . import moments, pages, records
from .options import DONE, Common, chat_id, common_options, footer, offline_option, tell
from .phrases import counted, local, rfc3339, safe
from .records import Record
from .sources import looking, now, running
from .tables import Screen

Function = TypeVar("Function", bound=Callable[..., object])

ALL: Final = "all jobs"


class Scope(NamedTuple):
    """What a command is about: exactly one of a job, a chat, a handler, and all."""

    id: str | None
    chat_id: ChatId | None
    handler: str | None
    everything: bool

    @property
    def told(self) -> str:
        if self.id is not None:
            return f"job {safe(self.id)}"
        if self.chat_id is not None:
            return f"chat {safe(str(self.chat_id))}"
        return ALL if self.handler is None else f"handler {safe(self.handler)}"

    @property
    def record(self) -> Record:
        name = "job" if self.id else "chat" if self.chat_id is not None else "handler" if self.handler else "all"
        return {"scope": name, "key": self.id or self.handler or self.chat_id}


def scope_options(function: Function) -> Function:
    for option in (
        click.option("--all", "everything", is_flag=True, help="All jobs."),
        click.option("--handler", metavar="NAME", help="All jobs of this handler."),
        click.option("--chat", metavar="CHAT", callback=chat_id, help="All jobs of this chat; text:ID for a text."),
        click.argument("job_id", metavar="[ID]", required=False),
    ):
        function = option(function)
    return function


zone_option = click.option(
    "--zone", metavar="ZONE", default=UTC, show_default=True, help="Where the local time of --until holds."
)


@click.command(short_help="Have nothing of a job, a chat, a handler or all run for a while.")
@scope_options
@click.option("--until", metavar="TIME", help="When it ends: an instant, or a phrase such as `tomorrow 9:00`.")
@zone_option
@click.option("--reason", metavar="TEXT", help="What is shown as the reason.")
@click.option("--run-one", is_flag=True, help="When it ends, let repeating jobs run once for what came due meanwhile.")
@click.option("--list", "listed", is_flag=True, help="List what is paused.")
@offline_option
@common_options
@click.pass_obj
def pause(
    common: Common,
    job_id: str | None,
    chat: ChatId | None,
    handler: str | None,
    everything: bool,
    until: str | None,
    zone: str,
    reason: str | None,
    run_one: bool,
    listed: bool,
) -> int:
    """Have nothing of a job, a chat, a handler or all run until it is resumed, or until a time.

    What runs already goes on. What comes due meanwhile is told as skipped when the pause ends; jobs that run once wait.
    """
    if listed:
        if job_id is not None or chat is not None or handler is not None or everything:
            raise click.UsageError("--list lists all pauses: give nothing else with it")
        return _list_pauses(common)
    scope = _scope(job_id, chat, handler, everything)
    _refuse_offline(common)
    at = None if until is None else moments.ahead(until, now(), zone)
    with running(common) as handle:
        handle.pause(
            scope.id, chat_id=scope.chat_id, handler=scope.handler, everything=scope.everything, until=at,
            reason=reason, run_one=run_one, timeout=common.timeout,
        )  # fmt: skip
    end = "until it is resumed" if at is None else f"until {local(at)}"
    tell(common, [f"{scope.told}: paused {end}"], {"paused": {**scope.record, "until": rfc3339(at)}})
    return DONE


@click.command(short_help="End a pause.")
@scope_options
@click.option("--run-one", is_flag=True, help="Let repeating jobs run once for what came due meanwhile.")
@common_options
@click.pass_obj
def resume(
    common: Common, job_id: str | None, chat: ChatId | None, handler: str | None, everything: bool, run_one: bool
) -> int:
    """End a pause. Repeating jobs go on with their next due time, unless --run-one was said here or for the pause."""
    scope = _scope(job_id, chat, handler, everything)
    with running(common) as handle:
        handle.resume(
            scope.id, chat_id=scope.chat_id, handler=scope.handler, everything=scope.everything,
            run_one=run_one or None, timeout=common.timeout,
        )  # fmt: skip
    tell(common, [f"{scope.told}: resumed"], {"resumed": scope.record})
    return DONE


@click.command(short_help="Leave out the next due time of repeating jobs.")
@scope_options
@common_options
@click.pass_obj
def skip_next(common: Common, job_id: str | None, chat: ChatId | None, handler: str | None, everything: bool) -> int:
    """Leave out the next due time of a repeating job, or of all of a chat, a handler, or everything."""
    scope = _scope(job_id, chat, handler, everything)
    with running(common) as handle:
        skipped = handle.skip_next(
            scope.id, chat_id=scope.chat_id, handler=scope.handler, everything=scope.everything, timeout=common.timeout
        )
    line = f"{scope.told}: {counted(skipped, 'due time')} left out"
    tell(common, [line], {"skipped_next": {**scope.record, "jobs": skipped}})
    return DONE


@click.command(short_help="Put off what is due next of a job.")
@scope_options
@click.option("--by", metavar="SPAN", help="By how much, such as 10m: a job from its due time on, others from now on.")
@click.option("--until", metavar="TIME", help="Until when: an instant, or a phrase such as `tomorrow 9:00`.")
@zone_option
@common_options
@click.pass_obj
def snooze(
    common: Common,
    job_id: str | None,
    chat: ChatId | None,
    handler: str | None,
    everything: bool,
    by: str | None,
    until: str | None,
    zone: str,
) -> int:
    """Put off what is due next of a job, whose later due times stay; or hold up a chat, a handler or all for a while.

    Of these, each job runs once at the end for whatever came due meanwhile.
    """
    scope = _scope(job_id, chat, handler, everything)
    if (by is None) == (until is None):
        raise click.UsageError("give one of --by and --until")
    delay = None if by is None else _delay(by)
    at = None if until is None else moments.ahead(until, now(), zone)
    with running(common) as handle:
        handle.snooze(
            scope.id, chat_id=scope.chat_id, handler=scope.handler, everything=scope.everything, by=delay, until=at,
            timeout=common.timeout,
        )  # fmt: skip
        job = None if scope.id is None else handle.get(scope.id, timeout=common.timeout)
    new = at if job is None else job.next_attempt_at
    end = f"by {by}" if new is None else f"until {local(new)}"
    tell(common, [f"{scope.told}: put off {end}"], {"snoozed": {**scope.record, "until": rfc3339(new)}})
    return DONE


@click.command(short_help="Move a chat to another time zone.")
@click.argument("zone", metavar="ZONE")
@click.option(
    "--chat", metavar="CHAT", callback=chat_id, required=True, help="The chat; text:ID for a text that is a number."
)
@click.option("--user", metavar="USER", callback=chat_id, help="Only this user in it.")
@common_options
@click.pass_obj
def zone(common: Common, zone: str, chat: ChatId, user: ChatId | None) -> int:
    """Move a chat, or a user in it, to another time zone: jobs at local times keep these, in the new zone."""
    rules.zone_named(zone)
    with running(common) as handle:
        moved = handle.set_zone(zone, chat_id=chat, user_id=user, timeout=common.timeout)
    line = f"{safe(str(chat))} is in {safe(zone)} now; {counted(moved, 'job')} moved"
    tell(common, [line], {"zone": zone, "chat_id": chat, "user_id": user, "moved": moved})
    return DONE


def _scope(job_id: str | None, chat: ChatId | None, handler: str | None, everything: bool) -> Scope:
    given = [job_id is not None, chat is not None, handler is not None, everything]
    if sum(given) != 1:
        raise click.UsageError("give one of ID, --chat, --handler and --all")
    return Scope(
        None if job_id is None else door.job_id(job_id),
        chat,
        None if handler is None else door.handler_name(handler),
        everything,
    )


def _refuse_offline(common: Common) -> None:
    if common.offline:
        raise click.UsageError("--offline goes with --list only: pauses are made and ended by the scheduler")


def _list_pauses(common: Common) -> int:
    with looking(common) as source:
        found: Sequence[views.Pause] = source.pauses()
    lines = pages.pauses(found, Screen.of_output())
    tell(common, [*lines, *footer(common)], {"pauses": [records.pause(one) for one in found]})
    return DONE


def _delay(by: str) -> timedelta:
    us = span(by)
    if us <= 0:
        raise InvalidJobError(f"{ascii(by)[:60]} puts nothing off: give a span above zero, such as 10m")
    return timedelta(microseconds=us)
