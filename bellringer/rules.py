"""When a job comes again: `rules.daily("09:00", zone="Europe/Berlin")` and the like, each with `next(after)`.

What `schedule(rule=…)` takes. All raise `InvalidJobError`, and all bounds are included: see `Rule`.
"""

from .storage.rules import (
    At,
    Cron,
    Daily,
    Every,
    Monthly,
    Recurrence,
    Rule,
    Weekly,
    Yearly,
    at,
    cron,
    daily,
    every,
    monthly,
    parse,
    rrule,
    weekly,
    yearly,
)

__all__ = [
    "At",
    "Cron",
    "Daily",
    "Every",
    "Monthly",
    "Recurrence",
    "Rule",
    "Weekly",
    "Yearly",
    "at",
    "cron",
    "daily",
    "every",
    "monthly",
    "parse",
    "rrule",
    "weekly",
    "yearly",
]
