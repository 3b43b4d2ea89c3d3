"""What programs are told: JSON with instants in RFC 3339 UTC and durations in seconds."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from pendulum import DateTime

from ..actors.views import Health, Job, Json, Occurrence, Pause, StoredSession
from ..storage import door
from ..storage.values import Counts
from .absences import Absence
from .moments import local, utc, zone_or_utc
from .phrases import rfc3339

Record = dict[str, Json]


def text(record: Json) -> str:
    """One line. Only ASCII, so that nothing in an id or a payload can steer a terminal."""
    return json.dumps(record)


def state(job: Job) -> str:
    """The job's status, or `waiting` for a due job that can't run yet."""
    return "waiting" if job.waiting_for is not None else job.status


def snoozed_until(job: Job, now: DateTime) -> DateTime | None:
    """Until when what is due next is put off; None where it is not, or not any more."""
    until = job.snoozed_until
    return until if until is not None and until > now and job.status == "scheduled" else None


def pause_over(job: Job, pauses: Sequence[Pause]) -> Pause | None:
    """What holds a job up, if anything does."""
    keys = {("all", None), ("handler", job.handler), ("job", job.id), ("chat", job.chat_id)}
    return next((one for one in pauses if (one.scope, one.key) in keys), None) if not job.is_finished else None


def job(job: Job, now: DateTime, *, is_served: bool = True, paused: Pause | None = None) -> Record:
    """`is_served`: a scheduler runs. Without one, nothing that is claimed is running."""
    return {
        "id": job.id,
        "handler": job.handler,
        "state": state(job),
        "status": job.status,
        "due_at": rfc3339(job.due_at),
        "due_in_s": _seconds(job.due_at - now),
        "next_attempt_at": rfc3339(job.next_attempt_at),
        "chat_id": job.chat_id,
        "user_id": job.user_id,
        "thread_id": job.thread_id,
        "payload": job.payload,
        "rule": None if job.rule is None else str(job.rule),
        "every_s": _seconds(job.every),
        "zone": job.zone,
        "local_at": None if job.local_at is None else job.local_at.isoformat(),
        "delivery": job.delivery or None,
        "attempts": job.attempts,
        "max_attempts": job.max_attempts,
        "time_limit_s": _seconds(job.time_limit),
        "misfire": job.misfire or None,
        "grace_s": _seconds(job.grace),
        "catch_up": job.catch_up or None,
        "overlap": job.overlap or None,
        "stale_after_s": _seconds(job.stale_after),
        "snoozed_until": rfc3339(snoozed_until(job, now)),
        "paused": None if paused is None else pause(paused),
        "waiting_for": job.waiting_for,
        "host": job.host,
        "claimed_at": rfc3339(job.claimed_at),
        "why": job.why if is_served or job.status != "claimed" else f"left by {job.host}, which began it",
    }


def occurrence(occurrence: Occurrence) -> Record:
    began = occurrence.started_at
    return {
        "number": occurrence.number,
        "job_id": occurrence.job_id,
        "handler": occurrence.handler,
        "chat_id": occurrence.chat_id,
        "user_id": occurrence.user_id,
        "outcome": occurrence.outcome,
        "times": occurrence.times,
        "due_at": rfc3339(occurrence.due_at),
        "last_due_at": rfc3339(occurrence.last_due_at),
        "started_at": rfc3339(began),
        "finished_at": rfc3339(occurrence.finished_at),
        "late_by_s": _seconds(occurrence.late_by),
        "duration_s": None if began is None else _seconds(occurrence.finished_at - began),
        "attempts": occurrence.attempts,
        "reason": occurrence.reason,
        "traceback": occurrence.traceback,
        "delivered": list(occurrence.delivered),
        "run_key": occurrence.run_key,
    }


def pause(pause: Pause) -> Record:
    return {
        "scope": pause.scope,
        "key": pause.key,
        "since": rfc3339(pause.since),
        "until": rfc3339(pause.until),
        "on_resume": pause.on_resume,
        "reason": pause.reason,
    }


def due_time(at: DateTime, zone: str | None) -> Record:
    """In UTC, and with the offset of a zone."""
    us = door.instant(at, "the due time")
    return {"due_at": utc(us), "local": local(us, zone_or_utc(zone))}


def absence(absence: Absence) -> Record:
    return {"job_id": absence.job_id, "due_at": [utc(at) for at in absence.due_at]}


def session(session: StoredSession) -> Record:
    return {
        "chat_id": session.chat_id,
        "user_id": session.user_id,
        "data": dict(session.data),
        "updated_at": rfc3339(session.updated_at),
    }


def health(health: Health, now: DateTime) -> Record:
    return {
        "status": health.status,
        "name": health.name,
        "database": health.database,
        "process": health.process,
        "started_at": rfc3339(health.started_at),
        "up_s": _seconds(now - health.started_at),
        "storage": health.storage,
        "scheduled": health.scheduled,
        "claimed": health.claimed,
        "parked": health.parked,
        "waiting": health.waiting,
        "occurrences": health.occurrences,
        "in_memory": health.in_memory,
        "next_attempt_at": rfc3339(health.next_attempt_at),
        "armed_wakeups": health.armed_wakeups,
        "restarts": health.restarts,
        "frames_refused": health.frames_refused,
        "version": health.version,
        "hosts": [
            {
                "host": host.host,
                "kind": host.kind,
                "process": host.process,
                "handlers": list(host.handlers),
                "places": host.places,
                "running": host.running,
            }
            for host in health.hosts
        ],
    }


def file_counts(database: str, counts: Counts, next_attempt_at: datetime | None) -> Record:
    return {
        "status": "offline",
        "database": database,
        "scheduled": counts.scheduled,
        "claimed": counts.claimed,
        "parked": counts.parked,
        "waiting": counts.waiting,
        "occurrences": counts.occurrences,
        "next_attempt_at": rfc3339(next_attempt_at),
    }


def _seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else duration.total_seconds()
