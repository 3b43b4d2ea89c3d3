"""What people are told: tables and lists, in local time."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from pendulum import DateTime

from ..actors import recounting
from ..actors.absence import MOST_TOLD
from ..actors.views import Health, Job, Json, Occurrence, Pause, StoredSession
from ..storage.values import ChatId, Counts
from . import records
from .absences import Absence
from .phrases import counted, from_now, local, local_column, safe, span
from .reasons import why
from .records import pause_over
from .tables import Column, Screen, listing, paragraph, table

STATE_COLOURS = {
    "claimed": "green",
    "waiting": "yellow",
    "parked": "red",
    "done": "green",
    "failed": "red",
    "skipped": "yellow",
    "interrupted": "magenta",
}
ABSENT_SHOWN = 3
STATES = ("scheduled", "waiting", "claimed", "parked")


def pending(
    jobs: Sequence[Job], pauses: Sequence[Pause], now: DateTime, screen: Screen, *, is_served: bool = True
) -> list[str]:
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
            why(job, now, running.get(job.chat_id), pause_over(job, pauses), is_served=is_served) or "",
        )
        for job, due_at in zip(jobs, due, strict=True)
    ]
    return table(columns, rows, screen, note="WHY")


def pending_count(jobs: Sequence[Job]) -> str:
    states = Counter(records.state(job) for job in jobs)
    told = ", ".join(f"{states[state]:,} {state}" for state in STATES if states[state])
    return f"{counted(len(jobs), 'job')}: {told}"


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
            _reason(told),
        ]
        for told, due_at in zip(occurrences, due, strict=True)
    ]
    if of_one_job:
        del columns[1]
        for row in rows:
            del row[1]
    return table(columns, rows, screen, note="REASON")


def _reason(occurrence: Occurrence) -> str:
    reason = occurrence.reason or ""
    held = reason.removeprefix(recounting.HELD)
    return reason if held == reason else f"late: {recounting.of_hold(held)}"


def sentences(said: Sequence[str], screen: Screen) -> list[str]:
    """One or more lines for each, that fit the screen."""
    return [line for one in said for line in paragraph(one, screen)]


def pauses(found: Sequence[Pause], screen: Screen) -> list[str]:
    if not found:
        return ["Nothing is paused."]
    columns = (
        Column("SCOPE"),
        Column("WHICH", least=12),
        Column("SINCE", leave_out=2),
        Column("UNTIL"),
        Column("THEN", leave_out=1),
    )
    rows = [
        (
            one.scope,
            chat(one.key),
            local(one.since),
            "resumed" if one.until is None else local(one.until),
            one.on_resume.replace("_", " "),
            one.reason or "",
        )
        for one in found
    ]
    return table(columns, rows, screen, note="REASON")


def absence(absence: Absence) -> str:
    zone = absence.zone
    missing = "; ".join(recounting.told(at, zone) for at in absence.due_at[:ABSENT_SHOWN])
    more = len(absence.due_at) - ABSENT_SHOWN
    beyond = "" if more <= 0 else f"; and {more} more" if len(absence.due_at) < MOST_TOLD else "; and more"
    return f"job {safe(absence.job_id)}: no outcome is on record for what was due {missing}{beyond}"


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
        (chat(told.chat_id), chat(told.user_id), from_now(told.updated_at, now), as_json(told.data)) for told in found
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
                ("next", moment(told.next_attempt_at, now) if told.next_attempt_at else "nothing is scheduled"),
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
            ("next", moment(next_attempt_at, now) if next_attempt_at else "nothing is scheduled"),
        ],
        screen,
    )


def chat(key: ChatId | None) -> str:
    return "-" if key is None else str(key)


def key(key: ChatId | None) -> str | None:
    """Text that looks like a number is told apart from the number."""
    if isinstance(key, str) and key.lstrip("-").isdigit():
        return f"{key} (text)"
    return None if key is None else str(key)


def moment(at: datetime | None, now: DateTime) -> str | None:
    return None if at is None else f"{local(at)} ({from_now(at, now)})"


def _jobs(scheduled: int, waiting: int, claimed: int, parked: int) -> str:
    waiting_too = f", {waiting:,} waiting" if waiting else ""
    return f"{scheduled - waiting:,} scheduled{waiting_too}, {claimed:,} claimed, {parked:,} parked"


def as_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
