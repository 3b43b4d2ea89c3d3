"""Clocks that jump, timers that ring early or never, and rhythms that must not drift."""

import asyncio
import time

import pendulum
import pytest

from bellringer import Context
from bellringer.testing import Drive
from tests.scenarios.steps import ids, note_runs, outcomes, seconds


def test_b17_a_clock_set_forward_by_ten_years_costs_one_run_and_one_record(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted_every("tick", "work", every=1)
    drive.jump(wall=pendulum.duration(days=3652))
    begun = time.perf_counter()
    drive.run_due()
    assert time.perf_counter() - begun < 0.5
    assert len(ran) == 1
    done, missed = drive.history("tick")
    assert (done.outcome, missed.outcome) == ("done", "skipped")
    assert missed.times == 3652 * 86_400 - 1
    assert missed.reason == "missed: a later one runs"


def test_b17_after_the_jump_the_job_goes_on_along_its_grid(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted_every("tick", "work", every=60)
    drive.advance(seconds=90)
    drive.jump(wall=pendulum.duration(days=3652))
    drive.run_due()
    del ran[:]
    drive.advance(minutes=3)
    assert [at % 60 for _, at in ran] == [0, 0, 0]


def test_b19_after_a_suspend_a_minutely_job_runs_once(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted_every("minutely", "work", every=60)
    drive.persisted("once", "work", after=150)
    drive.jump(wall=300)
    drive.ticking = False
    drive.advance(seconds=60)
    assert ran == [("minutely", 360.0), ("once", 360.0)]
    assert sum(row.times for row in drive.history("minutely")) == 6


def test_b19_the_heartbeat_finds_what_fell_due_in_a_suspend(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted("once", "work", after=150)
    drive.jump(wall=300)
    drive.run_due()
    assert ran == [("once", 300.0)]


def test_b19_a_clock_set_back_delays_nothing_twice(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted_every("minutely", "work", every=60)
    drive.advance(seconds=60)
    drive.jump(wall=-10)
    drive.advance(seconds=70)
    assert ran == [("minutely", 60.0), ("minutely", 120.0)]


@pytest.mark.parametrize("early_ms", [1, 10, 1_000])
def test_b20_a_timer_that_rings_early_runs_nothing_early(drive: Drive, early_ms: int) -> None:
    ran = note_runs(drive)
    drive.persisted("a", "work", after=10)
    drive.advance(milliseconds=10_000 - early_ms)
    drive.ring_wakeups()
    assert ran == []
    drive.ticking = False
    drive.advance(milliseconds=early_ms)
    assert ran == [("a", 10.0)]
    drive.advance(minutes=5)
    assert len(ran) == 1


@pytest.mark.parametrize("days", [24.8, 24.9, 25, 60, 400])
def test_b21_a_job_far_ahead_blocks_nothing_and_runs_on_its_date(drive: Drive, days: float) -> None:
    ran = note_runs(drive)
    drive.persisted("far", "work", after=pendulum.duration(days=days))
    drive.crash_scheduler()
    assert max(waiting.duration_us for waiting in drive.wakeups) <= 60_000_000
    drive.persisted("near", "work", after=1)
    drive.advance(seconds=1)
    assert ids(ran) == ["near"]
    drive.advance(days=days)
    assert ran[1] == ("far", pendulum.duration(days=days).total_seconds())


def test_b21_a_job_in_three_hundred_years_runs_after_a_jump_to_its_date(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted("far", "work", at=pendulum.datetime(2326, 1, 1))
    drive.jump(wall=pendulum.datetime(2325, 12, 31, 23, 59, 59))
    drive.run_due()
    assert ran == []
    drive.advance(seconds=1)
    assert ids(ran) == ["far"]


def test_b22_many_jobs_arm_one_wakeup(drive: Drive) -> None:
    drive.schedule_many({"handler": "work", "id": f"a{number}", "after": 1_000 + number} for number in range(10_000))
    assert drive.health().armed_wakeups == 1


def test_b22_a_job_that_is_replaced_again_and_again_leaves_one_wakeup(drive: Drive) -> None:
    ran = note_runs(drive)
    for number in range(1_000):
        drive.persisted("a", "work", after=50 - number / 100)
    assert drive.health().armed_wakeups == 1
    drive.advance(hours=1)
    assert len(ran) == 1


def test_b22_a_stale_wakeup_does_nothing(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted("a", "work", after=10)
    drive.persisted("a", "work", after=30)
    drive.ticking = False
    drive.advance(seconds=29)
    assert ran == []
    drive.advance(seconds=1)
    assert ran == [("a", 30.0)]


def test_b23_an_interval_does_not_drift_by_what_its_runs_take(drive: Drive) -> None:
    begun: list[float] = []

    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        begun.append(seconds(drive))
        await asyncio.sleep(3)

    drive.persisted_every("a", "work", every=10)
    drive.advance(seconds=2_000)
    assert begun == [10.0 * number for number in range(1, 201)]


def test_b23_a_run_that_overruns_its_interval_is_never_joined_by_another(drive: Drive) -> None:
    begun: list[float] = []
    ended: list[float] = []

    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        begun.append(seconds(drive))
        await asyncio.sleep(25)
        ended.append(seconds(drive))

    drive.persisted_every("a", "work", every=10)
    drive.advance(seconds=200)
    assert all(start >= end for start, end in zip(begun[1:], ended, strict=False))
    due = [int((occurrence.due_at - pendulum.datetime(2026, 1, 1)).total_seconds()) for occurrence in drive.history()]
    assert all(at % 10 == 0 for at in due)
    assert set(outcomes(drive)) == {"done", "skipped"}
