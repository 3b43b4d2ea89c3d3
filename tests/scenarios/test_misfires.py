"""What was due while nobody was there."""

import asyncio

import pendulum
import pytest

from bellringer import Context
from bellringer.testing import Drive
from tests.scenarios.steps import MakeDrive, absent, go_away, ids, note_instants, note_runs, outcomes, seconds, status


def test_b26_what_fell_due_while_the_process_was_stopped_runs_late_and_says_so(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted("once", "work", after=3)
    drive.persisted_every("daily", "work", every=86_400, at=pendulum.datetime(2026, 1, 1, 0, 0, 4))
    go_away(drive, seconds=5)
    assert ran == [("once", 5.0), ("daily", 5.0)]
    assert drive.history("once")[0].late_by == pendulum.duration(seconds=2)
    assert drive.history("daily")[0].late_by == pendulum.duration(seconds=1)


def test_b26_what_fell_due_while_its_host_was_stopped_runs_late(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted("once", "work", after=1)
    drive.freeze_host()
    drive.advance(seconds=6)
    drive.thaw_host()
    assert ran == [("once", 6.0)]
    assert drive.history("once")[0].late_by == pendulum.duration(seconds=5)


def test_b27_an_overdue_job_runs_exactly_once_over_three_restarts(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted("reminder", "work", after=60)
    for _ in range(3):
        go_away(drive, days=1)
        drive.advance(seconds=30)
    assert ids(ran) == ["reminder"]
    assert outcomes(drive) == ["done"]
    assert drive.events[0].kind == "job.late"


@pytest.mark.parametrize(
    "rule", ["daily 02:30", "30 2 * * *", "weekly thu-sat 02:30", "RRULE:FREQ=DAILY;BYHOUR=2;BYMINUTE=30;BYSECOND=0"]
)
@pytest.mark.parametrize("seconds_late", [1, 5])
def test_b26_a_repeating_job_that_is_found_seconds_late_runs_and_says_how_late(
    make_drive: MakeDrive, rule: str, seconds_late: int
) -> None:
    drive = make_drive(at=pendulum.datetime(2026, 1, 1))
    ran = note_instants(drive)
    drive.schedule("work", id="a", rule=rule, zone="Europe/Berlin")
    drive.advance(hours=1, minutes=29, seconds=58)
    drive.freeze_host()
    drive.advance(seconds=2 + seconds_late)
    drive.thaw_host()
    drive.advance(days=1)
    assert ran == [f"2026-01-01 01:30:{seconds_late:02}", "2026-01-02 01:30"]
    assert [row.late_by.total_seconds() for row in drive.history("a")] == [0, seconds_late]
    assert absent(drive) == []


def test_b27_an_overdue_job_that_expires_is_recorded_exactly_once_over_three_restarts(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted("reminder", "work", chat_id=42, after=60, misfire="expire", grace=3_600)
    for _ in range(3):
        go_away(drive, days=1)
        drive.advance(seconds=30)
    assert ran == []
    (missed,) = drive.history(chat_id=42)
    assert (missed.job_id, missed.outcome) == ("reminder", "skipped")
    assert "expired" in (missed.reason or "")
    assert "expired" in str(drive.explain("reminder"))


@pytest.mark.parametrize("orderly", [True, False])
def test_b27_an_overdue_job_is_found_after_a_stop_of_either_kind(drive: Drive, orderly: bool) -> None:
    ran = note_runs(drive)
    drive.persisted("reminder", "work", after=60)
    if orderly:
        drive.stop()
    else:
        drive.crash()
    drive.clock.advance(days=3)
    drive.start()
    assert ids(ran) == ["reminder"]


def test_an_occurrence_within_its_grace_is_no_misfire(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted("a", "work", after=60, misfire="skip", grace=10)
    go_away(drive, seconds=70)
    assert ids(ran) == ["a"]


@pytest.mark.parametrize(("misfire", "word"), [("skip", "skipped"), ("expire", "expired")])
def test_an_occurrence_found_past_its_grace_is_recorded_and_not_run(drive: Drive, misfire: str, word: str) -> None:
    ran = note_runs(drive)
    drive.persisted("a", "work", after=60, misfire=misfire, grace=10)
    go_away(drive, seconds=71)
    assert ran == []
    assert outcomes(drive, "a") == ["skipped"]
    assert drive.history("a")[0].reason == f"{word}: found 11.000 s late"
    assert status(drive, "a") == "skipped"


def test_a_repeating_job_that_skips_goes_on_along_its_grid(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted_every("a", "work", every=60, misfire="skip", grace=5)
    go_away(drive, seconds=200)
    assert ran == []
    drive.advance(seconds=40)
    assert ran == [("a", 240.0)]
    assert [(row.outcome, row.times) for row in drive.history("a")] == [("done", 1), ("skipped", 3)]


def test_a_repeating_job_that_runs_late_does_so_once(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted_every("a", "work", every=60)
    go_away(drive, seconds=200)
    assert ran == [("a", 200.0)]
    drive.advance(seconds=40)
    assert ran == [("a", 200.0), ("a", 240.0)]
    assert sum(row.times for row in drive.history("a")) == 4


def test_b33_waiting_for_a_place_does_not_count_towards_the_time_limit(make_drive: MakeDrive) -> None:
    drive = make_drive(places=1)
    ran: list[tuple[str, int, float]] = []

    @drive.handler("long")
    async def long(ctx: Context, payload: object) -> None:
        await asyncio.sleep(60)

    @drive.handler("short")
    async def short(ctx: Context, payload: object) -> None:
        ran.append((ctx.job.id, ctx.job.attempt, seconds(drive)))
        await asyncio.sleep(29)

    drive.persisted("first", "long", after=1, time_limit=120)
    drive.persisted("behind", "short", after=2, time_limit=30)
    drive.advance(minutes=5)
    assert ran == [("behind", 1, 61.0)]
    assert outcomes(drive) == ["done", "done"]


def test_b33_a_job_that_waits_for_a_place_keeps_its_attempt(make_drive: MakeDrive) -> None:
    drive = make_drive(places=1)

    @drive.handler("long")
    async def long(ctx: Context, payload: object) -> None:
        await asyncio.sleep(30)

    drive.persisted("first", "long", after=1)
    drive.persisted("behind", "long", after=2)
    drive.advance(seconds=20)
    behind = drive.get("behind")
    assert behind is not None
    assert (behind.status, behind.attempts) == ("scheduled", 0)


def test_b33_waiting_for_a_place_counts_towards_the_grace(make_drive: MakeDrive) -> None:
    drive = make_drive(places=1)

    @drive.handler("long")
    async def long(ctx: Context, payload: object) -> None:
        await asyncio.sleep(60)

    ran = note_runs(drive, "short")
    drive.persisted("first", "long", after=1, time_limit=120)
    drive.persisted("patient", "short", after=2, misfire="skip", grace=60)
    drive.persisted("hurried", "short", after=2, misfire="skip", grace=30)
    drive.advance(minutes=5)
    assert ran == [("patient", 61.0)]
    (hurried,) = drive.history("hurried")
    assert (hurried.outcome, hurried.reason, hurried.attempts) == ("skipped", "skipped: found 59.000 s late", 0)
