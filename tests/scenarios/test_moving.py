"""A change of zone between, before and during runs: each run has its own row, and nothing is doubled or left out."""

import asyncio
from collections import Counter

import pendulum
import pytest

from bellringer import Context, Retry
from bellringer.testing import Drive
from tests.scenarios.steps import MakeDrive, note_instants, outcomes, utc


def started(drive: Drive, takes_s: float) -> list[str]:
    """The keys of the runs that have begun, of handlers that take so long."""
    keys: list[str] = []

    @drive.handler("work")
    async def work(ctx: Context, _payload: object) -> None:
        keys.append(ctx.job.run_key)
        await asyncio.sleep(takes_s)

    return keys


def assert_each_run_has_its_row(drive: Drive, keys: list[str]) -> None:
    assert set(Counter(keys).values()) <= {1}, "a due time has run twice"
    done = [row.run_key for row in drive.history("a", limit=1_000) if row.outcome == "done"]
    assert sorted(done) == sorted(keys)


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize("rule", ["*/30 * * * *", "RRULE:FREQ=MINUTELY;BYMINUTE=0,30"])
def test_a_rhythm_goes_on_in_real_time_when_its_chat_moves(make_drive: MakeDrive, zone: str, rule: str) -> None:
    drive = make_drive(at=pendulum.datetime(2026, 7, 1, 7, 15))
    ran = note_instants(drive)
    drive.schedule("work", id="a", chat_id=42, rule=rule, zone="Europe/Berlin")
    drive.advance(minutes=44)
    drive.set_zone(zone, chat_id=42)
    drive.advance(hours=1)
    assert [at[11:16] for at in ran] == ["07:30", "08:00", "08:30"]
    assert outcomes(drive, "a") == ["done"] * 3


@pytest.mark.parametrize("zone", ["Europe/Helsinki", "Asia/Tokyo", "America/New_York", "Europe/London"])
@pytest.mark.parametrize("takes_s", [0, 50])
def test_a_chat_that_moves_in_the_middle_of_a_run_has_no_due_time_twice(
    make_drive: MakeDrive, zone: str, takes_s: float
) -> None:
    drive = make_drive(at=pendulum.datetime(2026, 7, 1, 6, 59))
    keys = started(drive, takes_s)
    drive.schedule("work", id="a", chat_id=42, rule="daily 08:00,09:00,10:00,11:00", zone="Europe/Berlin")
    drive.advance(seconds=90)
    drive.set_zone(zone, chat_id=42)
    drive.advance(hours=22, minutes=30)
    assert len(keys) >= 3
    assert_each_run_has_its_row(drive, keys)


def test_what_was_snoozed_is_not_early_when_its_chat_moves_westwards(make_drive: MakeDrive) -> None:
    drive = make_drive(at=pendulum.datetime(2026, 7, 1, 6))
    ran = note_instants(drive)
    drive.schedule("work", id="a", chat_id=42, at=pendulum.datetime(2026, 7, 1, 9, tz="Europe/Berlin"))
    drive.snooze("a", by=7_200)
    drive.set_zone("America/New_York", chat_id=42)
    drive.advance(hours=12)
    assert [at[11:16] for at in ran] == ["13:00"]


def test_b31_what_came_due_in_a_pause_that_a_run_has_outlasted_is_told_as_paused(make_drive: MakeDrive) -> None:
    drive = make_drive(at=pendulum.datetime(2026, 7, 1, 6, 59, 30))
    keys = started(drive, 50)
    drive.schedule("work", id="a", rule="*/3 * * * *", time_limit=600)
    drive.advance(seconds=40)
    drive.pause("a", until=pendulum.datetime(2026, 7, 1, 7, 3, 30))
    drive.advance(minutes=7)
    told = [(row.outcome, utc(row.due_at)[11:16], row.reason) for row in reversed(drive.history("a"))]
    assert told == [("done", "07:00", None), ("skipped", "07:03", "paused"), ("done", "07:06", None)]
    assert len(keys) == 2


def test_b31_a_run_that_outlasts_a_whole_pause_does_not_hide_it(make_drive: MakeDrive) -> None:
    drive = make_drive(at=pendulum.datetime(2026, 7, 1, 6, 59, 30))
    started(drive, 300)
    drive.schedule("work", id="a", rule="*/3 * * * *", time_limit=600)
    drive.advance(minutes=2, seconds=30)
    drive.pause("a", until=pendulum.datetime(2026, 7, 1, 7, 3, 30))
    drive.advance(minutes=3, seconds=40)
    told = [(row.outcome, utc(row.due_at)[11:16], row.reason) for row in reversed(drive.history("a"))]
    assert told[:2] == [("done", "07:00", None), ("skipped", "07:03", "paused")]


def test_an_extra_run_of_a_job_whose_runs_go_side_by_side_does_not_hold_up_the_others(make_drive: MakeDrive) -> None:
    drive = make_drive(at=pendulum.datetime(2026, 7, 1, 6, 59, 30))
    keys = started(drive, 300)
    drive.schedule("work", id="a", rule="* * * * *", overlap="parallel(9)", time_limit=600)
    drive.run_now("a")
    drive.advance(minutes=4)
    assert len(keys) == 5
    drive.advance(minutes=6)
    assert set(outcomes(drive, "a")) == {"done"}


def test_a_drive_stops_at_the_end_of_a_pause_on_its_way(make_drive: MakeDrive) -> None:
    drive = make_drive(at=pendulum.datetime(2026, 7, 1, 7))
    ran = note_instants(drive)
    drive.schedule("work", id="a", after=60)
    drive.pause("a", until=pendulum.datetime(2026, 7, 1, 7, 2, 50))
    drive.advance(minutes=6)
    assert [at[11:] for at in ran] == ["07:02:50"]


def test_what_comes_due_while_a_run_waits_for_its_retry_has_overlapped(make_drive: MakeDrive) -> None:
    drive = make_drive(at=pendulum.datetime(2026, 7, 1, 7))

    @drive.handler("work")
    async def work(ctx: Context, _payload: object) -> Retry | None:
        await asyncio.sleep(5)
        return Retry(after=8) if ctx.job.attempt < 3 else None

    drive.schedule("work", id="a", every=10, overlap="skip")
    drive.advance(seconds=60)
    told = [(row.outcome, row.times, row.reason) for row in reversed(drive.history("a"))]
    assert told[:2] == [("done", 1, None), ("skipped", 3, "overlap: the run before had not ended")]
