"""kill -9 of any process, while two bots schedule and jobs run."""

import itertools
from functools import partial
from pathlib import Path

import pytest

from bellringer import SchedulerHandle
from tests.processes import ledger, processes
from tests.processes.bots import Bots
from tests.processes.conftest import Figure, StartSystem
from tests.processes.record import Record
from tests.processes.waiting import Stopwatch, until

VICTIMS = [*processes.SYSTEM, "all"]
AGAIN_WITHIN_S = 3.0
"""A second on a machine that has nothing else to do."""

_numbers = itertools.count()


def time_until_it_works(scheduler: SchedulerHandle, noted: Record) -> tuple[float, float]:
    """Seconds until a request is answered, and until the job that it scheduled has been called."""
    watch = Stopwatch()
    probe = f"probe {next(_numbers)}"
    scheduler.schedule("quick", id=probe, after=0, delivery="at_least_once")
    answered = watch.seconds
    until(lambda: noted.starts()[probe], f"{probe} is called", every_s=0.005)
    return answered, watch.seconds


@pytest.mark.parametrize("victim", VICTIMS)
def test_b44_nothing_acknowledged_is_lost_by_a_kill_of(
    victim: str, start: StartSystem, database: Path, folder: Path, noted: Record, figure: Figure
) -> None:
    scheduler = start()

    with Bots(database) as bots:
        for _ in range(2):
            bots.go_on(100)
            processes.kill(until(partial(processes.named, folder, victim), f"{victim} runs"))
            answered, ran = time_until_it_works(scheduler, noted)
            figure("answered", answered)
            figure("a due job ran", ran)
            assert ran < AGAIN_WITHIN_S
        bots.go_on(50)
    ledger.all_settled(scheduler)

    ledger.check_promises(scheduler, bots.acknowledged, noted)
    scheduler.stop()
    assert processes.all_end(folder)
