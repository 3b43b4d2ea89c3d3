"""Repeating jobs whose scheduler dies between any two steps of the store: for each due time one outcome, and no gap."""

import asyncio
import random
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pendulum
import pytest

from bellringer import Context, Retry
from bellringer.actors.views import moment
from bellringer.testing import Drive
from tests.scenarios.steps import NEW_YEAR, absent

RULES = {
    "every 20s": 20,
    "*/15 * * * * *": 15,
    "daily " + ",".join(f"00:{minute:02}" for minute in range(1, 60)): 60,
}
"""Each with its step in seconds; all begin one step after the start."""
POLICIES: list[dict[str, object]] = [
    {},
    {"catch_up": "none", "grace": 5},
    {"catch_up": "all(2)"},
    {"catch_up": "all", "overlap": "queue_one"},
    {"misfire": "skip", "grace": 10},
    {"misfire": "expire", "grace": 0, "overlap": "skip"},
    {"stale_after": 25, "catch_up": "all(3)"},
]
HANDLERS = ("quick", "slow", "retries", "fails", "again")


class Life:
    """A few minutes of some repeating jobs, drawn by a seed, in which everything may die at any step."""

    def __init__(self, folder: Path, seed: int, store: str) -> None:
        self.chance = random.Random(seed)
        self.drive = Drive(folder, store=store, restarts=1_000)
        self.started: Counter[tuple[str, int]] = Counter()
        self.at_most_once: set[str] = set()
        self.never_skipped_when_begun: set[str] = set()
        self.steps: dict[str, int] = {}
        self._register()

    def _register(self) -> None:
        @self.drive.handler("quick")
        async def quick(ctx: Context, payload: object) -> None:
            self.note(ctx)

        @self.drive.handler("slow")
        async def slow(ctx: Context, payload: object) -> None:
            self.note(ctx)
            await asyncio.sleep(26)

        @self.drive.handler("retries")
        async def retries(ctx: Context, payload: object) -> Retry | None:
            self.note(ctx)
            return Retry(after=3) if ctx.job.attempt == 1 else None

        @self.drive.handler("fails")
        async def fails(ctx: Context, payload: object) -> None:
            self.note(ctx)
            raise ConnectionError("the service is down")

        @self.drive.handler("again")
        async def again(ctx: Context, payload: object) -> None:
            self.note(ctx)
            ctx.schedule("quick", id=f"after {ctx.job.id}", after=4)

    def note(self, ctx: Context) -> None:
        self.started[ctx.job.id, second(ctx.job.due_at)] += 1

    def schedule(self) -> None:
        for number in range(self.chance.randint(1, 4)):
            job_id, rule = f"job {number}", self.chance.choice(list(RULES))
            policy = dict(self.chance.choice(POLICIES))
            handler = self.chance.choice(HANDLERS)
            chat_id = self.chance.choice([None, None, 1])
            if chat_id is None and self.chance.random() < 0.2:
                policy["overlap"] = "parallel(2)"
            policy["delivery"] = delivery = self.chance.choice(["at_most_once", "at_least_once"])
            if delivery == "at_most_once" and handler != "retries":
                self.at_most_once.add(job_id)
            if delivery == "at_most_once" and "stale_after" not in policy:
                self.never_skipped_when_begun.add(job_id)
            self.steps[job_id] = RULES[rule]
            self.drive.schedule(handler, id=job_id, rule=rule, chat_id=chat_id, **policy)  # type: ignore[arg-type]

    def go_on(self) -> None:
        """One thing that happens, and some time."""
        job_id = self.chance.choice(list(self.steps))
        match self.chance.randrange(9):
            case 0:
                self.drive.crash()
                self.drive.clock.advance(seconds=self.chance.uniform(0, 70))
                self.drive.start()
            case 1:
                self.drive.jump(wall=self.chance.choice([-20, -3, 30, 65]))
                self.drive.run_due()
            case 2:
                self.drive.pause(job_id, run_one=self.chance.random() < 0.5)
                self.drive.advance(seconds=self.chance.uniform(0, 60))
                self.drive.resume(job_id)
            case 3:
                self.drive.crash_host()
            case 4:
                self.drive.ring_wakeups()
            case _:
                pass
        self.drive.advance(seconds=self.chance.uniform(0, 25))

    def live(self) -> None:
        self.schedule()
        for _ in range(self.chance.randint(3, 8)):
            first = self.chance.randrange(1, 120)
            self.drive.store.crash_at(first, first + self.chance.randrange(1, 60))
            self.go_on()
        self.drive.store.count_steps()
        self.drive.advance(seconds=120)
        self.drive.pause(everything=True)
        self.drive.advance(seconds=60)

    def check(self) -> None:
        assert self.drive.failure is None
        for job_id, step in self.steps.items():
            job = self.drive.get(job_id)
            assert job is not None
            assert job.status == "scheduled"
            ended, skipped = self.ended(job_id, step)
            beside = [row for row in self.drive.store.inner.jobs(limit=1_000) if row.id == job_id and row.series]
            told = sorted(ended + skipped + [second(moment(row.due_at)) for row in beside])
            assert told == list(range(step, second(job.due_at), step)), (
                f"{job_id}, now due at second {second(job.due_at)}"
            )
            if job_id in self.never_skipped_when_begun:
                assert not any((job_id, due_at) in self.started for due_at in skipped)
        assert [key for key, times in self.started.items() if key[0] in self.at_most_once and times > 1] == []
        assert absent(self.drive) == []
        assert self.drive.store.inner.check() == []

    def ended(self, job_id: str, step: int) -> tuple[list[int], list[int]]:
        """Of the ledger the due times that were run or interrupted, and those that were skipped, each as a second."""
        ended: list[int] = []
        skipped: list[int] = []
        for row in self.drive.history(job_id, limit=10_000):
            first = second(row.due_at)
            if row.outcome == "skipped":
                assert row.reason
                last = first if row.last_due_at is None else second(row.last_due_at)
                assert last - first == step * (row.times - 1), row
                skipped += range(first, last + step, step)
            else:
                assert row.outcome == "interrupted" or (job_id, first) in self.started
                ended.append(first)
        return ended, skipped


def second(at: pendulum.DateTime) -> int:
    return int((at - NEW_YEAR).total_seconds())


def live(seed: int, store: str = "memory") -> None:
    with TemporaryDirectory() as folder:
        life = Life(Path(folder), seed, store)
        try:
            life.live()
            life.check()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        finally:
            life.drive.close()


def test_b28_each_due_time_of_a_repeating_job_has_one_outcome_wherever_its_scheduler_dies() -> None:
    for seed in range(150):
        live(seed)


def test_b28_each_due_time_of_a_repeating_job_has_one_outcome_in_the_file_too() -> None:
    for seed in range(8):
        live(seed, store="sqlite")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("thousand", range(10))
def test_b28_there_is_no_gap_in_ten_thousand_lives(thousand: int) -> None:
    for seed in range(thousand * 1_000, (thousand + 1) * 1_000):
        live(seed)
