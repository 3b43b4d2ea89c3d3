"""kill -9 of any process, while two bots schedule and jobs run."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import Queue

import pytest

import bellringer
from bellringer import SchedulerHandle
from bellringer.actors.folder import PrivateFolder
from tests.actors.systems import pid_of
from tests.processes import ledger, processes
from tests.processes.bots import Bots
from tests.processes.conftest import Figure, StartSystem
from tests.processes.record import Record
from tests.processes.scripts import Script
from tests.processes.waiting import PATIENCE_S, Stopwatch, until

VICTIMS = [*processes.SYSTEM, "all"]
AGAIN_WITHIN_S = 3.0
"""A second on a machine that has nothing else to do."""
ALTERNATELY = ["at_least_once", "at_most_once"] * 25

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
            bots.go_on(60)
            processes.kill(until(partial(processes.named, folder, victim), f"{victim} runs"))
            answered, ran = time_until_it_works(scheduler, noted)
            figure("a request is answered after a kill", answered)
            figure("a due job has run after a kill", ran)
            assert ran < AGAIN_WITHIN_S
        bots.go_on(30)
    ledger.all_settled(scheduler)

    ledger.check_promises(scheduler, bots.acknowledged, noted)
    scheduler.stop()
    assert processes.all_end(folder)


def test_b44_only_what_was_inside_a_handler_is_interrupted_or_repeated(
    start: StartSystem, folder: Path, noted: Record
) -> None:
    scheduler = start(handler_actors=1, places=5)
    gate = folder / "gate"
    inside = {f"inside {number}": delivery for number, delivery in enumerate(ALTERNATELY[:5])}
    behind = {f"behind {number}": delivery for number, delivery in enumerate(ALTERNATELY)}
    for job_id, delivery in inside.items():
        scheduler.schedule("gated", id=job_id, after=0, payload=str(gate), delivery=delivery)
    until(lambda: len(noted.starts()) == 5, "five are inside")
    scheduler.schedule_many(
        {"handler": "quick", "id": job_id, "after": 0, "delivery": delivery} for job_id, delivery in behind.items()
    )

    processes.kill(processes.named(folder, "bell-handlers"))
    gate.touch()
    ledger.all_settled(scheduler)

    starts, told = noted.starts(), ledger.occurrences(scheduler)
    assert [starts[job_id] for job_id in behind] == [1] * 50
    assert [told[job_id][0].outcome for job_id in behind] == ["done"] * 50
    for job_id, delivery in inside.items():
        twice = delivery == "at_least_once"
        assert starts[job_id] == (2 if twice else 1)
        assert [occurrence.outcome for occurrence in told[job_id]] == ["done" if twice else "interrupted"]


def test_in_memory_jobs_come_back_when_the_scheduler_was_killed(start: StartSystem, folder: Path) -> None:
    scheduler = start(handlers=[])
    called: Queue[str] = Queue()
    scheduler.run_after(0.4, called.put, "once")
    scheduler.run_every(0.1, called.put, "again")

    processes.kill(processes.named(folder, "bell-scheduler"))

    words = [called.get(timeout=PATIENCE_S) for _ in range(10)]
    assert words.count("once") == 1
    until(lambda: scheduler.health().in_memory == 1, "the repeating one is left")


def test_the_in_memory_jobs_of_a_bot_that_was_killed_are_dropped(start: StartSystem, folder: Path) -> None:
    scheduler = start(handlers=[])
    with Script("keeps_a_function", folder) as bot:
        assert scheduler.health().in_memory == 1

        bot.kill()

        until(lambda: scheduler.health().in_memory == 0, "its job is dropped")
        assert scheduler.health().hosts == ()


@pytest.mark.parametrize("crashes", [25, pytest.param(125, marks=pytest.mark.slow)])
def test_b52_what_schedule_has_returned_is_stored_though_the_scheduler_is_killed_that_instant(
    crashes: int, folder: Path
) -> None:
    """In four systems at once: after many restarts the supervisor makes pauses, in which another has its turn."""

    def schedule_and_kill(number: int) -> tuple[list[str], list[str]]:
        place = folder / f"{number}.db"
        with bellringer.start(place, restarts=100_000) as scheduler:
            returned = []
            for _ in range(crashes):
                returned.append(scheduler.schedule("nobody's", after=3_600, timeout=30.0).id)
                processes.kill([pid_of(PrivateFolder(place).read_scheduler() or "")])
            return returned, [job.id for job in scheduler.pending(limit=1_000, timeout=30.0)]

    with ThreadPoolExecutor(4) as pool:
        for returned, stored in pool.map(schedule_and_kill, range(4)):
            assert len(returned) == crashes
            assert stored == returned
