"""Names of zones, those that are gone, and a machine that is moved into another zone."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime

import pendulum
import pytest

from bellringer import InvalidJobError
from bellringer.testing import Drive
from tests.scenarios.steps import MakeDrive, absent, go_away, note_instants, note_runs, outcomes, status, utc

NOT_A_ZONE = ["SystemV/PST8", "GMT+3", "UTC+3", "local", "Europe/Berlin\n", "", "../etc/passwd", "Mars/Base", "a\0b", 5]
MoveMachine = Callable[[str], None]


@pytest.fixture
def move_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[MoveMachine]:
    """Sets the zone that the machine takes for local."""

    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


def change(drive: Drive, sql: str, *values: str) -> None:
    """Edit the database of a drive that has crashed."""
    with closing(sqlite3.connect(drive.database)) as connection, connection:
        connection.execute(sql, values)


def lose_zone(drive: Drive, *ids: str) -> None:
    """Have jobs stand in a zone that this machine does not know."""
    for job_id in ids:
        change(
            drive,
            "UPDATE job SET zone = 'Mars/Base', rule = replace(rule, 'Europe/Berlin', 'Mars/Base') WHERE id = ?",
            job_id,
        )


# Names


@pytest.mark.parametrize("zone", NOT_A_ZONE, ids=ascii)
def test_b14_what_is_no_zone_is_refused_in_one_way_wherever_it_is_given(drive: Drive, zone: str) -> None:
    with pytest.raises(InvalidJobError, match="no time zone"):
        drive.schedule("work", id="a", rule="daily 09:00", zone=zone)
    with pytest.raises(InvalidJobError, match="no time zone"):
        drive.schedule("work", id="a", at=datetime(2027, 1, 1), zone=zone)  # noqa: DTZ001  a local time
    with pytest.raises(InvalidJobError, match="no time zone"):
        drive.set_zone(zone, chat_id=1)
    assert drive.pending() == []
    assert drive.sessions() == []


@pytest.mark.parametrize(
    ("zone", "due"),
    [
        ("US/Pacific", "2026-01-01 17:00"),
        ("Asia/Calcutta", "2026-01-01 03:30"),
        ("Europe/Kiev", "2026-01-01 07:00"),
        ("EST", "2026-01-01 14:00"),
        ("MST7MDT", "2026-01-01 16:00"),
        ("Etc/GMT+3", "2026-01-01 12:00"),
    ],
)
def test_b14_old_names_of_the_database_are_zones(drive: Drive, zone: str, due: str) -> None:
    ran = note_instants(drive)
    drive.schedule("work", id="a", rule="daily 09:00", zone=zone)
    drive.crash()
    drive.start()
    drive.advance(days=1)
    assert ran == [due]


# Rows whose zone is gone


def test_b14_a_row_whose_zone_no_longer_exists_is_parked_and_all_others_run(drive: Drive) -> None:
    ran = note_runs(drive)
    for job_id in ("a", "lost", "z"):
        drive.schedule("work", id=job_id, rule="daily 09:00", zone="Europe/Berlin")
    drive.crash()
    lose_zone(drive, "lost")
    drive.start()
    assert drive.failure is None
    assert [job.id for job in drive.pending()] == ["a", "lost", "z"]

    drive.advance(days=2)
    assert [job_id for job_id, _ in ran] == ["a", "z"] * 2
    lost = drive.get("lost")
    assert lost is not None
    assert lost.status == "parked"
    assert "Mars/Base" in (lost.why or "")


def test_b14_a_row_whose_zone_no_longer_exists_hinders_no_question_about_it(drive: Drive) -> None:
    note_runs(drive)
    for job_id in ("a", "lost"):
        drive.schedule("work", id=job_id, chat_id=1, rule="daily 09:00", zone="Europe/Berlin")
    drive.crash()
    lose_zone(drive, "lost")
    drive.start()
    assert drive.explain("lost") is not None
    assert drive.set_zone("Asia/Tokyo", chat_id=1) == 1
    drive.pause(chat_id=1)
    drive.resume(chat_id=1)
    drive.skip_next(chat_id=1)
    assert drive.cancel("lost").cancelled == ("lost",)
    assert status(drive, "a") == "scheduled"


def test_b14_a_row_whose_zone_is_there_again_can_be_redriven(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.schedule("work", id="a", rule="daily 09:00", zone="Europe/Berlin")
    drive.crash()
    lose_zone(drive, "a")
    drive.start()
    drive.advance(days=1)
    assert status(drive, "a") == "parked"

    drive.crash()
    change(drive, "UPDATE job SET zone = 'Europe/Berlin', rule = replace(rule, 'Mars/Base', 'Europe/Berlin')")
    drive.start()
    drive.redrive("a")
    drive.advance(days=2)
    assert [at % 86_400 for _, at in ran] == [0, 8 * 3_600, 8 * 3_600]


def test_b14_a_start_fails_for_no_row_of_five_hundred_with_lost_zones(drive: Drive) -> None:
    ran = note_runs(drive)
    ids = [f"lost {number}" for number in range(500)]
    drive.schedule_many(
        {"handler": "work", "id": job_id, "rule": "daily 09:00", "zone": "Europe/Berlin"} for job_id in [*ids, "a"]
    )
    drive.crash()
    change(
        drive,
        "UPDATE job SET zone = 'Mars/' || seq, rule = replace(rule, 'Europe/Berlin', 'Mars/' || seq) WHERE id <> 'a'",
    )
    drive.start()
    drive.advance(hours=9)
    assert [job_id for job_id, _ in ran] == ["a"]
    assert drive.health().parked == 500


def test_b14_a_machine_without_zone_data_has_all_zones_nevertheless() -> None:
    program = (
        "import zoneinfo; zoneinfo.reset_tzpath([])\n"
        "from bellringer.storage import rules\n"
        "print([rules.daily('09:00', zone=zone).next(0) // 3_600_000_000 for zone in ('UTC', 'Asia/Tokyo')])"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout == "[9, 24]\n"


# The machine's own zone


def test_b15_a_due_time_stays_to_the_microsecond_over_ten_starts_in_other_zones(
    make_drive: MakeDrive, move_machine: MoveMachine
) -> None:
    move_machine("Europe/Berlin")
    drive = make_drive(at=pendulum.datetime(2026, 7, 1))
    ran = note_instants(drive)
    drive.schedule("work", id="once", at=datetime(2026, 7, 10, 9), zone="Europe/Berlin")  # noqa: DTZ001
    drive.schedule("work", id="daily", rule="daily 09:00", zone="Europe/Berlin", start=datetime(2026, 7, 10))  # noqa: DTZ001
    drive.schedule("work", id="cron", rule="0 9 * * *", zone="Europe/Berlin", start=datetime(2026, 7, 10))  # noqa: DTZ001
    for zone in ["America/New_York", "Asia/Tokyo", "UTC", "Pacific/Apia", "Europe/Berlin"] * 2:
        drive.stop()
        move_machine(zone)
        drive.start()
        assert {utc(job.due_at) for job in drive.pending()} == {"2026-07-10 07:00"}
    drive.advance(days=9.5)
    assert ran == ["2026-07-10 07:00"] * 3


def test_b15_a_job_without_a_zone_is_in_utc_wherever_the_machine_is(
    make_drive: MakeDrive, move_machine: MoveMachine
) -> None:
    move_machine("America/New_York")
    drive = make_drive(at=pendulum.datetime(2026, 7, 1))
    ran = note_instants(drive)
    drive.schedule("work", id="a", rule="daily 09:00")
    drive.advance(days=2)
    assert ran == ["2026-07-01 09:00", "2026-07-02 09:00"]


def test_b15_an_hourly_job_loses_no_run_in_a_night_of_starts_while_the_machine_s_clock_goes_back(
    make_drive: MakeDrive, move_machine: MoveMachine
) -> None:
    move_machine("Europe/Berlin")
    drive = make_drive(at=pendulum.datetime(2026, 10, 24, 23, 30))
    ran = note_instants(drive)
    drive.schedule("work", id="a", rule="0 * * * *", zone="UTC")
    for _ in range(26):
        go_away(drive, minutes=10)
        drive.advance(minutes=50)
    assert ran == [utc(pendulum.datetime(2026, 10, 25).add(hours=hour)) for hour in range(26)]
    assert outcomes(drive) == ["done"] * 26
    assert absent(drive) == []


def test_b15_a_due_time_is_the_same_in_processes_of_other_zones(make_drive: MakeDrive) -> None:
    drive = make_drive(at=pendulum.datetime(2026, 7, 1))
    drive.schedule("work", id="a", at=datetime(2026, 7, 10, 9), zone="Europe/Berlin")  # noqa: DTZ001  a local time
    drive.schedule("work", id="b", rule="daily 09:00", zone="Europe/Berlin")
    program = (
        "import sys; from pathlib import Path\n"
        "from bellringer.storage import rules; from bellringer.storage.sqlite_store import open_store\n"
        "store = open_store(Path(sys.argv[1]))\n"
        "print([(job.due_at, job.rule and rules.load(job.rule).next(job.due_at)) for job in store.jobs()])"
    )
    drive.crash()
    told = set()
    for zone in ("UTC", "America/New_York", "Asia/Kathmandu"):
        command = [sys.executable, "-c", program, str(drive.database)]
        environment = {**os.environ, "TZ": zone}
        told.add(
            subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout
        )
    assert len(told) == 1
    drive.start()
