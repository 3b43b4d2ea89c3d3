"""Each correction of the actor library: the fault without it, and its end with it, in processes of their own."""

import json
import os
import resource
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bellringer.actors import corrections, processes
from bellringer.actors.corrections import _Turn
from tests.actors.systems import eventually

ROOT = Path(__file__).resolve().parents[2]
ALL_INTERFACES, LOOPBACK = "00000000", "0100007F"


class Faults:
    """Runs checks of `faults`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def seen(self, check: str, *without: str) -> Any:
        outcome = self._folder / f"{check}{len(without)}"
        done = subprocess.run(
            [sys.executable, "-c", "from tests.actors.faults import main; main()", check, str(outcome), *without],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=20,
            check=False,
        )
        assert done.returncode == 0, f"{check} has failed"
        return json.loads(outcome.read_text())

    def without_and_with(self, check: str, correction: str) -> tuple[Any, Any]:
        with ThreadPoolExecutor(2) as both:
            without = both.submit(self.seen, check, correction)
            corrected = both.submit(self.seen, check)
        return without.result(), corrected.result()


@pytest.fixture
def faults(tmp_path: Path) -> Faults:
    return Faults(tmp_path)


def test_the_resolver_is_not_asked_for_this_machines_name(faults: Faults) -> None:
    without, corrected = faults.without_and_with("names_asked", "_no_name_service")
    assert "the full name of this machine" in without
    assert "this.machine.example" in without
    assert corrected == []


def test_actors_listen_on_the_loopback_only(faults: Faults) -> None:
    without, corrected = faults.without_and_with("addresses", "_bind_to_loopback")
    assert ALL_INTERFACES in without
    assert corrected == [LOOPBACK]


def test_a_strangers_pickle_is_not_executed(faults: Faults) -> None:
    assert faults.without_and_with("executed", "_sign_frames") == (True, False)


def test_a_length_below_zero_ends_no_process(faults: Faults) -> None:
    assert faults.without_and_with("survives_a_length_below_zero", "_sign_frames") == (False, True)


def test_a_long_frame_is_not_copied_for_each_of_its_pieces(faults: Faults) -> None:
    assert faults.without_and_with("adds_to_one_buffer", "_sign_frames") == (False, True)


def test_what_a_stranger_has_acknowledged_is_sent_again(faults: Faults) -> None:
    assert faults.without_and_with("sends_again_what_a_stranger_acknowledged", "_sign_frames") == (False, True)


def test_a_timer_that_has_not_ended_has_time_left(faults: Faults) -> None:
    without, corrected = faults.without_and_with("time_left_of_a_tenth_of_a_microsecond", "_let_timers_end")
    assert without == {"ended": False, "left": 0}
    assert corrected == {"ended": False, "left": 1}


def test_wakeups_that_expire_together_arrive_oldest_first(faults: Faults) -> None:
    assert faults.without_and_with("order_of_wakeups", "_deliver_wakeups_in_order") == ([3, 2, 1], [1, 2, 3])


@pytest.mark.skipif(not os.path.exists("/etc/localtime"), reason="the library sets TZ only where this file is")
def test_a_process_keeps_its_time_zone(faults: Faults) -> None:
    assert faults.without_and_with("time_zone_set", "_leave_the_time_zone_alone") == (True, False)


def test_a_thread_transmits_without_a_connection_to_its_own_process(faults: Faults) -> None:
    assert faults.without_and_with("interruptions", "_let_any_thread_transmit") == (True, False)


def test_the_admin_outlives_its_logger(faults: Faults) -> None:
    assert faults.without_and_with("admin_survives_its_logger", "_restart_the_logger") == (False, True)


def test_a_client_never_starts_a_system(faults: Faults) -> None:
    assert faults.without_and_with("joining_where_nothing_runs", "_never_start_an_admin") == ("started one", "refused")


def test_the_creation_of_an_actor_is_given_up_soon(faults: Faults) -> None:
    assert faults.without_and_with("creating_ends_soon", "_give_up_on_creation") == (False, True)


def test_a_signal_of_an_actor_is_not_written_into_what_its_starter_has_open(faults: Faults) -> None:
    assert faults.without_and_with("signals_of_the_admin_seen_here", "_end_with_the_parent") == (True, False)


def test_the_transport_makes_no_selector_for_each_turn(faults: Faults) -> None:
    assert faults.without_and_with("selectors_made", "_turn_faster") == (True, False)


@pytest.fixture
def strays() -> Iterator[list[str]]:
    """Processes to be ended, each named so that no other is taken for it."""
    found: list[str] = []
    yield found
    for process in found:
        if processes.is_alive(process):
            os.kill(int(process.partition("-")[0]), signal.SIGKILL)


def identities(seen: dict[str, Any]) -> list[str]:
    return [processes.identity(pid) for pid in seen["processes"]]


def test_actors_outlive_their_starter_without_the_correction_and_keep_what_it_had_open(
    faults: Faults, strays: list[str]
) -> None:
    seen = faults.seen("what_actors_keep", "_end_with_the_parent")
    strays += identities(seen)
    assert len(strays) >= 2
    assert all(processes.is_alive(process) for process in strays)
    assert seen["holds"]


def test_actors_end_with_their_starter_and_have_nothing_of_what_it_had_open(faults: Faults, strays: list[str]) -> None:
    seen = faults.seen("what_actors_keep")
    strays += identities(seen)
    assert len(strays) >= 2
    eventually(lambda: not any(processes.is_alive(process) for process in strays))
    assert (seen["output"], seen["holds"]) == ("/dev/null", False)


def test_applying_the_corrections_twice_changes_nothing() -> None:
    from thespian.system import multiprocCommon

    corrections.apply()
    before = multiprocCommon.startChild
    corrections.apply()
    assert multiprocCommon.startChild is before


# The set of descriptors that replaces the selector


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def turned(turn: _Turn, timeout: float | None = 0) -> set[tuple[int, int]]:
    return {(ready.fd, events) for ready, events in turn.select(timeout)}


def test_a_turn_tells_what_can_be_read_and_what_can_be_written(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    turn = _Turn()
    turn.register(reader, selectors.EVENT_READ)
    turn.register(writer, selectors.EVENT_WRITE)
    assert turned(turn) == {(writer, selectors.EVENT_WRITE)}
    os.write(writer, b"x")
    assert turned(turn) == {(reader, selectors.EVENT_READ), (writer, selectors.EVENT_WRITE)}


def test_a_turn_in_which_nothing_happens_tells_nothing(pipe: tuple[int, int]) -> None:
    turn = _Turn()
    turn.register(pipe[0], selectors.EVENT_READ)
    assert turned(turn, 0.001) == set()


def test_a_closed_descriptor_is_refused_as_a_selector_does(pipe: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="closed"):
        _Turn().register(-1, selectors.EVENT_READ)


def test_a_turn_with_descriptors_beyond_what_select_takes_tells_the_same(pipe: tuple[int, int]) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2_048
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip("this machine allows no descriptor that high")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    high = 1_500
    os.dup2(pipe[0], high)
    try:
        turn = _Turn()
        turn.register(high, selectors.EVENT_READ)
        turn.register(pipe[1], selectors.EVENT_WRITE)
        os.write(pipe[1], b"x")
        assert turned(turn) == {(high, selectors.EVENT_READ), (pipe[1], selectors.EVENT_WRITE)}
    finally:
        os.close(high)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
