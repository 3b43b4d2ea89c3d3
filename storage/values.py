"""The plain values that storage takes and gives.

Instants are integers: microseconds since 1970-01-01T00:00Z. Durations end in `_us` (microseconds).
JSON travels as text, so that what was checked at the door is what is stored. Every value is a
NamedTuple because thousands of them cross a process border in one message, where a dataclass would
cost more to pickle than to store.
"""

from enum import StrEnum
from typing import Final, NamedTuple

ChatId = int | str


class Status(StrEnum):
    """The states in which a job's row can stand. A finished job has no row; its ledger says how it ended."""

    SCHEDULED = "scheduled"
    CLAIMED = "claimed"
    PARKED = "parked"


WAITING: Final = "waiting"
"""What is asked for beside a status: scheduled, and held up by a handler that no host knows, or by its chat's lane."""


class Outcome(StrEnum):
    """How an occurrence ended. Exactly one of these is recorded for each."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"


class Delivery(StrEnum):
    """What a job promises when its host dies in the middle of a run."""

    AT_MOST_ONCE = "at_most_once"
    AT_LEAST_ONCE = "at_least_once"


class Misfire(StrEnum):
    """What an occurrence gets that is found later than its grace."""

    RUN_LATE = "run_late"
    SKIP = "skip"
    EXPIRE = "expire"


class JobSpec(NamedTuple):
    """A job as it was accepted at the door: every field is checked, `payload` and `rule` are JSON text."""

    id: str
    handler: str
    due_at: int
    payload: str = "null"
    chat_id: ChatId | None = None
    user_id: ChatId | None = None
    thread_id: ChatId | None = None
    rule: str | None = None
    delivery: str = Delivery.AT_MOST_ONCE
    misfire: str = Misfire.RUN_LATE
    grace_us: int | None = None
    max_attempts: int | None = None
    time_limit_us: int = 60_000_000
    due_until: int | None = None
    """Scheduling the id again puts it off no further than this; the earliest such instant stands."""


class Placed(NamedTuple):
    """Where a scheduled job landed, and the row it replaced, if any."""

    seq: int
    replaced_seq: int | None


class Removed(NamedTuple):
    """A row that a cancel took away."""

    seq: int
    status: str


class Cursor(NamedTuple):
    """A place in the order of due rows."""

    next_attempt_at: int
    seq: int


class DueRow(NamedTuple):
    """What the scheduler needs to decide about a due job; the rest is read when it is claimed."""

    seq: int
    next_attempt_at: int
    due_at: int
    next_due_at: int | None
    handler: str
    chat_id: ChatId | None
    rule: str | None
    misfire: str
    grace_us: int | None
    attempts: int
    crashes: int
    time_limit_us: int
    id: str


class Claim(NamedTuple):
    """One attempt at one occurrence, handed to one host."""

    seq: int
    token: int
    host: str
    due_at: int
    next_due_at: int | None
    lease_until: int


class RunOrder(NamedTuple):
    """A claimed job as a host gets it. `session` is the stored JSON text, or None where there is none."""

    seq: int
    token: int
    id: str
    handler: str
    chat_id: ChatId | None
    user_id: ChatId | None
    thread_id: ChatId | None
    payload: str
    session: str | None
    due_at: int
    attempt: int
    time_limit_us: int
    run_key: str


class RunResult(NamedTuple):
    """What became of one run, as its host tells it.

    `verdict` is one of: done, retry, failed, park, context_failed, interrupted, not_started.
    `session_set` is a JSON object text of the keys to write, `session_remove` the keys to drop.
    """

    seq: int
    token: int
    verdict: str
    started_at: int
    finished_at: int
    after_us: int | None = None
    reason: str | None = None
    traceback: str | None = None
    session_set: str | None = None
    session_remove: tuple[str, ...] = ()
    scheduled: tuple[JobSpec, ...] = ()
    cancelled: tuple[str, ...] = ()
    delivered: tuple[str, ...] = ()


class Ending(NamedTuple):
    """A ledger row to write: the one outcome of an occurrence.

    `count` is above one for a run of missed occurrences that are told in one row; `due_at` is then the
    first of them and `last_due_at` the last.
    """

    outcome: str
    due_at: int
    finished_at: int
    started_at: int | None = None
    reason: str | None = None
    traceback: str | None = None
    delivered: tuple[str, ...] = ()
    count: int = 1  # type: ignore[assignment]
    last_due_at: int | None = None


class Settlement(NamedTuple):
    """What the policy decided about one claim; the store applies it if the token still matches.

    `event` names the transition (see `states`). `ending` is None when the occurrence goes on (a retry).
    """

    seq: int
    token: int
    event: str
    ending: Ending | None = None
    next_attempt_at: int | None = None
    next_due_at: int | None = None
    attempts: int = 0
    crashes: int = 0
    context_failures: int = 0
    reason: str | None = None
    session_set: str | None = None
    session_remove: tuple[str, ...] = ()
    scheduled: tuple[JobSpec, ...] = ()
    cancelled: tuple[str, ...] = ()


class ClaimedRow(NamedTuple):
    """A claim as it stands in the store: read at a restart, and to decide what a result means."""

    seq: int
    token: int
    id: str
    handler: str
    chat_id: ChatId | None
    host: str
    due_at: int
    next_due_at: int | None
    attempts: int
    crashes: int
    context_failures: int
    rule: str | None
    delivery: str
    max_attempts: int | None
    lease_until: int
    claimed_at: int


class JobRow(NamedTuple):
    """A job as people are shown it. A finished one is told from its ledger, without a payload."""

    id: str
    handler: str
    status: str
    due_at: int
    next_attempt_at: int | None
    chat_id: ChatId | None
    user_id: ChatId | None
    thread_id: ChatId | None
    payload: str | None
    rule: str | None
    delivery: str
    attempts: int
    waiting_for: str | None
    reason: str | None
    host: str | None
    claimed_at: int | None
    seq: int
    due_until: int | None = None


class OccurrenceRow(NamedTuple):
    """A ledger row."""

    number: int
    job_id: str
    job_seq: int
    handler: str
    chat_id: ChatId | None
    user_id: ChatId | None
    outcome: str
    due_at: int
    last_due_at: int | None
    count: int  # type: ignore[assignment]
    started_at: int | None
    finished_at: int
    late_by_us: int
    attempts: int
    reason: str | None
    traceback: str | None
    delivered: str | None
    run_key: str


class SessionRow(NamedTuple):
    """A stored session; `data` is JSON text, `number` its place in the order of all."""

    chat_id: ChatId | None
    user_id: ChatId | None
    data: str
    updated_at: int
    number: int


class Counts(NamedTuple):
    """How many rows stand where."""

    scheduled: int
    claimed: int
    parked: int
    waiting: int
    occurrences: int


def told_from_ledger(last: OccurrenceRow) -> JobRow:
    """A finished job as its last ledger row tells it."""
    return JobRow(
        id=last.job_id,
        handler=last.handler,
        status=last.outcome,
        due_at=last.due_at,
        next_attempt_at=None,
        chat_id=last.chat_id,
        user_id=last.user_id,
        thread_id=None,
        payload=None,
        rule=None,
        delivery="",
        attempts=last.attempts,
        waiting_for=None,
        reason=last.reason,
        host=None,
        claimed_at=None,
        seq=last.job_seq,
    )
