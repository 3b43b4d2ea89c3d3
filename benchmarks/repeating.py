"""A great many repeating jobs on one minute: each is claimed, set for its next due time, run and settled."""

import time
from collections.abc import Mapping

from . import raw
from .due import PER_CALL, PER_COMMIT, late, schedule_all
from .measuring import Benchmark, Figure, Goal, Plan, Row
from .systems import NOOP, ended, looking, running, wait_until

JOBS = 100_000
RULE = "* * * * *"
ZONE = "Europe/Berlin"
LEAD_S = 20.0
"""Scheduling them all takes a few seconds, and has to end before the minute does."""


def repeating(plan: Plan) -> Mapping[str, Figure]:
    count = JOBS // 10 if plan.quick else JOBS
    with raw.opened(plan.folder / "raw.db") as alone:
        alone.insert(range(1, 20_001), PER_CALL)
        limit = alone.run(range(1, 20_001), PER_COMMIT)
    with running(plan.folder / "a.db", handlers=[NOOP]) as system, looking(plan.folder / "a.db") as view:
        assert len(system.handle.health().hosts) == 2
        left_s = 60.0 - time.time() % 60.0
        if left_s < LEAD_S:
            time.sleep(left_s + 0.1)
        minute = (time.time() // 60.0 + 1) * 60.0
        schedule_all(
            system,
            [
                {"id": f"run:{number}", "handler": "noop", "rule": RULE, "zone": ZONE, "chat_id": number}
                for number in range(count)
            ],
        )
        assert time.time() < minute, "the machine was too slow to schedule them all before the minute"
        time.sleep(minute - time.time())
        rate = count / (wait_until(view, ended(count), 55.0, every_s=0.05) - minute)
        armed = view.execute("SELECT count(*) FROM job_state WHERE due_at = ?", (int((minute + 60) * 1e6),)).fetchone()
        assert armed[0] == count, f"{armed[0]} of {count} are set for the next minute"
        assert len(late(view)) == count
    return {"minute": Figure(rate, limit)}


BENCHMARKS = (
    Benchmark(
        "repeating",
        [
            Row(
                "minute",
                f"{JOBS:,} repeating jobs due on one minute: claimed, set for the next, run and settled",
                Goal(5_000, "/s", at_least=True),
            )
        ],
        repeating,
        rounds=2,
    ),
)
