"""The end of a system: in order, in a hurry, and by accident."""

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bellringer
from bellringer import Registry, SchedulerHandle, SchedulerUnavailableError
from tests.command_line.calling import Served
from tests.command_line.calling import start as start_command
from tests.processes import ledger, processes
from tests.processes.conftest import Figure, StartSystem
from tests.processes.record import Record
from tests.processes.scripts import Script
from tests.processes.waiting import Stopwatch, until

HANDLERS = ("--handlers", "tests.processes.jobs_recorded")
ENDLESS = ("at_least_once", "at_most_once")


@pytest.fixture(scope="module")
def served_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A database with a system that all tests of this module share."""
    database = tmp_path_factory.mktemp("shared") / "bot.db"
    with bellringer.start(database):
        yield database


def with_endless_handlers(database: Path, noted: Record, *others: str) -> None:
    """Have one endless run of each delivery under way, and one of each of the others."""
    with bellringer.connect(database) as scheduler:
        for delivery in ENDLESS:
            scheduler.schedule("endless", id=delivery, after=0, delivery=delivery)
        for name in others:
            scheduler.schedule(name, id=name, after=0)
        until(lambda: len(noted.starts()) == len(ENDLESS) + len(others), "all are inside")


def test_b93_running_handlers_get_their_grace_and_the_rest_is_interrupted(
    start: StartSystem, folder: Path, database: Path, noted: Record, figure: Figure
) -> None:
    with Served(folder, *HANDLERS, "--grace", "1") as served:
        with_endless_handlers(database, noted, "quick", "half_a_second")
        watch = Stopwatch()
        assert served.stop(signal.SIGTERM).code == 0
    figure("stopped, with a grace of one second", watch.seconds)
    assert watch.seconds < 3.0
    assert processes.all_end(folder)

    with bellringer.start(database) as scheduler:
        assert scheduler.health().claimed == 0
        told = {job: [run.outcome for run in runs] for job, runs in ledger.occurrences(scheduler).items()}
        assert told == {"quick": ["done"], "half_a_second": ["done"], "at_most_once": ["interrupted"]}
        again = scheduler.get("at_least_once")
        assert again is not None
        assert (again.status, again.attempts) == ("scheduled", 0)

    start()
    until(lambda: noted.starts()["at_least_once"] == 2, "it runs again")
    assert noted.starts()["at_most_once"] == 1


def test_b93_a_second_sigterm_ends_everything_at_once(folder: Path, database: Path, noted: Record) -> None:
    with Served(folder, *HANDLERS, "--grace", "60") as served:
        with_endless_handlers(database, noted)

        def ended_by_another_sigterm() -> bool:
            served.process.terminate()
            return served.process.poll() is not None

        # More than two, because those that come before the first is taken are one.
        until(ended_by_another_sigterm, "it has ended", within_s=10.0)
        assert served.process.returncode == 1
        assert processes.all_end(folder)

    with bellringer.start(database) as scheduler:
        until(lambda: scheduler.health().claimed == 0, "what ran is settled at the next start")
        assert [run.outcome for run in scheduler.history()] == ["interrupted"]


@pytest.mark.parametrize(
    "after_ms",
    [20, 60, 120, 250, *(pytest.param(ms, marks=pytest.mark.slow) for ms in range(140, 700, 20))],
)
def test_b93_ctrl_c_in_the_middle_of_the_start_leaves_nothing_behind(
    after_ms: int, start: StartSystem, folder: Path, noted: Record
) -> None:
    process = start_command("serve", *HANDLERS, folder=folder)
    threading.Event().wait(after_ms / 1_000)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert processes.all_end(folder)

    start().schedule("quick", id="afterwards", after=0)
    until(lambda: noted.starts()["afterwards"], "the next start works")


@pytest.mark.parametrize(("how", "code"), [("returns", 0), ("raises", 1), ("exits", 7)])
def test_b94_a_bot_that_ends_without_stop_ends_its_system(how: str, code: int, folder: Path, noted: Record) -> None:
    bot = Script("ends_without_stop", folder, how)

    error = bot.end()

    assert bot.process.returncode == code
    assert ("RuntimeError: out of ideas" in error) is (how == "raises")
    assert processes.all_end(folder)


@pytest.mark.parametrize(
    "call",
    [
        lambda scheduler: scheduler.schedule("quick", after=0),
        lambda scheduler: scheduler.pending(),
        lambda scheduler: scheduler.health(),
        lambda scheduler: scheduler.run_after(1.0, print),
        lambda scheduler: scheduler.attach(registry=Registry()),
        lambda scheduler: scheduler.listen(print),
    ],
    ids=["schedule", "pending", "health", "run_after", "attach", "listen"],
)
@pytest.mark.parametrize("was_attached", [False, True], ids=["plain", "attached"])
def test_b94_a_call_after_stop_raises_at_once(
    call: Callable[[SchedulerHandle], object], was_attached: bool, served_elsewhere: Path
) -> None:
    scheduler = bellringer.connect(served_elsewhere)
    if was_attached:
        scheduler.attach(registry=Registry())
    scheduler.health()
    scheduler.stop()
    watch = Stopwatch()

    with pytest.raises(SchedulerUnavailableError, match="stopped"):
        call(scheduler)
    assert watch.seconds < 2.0


def test_stop_can_be_called_twice(database: Path, folder: Path) -> None:
    scheduler = bellringer.start(database)

    scheduler.stop()
    scheduler.stop()

    assert processes.all_end(folder)
