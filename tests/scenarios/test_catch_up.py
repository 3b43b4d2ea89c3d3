"""What is made up for after an outage: how much of it, in which order, and that nobody starves meanwhile."""

import asyncio
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import pendulum
import pytest

from bellringer import Context
from bellringer.testing import Drive
from tests.scenarios.steps import MakeDrive, absent, go_away, ids, note_instants, note_runs, outcomes, seconds

HOUR = 3_600


def hourly(drive: Drive, **options: object) -> None:
    drive.schedule("work", id="a", rule="0 * * * *", zone="UTC", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("catch_up", "due"),
    [
        ("none", []),
        ("one", [24]),
        ("all(1)", [24]),
        ("all(3)", [22, 23, 24]),
        ("all(24)", list(range(1, 25))),
        ("all(1000)", list(range(1, 25))),
    ],
)
def test_b30_after_an_outage_the_latest_due_times_run_as_many_as_the_job_says(
    drive: Drive, catch_up: str, due: list[int]
) -> None:
    note_runs(drive)
    hourly(drive, catch_up=catch_up)
    go_away(drive, hours=24, minutes=10)
    drive.advance(minutes=10)
    rows = list(reversed(drive.history("a")))
    ran = [(row.due_at - pendulum.datetime(2026, 1, 1)).total_hours() for row in rows if row.outcome == "done"]
    assert ran == due
    assert sum(row.times for row in rows) == 24
    assert len(rows) <= len(due) + 1
    assert absent(drive) == []


@dataclass
class Backlog:
    """A drive that was away for a day, with schedules that each have ten due times to make up for."""

    drive: Drive
    ran: list[tuple[str, pendulum.DateTime, float]] = field(default_factory=list)
    begun_at: float = 0.0

    def begin(self, schedules: int) -> None:
        @self.drive.handler("costly")
        async def costly(ctx: Context, payload: object) -> None:
            self.ran.append((ctx.job.id, ctx.job.due_at, seconds(self.drive)))
            await asyncio.sleep(1)

        self.drive.schedule_many(
            {"handler": "costly", "id": f"{number}", "rule": "0 * * * *", "zone": "UTC", "catch_up": "all(10)"}
            for number in range(schedules)
        )
        go_away(self.drive, hours=24, minutes=1)
        self.begun_at = seconds(self.drive)


def make_up(make_drive: MakeDrive, schedules: int) -> Backlog:
    backlog = Backlog(make_drive(store="memory", places=4))
    backlog.begin(schedules)
    return backlog


def test_b30_what_is_made_up_for_is_bounded_and_comes_in_due_order_for_each_job(make_drive: MakeDrive) -> None:
    schedules = 500
    backlog = make_up(make_drive, schedules)
    drive = backlog.drive
    drive.advance(seconds=schedules * 10 / 4 + 30)
    made_up: dict[str, list[pendulum.DateTime]] = defaultdict(list)
    for job_id, due_at, _ in backlog.ran:
        if due_at < pendulum.datetime(2026, 1, 2, 0, 0, 1):
            made_up[job_id].append(due_at)
    latest = [pendulum.datetime(2026, 1, 1).add(hours=hour) for hour in range(15, 25)]
    assert dict(made_up) == {f"{number}": latest for number in range(schedules)}
    skipped = {row.job_id: (row.times, row.reason) for row in drive.history(outcome="skipped", limit=1_000)}
    assert skipped == {f"{number}": (14, "missed: the latest 10 run") for number in range(schedules)}
    assert absent(drive) == []


def test_b30_the_jobs_take_turns_so_that_none_waits_for_all_of_another(make_drive: MakeDrive) -> None:
    backlog = make_up(make_drive, 50)
    backlog.drive.advance(seconds=200)
    progress = Counter({f"{number}": 0 for number in range(50)})
    for job_id, _, _ in backlog.ran:
        progress[job_id] += 1
        assert max(progress.values()) - min(progress.values()) <= 2
    assert set(progress.values()) == {10}


def test_b30_between_two_runs_a_job_that_catches_up_stands_behind_whatever_is_due_by_then(
    make_drive: MakeDrive,
) -> None:
    drive = make_drive(places=1)
    ran = note_runs(drive)
    hourly(drive, catch_up="all(5)")
    drive.schedule("work", id="later", after=6 * HOUR + 60)
    go_away(drive, hours=6, minutes=10)
    drive.advance(minutes=1)
    assert ids(ran) == ["a", "later", "a", "a", "a", "a"]


def test_b30_what_falls_due_meanwhile_starts_on_time(make_drive: MakeDrive) -> None:
    schedules = 500
    backlog = make_up(make_drive, schedules)
    drive = backlog.drive
    fresh = note_runs(drive, "fresh")
    lasts = schedules * 10 / 4
    for place in range(1, 11):
        drive.schedule("fresh", id=f"fresh {place}", after=lasts * place / 12)
    drive.schedule("fresh", id="now", after=0)
    drive.advance(seconds=lasts * 11 / 12)
    assert len(backlog.ran) < schedules * 10
    assert len(ids(fresh)) == 11
    late = [drive.history(job_id)[0].late_by.total_seconds() for job_id in ids(fresh)]
    assert max(late) <= 1.0


def test_b30_the_work_that_was_missed_costs_no_more_than_the_places_allow(make_drive: MakeDrive) -> None:
    drive = make_drive(store="memory", places=3)
    running = most = 0

    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(1)
        running -= 1

    for number in range(20):
        drive.schedule("work", id=f"{number}", rule="0 * * * *", zone="UTC", catch_up="all(5)")
    go_away(drive, hours=24)
    drive.advance(minutes=2)
    assert most == 3
    assert outcomes(drive).count("done") == 100


def test_b30_a_second_outage_in_the_middle_makes_up_for_nothing_twice(make_drive: MakeDrive) -> None:
    backlog = make_up(make_drive, 20)
    drive = backlog.drive
    drive.advance(seconds=25)
    go_away(drive, minutes=5)
    drive.advance(minutes=5)
    begun = Counter((job_id, due_at) for job_id, due_at, _ in backlog.ran)
    assert max(begun.values()) == 1
    assert set(Counter(job_id for job_id, _ in begun).values()) == {10}
    assert absent(drive) == []


@pytest.mark.parametrize(
    ("overlap", "runs", "skipped"),
    [
        ("queue_one", ["00:00:10", "00:00:35", "00:01:00", "00:01:25"], {"missed: a later one runs"}),
        ("skip", ["00:00:10", "00:00:40", "00:01:10", "00:01:40"], {"overlap: the run before had not ended"}),
        (
            "parallel(2)",
            ["00:00:10", "00:00:20", "00:00:40", "00:00:50", "00:01:10", "00:01:20", "00:01:40"],
            {"overlap: 2 runs of it go on already"},
        ),
    ],
)
def test_b23_a_run_that_overruns_its_interval_gets_what_its_overlap_says(
    drive: Drive, overlap: str, runs: list[str], skipped: set[str]
) -> None:
    begun: list[str] = []

    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        begun.append(f"{drive.clock.now:%H:%M:%S}")
        await asyncio.sleep(25)

    drive.schedule("work", id="a", every=10, overlap=overlap)
    drive.advance(seconds=109)
    assert begun == runs
    assert {row.reason for row in drive.history(outcome="skipped")} == skipped
    assert absent(drive) == []


def test_an_attempt_that_has_become_stale_is_not_begun(drive: Drive) -> None:
    ran = note_instants(drive)
    hourly(drive, catch_up="all(24)", stale_after=2 * HOUR + 60)
    go_away(drive, hours=24)
    drive.advance(minutes=1)
    assert len(ran) == 3
    assert {row.reason for row in drive.history("a", outcome="skipped")} == {"stale"}
    assert absent(drive) == []
