"""What people are told: tables and lists, in local time."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from pendulum import DateTime

from ..actors.views import Health, Job, Json, Occurrence, StoredSession
from ..storage.values import ChatId, Counts
from . import records
from .phrases import counted, from_now, local, local_column, safe, safe_lines, span
from .tables import Column, Screen, listing, table

STATE_COLOURS = {
    "claimed": "green",
    "waiting": "yellow",
    "parked": "red",
    "done": "green",
    "failed": "red",
    "skipped": "yellow",
    "interrupted": "magenta",
}
AT_ONCE = timedelta(seconds=1)
STATES = ("scheduled", "waiting", "claimed", "parked")


def pending(jobs: Sequence[Job], now: DateTime, screen: Screen, *, is_served: bool = True) -> list[str]:
    if not jobs:
        return ["There is no such job pending."]
    title, due = local_column("DUE", [job.due_at for job in jobs])
    columns = (
        Column("ID", least=16),
        Column("HANDLER", least=7, leave_out=3),
        Column("CHAT", least=7, leave_out=1),
        Column(title),
        Column("IN", leave_out=2),
        Column("STATE", colours=STATE_COLOURS),
    )
    running: dict[ChatId | None, str] = {
        job.chat_id: job.id for job in jobs if job.status == "claimed" and job.chat_id is not None
    }
    rows = [
        (
            job.id,
            job.handler,
            chat(job.chat_id),
            due_at,
            from_now(job.due_at, now),
            records.state(job),
            why(job, now, running.get(job.chat_id), is_served=is_served) or "",
        )
        for job, due_at in zip(jobs, due, strict=True)
    ]
    return table(columns, rows, screen, note="WHY")


def pending_count(jobs: Sequence[Job]) -> str:
    states = Counter(records.state(job) for job in jobs)
    told = ", ".join(f"{states[state]:,} {state}" for state in STATES if states[state])
    return f"{counted(len(jobs), 'job')}: {told}"


def why(job: Job, now: DateTime, ahead: str | None = None, *, is_served: bool = True) -> str | None:
    """Why a job is not simply scheduled for later. `ahead` is the id of the job that runs for the same chat.

    `is_served`: a scheduler runs.
    """
    if job.status == "claimed" and job.claimed_at is not None:
        process = (job.host or "").partition("-")[0]
        if not is_served:
            return f"left by process {process}, which began it {from_now(job.claimed_at, now)}, attempt {job.attempts}"
        return f"running for {span(now - job.claimed_at)} in process {process}, attempt {job.attempts}"
    if job.waiting_for is not None and job.why is not None:
        return job.why.removeprefix("waiting: ")
    if job.status != "scheduled":
        return job.why
    next_at = job.next_attempt_at or job.due_at
    if job.attempts and next_at > now:
        return f"attempt {job.attempts + 1} {from_now(next_at, now)}" + (f", after: {job.why}" if job.why else "")
    if now - next_at < AT_ONCE:
        return job.why
    if not is_served:
        return "starts when a scheduler runs"
    return f"{ahead!r} runs first, for the same chat" if ahead is not None else "starts when a host has room for it"


def job(
    shown: Job,
    ahead: str | None,
    latest: Sequence[Occurrence],
    failure: Occurrence | None,
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
            ("why", why(shown, now, ahead, is_served=is_served)),
            ("handler", shown.handler),
            ("due", _moment(shown.due_at, now)),
            ("next attempt", _moment(attempt_at, now) if attempt_at not in (None, shown.due_at) else None),
            ("every", None if shown.every is None else span(shown.every)),
            ("chat", _key(shown.chat_id)),
            ("user", _key(shown.user_id)),
            ("thread", _key(shown.thread_id)),
            ("attempts", None if shown.is_finished else str(shown.attempts)),
            ("delivery", shown.delivery.replace("_", " ") or None),
            ("payload", None if shown.is_finished else _json(shown.payload)),
        ],
        screen,
    )
    if latest:
        lines += ["", screen.painted("Latest occurrences", bold=True), *history(latest, screen, of_one_job=True)]
    if failure is not None and failure.traceback:
        title = f"Latest failure, {local(failure.finished_at)}"
        lines += ["", screen.painted(title, bold=True), *safe_lines(failure.traceback)]
    return lines


def history(occurrences: Sequence[Occurrence], screen: Screen, *, of_one_job: bool = False) -> list[str]:
    if not occurrences:
        return ["There is no such occurrence recorded."]
    title, due = local_column("DUE", [told.due_at for told in occurrences])
    columns = [
        Column("OUTCOME", least=11, colours=STATE_COLOURS),
        Column("JOB", least=16),
        Column(title),
        Column("LATE", right=True, leave_out=3),
        Column("TOOK", right=True, leave_out=2),
        Column("TRIES", right=True, leave_out=1),
    ]
    rows = [
        [
            told.outcome + (f" ×{told.times:,}" if told.times > 1 else ""),
            told.job_id,
            due_at,
            span(told.late_by) if told.late_by else "",
            "" if told.started_at is None else span(told.finished_at - told.started_at),
            str(told.attempts),
            told.reason or "",
        ]
        for told, due_at in zip(occurrences, due, strict=True)
    ]
    if of_one_job:
        del columns[1]
        for row in rows:
            del row[1]
    return table(columns, rows, screen, note="REASON")


def sessions(found: Sequence[StoredSession], now: DateTime, screen: Screen) -> list[str]:
    if not found:
        return ["There is no such session stored."]
    columns = (
        Column("CHAT", least=6),
        Column("USER", least=6),
        Column("CHANGED", leave_out=1),
        Column("DATA", least=20),
    )
    rows = [
        (chat(told.chat_id), chat(told.user_id), from_now(told.updated_at, now), _json(told.data)) for told in found
    ]
    return table(columns, rows, screen)


def health(told: Health, now: DateTime, screen: Screen) -> list[str]:
    ok = told.storage == "ok"
    status = screen.painted("ok" if ok else "blocked: nothing can be stored", "green" if ok else "red")
    lines = [
        f"{screen.painted(safe(told.name), bold=True)} on {safe(told.database)}: {status}",
        "",
        *listing(
            [
                ("storage", told.storage),
                ("jobs", _jobs(told.scheduled, told.waiting, told.claimed, told.parked)),
                ("in memory", f"{told.in_memory:,}" if told.in_memory else None),
                ("recorded", counted(told.occurrences, "occurrence")),
                ("next", _moment(told.next_attempt_at, now) if told.next_attempt_at else "nothing is scheduled"),
                ("up", f"for {span(now - told.started_at)}, as process {told.process.partition('-')[0]}"),
                ("restarts", f"{told.restarts:,}"),
                ("foreign", f"{counted(told.frames_refused, 'frame')} refused" if told.frames_refused else None),
                ("version", told.version),
            ],
            screen,
        ),
        "",
    ]
    if not told.hosts:
        return [*lines, "No host is there: due jobs wait until a bot attaches, or handler actors import handlers."]
    columns = (
        Column("HOST"),
        Column("PROCESS", right=True),
        Column("RUNNING", right=True),
        Column("HANDLERS", least=16),
    )
    rows = [
        (
            host.kind,
            host.process.partition("-")[0],
            f"{host.running} of {host.places}",
            ", ".join(host.handlers) or "-",
        )
        for host in told.hosts
    ]
    return [*lines, *table(columns, rows, screen)]


def file_counts(
    database: str, counts: Counts, next_attempt_at: datetime | None, now: DateTime, screen: Screen
) -> list[str]:
    return listing(
        [
            ("database", database),
            ("jobs", _jobs(counts.scheduled, counts.waiting, counts.claimed, counts.parked)),
            ("recorded", counted(counts.occurrences, "occurrence")),
            ("next", _moment(next_attempt_at, now) if next_attempt_at else "nothing is scheduled"),
        ],
        screen,
    )


def chat(key: ChatId | None) -> str:
    return "-" if key is None else str(key)


def _key(key: ChatId | None) -> str | None:
    """Text that looks like a number is told apart from the number."""
    if isinstance(key, str) and key.lstrip("-").isdigit():
        return f"{key} (text)"
    return None if key is None else str(key)


def _moment(at: datetime | None, now: DateTime) -> str | None:
    return None if at is None else f"{local(at)} ({from_now(at, now)})"


def _jobs(scheduled: int, waiting: int, claimed: int, parked: int) -> str:
    waiting_too = f", {waiting:,} waiting" if waiting else ""
    return f"{scheduled - waiting:,} scheduled{waiting_too}, {claimed:,} claimed, {parked:,} parked"


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
