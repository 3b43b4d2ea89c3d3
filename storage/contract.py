"""The contract of a store. One suite (tests/contract) runs over every implementation.

A store is owned by one thread of one process, is the only writer of its data, and reads no clock:
every instant comes in as an argument. It decides nothing; `actors.policy` does. It applies
transitions, and refuses those whose claim token is no longer the current one.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from .values import (
    ChatId,
    Claim,
    ClaimedRow,
    Counts,
    Cursor,
    DueRow,
    Ending,
    JobRow,
    JobSpec,
    Moved,
    OccurrenceRow,
    Outage,
    Pause,
    Place,
    Placed,
    Removed,
    Rezoned,
    RunOrder,
    SessionRow,
    Settlement,
    ZonedRow,
)


class Store(Protocol):
    """Everything the scheduler asks of storage.

    Every method that writes joins the open transaction, or runs in one of its own. Each may raise
    `StorageBusyError`, `StorageFullError`, `StorageReadOnlyError` or `StorageCorruptError`; then nothing
    of that transaction has happened.

    A job whose runs overlap has rows beside its own, its *parts*: one for each such run. All of them are told under
    the job's id. What asks for an id means the job's own row; the exceptions say so.
    """

    def transaction(self) -> AbstractContextManager[None]:
        """One atomic, durable write. Nothing is sent and no handler runs while it is open."""
        ...

    def close(self) -> None: ...

    # What bots and operators ask

    def put(self, specs: Sequence[JobSpec], now: int) -> list[Placed]:
        """Schedule. An id that exists is replaced whole, and its open occurrence is recorded cancelled ("replaced").

        The same id twice in one call: the last one stands. A fresh `seq`, never used before, is the new generation.
        The parts go with the job, each recorded in the same way.
        """
        ...

    def cancel(self, ids: Sequence[str], now: int) -> list[Removed | None]:
        """Remove jobs, recording their open occurrence as cancelled. None stands for an id that is not there.

        The parts go too, each recorded cancelled, and also where only they are left.
        """
        ...

    def run_now(self, job_id: str, now: int) -> bool:
        """Make a scheduled job due now. A one-shot's occurrence is moved up; a repeating job gets an extra one.

        An occurrence that is due already, or has begun and waits for its next attempt, is not doubled: it is moved up.
        False: the id is not there, or is not scheduled. Clears `waiting_for` so that the job is looked at again, and
        what had held it up.
        """
        ...

    def redrive(self, job_id: str, now: int) -> bool:
        """Put a parked job back, and its parked parts, due now, with attempts, crashes and context failures at zero.

        Clears what had held it up. False: nothing of this id is parked.
        """
        ...

    def get(self, job_id: str) -> JobRow | None:
        """The job, or, where only its ledger is left, how it ended (status is then the outcome).

        Where the job's own row is gone, the earliest of its parts.
        """
        ...

    def jobs(
        self,
        *,
        chat_id: ChatId | None = None,
        status: str | None = None,
        limit: int = 100,
        after: str | Place | None = None,
    ) -> list[JobRow]:
        """Unfinished jobs, with their parts, in order of (due_at, seq).

        `after` is the place of the last row of the page before. It may be an id too, but that means the job as it is
        now: it does not tell a job from its parts, and one that has moved takes the page with it.

        `status` may also be `WAITING`: of the scheduled ones, those that wait for a handler or for their chat's turn.
        """
        ...

    def history(
        self,
        *,
        job_id: str | None = None,
        chat_id: ChatId | None = None,
        outcome: str | None = None,
        limit: int = 100,
        before: int | None = None,
    ) -> list[OccurrenceRow]:
        """The ledger, newest first. `before` is the `number` of the last row of the page before."""
        ...

    def sessions(
        self, *, chat_id: ChatId | None = None, limit: int = 100, after: int | None = None
    ) -> list[SessionRow]:
        """Stored sessions in order of their `number`. `after` is the `number` of the last row of the page before."""
        ...

    def select(
        self, *, scope: str, key: ChatId | None, user_id: ChatId | None = None, after: int = 0, limit: int
    ) -> list[JobRow]:
        """Unfinished jobs, without their parts and payloads, that a `Scope` takes in, in order of `seq` past `after`.

        With `user_id`, only this user's.
        """
        ...

    def session(self, chat_id: ChatId | None, user_id: ChatId | None) -> str | None:
        """The stored JSON text, "" where what is stored is no text, or None where there is none."""
        ...

    def patch_session(
        self, chat_id: ChatId | None, user_id: ChatId | None, set_: str | None, remove: tuple[str, ...], now: int
    ) -> None:
        """Merge changes onto a session outside of a run, as a settlement would."""
        ...

    def counts(self) -> Counts: ...

    # What the scheduler does

    def due(self, now: int, limit: int, after: Cursor | None = None) -> list[DueRow]:
        """Scheduled rows with `next_attempt_at <= now` that wait for nothing, in order, past the cursor.

        `rule` comes as it is stored. A row whose other fields can't be read is parked on the way.
        """
        ...

    def next_attempt_at(self, after: Cursor | None = None) -> int | None:
        """The earliest `next_attempt_at` of a scheduled row that waits for nothing, past the cursor."""
        ...

    def leads_chat(self, chat_id: ChatId, place: Cursor) -> bool:
        """Whether nothing of this chat stands before that place in the due order. False also where that takes long."""
        ...

    def wait(self, seqs: Sequence[int], reason: str, now: int) -> None:
        """Take scheduled rows out of the due order until `release`. `reason` is `handler:NAME` or `lane:CHAT`, say.

        From now on they are held up, where they have not been before (`held_from`).
        """
        ...

    def release(self, reason: str, limit: int, now: int, *, held_by: str | None = None) -> int:
        """Put up to `limit` rows that wait for `reason` back, earliest first; how many there were.

        They tell that they were held up until now by `held_by`, or else by `reason`; what is `LASTING` is kept then.
        """
        ...

    def waiting(self, prefix: str) -> list[str]:
        """The distinct reasons that begin with `prefix`."""
        ...

    def claim(self, claims: Sequence[Claim], now: int) -> list[RunOrder]:
        """scheduled → claimed, attempt + 1, with the session as it is now. A claim whose row is gone is left out.

        The next occurrence is written here, so that a death in the middle of a run does not end the series.
        """
        ...

    def spawn(self, seq: int, due_at: int, next_due_at: int | None, now: int) -> Placed | None:
        """Make the occurrence of a scheduled row a part, and go on to the next, or end the series.

        The part is a one-shot with the same body, due at `due_at`; where another part is due at that very instant, its
        due time is the next microsecond that is free. What held the occurrence up goes with it. None: the row is gone,
        not scheduled, or itself a part.
        """
        ...

    def parts(self, seq: int) -> int:
        """How many parts of this job have neither ended nor been parked."""
        ...

    def skip(self, seq: int, endings: Sequence[Ending], next_due_at: int | None) -> None:
        """Record occurrences (or runs of them) that do not run, and go on to the next, or finish the job."""
        ...

    def record(self, seq: int, ending: Ending) -> None:
        """Record due times that do not run, beside what the row itself goes on with, whatever its state.

        One that has its outcome already keeps it.
        """
        ...

    def snooze(self, seq: int, next_attempt_at: int, now: int) -> bool:
        """Put the occurrence of a scheduled row off; its due time and its series stay. False: it is not scheduled.

        Clears `waiting_for`. The row tells that it is held up by `SNOOZE` until then.
        """
        ...

    def park(self, seq: int, reason: str, now: int) -> None:
        """Set a scheduled row aside that can't be decided about: a rule, say, that this version does not know.

        Its open occurrence is recorded failed, with the reason.
        """
        ...

    def claimed(self) -> list[ClaimedRow]: ...

    def claims(self, seqs: Sequence[int]) -> dict[int, ClaimedRow]:
        """The current claims of these rows; those that are not claimed are left out."""
        ...

    def settle(self, settlements: Sequence[Settlement], now: int) -> list[bool]:
        """Apply what was decided. False where the token is stale: then nothing of that settlement happens.

        The transition, the session's patch, what was scheduled and cancelled, and the ledger row are one write.
        """
        ...

    # Pauses and outages

    def pauses(self) -> list[Pause]:
        """All that can be read, in the order in which they were first made."""
        ...

    def pause(self, pause: Pause) -> None:
        """Make a pause, or change the one of the same scope and key, whose `since` stays."""
        ...

    def unpause(self, scope: str, key: ChatId | None) -> Pause | None:
        """End a pause, and tell what it was. None: there is none."""
        ...

    def note_outage(self, outage: Outage) -> None: ...

    def outages(self, since: int, until: int, limit: int = 100) -> list[Outage]:
        """Those that reach into the time from `since` to `until`, the oldest first."""
        ...

    def latest_sign(self) -> int | None:
        """The latest instant at which, as far as the store can tell, a scheduler was alive."""
        ...

    # Zones

    def zones(self) -> dict[str, str]:
        """What `set_zone` has stored, by name."""
        ...

    def set_zone(self, name: str, changes: str) -> None: ...

    def zone_names(self) -> list[str]:
        """The zones that jobs have, each once."""
        ...

    def zoned(self, zone: str, *, after: int = 0, limit: int) -> list[ZonedRow]:
        """Jobs of a zone, without parts, in order of `seq` past `after`. Fewer than `limit`: there are no more.

        Rows that can't be read are left out.
        """
        ...

    def move(self, moved: Sequence[Moved]) -> None:
        """Rewrite the instants of rows that are not parked."""
        ...

    def rezone(self, rezoned: Sequence[Rezoned]) -> None:
        """Rewrite zone, rule and instants. Scheduled rows wait for nothing any more, and are looked at again."""
        ...

    # House-keeping

    def remember_replies(self, client: str, number: int, replies: str, now: int) -> None:
        """Keep the answer to a client's latest batch, in the same transaction as what it did."""
        ...

    def recall_replies(self, client: str) -> tuple[int, str] | None: ...

    def meta(self, key: str) -> str | None: ...

    def set_meta(self, key: str, value: str) -> None: ...

    def trim(self, *, finished_before: int, keep: int, limit: int) -> int:
        """Delete up to `limit` of the oldest ledger rows beyond age and count, but never a job's latest failure.

        Also forgets replies and outages older than `finished_before`. Returns how many rows went; call again while it
        is `limit`.
        """
        ...

    def check(self) -> list[str]:
        """Sentences about whatever is wrong with the data; empty when all is well."""
        ...
