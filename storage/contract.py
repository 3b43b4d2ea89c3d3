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
    OccurrenceRow,
    Placed,
    Removed,
    RunOrder,
    SessionRow,
    Settlement,
)


class Store(Protocol):
    """Everything the scheduler asks of storage.

    Every method that writes joins the open transaction, or runs in one of its own. Each may raise
    `StorageBusyError`, `StorageFullError`, `StorageReadOnlyError` or `StorageCorruptError`; then nothing
    of that transaction has happened.
    """

    def transaction(self) -> AbstractContextManager[None]:
        """One atomic, durable write. Nothing is sent and no handler runs while it is open."""
        ...

    def close(self) -> None: ...

    # What bots and operators ask

    def put(self, specs: Sequence[JobSpec], now: int) -> list[Placed]:
        """Schedule. An id that exists is replaced whole, and its open occurrence is recorded cancelled ("replaced").

        The same id twice in one call: the last one stands. A fresh `seq`, never used before, is the new generation.
        """
        ...

    def cancel(self, ids: Sequence[str], now: int) -> list[Removed | None]:
        """Remove jobs, recording their open occurrence as cancelled. None stands for an id that is not there."""
        ...

    def run_now(self, job_id: str, now: int) -> bool:
        """Make a scheduled job due now. A one-shot's occurrence is moved up; a repeating job gets an extra one.

        An occurrence that is due already, or has begun and waits for its next attempt, is not doubled: it is moved up.
        False: the id is not there, or is not scheduled. Clears `waiting_for` so that the job is looked at again.
        """
        ...

    def redrive(self, job_id: str, now: int) -> bool:
        """Put a parked job back, due now, with attempts, crashes and context failures at zero."""
        ...

    def get(self, job_id: str) -> JobRow | None:
        """The job, or, where only its ledger is left, how it ended (status is then the outcome)."""
        ...

    def jobs(
        self,
        *,
        chat_id: ChatId | None = None,
        status: str | None = None,
        limit: int = 100,
        after: str | None = None,
    ) -> list[JobRow]:
        """Unfinished jobs in order of (due_at, seq). `after` is the id of the last job of the page before.

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

    def wait(self, seqs: Sequence[int], reason: str) -> None:
        """Take scheduled rows out of the due order until `release`. `reason` is `handler:NAME` or `lane:CHAT`."""
        ...

    def release(self, reason: str, limit: int) -> int:
        """Put up to `limit` rows that wait for `reason` back, earliest first; how many there were."""
        ...

    def waiting(self, prefix: str) -> list[str]:
        """The distinct reasons that begin with `prefix`."""
        ...

    def claim(self, claims: Sequence[Claim], now: int) -> list[RunOrder]:
        """scheduled → claimed, attempt + 1, with the session as it is now. A claim whose row is gone is left out.

        The next occurrence is written here, so that a death in the middle of a run does not end the series.
        """
        ...

    def skip(self, seq: int, ending: Ending, next_due_at: int | None) -> None:
        """Record an occurrence (or a run of them) that does not run, and go on to the next, or finish the job."""
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

    # House-keeping

    def remember_replies(self, client: str, number: int, replies: str, now: int) -> None:
        """Keep the answer to a client's latest batch, in the same transaction as what it did."""
        ...

    def recall_replies(self, client: str) -> tuple[int, str] | None: ...

    def meta(self, key: str) -> str | None: ...

    def set_meta(self, key: str, value: str) -> None: ...

    def trim(self, *, finished_before: int, keep: int, limit: int) -> int:
        """Delete up to `limit` of the oldest ledger rows beyond age and count, but never a job's latest failure.

        Also forgets replies older than `finished_before`. Returns how many rows went; call again while it is `limit`.
        """
        ...

    def check(self) -> list[str]:
        """Sentences about whatever is wrong with the data; empty when all is well."""
        ...
