"""Processes that stand still, and come back."""

import os
import signal
from pathlib import Path

import pytest

from tests.processes import ledger, processes
from tests.processes.conftest import Figure, StartSystem
from tests.processes.metronome import Metronome
from tests.processes.record import Record
from tests.processes.scripts import Script
from tests.processes.waiting import Stopwatch, until

LATE_AT_MOST_S = 2.0
AFTER_THE_LEASE_S = 40.0


def test_a_frozen_bot_costs_nobody_else_anything(
    start: StartSystem, folder: Path, noted: Record, figure: Figure
) -> None:
    scheduler = start()
    with Script("lends_itself", folder, "frozen") as bot:
        slowest = 0.0
        with Metronome(scheduler, "quick") as metronome:
            bot.freeze()
            for number in range(40):
                watch = Stopwatch()
                scheduler.schedule("only frozen", id=f"its own {number}", after=0)
                slowest = max(slowest, watch.seconds)
            metronome.go_on(40)
            assert not [note for note in noted.notes() if note.job_id.startswith("its own")]
            bot.thaw()
        late = metronome.lateness_p99()

    figure("slowest request", slowest)
    figure("lateness of the others, p99", late)
    assert slowest < LATE_AT_MOST_S
    assert late < LATE_AT_MOST_S
    assert [noted.starts()[f"its own {number}"] for number in range(40)] == [1] * 40


@pytest.mark.slow
def test_b37_the_late_result_of_a_bot_that_was_frozen_beyond_its_lease_is_refused(
    start: StartSystem, folder: Path, noted: Record
) -> None:
    scheduler = start(handlers=[])
    gate = folder / "gate"
    with Script("lends_itself", folder, "frozen") as bot:
        for delivery in ("at_least_once", "at_most_once"):
            scheduler.schedule("gated", id=delivery, after=0, payload=str(gate), delivery=delivery)
        until(lambda: len(noted.starts()) == 2, "both are inside")
        bot.freeze()
        until(lambda: scheduler.history("at_most_once"), "its lease has run out", within_s=AFTER_THE_LEASE_S)

        with Script("lends_itself", folder, "other") as other:
            until(lambda: noted.starts()["at_least_once"] == 2, "the other bot has taken over")
            bot.thaw()
            scheduler.schedule("only frozen", id="again", after=0)
            until(lambda: noted.starts()["again"], "the thawed bot is a host again")
            gate.touch()
            until(lambda: scheduler.history("at_least_once"), "the second run has ended")
            assert other.end() == ""
        assert bot.end() == ""

    told = ledger.occurrences(scheduler)
    assert [occurrence.outcome for occurrence in told["at_least_once"]] == ["done"]
    assert [occurrence.outcome for occurrence in told["at_most_once"]] == ["interrupted"]
    assert noted.starts()["at_most_once"] == 1


@pytest.mark.slow
def test_b37_a_handler_actor_that_was_frozen_beyond_its_lease_is_replaced(
    start: StartSystem, folder: Path, noted: Record
) -> None:
    scheduler = start(handler_actors=1)
    gate = folder / "gate"
    for delivery in ("at_least_once", "at_most_once"):
        scheduler.schedule("gated", id=delivery, after=0, payload=str(gate), delivery=delivery)
    until(lambda: len(noted.starts()) == 2, "both are inside")
    (frozen,) = processes.named(folder, "bell-handlers")

    os.kill(frozen, signal.SIGSTOP)
    gate.touch()
    until(lambda: noted.starts()["at_least_once"] == 2, "another has taken over", within_s=AFTER_THE_LEASE_S)
    ledger.all_settled(scheduler)

    assert frozen not in processes.running(folder)
    told = ledger.occurrences(scheduler)
    assert [occurrence.outcome for occurrence in told["at_least_once"]] == ["done"]
    assert [occurrence.outcome for occurrence in told["at_most_once"]] == ["interrupted"]
