"""A disk or a file that fails, through the whole system."""

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import bellringer
from bellringer import RequestRefusedError
from tests.command_line.calling import run
from tests.processes import ledger
from tests.processes.conftest import Figure, StartSystem
from tests.processes.disks import make_read_only, small_disk
from tests.processes.ledger import Acknowledged
from tests.processes.record import Record
from tests.processes.waiting import Stopwatch, until

REFUSED_WITHIN_S = 5.0
"""Two seconds on a machine that has nothing else to do."""


def test_b69_a_lock_across_a_due_time_delays_and_loses_nothing(
    start: StartSystem, database: Path, noted: Record, figure: Figure
) -> None:
    scheduler = start()
    scheduler.schedule("quick", id="due under the lock", after=0.3)
    stored: list[str] = []

    def ask() -> None:
        with bellringer.connect(database) as bot:
            stored.append(bot.schedule("quick", id="asked under the lock", after=0, timeout=30.0).id)

    asking = threading.Thread(target=ask)
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        asking.start()
        until(lambda: scheduler.health().status == "storage blocked", "health tells")
        held = Stopwatch()
        until(lambda: held.seconds > 2.0, "the lock was held for two seconds")
        assert (stored, noted.starts()) == ([], {})
        assert "busy" in scheduler.health().storage or "lock" in scheduler.health().storage
        other.execute("ROLLBACK")
    free = Stopwatch()
    asking.join(30.0)
    ledger.all_settled(scheduler)
    figure("everything has run after the lock", free.seconds)

    assert stored == ["asked under the lock"]
    assert noted.starts() == {"due under the lock": 1, "asked under the lock": 1}
    assert scheduler.health().status == "ok"


def test_b69_questions_are_answered_while_a_change_on_the_same_handle_waits_for_the_lock(
    start: StartSystem, database: Path
) -> None:
    scheduler = start()
    stored: list[str] = []
    asking = threading.Thread(target=lambda: stored.append(scheduler.schedule("quick", after=60, timeout=30.0).id))
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        asking.start()
        asked = Stopwatch()
        for _ in range(5):
            scheduler.health(timeout=3.0)
        assert asked.seconds < 5.0
        assert stored == []
        other.execute("ROLLBACK")
    asking.join(30.0)
    assert len(stored) == 1


@pytest.mark.slow
def test_b71_a_full_disk_refuses_clearly_and_recovers_without_a_restart(folder: Path, noted: Record) -> None:
    with (
        small_disk(folder / "disk", mebibytes=8) as disk,
        bellringer.start(disk / "bot.db", handlers=["tests.processes.jobs_recorded"]) as scheduler,
    ):
        process = scheduler.health().process
        acknowledged = []
        scheduler.schedule("quick", id="due on the full disk", after=0.5, delivery="at_least_once")
        acknowledged.append(Acknowledged("due on the full disk", "at_least_once"))
        fill(disk / "filler")

        def schedule_large_ones() -> None:
            for number in range(100):
                job = Acknowledged(f"large {number}", "at_least_once")
                scheduler.schedule(
                    "quick", id=job.job_id, after=0, payload="x" * 100_000, delivery=job.delivery, timeout=3.0
                )
                acknowledged.append(job)

        with pytest.raises(RequestRefusedError) as refused:
            schedule_large_ones()
        assert "full" in str(refused.value)
        until(lambda: scheduler.health().status == "storage blocked", "health tells")
        (disk / "filler").unlink()

        job = Acknowledged("with room again", "at_least_once")
        scheduler.schedule("quick", id=job.job_id, after=0, delivery=job.delivery, timeout=30.0)
        ledger.all_settled(scheduler)
        ledger.check_promises(scheduler, [*acknowledged, job], noted)
        assert max(noted.starts().values()) == 1
        assert scheduler.health().process == process


def fill(path: Path) -> None:
    """Leave no room on the disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(descriptor, bytes(4_096))
    except OSError:
        pass
    finally:
        os.close(descriptor)


def spoil(database: Path) -> None:
    """Garbage behind the header's first words, as by a stray write."""
    with database.open("r+b") as file:
        file.seek(100)
        file.write(b"\xa5" * 3_996)


def make_newer(database: Path) -> None:
    with closing(sqlite3.connect(database)) as file:
        (version,) = file.execute("PRAGMA user_version").fetchone()
        file.execute(f"PRAGMA user_version = {version + 1}")


@pytest.mark.parametrize(
    ("damage", "reason"), [(spoil, "is damaged"), (make_newer, "later version")], ids=["spoilt", "newer"]
)
def test_b50_a_file_that_can_not_be_served_is_refused_with_the_reason_and_left_as_it_is(
    damage: Callable[[Path], None], reason: str, folder: Path, database: Path, figure: Figure
) -> None:
    with bellringer.start(database) as scheduler:
        scheduler.schedule("quick", id="kept", after=3_600)
    damage(database)
    before = database.read_bytes()

    watch = Stopwatch()
    told = run("serve", folder=folder)

    figure("refused", watch.seconds)
    assert watch.seconds < REFUSED_WITHIN_S
    assert told.code == 1
    assert reason in told.err
    assert database.read_bytes() == before


@pytest.mark.parametrize("existing", [False, True], ids=["empty", "with a database"])
def test_a_read_only_folder_is_refused_with_the_reason(existing: bool, folder: Path, figure: Figure) -> None:
    with small_disk(folder / "disk", mebibytes=8) as disk:
        if existing:
            bellringer.start(disk / "bot.db").stop()
        make_read_only(disk)

        watch = Stopwatch()
        told = run("serve", "--database", str(disk / "bot.db"), folder=folder)

        figure("refused", watch.seconds)
        assert watch.seconds < REFUSED_WITHIN_S
        assert told.code == 1
        assert "writ" in told.err
