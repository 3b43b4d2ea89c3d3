"""Several systems on one machine, several processes on one system, and who may start one."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import bellringer
from bellringer import GuardianError, SchedulerHandle, SchedulerUnavailableError
from bellringer.actors import processes
from bellringer.actors.folder import PrivateFolder
from tests.actors.systems import PATIENCE_S, eventually, guardian_of, pid_of, tree


class Served:
    """`bellringer serve` as processes, ended with the test."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, database: Path, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "bellringer", "serve", "--database", str(database), *options]
        self.processes.append(
            subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
            )
        )
        return self.processes[-1]


def said(process: subprocess.Popen[str]) -> str:
    return process.communicate(timeout=PATIENCE_S)[1]


@pytest.fixture
def served() -> Iterator[Served]:
    made = Served()
    yield made
    for process in made.processes:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=20.0)


def is_served(database: Path) -> bool:
    try:
        with bellringer.connect(database) as handle:
            return handle.health(timeout=0.5).status == "ok"
    except SchedulerUnavailableError:
        return False


def test_two_named_systems_run_side_by_side_and_know_nothing_of_each_other(tmp_path: Path) -> None:
    with (
        bellringer.start(tmp_path / "one.db", name="one", grace=1.0) as one,
        bellringer.start(tmp_path / "two.db", name="two", grace=1.0) as two,
    ):
        one.persisted("job", "nobody", after=3_600, payload=1)
        two.persisted("job", "nobody", after=3_600, payload=2)
        assert [handle.health().name for handle in (one, two)] == ["one", "two"]
        jobs = [handle.get("job") for handle in (one, two)]
        assert [job and job.payload for job in jobs] == [1, 2]
        os.kill(pid_of(one.health().process), signal.SIGKILL)
        one.cancel("job")
        job = two.get("job")
        assert job is not None
        assert job.status == "scheduled"


def test_b35_a_second_guardian_on_the_same_database_is_refused_with_the_holder_named(
    served: Served, tmp_path: Path
) -> None:
    first = served.start(tmp_path / "bot.db", "--name", "mine")
    eventually(lambda: is_served(tmp_path / "bot.db"))
    second = served.start(tmp_path / "bot.db")
    assert (
        f"bot.db is served already, by scheduler 'mine', process {first.pid}; connect to that one, or stop it first"
        in said(second)
    )
    assert second.returncode == 1
    assert is_served(tmp_path / "bot.db")


def test_b35_a_second_guardian_by_another_path_to_the_database_is_refused(served: Served, tmp_path: Path) -> None:
    served.start(tmp_path / "bot.db")
    eventually(lambda: is_served(tmp_path / "bot.db"))
    (tmp_path / "link.db").symlink_to(tmp_path / "bot.db")
    assert "is served already" in said(served.start(tmp_path / "link.db"))


def test_b35_of_four_that_start_at_once_one_serves_and_three_are_refused(served: Served, tmp_path: Path) -> None:
    four = [served.start(tmp_path / "bot.db") for _ in range(4)]
    eventually(lambda: sum(process.poll() is not None for process in four) == 3)
    (serving,) = [process for process in four if process.poll() is None]
    eventually(lambda: is_served(tmp_path / "bot.db"))
    assert guardian_of(tmp_path / "bot.db") == serving.pid
    refused = [process for process in four if process is not serving]
    assert [process.returncode for process in refused] == [1, 1, 1]
    assert all("is served already" in said(process) for process in refused)


def test_b35_when_a_killed_guardian_is_gone_another_serves_at_once(served: Served, tmp_path: Path) -> None:
    first = served.start(tmp_path / "bot.db")
    eventually(lambda: is_served(tmp_path / "bot.db"))
    with bellringer.connect(tmp_path / "bot.db") as handle:
        handle.persisted("kept", "nobody", after=3_600)
        first.kill()
        first.wait(PATIENCE_S)
        second = served.start(tmp_path / "bot.db")
        eventually(lambda: is_served(tmp_path / "bot.db"))
        assert guardian_of(tmp_path / "bot.db") == second.pid
        assert handle.get("kept") is not None


def test_b42_start_twice_joins_the_system_that_runs(tmp_path: Path) -> None:
    with bellringer.start(tmp_path / "bot.db", grace=1.0) as first:
        process = first.health().process
        with bellringer.start(tmp_path / "bot.db", grace=1.0) as second:
            assert second.health().process == process
        assert first.health().process == process
    assert not is_served(tmp_path / "bot.db")


def test_b42_start_joins_a_system_that_another_process_serves_and_does_not_end_it(
    served: Served, tmp_path: Path
) -> None:
    served.start(tmp_path / "bot.db")
    eventually(lambda: is_served(tmp_path / "bot.db"))
    with bellringer.start(tmp_path / "bot.db") as joined:
        assert joined.health().status == "ok"
    assert is_served(tmp_path / "bot.db")


def test_the_one_that_joined_starts_another_when_the_system_ends(tmp_path: Path) -> None:
    first = bellringer.start(tmp_path / "bot.db", grace=1.0)
    first.persisted("kept", "nobody", after=3_600)
    with bellringer.start(tmp_path / "bot.db", grace=1.0) as second:
        first.stop()
        assert second.get("kept") is not None


def test_b36_a_system_left_by_a_process_of_the_same_number_is_not_taken_for_a_running_one(tmp_path: Path) -> None:
    with bellringer.start(tmp_path / "bot.db", grace=1.0):
        folder = PrivateFolder(tmp_path / "bot.db")
        way = folder.read_way()
    folder.write_way(way._replace(guardian=f"{os.getpid()}-1"))
    with bellringer.start(tmp_path / "bot.db", grace=1.0) as handle:
        assert handle.health().status == "ok"
        assert guardian_of(tmp_path / "bot.db") != os.getpid()


def test_nothing_is_left_running_after_stop(tmp_path: Path) -> None:
    handle = bellringer.start(tmp_path / "bot.db", grace=1.0)
    handle.health()
    running = [processes.identity(pid) for pid in tree(guardian_of(tmp_path / "bot.db"))]
    assert len(running) >= 4
    handle.stop()
    assert [process for process in running if processes.is_alive(process)] == []
    assert not (tmp_path / "bot.db.bellringer" / "way.json").exists()


def test_a_system_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    script = "import sys, threading, bellringer; s = bellringer.start(sys.argv[1]); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "bot.db")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"1\n"
        running = [processes.identity(pid) for pid in tree(guardian_of(tmp_path / "bot.db"))]
        starter.kill()
    eventually(lambda: not any(processes.is_alive(process) for process in running))


def test_a_start_that_cannot_be_had_says_why(tmp_path: Path) -> None:
    with pytest.raises(GuardianError, match="its parent folder must exist"):
        bellringer.start(tmp_path / "nowhere" / "bot.db")
    (tmp_path / "bot.db").write_bytes(b"no database at all, but long enough to look like one" * 40)
    with pytest.raises(GuardianError, match="is not an SQLite database"):
        bellringer.start(tmp_path / "bot.db")


def test_modules_of_handlers_that_cannot_be_imported_are_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(GuardianError, match="no_such_module"):
        bellringer.start(tmp_path / "bot.db", handlers=["no_such_module"], handler_actors=1)


@pytest.fixture
def handle(tmp_path: Path) -> Iterator[SchedulerHandle]:
    with bellringer.start(tmp_path / "bot.db", grace=1.0) as started:
        yield started


def test_restarts_are_counted_and_told(handle: SchedulerHandle) -> None:
    before = handle.health()
    os.kill(pid_of(before.process), signal.SIGKILL)
    after = handle.health()
    assert (before.restarts, after.restarts) == (0, 1)
    assert after.process != before.process
