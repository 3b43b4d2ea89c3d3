"""What people are told about one job."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from pendulum import DateTime

from ..actors import recounting
from ..actors.views import Job, Occurrence, Pause
from ..storage import door
from ..storage.values import CatchUp, Misfire, Overlap
from . import pages, records
from .phrases import local, safe_lines, span
from .reasons import why
from .tables import Screen, listing

TIME_LIMIT: Final = timedelta(microseconds=door.DEFAULT_TIME_LIMIT_US)


def job_page(
    shown: Job,
    ahead: str | None,
    latest: Sequence[Occurrence],
    failure: Occurrence | None,
    pauses: Sequence[Pause],
    upcoming: Sequence[DateTime],
    now: DateTime,
    screen: Screen,
    *,
    is_served: bool = True,
) -> list[str]:
    attempt_at = shown.next_attempt_at
    lines = listing(
        [
            ("job", shown.id),
            ("state", records.state(shown)),
            ("why", why(shown, now, ahead, records.pause_over(shown, pauses), is_served=is_served)),
            ("handler", shown.handler),
            ("due", pages.moment(shown.due_at, now)),
            ("next attempt", pages.moment(attempt_at, now) if attempt_at not in (None, shown.due_at) else None),
            ("every", None if shown.every is None else span(shown.every)),
            ("rule", None if shown.rule is None else str(shown.rule)),
            ("local time", _local_time(shown)),
            ("zone", shown.zone),
            *(("next" if place == 0 else "", _in_zone(at, shown.zone)) for place, at in enumerate(upcoming)),
            ("chat", pages.key(shown.chat_id)),
            ("user", pages.key(shown.user_id)),
            ("thread", pages.key(shown.thread_id)),
            ("attempts", None if shown.is_finished else _attempts(shown)),
            ("delivery", shown.delivery.replace("_", " ") or None),
            *_policies(shown),
            ("payload", None if shown.is_finished else pages.as_json(shown.payload)),
        ],
        screen,
    )
    if latest:
        lines += ["", screen.painted("Latest occurrences", bold=True), *pages.history(latest, screen, of_one_job=True)]
    if failure is not None and failure.traceback:
        title = f"Latest failure, {local(failure.finished_at)}"
        lines += ["", screen.painted(title, bold=True), *safe_lines(failure.traceback)]
    return lines


def _attempts(job: Job) -> str:
    return str(job.attempts) if job.max_attempts is None else f"{job.attempts} of {job.max_attempts}"


def _policies(job: Job) -> list[tuple[str, str | None]]:
    """What is not as it is without saying so."""
    if job.is_finished:
        return []
    limit = job.time_limit
    return [
        ("time limit", None if limit is None or limit == TIME_LIMIT else span(limit)),
        ("misfire", None if job.misfire == Misfire.RUN_LATE else job.misfire.replace("_", " ")),
        ("grace", None if job.grace is None else span(job.grace)),
        ("catch up", None if job.catch_up == CatchUp.ONE else job.catch_up),
        ("overlap", None if job.overlap == Overlap.QUEUE_ONE else job.overlap),
        ("stale after", None if job.stale_after is None else span(job.stale_after)),
    ]


def _local_time(job: Job) -> str | None:
    return None if job.local_at is None else f"{job.local_at:%Y-%m-%d %H:%M:%S}"


def _in_zone(at: DateTime, zone: str | None) -> str:
    return local(at) if zone is None else recounting.told(door.instant(at, "the due time"), zone)
