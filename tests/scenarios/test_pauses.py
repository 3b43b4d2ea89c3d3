"""Pausing a job, a chat, a handler or everything: nothing runs, nothing is forgotten, and what was missed is told."""

from collections.abc import Callable

import pendulum
import pytest

from bellringer.testing import Drive
from tests.scenarios.steps import MakeDrive, absent, go_away, note_instants, outcomes, utc

EIGHT = pendulum.datetime(2026, 6, 1, 8)
SCOPES: dict[str, dict[str, object]] = {
    "job": {"id": "a"},
    "chat": {"chat_id": 42},
    "handler": {"handler": "work"},
    "all": {"everything": True},
}


def stop_and_start(drive: Drive) -> None:
    drive.stop()
    drive.start()


GAPS: dict[str, Callable[[Drive], None]] = {
    "nothing": lambda drive: drive.advance(seconds=1),
    "a stop and a start": stop_and_start,
    "a crash": lambda drive: go_away(drive, seconds=1),
    "a crash of the scheduler": lambda drive: drive.crash_scheduler(),
}


@pytest.fixture
def drive(make_drive: MakeDrive) -> Drive:
    return make_drive(at=EIGHT)


def hourly(drive: Drive, rule: str = "0 * * * *") -> None:
    drive.schedule("work", id="a", chat_id=42, rule=rule, zone="UTC")


def told(drive: Drive) -> list[tuple[str, str, int, str | None]]:
    """Of each row of the ledger its outcome, its first due time, how many it tells of, and why."""
    return [(row.outcome, utc(row.due_at)[11:], row.times, row.reason) for row in reversed(drive.history("a"))]


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("gap", GAPS)
def test_b31_nothing_runs_while_paused_and_what_passed_is_recorded_when_it_ends(
    drive: Drive, scope: str, gap: str
) -> None:
    ran = note_instants(drive)
    hourly(drive)
    drive.pause(**SCOPES[scope])  # type: ignore[arg-type]
    drive.advance(hours=3, minutes=10)
    GAPS[gap](drive)
    drive.advance(minutes=10)
    assert ran == []
    assert len(drive.pauses()) == 1

    drive.jump(wall=EIGHT.add(hours=3, minutes=30))
    drive.resume(**SCOPES[scope])  # type: ignore[arg-type]
    drive.run_due()
    assert ran == []
    assert told(drive) == [("skipped", "09:00", 3, "paused")]
    assert drive.pauses() == []
    drive.advance(minutes=40)
    assert ran == ["2026-06-01 12:00"]
    assert absent(drive) == []


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("asked_at", ["pause", "resume"])
def test_b31_of_what_passed_the_latest_runs_where_that_is_asked_for(drive: Drive, scope: str, asked_at: str) -> None:
    ran = note_instants(drive)
    hourly(drive)
    drive.pause(**SCOPES[scope], run_one=asked_at == "pause")  # type: ignore[arg-type]
    drive.advance(hours=3, minutes=30)
    drive.resume(**SCOPES[scope], run_one=True if asked_at == "resume" else None)  # type: ignore[arg-type]
    drive.run_due()
    assert ran == ["2026-06-01 11:30"]
    assert [row[:3] for row in told(drive)] == [("skipped", "09:00", 2), ("done", "11:00", 1)]
    drive.advance(hours=1)
    assert ran == ["2026-06-01 11:30", "2026-06-01 12:00"]
    assert absent(drive) == []


def test_b31_a_job_that_is_edited_while_it_is_paused_stays_paused(drive: Drive) -> None:
    ran = note_instants(drive)
    hourly(drive)
    drive.pause("a", reason="holidays")
    drive.advance(hours=2, minutes=10)
    hourly(drive, "30 * * * *")
    go_away(drive, seconds=1)
    drive.advance(hours=1)
    assert ran == []
    job = drive.get("a")
    assert job is not None
    assert job.why == "paused"

    drive.jump(wall=EIGHT.add(hours=3, minutes=40))
    drive.resume("a")
    drive.advance(hours=1)
    assert ran == ["2026-06-01 12:30"]
    rows = [row[:3] for row in told(drive) if row[3] == "paused"]
    assert sum(times for *_, times in rows) == len(["10:30", "11:30"])


def test_b31_a_pause_ends_by_itself_at_the_instant_that_was_given(drive: Drive) -> None:
    ran = note_instants(drive)
    hourly(drive)
    drive.pause("a", until=EIGHT.add(hours=3, minutes=30))
    drive.advance(hours=1)
    go_away(drive, minutes=10)
    drive.advance(hours=2, minutes=20)
    drive.advance(hours=1)
    assert ran == ["2026-06-01 12:00"]
    assert told(drive)[0] == ("skipped", "09:00", 3, "paused")
    assert absent(drive) == []


def test_b31_a_pause_that_ended_while_nothing_was_running_is_told_apart_from_the_outage(drive: Drive) -> None:
    ran = note_instants(drive)
    hourly(drive)
    drive.pause("a", until=EIGHT.add(hours=2, minutes=30))
    drive.advance(minutes=30)
    go_away(drive, hours=4)
    assert ran == ["2026-06-01 12:30"]
    assert [row[:3] for row in told(drive)] == [("skipped", "09:00", 2), ("skipped", "11:00", 1), ("done", "12:00", 1)]
    assert [row[3] for row in told(drive)][:2] == ["paused", "missed: a later one runs"]


def test_b31_of_two_pauses_the_later_to_end_counts(drive: Drive) -> None:
    ran = note_instants(drive)
    hourly(drive)
    drive.pause("a")
    drive.pause(chat_id=42)
    drive.advance(hours=1, minutes=30)
    drive.resume("a")
    drive.advance(hours=1)
    assert ran == []
    drive.resume(chat_id=42)
    drive.advance(hours=1)
    assert ran == ["2026-06-01 11:00"]
    assert absent(drive) == []


def test_b31_a_one_shot_that_fell_due_in_a_pause_runs_late_when_it_ends(drive: Drive) -> None:
    ran = note_instants(drive)
    drive.schedule("work", id="once", at=EIGHT.add(hours=1))
    drive.pause(everything=True)
    drive.advance(hours=3)
    go_away(drive, minutes=30)
    assert ran == []
    drive.resume(everything=True)
    assert ran == ["2026-06-01 11:30"]
    assert drive.history("once")[0].late_by == pendulum.duration(hours=2, minutes=30)


def test_b31_jobs_outside_of_what_is_paused_keep_their_times(drive: Drive) -> None:
    ran = note_instants(drive)
    hourly(drive)
    drive.schedule("work", id="b", chat_id=43, rule="0 * * * *", zone="UTC")
    drive.pause(chat_id=42)
    drive.advance(hours=2)
    assert ran == ["2026-06-01 09:00", "2026-06-01 10:00"]
    assert outcomes(drive, "b") == ["done", "done"]


def test_b31_a_snooze_puts_off_one_run_and_never_the_series(drive: Drive) -> None:
    ran = note_instants(drive)
    hourly(drive)
    drive.snooze("a", by=20 * 60)
    go_away(drive, minutes=5)
    drive.advance(hours=3)
    assert ran == ["2026-06-01 09:20", "2026-06-01 10:00", "2026-06-01 11:00"]
    assert absent(drive) == []


def test_b31_what_is_skipped_on_request_is_recorded_and_the_series_goes_on(drive: Drive) -> None:
    ran = note_instants(drive)
    hourly(drive)
    assert drive.skip_next("a") == 1
    go_away(drive, minutes=5)
    drive.advance(hours=2)
    assert ran == ["2026-06-01 10:00"]
    assert [row[:2] for row in told(drive)] == [("skipped", "09:00"), ("done", "10:00")]
    assert absent(drive) == []
