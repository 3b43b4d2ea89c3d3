"""Processes whose end is noticed at once."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from bellringer.actors import processes
from bellringer.actors.watch import Watch

PATIENCE_MS = 10_000


@pytest.fixture
def watch() -> Iterator[Watch]:
    made = Watch()
    yield made
    made.close()


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that does nothing until it is ended."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as made:
        yield made
        made.kill()


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(PATIENCE_MS))


def test_the_descriptor_of_a_process_becomes_readable_when_it_ends(
    watch: Watch, child: "subprocess.Popen[bytes]"
) -> None:
    process = processes.identity(child.pid)
    assert watch.add(process, processes)
    assert process in watch
    (descriptor,) = watch.descriptors
    child.send_signal(signal.SIGKILL)
    assert readable(descriptor)
    assert watch.ended([descriptor]) == [process]
    assert process not in watch
    assert (watch.descriptors, is_open(descriptor)) == ([], False)


def test_a_process_is_watched_once(watch: Watch) -> None:
    process = processes.identity()
    assert watch.add(process, processes)
    assert watch.add(process, processes)
    assert len(watch.descriptors) == 1


def test_a_process_that_has_ended_already_is_not_watched(watch: Watch, child: "subprocess.Popen[bytes]") -> None:
    process = processes.identity(child.pid)
    child.kill()
    child.wait()
    assert watch.add(process, processes) is False
    assert watch.descriptors == []


def test_a_descriptor_that_is_not_watched_tells_of_nobody(watch: Watch) -> None:
    watch.add(processes.identity(), processes)
    assert watch.ended([999_999]) == []
    assert len(watch.descriptors) == 1


def test_closing_lets_all_descriptors_go() -> None:
    watch = Watch()
    watch.add(processes.identity(), processes)
    (descriptor,) = watch.descriptors
    watch.close()
    assert (watch.descriptors, is_open(descriptor)) == ([], False)
