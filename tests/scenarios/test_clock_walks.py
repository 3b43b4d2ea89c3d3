"""Walks of clocks that are set, sleep, and lose their scheduler: never early, never twice, never silent."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from zoneinfo import ZoneInfo

import pendulum
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bellringer import Context
from bellringer.testing import Drive
from tests.scenarios.steps import absent

BERLIN = ZoneInfo("Europe/Berlin")
NIGHTS = [pendulum.datetime(2026, 3, 27, 12), pendulum.datetime(2026, 10, 23, 12), pendulum.datetime(2026, 7, 1)]
DAY = 86_400

RULES = {
    "daily 02:30": timedelta(days=1),
    "30 2 * * *": timedelta(days=1),
    "weekly sat,sun,mon 02:30": None,
    "daily 00:00,23:59": None,
    "0 * * * *": timedelta(hours=1),
    "every 90m": timedelta(minutes=90),
    "every 1d": timedelta(days=1),
}
POLICIES: list[dict[str, object]] = [
    {},
    {"catch_up": "none"},
    {"catch_up": "all(3)"},
    {"misfire": "skip", "grace": 600},
    {"stale_after": 3_600},
    {"overlap": "parallel(2)", "catch_up": "all(3)"},
]


@dataclass(frozen=True)
class Step:
    """Time passes, the wall clock jumps (of which the monotonic one sees a part, or nothing), or somebody dies."""

    passes: float = 0.0
    jumps: float = 0.0
    sees: float = 0.0
    dies: str = ""

    def take(self, drive: Drive) -> None:
        if self.dies == "all":
            drive.crash()
        elif self.dies == "scheduler":
            drive.crash_scheduler()
        drive.jump(wall=self.jumps, monotonic=self.sees)
        if self.dies == "all":
            drive.start()
        drive.run_due()
        drive.ring_wakeups()
        drive.advance(seconds=self.passes)


def span(days: float) -> st.SearchStrategy[float]:
    """Seconds, to the microsecond: whole hours and minutes often, since these are what meets a due time."""
    return st.one_of(
        st.integers(0, int(days * 24)).map(lambda hours: hours * 3_600.0),
        st.integers(0, int(days * 1_440)).map(lambda minutes: minutes * 60.0),
        st.integers(0, int(days * DAY * 1_000_000)).map(lambda us: us / 1e6),
    )


walks = st.lists(
    st.one_of(
        st.builds(Step, passes=span(1.5)),
        st.builds(Step, jumps=span(3), sees=st.just(0.0), passes=span(0.1)),
        st.builds(Step, jumps=span(1.2).map(lambda back: -back), passes=span(0.1)),
        st.builds(Step, jumps=st.sampled_from([-3_600.0, 3_600.0, 300.0, 10 * 365.25 * DAY]), passes=span(1)),
        st.builds(Step, jumps=span(2), sees=span(1), passes=span(0.1)),
        st.builds(Step, jumps=span(2), passes=span(0.1), dies=st.sampled_from(["all", "scheduler"])),
    ),
    min_size=1,
    max_size=8,
)


class Walk:
    """One job on one walk, and what became of it."""

    def __init__(self, folder: Path, begin: pendulum.DateTime, rule: str, policy: dict[str, object]) -> None:
        self.drive = Drive(folder, store="memory", at=begin, restarts=1_000, keep_days=36_525)
        self.runs: list[tuple[pendulum.DateTime, pendulum.DateTime]] = []

        @self.drive.handler("work")
        async def work(ctx: Context, payload: object) -> None:
            self.runs.append((ctx.job.due_at, self.drive.clock.now))

        self.drive.schedule("work", id="a", rule=rule, zone="Europe/Berlin", **policy)  # type: ignore[arg-type]
        job = self.drive.get("a")
        assert job is not None
        self.rule, self.first = rule, job.due_at

    def check(self) -> None:
        job = self.drive.get("a")
        assert job is not None
        assert job.status == "scheduled"
        rows = sorted(self.drive.history("a", limit=10_000), key=lambda row: row.due_at)
        self.never_early()
        self.never_twice([row.due_at for row in rows])
        told = sum(row.times for row in rows)
        assert told == self.number_up_to(job.due_at), f"{told} told of up to {job.due_at}: {rows}"
        assert all((row.last_due_at or row.due_at) < later.due_at for row, later in pairwise(rows))
        assert {row.due_at for row in rows if row.outcome == "done"} == {due_at for due_at, _ in self.runs}
        assert absent(self.drive) == []

    def never_early(self) -> None:
        assert all(ran_at >= due_at for due_at, ran_at in self.runs)

    def never_twice(self, due: list[pendulum.DateTime]) -> None:
        ran = [due_at for due_at, _ in self.runs]
        assert len(set(ran)) == len(ran)
        assert len(set(due)) == len(due)
        if RULES[self.rule] == timedelta(days=1) and not self.rule.startswith("every"):
            dates = [at.astimezone(BERLIN).date() for at in ran]
            assert len(set(dates)) == len(dates)

    def number_up_to(self, open_due_at: datetime) -> int:
        """How many due times lie from the first one up to the open one, counted by dates or by hours of their own."""
        open_due_at = datetime.fromtimestamp(open_due_at.timestamp(), UTC)
        first = datetime.fromtimestamp(self.first.timestamp(), UTC)
        step = RULES[self.rule]
        if self.rule.startswith(("every", "0 ")):
            assert step is not None
            assert (open_due_at - first) % step == timedelta(0)
            return (open_due_at - first) // step
        last, begin = open_due_at.astimezone(BERLIN).date(), first.astimezone(BERLIN).date()
        days = (last - begin).days
        if step is not None:
            return days
        if self.rule.startswith("weekly"):
            return sum((begin + timedelta(days=day)).weekday() in (5, 6, 0) for day in range(days))
        # Twice a day: the open one and the first one may each be the second of their day.
        return 2 * days + (open_due_at.astimezone(BERLIN).hour == 23) - (first.astimezone(BERLIN).hour == 23)


def go(begin: pendulum.DateTime, rule: str, policy: dict[str, object], steps: list[Step]) -> None:
    with TemporaryDirectory() as folder:
        walk = Walk(Path(folder), begin, rule, policy)
        for step in steps:
            step.take(walk.drive)
        walk.check()
        walk.drive.close()


parts = given(
    begin=st.sampled_from(NIGHTS), rule=st.sampled_from(list(RULES)), policy=st.sampled_from(POLICIES), steps=walks
)


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@parts
def test_b19_on_no_walk_of_the_clocks_a_job_is_early_or_twice_or_silent(
    begin: pendulum.DateTime, rule: str, policy: dict[str, object], steps: list[Step]
) -> None:
    go(begin, rule, policy, steps)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@settings(max_examples=3_000, deadline=None, suppress_health_check=list(HealthCheck))
@parts
def test_b19_on_none_of_three_thousand_walks_a_job_is_early_or_twice_or_silent(
    begin: pendulum.DateTime, rule: str, policy: dict[str, object], steps: list[Step]
) -> None:
    go(begin, rule, policy, steps)
