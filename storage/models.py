"""The tables of the current schema, as peewee models. A new file is created from them.

`chat_id`, `user_id` and `thread_id` have no type affinity, so that the number 42 and the text "42" stay two keys.
"""

from typing import Final

from peewee import SQL, BareField, BigIntegerField, IntegerField, Model, SchemaManager, SqliteDatabase, TextField

from .values import CatchUp, Outcome, Overlap, Status

APPLICATION_ID: Final = 0x42524E47
SCHEMA_VERSION: Final = 2

# A partial index serves a query only where the query spells its condition in the same way.
DUE: Final = f"status = '{Status.SCHEDULED}' AND waiting_for IS NULL"
WAITING: Final = f"status = '{Status.SCHEDULED}' AND waiting_for IS NOT NULL"
CLAIMED: Final = f"status = '{Status.CLAIMED}'"
PARKED: Final = f"status = '{Status.PARKED}'"
UNUSUAL: Final = f"outcome <> '{Outcome.DONE}'"
FAILED: Final = f"outcome = '{Outcome.FAILED}'"


class Job(Model):
    """What to do. `seq` is the generation: a replaced job gets a new one, and none is ever used twice.

    `series` is the seq of the job of which this row is one run that goes beside others: a part. A part's id is that
    job's, a NUL and its due time. The door refuses NUL, so no other job can bear it.
    """

    seq = BigIntegerField(primary_key=True)
    id = TextField(unique=True)
    handler = TextField()
    chat_id = BareField(null=True)
    user_id = BareField(null=True)
    thread_id = BareField(null=True)
    payload = TextField()
    rule = TextField(null=True)
    delivery = TextField()
    misfire = TextField()
    grace_us = BigIntegerField(null=True)
    max_attempts = BigIntegerField(null=True)
    time_limit_us = BigIntegerField()
    due_until = BigIntegerField(null=True)
    created_at = BigIntegerField()
    zone = TextField(null=True)
    local_at = TextField(null=True)
    catch_up = TextField(constraints=[SQL(f"DEFAULT '{CatchUp.ONE}'")])
    catch_up_limit = BigIntegerField(null=True)
    overlap = TextField(constraints=[SQL(f"DEFAULT '{Overlap.QUEUE_ONE}'")])
    overlap_limit = BigIntegerField(null=True)
    stale_after_us = BigIntegerField(null=True)
    series = BigIntegerField(null=True)


class JobState(Model):
    """When, and how far it got. `due_at` is the open occurrence's due time until that is settled."""

    seq = BigIntegerField(primary_key=True)
    status = TextField()
    due_at = BigIntegerField()
    next_attempt_at = BigIntegerField(null=True)
    next_due_at = BigIntegerField(null=True)
    attempts = IntegerField(constraints=[SQL("DEFAULT 0")])
    crashes = IntegerField(constraints=[SQL("DEFAULT 0")])
    context_failures = IntegerField(constraints=[SQL("DEFAULT 0")])
    waiting_for = TextField(null=True)
    reason = TextField(null=True)
    token = BigIntegerField(null=True)
    host = TextField(null=True)
    claimed_at = BigIntegerField(null=True)
    lease_until = BigIntegerField(null=True)
    held_by = TextField(null=True)
    held_from = BigIntegerField(null=True)
    held_until = BigIntegerField(null=True)

    class Meta:
        table_name = "job_state"


class Occurrence(Model):
    """The ledger: one row for each occurrence, written when it ends.

    (`job_seq`, `due_at`) is unique; as a seq belongs to one job for ever, that is one outcome for each occurrence.
    """

    number = BigIntegerField(primary_key=True)
    job_id = TextField()
    job_seq = BigIntegerField()
    handler = TextField()
    chat_id = BareField(null=True)
    user_id = BareField(null=True)
    outcome = TextField()
    due_at = BigIntegerField()
    last_due_at = BigIntegerField(null=True)
    count = IntegerField()
    started_at = BigIntegerField(null=True)
    finished_at = BigIntegerField()
    late_by_us = BigIntegerField()
    attempts = IntegerField()
    reason = TextField(null=True)
    traceback = TextField(null=True)
    delivered = TextField(null=True)
    run_key = TextField()


class Session(Model):
    """What is stored for a chat and user; `data` is a JSON object."""

    number = BigIntegerField(primary_key=True)
    chat_id = BareField(null=True)
    user_id = BareField(null=True)
    data = TextField()
    updated_at = BigIntegerField()


class Pause(Model):
    """What holds up a job, a chat, a handler or all. The key of a pause of all is ''."""

    number = BigIntegerField(primary_key=True)
    scope = TextField()
    key = BareField()
    since = BigIntegerField()
    until = BigIntegerField(null=True)
    on_resume = TextField()
    reason = TextField(null=True)


class Outage(Model):
    """A time in which no job could run."""

    number = BigIntegerField(primary_key=True)
    began_at = BigIntegerField()
    ended_at = BigIntegerField()
    kind = TextField()


class Zone(Model):
    """How a zone's offsets change, as far as the due times that are stored were reckoned with it."""

    name = TextField(primary_key=True)
    changes = TextField()


class Reply(Model):
    """The answer to each client's latest batch."""

    client = TextField(primary_key=True)
    number = BigIntegerField()
    replies = TextField()
    at = BigIntegerField()


class Meta(Model):
    """Single values, by key."""

    key = TextField(primary_key=True)
    value = TextField()


MODELS: Final = (Job, JobState, Occurrence, Session, Reply, Meta, Pause, Outage, Zone)

Job.add_index(SQL("CREATE INDEX job_chat ON job (chat_id) WHERE chat_id IS NOT NULL"))
Job.add_index(SQL("CREATE INDEX job_zone ON job (zone, seq) WHERE zone IS NOT NULL"))
Job.add_index(SQL("CREATE INDEX job_series ON job (series) WHERE series IS NOT NULL"))
JobState.add_index(SQL(f"CREATE INDEX job_state_due ON job_state (next_attempt_at, seq) WHERE {DUE}"))
JobState.add_index(
    SQL(f"CREATE INDEX job_state_waiting ON job_state (waiting_for, next_attempt_at, seq) WHERE {WAITING}")
)
JobState.add_index(SQL(f"CREATE INDEX job_state_claimed ON job_state (seq) WHERE {CLAIMED}"))
JobState.add_index(SQL(f"CREATE INDEX job_state_parked ON job_state (due_at, seq) WHERE {PARKED}"))
JobState.add_index(SQL("CREATE INDEX job_state_order ON job_state (due_at, seq)"))
Occurrence.add_index(SQL("CREATE UNIQUE INDEX occurrence_once ON occurrence (job_seq, due_at)"))
Occurrence.add_index(SQL("CREATE INDEX occurrence_job ON occurrence (job_id)"))
Occurrence.add_index(SQL("CREATE INDEX occurrence_chat ON occurrence (chat_id) WHERE chat_id IS NOT NULL"))
Occurrence.add_index(SQL(f"CREATE INDEX occurrence_failed ON occurrence (job_id) WHERE {FAILED}"))
Occurrence.add_index(SQL(f"CREATE INDEX occurrence_unusual ON occurrence (outcome) WHERE {UNUSUAL}"))
Session.add_index(SQL("CREATE INDEX session_key ON session (chat_id, user_id)"))
Pause.add_index(SQL("CREATE UNIQUE INDEX pause_key ON pause (scope, key)"))


def create_all(database: SqliteDatabase) -> None:
    """Create every table and index. The caller holds the transaction."""
    for model in MODELS:
        SchemaManager(model, database).create_all(safe=False)
