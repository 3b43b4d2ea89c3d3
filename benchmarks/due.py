"""How fast and how punctually what is due runs, in handler actors."""

import sqlite3
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from . import raw
from .measuring import Benchmark, Figure, Goal, Plan, Row, percentile
from .systems import NOOP, System, ended, filled, looking, running, wait_until

BURST = 20_000
CHATS = 500
PER_CALL = 1_000
SHARES = {"p50": 0.5, "p99": 0.99}
PER_COMMIT = 200
"""As many as two handler actors start at once: what the raw limit settles and claims in one commit."""


def in_s(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


def job(number: int, due_at: datetime, chats: int | None = None) -> dict[str, object]:
    chat = number if chats is None else number % chats
    return {"id": f"run:{number}", "handler": "noop", "at": due_at, "chat_id": chat, "user_id": chat}


def schedule_all(system: System, jobs: list[dict[str, object]]) -> None:
    for start in range(0, len(jobs), PER_CALL):
        system.handle.schedule_many(jobs[start : start + PER_CALL])


def _burst(path: Path, chats: int | None, count: int) -> float:
    """Jobs a second, from the instant at which all are due."""
    with running(path, handlers=[NOOP]) as system, looking(path) as view:
        assert len(system.handle.health().hosts) == 2
        due_at = in_s(1.0 + count / 15_000)
        schedule_all(system, [job(number, due_at, chats) for number in range(count)])
        left_s = due_at.timestamp() - time.time()
        assert left_s > 0, "the machine was too slow to schedule the burst before it was due"
        time.sleep(left_s)
        rate = count / (wait_until(view, ended(count), 60.0) - due_at.timestamp())
        left = view.execute("SELECT count(*) FROM job_state").fetchone()[0]
        assert (left, len(late(view))) == (0, count), f"{left} of {count} are left, and {len(late(view))} were done"
        return rate


def burst(plan: Plan) -> Mapping[str, Figure]:
    with raw.opened(plan.folder / "raw.db") as alone:
        alone.insert(range(1, BURST + 1), PER_CALL)
        limit = alone.run(range(1, BURST + 1), PER_COMMIT)
    return {"burst": Figure(_burst(plan.folder / "a.db", None, BURST), limit)}


def burst_in_lanes(plan: Plan) -> Mapping[str, Figure]:
    with raw.opened(plan.folder / "raw.db") as alone:
        alone.insert(range(1, BURST + 1), PER_CALL)
        limit = alone.run(range(1, BURST + 1), PER_COMMIT)
    return {"lanes": Figure(_burst(plan.folder / "a.db", CHATS, BURST), limit)}


def _lateness(path: Path, count: int) -> list[float]:
    """Milliseconds, of a job every 5 ms."""
    with running(path, handlers=[NOOP]) as system, looking(path) as view:
        assert len(system.handle.health().hosts) == 2
        begin = in_s(1.5)
        schedule_all(system, [job(number, begin + timedelta(milliseconds=5 * number)) for number in range(count)])
        time.sleep(max(0.0, begin.timestamp() - time.time()) + 0.005 * count)
        wait_until(view, ended(count), 30.0, every_s=0.1)
        return late(view)


def late(view: sqlite3.Connection) -> list[float]:
    """Milliseconds by which each run began after its due time, as the ledger tells. None may be early."""
    rows = view.execute("SELECT started_at - due_at FROM occurrence WHERE outcome = 'done'").fetchall()
    assert min(rows)[0] >= 0, "a run has begun before its due time"
    return [us / 1e3 for (us,) in rows]


def _figures(plan: Plan, lateness: list[float]) -> Mapping[str, Figure]:
    """Beside the time of the one commit that stands between a due time and its run."""
    with raw.opened(plan.folder / "raw.db") as alone:
        alone.insert(range(1, 501), 500)
        times = alone.claim_times(range(1, 501), 0.004)
    return {name: Figure(percentile(lateness, share), percentile(times, share)) for name, share in SHARES.items()}


def punctual(plan: Plan) -> Mapping[str, Figure]:
    return _figures(plan, _lateness(plan.folder / "a.db", 1_000 if plan.quick else 2_000))


def punctual_beside_a_million(plan: Plan) -> Mapping[str, Figure]:
    path = filled(plan.folder / "a.db", 1_000_000)
    return _figures(plan, _lateness(path, 1_000 if plan.quick else 2_000))


BENCHMARKS = (
    Benchmark(
        "burst",
        [
            Row(
                "burst",
                f"{BURST:,} no-op jobs due at one instant, each in a chat of its own, until the last is settled",
                Goal(10_000, "/s", at_least=True),
            )
        ],
        burst,
    ),
    Benchmark(
        "lanes",
        [Row("lanes", f"the same in {CHATS} chats, in order within each", Goal(10_000, "/s", at_least=True))],
        burst_in_lanes,
    ),
    Benchmark(
        "late",
        [
            Row("p50", "200 jobs/s: lateness when the handler starts, half of them", Goal(2, "ms")),
            Row("p99", "200 jobs/s: lateness when the handler starts, 99 of 100", Goal(6, "ms")),
        ],
        punctual,
    ),
    Benchmark(
        "late-million",
        [
            Row("p50", "200 jobs/s beside 1,000,000 pending: lateness, half of them", Goal(2, "ms")),
            Row("p99", "200 jobs/s beside 1,000,000 pending: lateness, 99 of 100", Goal(6, "ms")),
        ],
        punctual_beside_a_million,
    ),
)
