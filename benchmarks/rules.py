"""What one question to a rule costs, by its kind: each asked for the next due time after the one before."""

import statistics
import time
from collections.abc import Mapping
from datetime import datetime

from bellringer.storage import rules

from .measuring import Benchmark, Figure, Goal, Plan, Row, percentile

ZONE = "Europe/Berlin"
START = datetime(2026, 1, 1)  # noqa: DTZ001  a local time
BEGIN_AT = 1_767_225_600_000_000
END_AT = BEGIN_AT + 20 * 366 * 86_400_000_000
KINDS = {
    "at": "at 2027-12-25 08:00",
    "every": "every 90s",
    "daily": "daily 09:00,18:00",
    "weekly": "weekly mon-fri 09:00",
    "monthly": "monthly last 09:00",
    "nth weekday": "monthly 5th-fri 09:00",
    "yearly": "yearly 12-25 09:00",
    "29 February": "yearly 02-29 09:00",
    "every other": "weekly/2 mon 09:00",
    "cron": "*/30 * * * *",
    "cron with seconds": "*/7 * * * * *",
    "cron with weekdays": "0 9 * * fri#5",
    "recurrence": "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
    "recurrence of minutes": "RRULE:FREQ=MINUTELY;BYSECOND=0,30",
}
MEDIAN = Goal(100, "µs")
P99 = Goal(5_000, "µs")


def measure(plan: Plan) -> Mapping[str, Figure]:
    number = 500 if plan.quick else 5_000
    found: dict[str, Figure] = {}
    for kind, text in KINDS.items():
        took = _took(rules.parse(text, zone=ZONE, start=None if kind == "at" else START), number)
        found[kind] = Figure(statistics.median(took))
        found[f"{kind}.p99"] = Figure(percentile(took, 0.99))
    return found


def _took(rule: rules.Rule, number: int) -> list[float]:
    """Microseconds for each of so many questions, over twenty years that are gone through again and again."""
    took = []
    at = BEGIN_AT
    for _ in range(number):
        begun = time.perf_counter_ns()
        due_at = rule.next(at)
        took.append((time.perf_counter_ns() - begun) / 1_000)
        at = BEGIN_AT if due_at is None or due_at > END_AT else due_at
    return took


ROWS = [
    row
    for kind, text in KINDS.items()
    for row in (
        Row(kind, f"next due time of `{text}`, median", MEDIAN),
        Row(f"{kind}.p99", f"next due time of `{text}`, p99", P99),
    )
]
BENCHMARKS = (Benchmark("rules", ROWS, measure),)
