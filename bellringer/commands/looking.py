"""The commands that look, and change nothing."""

import click

from ..actors.views import moment
from ..storage import door
from ..storage.errors import StorageCorruptError
from ..storage.rules.zones import UTC
from ..storage.values import ChatId, Outcome
from . import moments, pages, records
from .absences import Absence, absences
from .job_page import job_page
from .options import (
    DONE,
    REFUSED,
    Common,
    chat_id,
    common_options,
    footer,
    not_found,
    offline_option,
    tell,
)
from .phrases import safe, shell_word
from .records import Record
from .sources import history_page, looking, now, pending_page, reading, running
from .tables import Screen

LATEST = 5

chat_option = click.option(
    "--chat", metavar="ID", callback=chat_id, help="Only of this chat; text:ID for a text that looks like a number."
)
limit_option = click.option("--limit", metavar="N", default=100, show_default=True, type=click.IntRange(1, 1_000_000))


@click.command()
@chat_option
@click.option(
    "--status",
    type=click.Choice(pages.STATES),
    help="`waiting` is for a handler that no host knows, or for its chat's turn.",
)
@limit_option
@click.option("--after", metavar="ID", help="Go on behind this job.")
@offline_option
@common_options
@click.pass_obj
def pending(common: Common, chat: ChatId | None, status: str | None, limit: int, after: str | None) -> int:
    """List the jobs that have not ended, in order of due time."""
    with looking(common) as source:
        jobs, more = pending_page(source, chat, status, limit, after)
        pauses = source.pauses() if jobs else []
    at = moment(now())
    served = source.is_served
    record: Record = {
        "jobs": [records.job(job, at, is_served=served, paused=records.pause_over(job, pauses)) for job in jobs],
        "after": jobs[-1].id if more else None,
    }
    lines = pages.pending(jobs, pauses, at, Screen.of_output(), is_served=served)
    if jobs:
        lines += ["", pages.pending_count(jobs)]
    if more:
        lines.append(f"There are more: go on with --after={shell_word(jobs[-1].id)}")
    tell(common, [*lines, *footer(common)], record)
    return DONE


@click.command(short_help="Show everything about one job.")
@click.argument("job_id", metavar="ID")
@offline_option
@common_options
@click.pass_obj
def show(common: Common, job_id: str) -> int:
    """Show everything about one job, its latest occurrences, and the traceback of its latest failure."""
    door.job_id(job_id)
    with looking(common) as source:
        job = source.get(job_id)
        if job is None:
            raise not_found(job_id)
        ahead = source.pending(job.chat_id, "claimed", 1, None) if job.chat_id is not None else []
        latest = source.history(job_id, None, None, LATEST, None)
        failed = source.history(job_id, None, Outcome.FAILED, 1, None)
        pauses = source.pauses()
    at = moment(now())
    upcoming = job.upcoming(at)
    failure = failed[0] if failed else None
    record: Record = {
        "job": records.job(job, at, is_served=source.is_served, paused=records.pause_over(job, pauses)),
        "upcoming": [records.due_time(due_at, job.zone) for due_at in upcoming],
        "occurrences": [records.occurrence(occurrence) for occurrence in latest],
        "latest_failure": records.occurrence(failure) if failure is not None else None,
    }
    first = ahead[0].id if ahead else None
    lines = job_page(job, first, latest, failure, pauses, upcoming, at, Screen.of_output(), is_served=source.is_served)
    tell(common, [*lines, *footer(common)], record)
    return DONE


@click.command(short_help="Say why a job ran, or did not, and when it comes next.")
@click.argument("job_id", metavar="ID")
@offline_option
@common_options
@click.pass_obj
def explain(common: Common, job_id: str) -> int:
    """Say in sentences what happened to the latest occurrences of a job, how it stands, and what comes next."""
    door.job_id(job_id)
    with looking(common) as source:
        told = source.explain(job_id)
        job = source.get(job_id)
    zone = None if job is None else job.zone
    if told is None or not told.sentences:
        raise not_found(job_id)
    record: Record = {
        "id": job_id,
        "sentences": [*told.sentences],
        "upcoming": [records.due_time(at, zone) for at in told.upcoming],
    }
    tell(common, [*pages.sentences(told.sentences, Screen.of_output()), *footer(common)], record)
    return DONE


@click.command(short_help="List what became of each occurrence.")
@click.argument("job_id", metavar="[ID]", required=False)
@chat_option
@click.option("--outcome", type=click.Choice([outcome.value for outcome in Outcome]))
@limit_option
@click.option("--before", metavar="NUMBER", type=click.IntRange(1), help="Go on with what is older than this one.")
@offline_option
@common_options
@click.pass_obj
def history(
    common: Common, job_id: str | None, chat: ChatId | None, outcome: str | None, limit: int, before: int | None
) -> int:
    """List what became of each occurrence, newest first: of one job, or of all."""
    if job_id is not None:
        door.job_id(job_id)
    with looking(common) as source:
        occurrences, more = history_page(source, job_id, chat, outcome, limit, before)
        if job_id is not None and not occurrences and source.get(job_id) is None:
            raise not_found(job_id)
    older = occurrences[-1].number if more else None
    record: Record = {"occurrences": [records.occurrence(told) for told in occurrences], "before": older}
    lines = pages.history(occurrences, Screen.of_output(), of_one_job=job_id is not None)
    if more:
        lines += ["", f"There are more: go on with --before={older}"]
    tell(common, [*lines, *footer(common)], record)
    return DONE


@click.command()
@offline_option
@common_options
@click.pass_obj
def health(common: Common) -> int:
    """Tell how the scheduler is, and who runs handlers. Fails while the storage is blocked."""
    screen = Screen.of_output()
    if common.offline:
        with reading(common) as file:
            counts, next_at = file.store.counts(), file.store.next_attempt_at()
        next_attempt_at = None if next_at is None else moment(next_at)
        lines = pages.file_counts(common.database, counts, next_attempt_at, moment(now()), screen)
        tell(common, [*lines, *footer(common)], records.file_counts(common.database, counts, next_attempt_at))
        return DONE
    with running(common) as handle:
        told = handle.health(timeout=common.timeout)
    at = moment(now())
    tell(common, pages.health(told, at, screen), records.health(told, at))
    return DONE if told.storage == "ok" else REFUSED


@click.command()
@chat_option
@click.option("--limit", metavar="N", default=100, show_default=True, type=click.IntRange(1, 10_000))
@offline_option
@common_options
@click.pass_obj
def sessions(common: Common, chat: ChatId | None, limit: int) -> int:
    """List what is stored for each chat and user."""
    with looking(common) as source:
        found = source.sessions(chat, limit)
    lines = pages.sessions(found, moment(now()), Screen.of_output())
    if len(found) == limit:
        lines += ["", f"Only the first {limit:,} are shown: see --limit and --chat"]
    tell(common, [*lines, *footer(common)], {"sessions": [records.session(session) for session in found]})
    return DONE


@click.command()
@click.option(
    "--since", metavar="TIME", help="From when on due times are looked for that have no outcome; 30 days without it."
)
@offline_option
@common_options
@click.pass_obj
def check(common: Common, since: str | None) -> int:
    """Read the whole file, and tell what is wrong with it. A scheduler may run meanwhile, --offline or not.

    Also what is absent: due times of repeating jobs that should have an outcome on record, and have none.
    """
    begin = None if since is None else moments.instant(since, UTC)
    missing: list[Absence] = []
    try:
        with reading(common) as file:
            faults = file.store.check()
            missing += absences(file.store, now(), begin)
    except StorageCorruptError as error:
        faults = [str(error)]
    lines = [safe(" ".join(fault.split())) for fault in faults] + [pages.absence(one) for one in missing]
    healthy = f"{safe(common.database)} is sound"
    record: Record = {"faults": [*faults], "absent": [records.absence(one) for one in missing]}
    tell(common, lines or [healthy], record)
    return REFUSED if lines else DONE
