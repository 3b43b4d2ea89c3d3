"""Several processes want a system on one database."""

from contextlib import ExitStack
from pathlib import Path

import bellringer
from tests.processes import ledger, processes
from tests.processes.conftest import Figure
from tests.processes.ledger import Acknowledged
from tests.processes.record import Record
from tests.processes.scripts import Script
from tests.processes.waiting import Stopwatch, until

JOBS = [f"bot {bot}:{number}" for bot in range(4) for number in range(25)]


def four_bots(stack: ExitStack, folder: Path, spread_s: float) -> list[Script]:
    """Started at once; each schedules 25 jobs."""
    scripts = [Script("starts_and_schedules", folder, f"bot {bot}", "25", str(spread_s)) for bot in range(4)]
    for script in scripts:
        stack.callback(script.close)
    for script in scripts:
        script.wait_until_ready()
    return scripts


def test_b35_four_processes_that_start_have_one_system(folder: Path, database: Path, noted: Record) -> None:
    with ExitStack() as stack:
        four_bots(stack, folder, spread_s=0.2)
        for kind in ("guardian", "bell-admin", "bell-supervisor", "bell-scheduler"):
            assert len(processes.named(folder, kind)) == 1
        with bellringer.connect(database) as scheduler:
            ledger.all_settled(scheduler)

            assert noted.starts() == dict.fromkeys(JOBS, 1)
            assert {job: len(told) for job, told in ledger.occurrences(scheduler).items()} == dict.fromkeys(JOBS, 1)


def test_b35_when_the_process_that_has_the_system_is_killed_another_takes_over(
    folder: Path, database: Path, noted: Record, figure: Figure
) -> None:
    with ExitStack() as stack:
        bots = four_bots(stack, folder, spread_s=1.0)
        (guardian,) = processes.named(folder, "guardian")
        first = next(bot for bot in bots if bot.pid == processes.parent(guardian))
        until(lambda: len(noted.starts()) > 20, "some have run")

        first.kill()
        watch = Stopwatch()
        until(lambda: guardian not in processes.running(folder), "the first system has ended")
        until(lambda: processes.named(folder, "guardian"), "another is there")
        figure("another has taken over", watch.seconds)
        with bellringer.connect(database) as scheduler:
            ledger.all_settled(scheduler)
            ledger.check_promises(scheduler, [Acknowledged(job, "at_least_once") for job in JOBS], noted)


def test_b42_a_process_that_starts_twice_has_one_system(folder: Path, database: Path) -> None:
    with bellringer.start(database) as first, bellringer.start(database) as second:
        assert len(processes.named(folder, "guardian")) == 1
        assert first.health().process == second.health().process


def test_a_port_that_somebody_else_gets_in_between_is_given_up_for_another(folder: Path, database: Path) -> None:
    with Script("serves_after_its_port_was_taken", folder) as served:
        with bellringer.connect(database) as scheduler:
            assert scheduler.health().status == "ok"

        assert served.end() == ""
        assert served.process.returncode == 0
