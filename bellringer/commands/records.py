"""What programs are told: JSON with instants in RFC 3339 UTC and durations in seconds."""

import json
from datetime import datetime, timedelta

from pendulum import DateTime

from ..actors.views import Health, Job, Json, Occurrence, StoredSession
from ..storage.values import Counts
from .phrases import rfc3339

Record = dict[str, Json]


def text(record: Record) -> str:
    """One line. Only ASCII, so that nothing in an id or a payload can steer a terminal."""
    return json.dumps(record)


def state(job: Job) -> str:
    """The job's status, or `waiting` for a due job that can't run yet."""
    return "waiting" if job.waiting_for is not None else job.status


def job(job: Job, now: DateTime, *, is_served: bool = True) -> Record:
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
        "every_s": _seconds(job.every),
        "delivery": job.delivery or None,
        "attempts": job.attempts,
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
