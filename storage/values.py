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

RUN: Final = "run"
SNOOZE: Final = "snooze"
PAUSE: Final = "pause"
PAUSE_THEN_ONE: Final = "pause:run_one"
LASTING: Final = frozenset({RUN, SNOOZE, PAUSE, PAUSE_THEN_ONE})
"""By what an occurrence was held up that decides about it: its own run before, a snooze, a pause of either kind."""


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


class CatchUp(StrEnum):
    """What a repeating job gets of the occurrences that it missed."""

    NONE = "none"
    ONE = "one"
    ALL = "all"


class Overlap(StrEnum):
    """What an occurrence gets whose due time comes while an earlier one of the same job is not over."""

    SKIP = "skip"
    QUEUE_ONE = "queue_one"
    PARALLEL = "parallel"


class Scope(StrEnum):
    """What a pause holds up."""

    JOB = "job"
    CHAT = "chat"
    HANDLER = "handler"
    ALL = "all"


class OnResume(StrEnum):
    """What a repeating job gets, when its pause ends, of the occurrences that fell into it."""

    NEXT = "next"
    RUN_ONE = "run_one"


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
    zone: str | None = None
    """The zone of its wall-clock rule, or of `local_at`."""
    local_at: str | None = None
    """The local due time of a one-shot, as in "2026-12-25T08:00:00"; `due_at` is what it comes to in `zone`."""
    catch_up: str = CatchUp.ONE
    catch_up_limit: int | None = None
    overlap: str = Overlap.QUEUE_ONE
    overlap_limit: int | None = None
    stale_after_us: int | None = None


class Placed(NamedTuple):
    """Where a scheduled job landed, and the row it replaced, if any. `parts`: its runs of a series that went too."""

    seq: int
    replaced_seq: int | None
    parts: tuple[int, ...] = ()


class Removed(NamedTuple):
    """A row that a cancel took away, and, in `parts`, its runs of a series that went too.

    Where the series itself was over, `seq` and `status` are those of the earliest of these runs.
    """

    seq: int
    status: str
    parts: tuple[int, ...] = ()


class Place(NamedTuple):
    """A place in the order in which jobs are told."""

    due_at: int
    seq: int


class Cursor(NamedTuple):
    """A place in the order of due rows."""

    next_attempt_at: int
    seq: int


class DueRow(NamedTuple):
    """What the scheduler needs to decide about a due job; the rest is read when it is claimed.

    `held_by`, `held_from` and `held_until` tell what held this occurrence up last. `series` is the seq of the job of
    which this row is one run that goes beside others; `id` is then that job's.
    """

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
    catch_up: str = CatchUp.ONE
    catch_up_limit: int | None = None
    overlap: str = Overlap.QUEUE_ONE
    overlap_limit: int | None = None
    stale_after_us: int | None = None
    held_by: str | None = None
    held_from: int | None = None
    held_until: int | None = None
    series: int | None = None


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
    `held` says by what, from when and until when the next occurrence was held up.
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
    held: tuple[str, int, int] | None = None


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
    overlap: str = Overlap.QUEUE_ONE
    held_by: str | None = None
    series: int | None = None
    stale_after_us: int | None = None


class JobRow(NamedTuple):
    """A job as people are shown it. A finished one is told from its ledger, without payload, rule and policies.

    Where `series` is set, this is one run of the series that goes beside others, under the id of its job.
    """

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
    zone: str | None = None
    local_at: str | None = None
    misfire: str = Misfire.RUN_LATE.value
    grace_us: int | None = None
    max_attempts: int | None = None
    time_limit_us: int | None = 60_000_000
    catch_up: str = CatchUp.ONE.value
    catch_up_limit: int | None = None
    overlap: str = Overlap.QUEUE_ONE.value
    overlap_limit: int | None = None
    stale_after_us: int | None = None
    held_by: str | None = None
    held_from: int | None = None
    held_until: int | None = None
    next_due_at: int | None = None
    series: int | None = None

    def __reduce__(self) -> tuple[object, ...]:
        """Long lists cross process borders: what is as usual is left out."""
        usual = self[_PLAIN_FIELDS:] == _USUAL
        return JobRow, self[:_PLAIN_FIELDS] if usual else tuple(self)

    @property
    def is_finished(self) -> bool:
        """Whether only its ledger is left."""
        return self.status not in tuple(Status)


_PLAIN_FIELDS: Final = JobRow._fields.index("zone")
_USUAL: Final = tuple(JobRow._field_defaults[name] for name in JobRow._fields[_PLAIN_FIELDS:])


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


class Pause(NamedTuple):
    """What holds up a job, a chat, a handler or all. `key` is the job's id, the chat or the handler's name.

    For `Scope.ALL` it is None.
    """

    scope: str
    key: ChatId | None
    since: int
    until: int | None
    on_resume: str
    reason: str | None


class Outage(NamedTuple):
    """A time in which no job could run. `kind` is "down" (nothing was running) or "jump".

    A jump: the clock was set forward, or the machine slept.
    """

    began_at: int
    ended_at: int
    kind: str


class ZonedRow(NamedTuple):
    """A job's row as far as a change of its zone concerns it."""

    seq: int
    status: str
    due_at: int
    next_attempt_at: int | None
    next_due_at: int | None
    attempts: int
    rule: str | None
    zone: str
    local_at: str | None


class Moved(NamedTuple):
    """The instants of a row after the rules of its zone changed. Without `next_attempt_at`, that stays."""

    seq: int
    due_at: int
    next_attempt_at: int | None
    next_due_at: int | None


class Rezoned(NamedTuple):
    """A row that another zone was chosen for. Without `next_attempt_at`, that stays."""

    seq: int
    zone: str
    rule: str | None
    due_at: int
    next_attempt_at: int | None
    next_due_at: int | None


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
        misfire="",
        time_limit_us=None,
        catch_up="",
        overlap="",
    )
