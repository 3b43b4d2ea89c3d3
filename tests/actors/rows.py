"""Rows, claims and results with everything filled in that a test does not care about."""

from bellringer.storage.values import ClaimedRow, DueRow, RunResult

SECOND = 1_000_000
NOON = 1_782_907_200 * SECOND  # 2026-07-01T12:00:00Z


def due_row(**changes: object) -> DueRow:
    row = DueRow(
        seq=1,
        next_attempt_at=NOON,
        due_at=NOON,
        next_due_at=None,
        handler="work",
        chat_id=None,
        rule=None,
        misfire="run_late",
        grace_us=None,
        attempts=0,
        crashes=0,
        time_limit_us=60 * SECOND,
        id="job:1",
    )
    return row._replace(**changes)  # type: ignore[arg-type]


def claimed_row(**changes: object) -> ClaimedRow:
    row = ClaimedRow(
        seq=1,
        token=11,
        id="job:1",
        handler="work",
        chat_id=None,
        host="7-1/a",
        due_at=NOON,
        next_due_at=None,
        attempts=1,
        crashes=0,
        context_failures=0,
        rule=None,
        delivery="at_most_once",
        max_attempts=None,
        lease_until=NOON + 30 * SECOND,
        claimed_at=NOON,
    )
    return row._replace(**changes)  # type: ignore[arg-type]


def result(verdict: str, **changes: object) -> RunResult:
    told = RunResult(seq=1, token=11, verdict=verdict, started_at=NOON, finished_at=NOON + SECOND)
    return told._replace(**changes)  # type: ignore[arg-type]
