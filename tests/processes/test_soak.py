"""A minute of kills of all kinds, with bots that are processes too."""

import random
import threading
from pathlib import Path

import pytest

from tests.processes import ledger, processes
from tests.processes.conftest import Figure, StartSystem
from tests.processes.ledger import Acknowledged
from tests.processes.record import Record
from tests.processes.scripts import ACKNOWLEDGED, Script
from tests.processes.waiting import Stopwatch, until

SECONDS = 60.0
BOT = "the attached bot"
VICTIMS = [*processes.SYSTEM, "all", BOT]


def acknowledged(folder: Path) -> list[Acknowledged]:
    return [Acknowledged(*line.split("\t")) for line in (folder / ACKNOWLEDGED).read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_b44_nothing_acknowledged_is_lost_in_a_minute_of_kills(
    start: StartSystem, folder: Path, noted: Record, figure: Figure
) -> None:
    scheduler = start()
    chance = random.Random(1)
    pause = threading.Event()
    watch, kills = Stopwatch(), 0
    with Script("schedules_on_and_on", folder, "plain", "plain") as plain:
        attached = Script("schedules_on_and_on", folder, "host", "attached")
        try:
            attached.wait_until_ready()
            while watch.seconds < SECONDS:
                pause.wait(chance.uniform(0.2, 1.0))
                victim = chance.choice(VICTIMS)
                kills += 1
                if victim == BOT:
                    attached.close()
                    attached = Script("schedules_on_and_on", folder, "host", "attached")
                elif victim == "all":
                    processes.kill(processes.named(folder, victim))
                else:
                    processes.kill(processes.named(folder, victim)[:1])
            for bot in (plain, attached):
                bot.say("enough")
            ledger.all_settled(scheduler, within_s=60.0)

            jobs = acknowledged(folder)
            figure(f"{len(jobs)} jobs acknowledged under {kills} kills, in all", watch.seconds)
            ledger.check_promises(scheduler, jobs, noted)
            until(lambda: scheduler.health().in_memory == 1, "only the living bot has a job in memory")
            assert plain.end() == attached.end() == ""
        finally:
            attached.close()
    scheduler.stop()
    assert processes.all_end(folder)
