"""What people are told: tables and lists, in local time."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from ..actors.views import Health, Job, Json, Occurrence, StoredSession
from ..storage.values import ChatId, Counts
from . import records
from .phrases import counted, from_now, local, safe, safe_lines, span
from .tables import Column, Screen, listing, table

STATE_COLOURS = {
    **{"claimed": "green", "waiting": "yellow", "parked": "red"},
    **{"done": "green", "failed": "red", "skipped": "yellow", "interrupted": "magenta"},
}
STATES = ("scheduled", "waiting", "claimed", "parked")


def pending(jobs: Sequence[Job], now: datetime, screen: Screen) -> list[str]:
    if not jobs:
        return ["No job is pending."]
    columns = (
        Column("ID", least=10),
        Column("HANDLER", least=7),
        Column("CHAT", least=6, optional=True),
        Column("DUE"),
        Column("IN", optional=True),
        Column("STATE", colours=STATE_COLOURS),
    )
    rows = [
        (
            job.id,
            job.handler,
            chat(job.chat_id),
            local(job.due_at),
            from_now(job.due_at, now),
            records.state(job),
            why(job, now) or "",
        )
        for job in jobs
    ]
    return table(columns, rows, screen, note="WHY")


def pending_count(jobs: Sequence[Job]) -> str:
    states = Counter(records.state(job) for job in jobs)
    told = ", ".join(f"{states[state]:,} {state}" for state in STATES if states[state])
    return f"{counted(len(jobs), 'job')}: {told}"


def why(job: Job, now: datetime) -> str | None:
    """Why a job is not simply scheduled."""
    if job.status == "claimed" and job.claimed_at is not None:
        return f"running on {job.host} for {span(now - job.claimed_at)}, attempt {job.attempts}"
    if job.status == "scheduled" and job.waiting_for is None and job.attempts:
        again = job.next_attempt_at or job.due_at
        return f"attempt {job.attempts + 1} {from_now(again, now)}" + (f", after: {job.why}" if job.why else "")
    return job.why


def job(
    shown: Job, latest: Sequence[Occurrence], failure: Occurrence | None, now: datetime, screen: Screen
) -> list[str]:
    attempt_at = shown.next_attempt_at
    lines = listing(
        [
            ("job", shown.id),
            ("state", records.state(shown)),
            ("why", why(shown, now)),
            ("handler", shown.handler),
            ("due", _moment(shown.due_at, now)),
            ("next attempt", _moment(attempt_at, now) if attempt_at not in (None, shown.due_at) else None),
            ("every", None if shown.every is None else span(shown.every)),
            ("chat", _key(shown.chat_id)),
            ("user", _key(shown.user_id)),
            ("thread", _key(shown.thread_id)),
            ("attempts", None if shown.is_finished else f"{shown.attempts} so far"),
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
        return ["Nothing is recorded."]
    columns = [
        Column("OUTCOME", colours=STATE_COLOURS),
        Column("JOB", least=10),
        Column("DUE"),
        Column("LATE", right=True),
        Column("TOOK", right=True, optional=True),
        Column("TRIES", right=True, optional=True),
    ]
    rows = [
        [
            told.outcome + (f" ×{told.times:,}" if told.times > 1 else ""),
            told.job_id,
            local(told.due_at),
            span(told.late_by) if told.late_by else "",
            "" if told.started_at is None else span(told.finished_at - told.started_at),
            str(told.attempts),
            told.reason or "",
        ]
        for told in occurrences
    ]
    if of_one_job:
        del columns[1]
        for row in rows:
            del row[1]
    return table(columns, rows, screen, note="REASON")


def sessions(found: Sequence[StoredSession], now: datetime, screen: Screen) -> list[str]:
    if not found:
        return ["No session is stored."]
    columns = (
        Column("CHAT", least=6),
        Column("USER", least=6),
        Column("CHANGED", optional=True),
        Column("DATA", least=20),
    )
    rows = [
        (chat(told.chat_id), chat(told.user_id), from_now(told.updated_at, now), _json(told.data)) for told in found
    ]
    return table(columns, rows, screen)


def health(told: Health, now: datetime, screen: Screen) -> list[str]:
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
                ("running", f"for {span(now - told.started_at)}, as process {told.process.partition('-')[0]}"),
                ("restarts", f"{told.restarts:,}"),
                ("refused", counted(told.frames_refused, "frame") if told.frames_refused else None),
                ("version", told.version),
            ],
            screen,
        ),
        "",
    ]
    if not told.hosts:
        return [*lines, "No host is there: due jobs wait until a bot attaches, or handler actors import handlers."]
    columns = (
        Column("HOST", least=12),
        Column("KIND", optional=True),
        Column("PROCESS", right=True),
        Column("RUNNING", right=True),
        Column("HANDLERS", least=16),
    )
    rows = [
        (
            host.host,
            host.kind,
            host.process.partition("-")[0],
            f"{host.running} of {host.places}",
            ", ".join(host.handlers) or "-",
        )
        for host in told.hosts
    ]
    return [*lines, *table(columns, rows, screen)]


def file_counts(
    database: str, counts: Counts, next_attempt_at: datetime | None, now: datetime, screen: Screen
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


def _moment(at: datetime | None, now: datetime) -> str | None:
    return None if at is None else f"{local(at)} ({from_now(at, now)})"


def _jobs(scheduled: int, waiting: int, claimed: int, parked: int) -> str:
    of_them = f" ({waiting:,} of them waiting)" if waiting else ""
    return f"{scheduled:,} scheduled{of_them}, {claimed:,} running, {parked:,} parked"


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
