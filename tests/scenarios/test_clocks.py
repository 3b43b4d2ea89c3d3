"""Clocks that jump, timers that ring early or never, and rhythms that must not drift."""

import asyncio
import math
import threading
import time
import tracemalloc
from datetime import timedelta

import pendulum
import pytest

from bellringer import Context, InvalidJobError, Retry
from bellringer.actors.lateness import decide
from bellringer.actors.views import moment
from bellringer.storage.values import Cursor
from bellringer.testing import Drive
from tests.scenarios.steps import MakeDrive, absent, ids, note_instants, note_runs, outcomes, seconds, status


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


KINDS = ["every 1s", "*/5 * * * * *", "0 * * * *", "daily 02:30", "weekly mon,fri 09:00", "monthly last 09:00"]


@pytest.mark.parametrize("catch_up", ["one", "none", "all(3)"])
@pytest.mark.parametrize("rule", KINDS)
def test_b17_ten_years_are_missed_in_a_moment_and_little_memory_whatever_the_rule(
    drive: Drive, rule: str, catch_up: str
) -> None:
    ran = note_runs(drive)
    drive.schedule("work", id="a", rule=rule, zone="Europe/Berlin", catch_up=catch_up)
    drive.jump(wall=pendulum.datetime(2035, 12, 31, 23, 59, 59))
    now = int(drive.clock.now.timestamp()) * 1_000_000
    (row,) = drive.store.inner.due(now, 10)
    tracemalloc.start()
    begun = time.perf_counter()
    decision = decide(row, now, token=1, host="a host", lease_us=1)
    took = time.perf_counter() - begun
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert took < 0.05
    assert peak < 10_000_000
    assert len(decision.skipped) <= 1

    drive.run_due()
    runs = {"one": 1, "none": int(rule in KINDS[:2]), "all(3)": 3}[catch_up]
    assert len(ran) == runs
    assert len(drive.history("a")) == runs + 1
    assert absent(drive) == []
    if rule == "every 1s":
        assert sum(row.times for row in drive.history("a")) == 315_532_799


def test_b17_a_job_with_local_times_goes_on_at_its_local_time_ten_years_later(make_drive: MakeDrive) -> None:
    drive = make_drive(at=pendulum.datetime(2026, 1, 1))
    ran = note_instants(drive)
    drive.schedule("work", id="a", rule="daily 02:30", zone="Europe/Berlin")
    drive.jump(wall=pendulum.datetime(2036, 3, 28, 12))
    drive.run_due()
    drive.advance(days=2)
    assert ran == ["2036-03-28 12:00", "2036-03-29 01:30", "2036-03-30 01:30"]
    assert (
        sum(row.times for row in drive.history("a")) == (pendulum.date(2036, 3, 30) - pendulum.date(2025, 12, 31)).days
    )


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


def test_b19_a_suspend_over_a_daily_time_delays_that_run_and_moves_no_other(make_drive: MakeDrive) -> None:
    drive = make_drive(at=pendulum.datetime(2026, 3, 28, 1, 28))
    ran = note_instants(drive)
    drive.schedule("work", id="a", rule="daily 02:30", zone="Europe/Berlin")
    drive.advance(seconds=30)
    drive.jump(wall=300)
    drive.run_due()
    drive.advance(days=2)
    assert ran == ["2026-03-28 01:33:30", "2026-03-29 01:30", "2026-03-30 00:30"]
    told = str(drive.explain("a"))
    assert "ran late by 3 min 30 s because the machine slept or its clock jumped" in told


@pytest.mark.parametrize(
    ("rule", "runs"),
    [
        ("daily 02:30", ["2026-01-10 01:30", "2026-01-11 01:30"]),
        ("30 2 * * *", ["2026-01-10 01:30", "2026-01-11 01:30"]),
        ("weekly sat,sun 02:30", ["2026-01-10 01:30", "2026-01-11 01:30"]),
        ("every 1d", ["2026-01-10 01:30", "2026-01-11 01:30"]),
    ],
)
def test_b19_a_clock_set_back_an_hour_after_a_run_does_not_repeat_it(
    make_drive: MakeDrive, rule: str, runs: list[str]
) -> None:
    drive = make_drive(at=pendulum.datetime(2026, 1, 9, 1, 30))
    ran = note_instants(drive)
    drive.schedule("work", id="a", rule=rule, zone="Europe/Berlin", start=pendulum.datetime(2026, 1, 10, 1, 30))
    drive.advance(days=1, minutes=20)
    assert ran == runs[:1]
    drive.jump(wall=-3_600)
    drive.advance(days=1, hours=1)
    assert ran == runs
    assert outcomes(drive) == ["done", "done"]
    assert absent(drive) == []


def test_b19_a_clock_set_back_an_hour_before_a_run_lets_it_wait_for_its_instant(make_drive: MakeDrive) -> None:
    drive = make_drive(at=pendulum.datetime(2026, 1, 10))
    ran = note_instants(drive)
    drive.schedule("work", id="a", rule="daily 02:30", zone="Europe/Berlin")
    drive.advance(minutes=80)
    drive.jump(wall=-3_600)
    drive.advance(minutes=69)
    assert ran == []
    drive.advance(minutes=1)
    assert ran == ["2026-01-10 01:30"]


def test_b19_an_hourly_job_is_silent_for_an_hour_when_the_clock_goes_back_an_hour_and_then_goes_on(
    drive: Drive,
) -> None:
    ran = note_instants(drive)
    drive.schedule("work", id="a", rule="0 * * * *", zone="UTC")
    drive.advance(hours=3, minutes=5)
    drive.jump(wall=-3_600)
    drive.advance(hours=2)
    assert ran == [f"2026-01-01 {hour:02}:00" for hour in (1, 2, 3, 4)]
    assert absent(drive) == []


@pytest.mark.parametrize("early_ms", [1, 10, 1_000])
@pytest.mark.parametrize("rule", ["daily 00:01", "*/7 * * * * *", "every 7s"])
def test_b20_timers_that_always_ring_early_run_a_series_on_time(drive: Drive, rule: str, early_ms: int) -> None:
    note_runs(drive)
    drive.schedule("work", id="a", rule=rule, zone="UTC")
    for _ in range(10):
        due_at = drive.store.inner.next_attempt_at(Cursor(int(drive.clock.now.timestamp() * 1e6), 0))
        assert due_at is not None
        drive.jump(wall=moment(due_at).subtract(microseconds=early_ms * 1_000))
        drive.ring_wakeups()
        drive.ring_wakeups()
        drive.ticking = False
        drive.advance(milliseconds=early_ms)
        drive.ticking = True
    rows = drive.history("a")
    assert len({row.due_at for row in rows}) == len(rows) == 10
    assert {(row.outcome, row.late_by) for row in rows} == {("done", pendulum.duration())}


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
    assert drive.health().status == "ok"
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


@pytest.mark.slow
def test_b22_to_add_a_job_costs_the_same_beside_a_hundred_thousand_as_beside_a_thousand(drive: Drive) -> None:
    def ninety_ninth_of_a_hundred(kind: str) -> float:
        took = []
        for number in range(200):
            begun = time.perf_counter()
            drive.persisted(f"{kind} {number}", "work", after=500 - number)
            took.append(time.perf_counter() - begun)
        return sorted(took)[-2]

    def add(first: int, last: int) -> None:
        for begin in range(first, last, 10_000):
            many = range(begin, min(begin + 10_000, last))
            drive.schedule_many({"handler": "work", "id": f"{number}", "after": 1_000 + number} for number in many)

    add(0, 1_000)
    few = ninety_ninth_of_a_hundred("few")
    add(1_000, 100_000)
    many = ninety_ninth_of_a_hundred("many")
    assert many < max(4 * few, 0.05)
    assert drive.health().armed_wakeups == 1


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


def test_b25_a_job_due_thirty_years_ago_runs_now_and_says_how_late(make_drive: MakeDrive) -> None:
    drive = make_drive(at=pendulum.datetime(2026, 1, 1))
    ran = note_instants(drive)
    drive.schedule("work", id="a", at=pendulum.datetime(1996, 1, 1))
    assert ran == ["2026-01-01 00:00"]
    assert drive.history("a")[0].late_by == pendulum.duration(days=10_958)


@pytest.mark.parametrize(
    "at",
    [
        pendulum.datetime(2038, 1, 19, 3, 14, 8),
        pendulum.datetime(2106, 2, 7, 6, 28, 16, 1),
        pendulum.datetime(9999, 12, 31, 23, 59, 59, 999_999),
    ],
    ids=str,
)
def test_b25_a_far_instant_is_kept_to_the_microsecond_and_run_then(drive: Drive, at: pendulum.DateTime) -> None:
    ran = note_runs(drive)
    drive.schedule("work", id="a", at=at)
    drive.crash()
    drive.start()
    job = drive.get("a")
    assert job is not None
    assert job.due_at == at
    drive.jump(wall=at.subtract(microseconds=1))
    drive.run_due()
    assert ran == []
    drive.advance(microseconds=1)
    assert ids(ran) == ["a"]


TOO_LONG = threading.TIMEOUT_MAX * 1e6


@pytest.mark.parametrize("duration", [math.nan, math.inf, -math.inf, 1e22, TOO_LONG], ids=str)
@pytest.mark.parametrize("option", ["after", "every", "grace", "stale_after", "time_limit", "within", "jitter"])
def test_b25_a_duration_that_is_none_is_refused_and_nothing_is_stored(
    drive: Drive, option: str, duration: float
) -> None:
    when: dict[str, object] = {"after": 1} if option not in ("after", "every", "jitter") else {}
    when = {"every": 60} if option == "jitter" else when
    with pytest.raises(InvalidJobError):
        drive.schedule("work", id="a", **{**when, option: duration})  # type: ignore[arg-type]
    assert drive.pending() == []


@pytest.mark.parametrize("after", [1e9, math.inf, timedelta.max], ids=str)
def test_b25_a_retry_that_asks_for_too_long_comes_within_a_year(drive: Drive, after: float) -> None:
    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> Retry:
        return Retry(after=after)

    drive.schedule("work", id="a", after=0)
    job = drive.get("a")
    assert job is not None
    assert job.next_attempt_at == drive.clock.now.add(days=366)


def test_b25_a_retry_after_no_number_is_a_failure(drive: Drive) -> None:
    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> Retry:
        return Retry(after=math.nan)

    drive.schedule("work", id="a", after=0)
    assert (outcomes(drive, "a"), status(drive, "a")) == (["failed"], "parked")
