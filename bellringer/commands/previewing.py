"""The command that shows when a rule or a phrase comes. It needs no database and no scheduler."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import click

from ..actors.views import Json, moment
from ..handlers import phrases
from ..handlers.phrases import PhraseError
from ..storage import rules
from ..storage.errors import InvalidJobError
from ..storage.rules import At, Rule
from . import moments
from .options import DONE, Common, common_options, tell
from .phrases import from_now, safe
from .sources import now
from .tables import Column, Screen, table

_IS_RULE: Final = re.compile(
    r"daily|weekly|monthly|yearly|rrule:|dtstart|freq=|@|\S+(\s+\S+)*?\s+\*(\s|$)", re.IGNORECASE
)


class Preview(NamedTuple):
    """A rule that was read, with what a reader of its words should know."""

    rule: Rule
    kind: str
    assumed_time: bool = False


@click.command(name="next", short_help="Show when a rule or a phrase comes next.")
@click.argument("words", metavar="RULE...", nargs=-1, required=True)
@click.option("--zone", metavar="ZONE", default=rules.zones.UTC, show_default=True, help="Where local times hold.")
@click.option(
    "--from",
    "begin",
    metavar="TIME",
    help="What comes after this: an instant such as 2026-03-28T00:00Z, or a local time such as 2026-03-28 00:00. Now "
    "without it.",
)
@click.option("--count", metavar="N", default=5, show_default=True, type=click.IntRange(1, 10_000))
@common_options
@click.pass_obj
def next_(common: Common, words: Sequence[str], zone: str, begin: str | None, count: int) -> int:
    """Show when a rule or a phrase comes next, without a database.

    A rule is `daily 02:30`, `weekly mon,fri 00:30`, `monthly last 09:00`, `yearly 12-25 08:00`, `*/30 * * * *`,
    `every 90s` or `RRULE:…`; a phrase is what people type, such as `tomorrow at 9` or `every 2 weeks on monday 9:00`.
    """
    rules.zone_named(zone)
    after = now() if begin is None else moments.instant(begin, zone)
    found = preview(" ".join(words), after, zone)
    due = found.rule.upcoming(after, count)
    there = found.rule.zone or zone
    record: list[Json] = [{"due_at": moments.utc(at), "local": moments.local(at, there)} for at in due]
    tell(common, page(found, due, there, after, count, Screen.of_output()), record)
    return DONE


def preview(words: str, now: int, zone: str) -> Preview:
    """Raises `InvalidJobError` for what is not understood, never comes, or lies in the past."""
    try:
        rule = rules.parse(words, zone=zone)
    except InvalidJobError:
        if _IS_RULE.match(words):
            raise
        try:
            phrase = phrases.read(words, now, zone, text_follows=False)
        except PhraseError as error:
            raise InvalidJobError(str(error)) from None
        return Preview(phrase.rule.starting(now), _kind(phrase.rule, phrase.kind), phrase.assumed_time)
    return Preview(rule.starting(now), _kind(rule))


def page(found: Preview, due: Sequence[int], zone: str, after: int, count: int, screen: Screen) -> list[str]:
    rule = found.rule
    lines = [f"{found.kind}: {safe(str(rule))}" + ("" if _names_zone(rule) else f"; shown in {safe(zone)}")]
    if found.assumed_time:
        taken = rules.naive(due[0] + moments.shift_at(due[0], zone))
        lines.append(f"No time of day was given, so {taken:%H:%M} is taken.")
    begin = moment(after)
    columns = (Column(f"LOCAL ({zone})", least=16), Column("UTC"), Column("AHEAD", leave_out=1))
    rows = [(_local(at, zone), moments.utc(at), from_now(moment(at), begin)) for at in due]
    lines += ["", *table(columns, rows, screen)]
    if len(due) < count and not isinstance(rule, At):
        lines += ["", "It does not come again after that."]
    return lines


def _names_zone(rule: Rule) -> bool:
    """Whether the rule tells its zone when it is shown as text."""
    return rule.zone is not None and rule.keeps_local_time


def _kind(rule: Rule, kind: str | None = None) -> str:
    if kind == "after":
        return "Once, after elapsed time"
    if isinstance(rule, At):
        return "Once, at a local time" if rule.is_local else "Once, at an instant"
    return "Again and again, by local time" if rule.keeps_local_time else "Again and again, by elapsed time"


def _local(at: int, zone: str) -> str:
    shift = moments.shift_at(at, zone)
    return f"{rules.naive(at + shift):%a} {moments.local(at, zone).replace('T', ' ')}"
