"""What becomes of a system whose database or folder is taken away from under it."""

import os
import shutil
from pathlib import Path

import pytest

import bellringer
from bellringer import GuardianError, RequestRefusedError, SchedulerUnavailableError
from tests.processes import processes
from tests.processes.conftest import StartSystem
from tests.processes.waiting import until


def take_away(database: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        Path(f"{database}{ending}").unlink(missing_ok=True)


def test_b50_nothing_is_acknowledged_into_a_database_that_was_removed(start: StartSystem, database: Path) -> None:
    scheduler = start()
    scheduler.schedule("quick", id="kept", after=1_000)
    take_away(database)
    with pytest.raises(RequestRefusedError, match="removed, replaced or cut short") as refused:
        scheduler.schedule("quick", id="lost", after=1_000)
    assert refused.value.code == "storage_lost"


def test_b50_a_file_that_is_put_in_the_place_of_the_open_one_is_noticed(start: StartSystem, database: Path) -> None:
    scheduler = start()
    shutil.copyfile(database, database.with_name("backup"))
    os.replace(database.with_name("backup"), database)
    with pytest.raises(RequestRefusedError, match="removed, replaced or cut short"):
        scheduler.schedule("quick", after=1_000)


def test_b50_no_empty_database_takes_the_place_of_a_lost_one(start: StartSystem, database: Path, folder: Path) -> None:
    scheduler = start()
    scheduler.schedule("quick", id="kept", after=1_000)
    take_away(database)
    processes.kill(processes.named(folder, "bell-scheduler"))
    with pytest.raises((SchedulerUnavailableError, GuardianError)):
        scheduler.pending(timeout=3.0)
    assert not database.exists()


def test_a_relative_path_means_the_same_file_wherever_the_process_goes(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    with bellringer.start("bot.db", grace=1.0) as scheduler:
        scheduler.schedule("quick", id="kept", after=1_000)
        os.chdir(folder / "elsewhere")
        processes.kill([scheduler._core.hosting._guardian.pid])  # type: ignore[union-attr]
        until(lambda: [job.id for job in scheduler.pending(timeout=10.0)] == ["kept"], "another guardian serves it")
        assert list((folder / "elsewhere").iterdir()) == []


def test_b35_a_database_is_served_once_by_whatever_hard_link_it_is_reached(start: StartSystem, database: Path) -> None:
    start()
    os.link(database, database.with_name("other.db"))
    with pytest.raises(GuardianError, match="served already, under another name"):
        bellringer.start(database.with_name("other.db"))


def test_b35_a_database_is_served_once_though_its_private_folder_was_removed(
    start: StartSystem, database: Path
) -> None:
    start()
    shutil.rmtree(f"{database}.bellringer")
    with pytest.raises(GuardianError, match="from before its folder"):
        bellringer.start(database)
