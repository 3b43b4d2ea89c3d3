"""Closures of a process: the scheduler has their timers, the process runs them, and they are gone with it."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bellringer
import bellringer.aio
from bellringer import Event, SchedulerHandle
from tests.actors.systems import PATIENCE_S, eventually, pid_of

pytestmark = pytest.mark.usefixtures("scheduler")


@pytest.fixture
def handle(scheduler: SchedulerHandle, database: Path) -> Iterator[SchedulerHandle]:
    connected = bellringer.connect(database)
    yield connected
    connected.stop(grace=1.0)


class Rings:
    """A closure that notes when it began and ended, and where."""

    def __init__(self, takes_s: float = 0.0) -> None:
        self._takes_s = takes_s
        self.began: list[float] = []
        self.ended: list[float] = []
        self.threads: list[threading.Thread] = []

    def __call__(self) -> None:
        self.began.append(time.monotonic())
        self.threads.append(threading.current_thread())
        threading.Event().wait(self._takes_s)
        self.ended.append(time.monotonic())


def test_run_after_calls_once_and_not_early(handle: SchedulerHandle) -> None:
    rings, asked_at = Rings(), time.monotonic()
    job_id = handle.run_after(0.1, rings)
    eventually(lambda: rings.ended)
    assert rings.began[0] - asked_at >= 0.1
    eventually(lambda: handle.get(job_id) is None or handle.get(job_id).is_finished)  # type: ignore[union-attr]
    assert len(rings.began) == 1


def test_arguments_are_passed_on(handle: SchedulerHandle) -> None:
    told: list[object] = []
    handle.run_after(0, lambda *arguments: told.append(arguments), 1, "two")
    eventually(lambda: told == [(1, "two")])


def test_run_every_begins_each_interval_when_the_run_before_has_ended(handle: SchedulerHandle) -> None:
    rings = Rings(takes_s=0.06)
    job_id = handle.run_every(0.05, rings)
    eventually(lambda: len(rings.ended) >= 5)
    handle.cancel(job_id)
    pauses = [began - ended for began, ended in zip(rings.began[1:], rings.ended, strict=False)]
    assert min(pauses) >= 0.05
    assert sorted(pauses)[len(pauses) // 2] < 0.25


def test_run_every_starts_one_interval_from_now(handle: SchedulerHandle) -> None:
    rings, asked_at = Rings(), time.monotonic()
    job_id = handle.run_every(0.2, rings)
    eventually(lambda: rings.began)
    handle.cancel(job_id)
    assert rings.began[0] - asked_at >= 0.2


def test_a_plain_function_runs_in_another_thread_where_there_is_no_loop(handle: SchedulerHandle) -> None:
    rings = Rings()
    handle.run_after(0, rings)
    eventually(lambda: rings.ended)
    assert rings.threads != [threading.main_thread()]


def test_two_slow_functions_run_side_by_side(handle: SchedulerHandle) -> None:
    together = threading.Barrier(2)
    met: list[int] = []
    for _ in range(2):
        handle.run_after(0, lambda: met.append(together.wait(PATIENCE_S)))
    eventually(lambda: sorted(met) == [0, 1])


def test_a_cancelled_closure_never_runs(handle: SchedulerHandle) -> None:
    rings, later = Rings(), Rings()
    job_id = handle.run_after(0.5, rings, id="to cancel")
    assert handle.cancel(job_id, "nobody").cancelled == ("to cancel",)
    handle.run_after(0.6, later)
    eventually(lambda: later.began)
    assert rings.began == []


def test_a_closure_that_cancels_itself_runs_no_more(handle: SchedulerHandle) -> None:
    rings, later = Rings(), Rings()

    def once() -> None:
        rings()
        handle.cancel("itself")
        handle.run_after(0.1, later)

    handle.run_every(0.03, once, id="itself")
    eventually(lambda: later.began)
    assert len(rings.began) == 1
    assert handle.get("itself") is None or handle.get("itself").is_finished  # type: ignore[union-attr]


def test_the_same_id_again_replaces_the_closure(handle: SchedulerHandle) -> None:
    first, second = Rings(), Rings()
    handle.run_after(0.5, first, id="replaced")
    handle.run_after(0.5, second, id="replaced")
    eventually(lambda: second.began)
    assert first.began == []


def test_a_closure_is_listed_without_the_word_that_it_is_stored_under(handle: SchedulerHandle) -> None:
    job_id = handle.run_after(3_600, print)
    job = handle.get(job_id)
    assert job is not None
    assert (job.handler, job.status) == ("(closure)", "scheduled")
    assert job_id in [listed.id for listed in handle.pending(limit=1_000)]
    before = handle.health()
    assert before.in_memory >= 1
    handle.cancel(job_id)
    assert handle.health().in_memory == before.in_memory - 1


def test_an_exception_in_a_closure_is_told_as_an_event_and_a_repeating_one_goes_on(handle: SchedulerHandle) -> None:
    told: list[Event] = []
    calls: list[int] = []

    def fails() -> None:
        calls.append(1)
        raise LookupError("no such poll")

    handle.listen(told.append)
    handle.run_every(0.03, fails, id="fails")
    eventually(lambda: len(calls) >= 3)
    handle.cancel("fails")
    eventually(lambda: [event for event in told if event.job_id == "fails"])
    event = next(event for event in told if event.job_id == "fails")
    assert event.kind == "job.error"
    assert event.reason is not None
    assert "no such poll" in event.reason


def test_a_closure_ends_at_its_time_limit(handle: SchedulerHandle) -> None:
    told: list[Event] = []

    async def hangs() -> None:
        await asyncio.Event().wait()

    handle.listen(told.append)
    handle.run_after(0, hangs, id="hangs", time_limit=0.05)
    eventually(lambda: [event for event in told if event.job_id == "hangs"])
    assert told[0].kind == "job.error"


def test_a_listener_that_fails_keeps_no_event_from_another(handle: SchedulerHandle) -> None:
    told: list[Event] = []

    def fails(event: Event) -> None:
        raise ValueError(event.kind)

    handle.listen(fails)
    handle.listen(told.append)
    handle.run_after(0, print, id="quiet")
    handle.run_after(0, lambda: 1 / 0, id="loud")
    eventually(lambda: any(event.job_id == "loud" for event in told))


# On the loop of the process


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_closures_of_an_event_loop_run_on_that_loop(database: Path, kind: str) -> None:
    async def main() -> bool:
        loop = asyncio.get_running_loop()
        seen: asyncio.Future[object] = loop.create_future()

        def plain() -> None:
            seen.set_result(asyncio.get_running_loop())

        async def awaited() -> None:
            await asyncio.sleep(0)
            plain()

        async with bellringer.aio.connect(database) as handle:
            await handle.run_after(0.01, plain if kind == "plain" else awaited)
            return await asyncio.wait_for(seen, PATIENCE_S) is loop

    assert asyncio.run(main())


def test_a_plain_handle_used_on_an_event_loop_runs_closures_on_it(database: Path) -> None:
    async def main() -> bool:
        loop = asyncio.get_running_loop()
        seen: asyncio.Future[object] = loop.create_future()
        handle = bellringer.connect(database)
        handle.run_after(0.01, lambda: seen.set_result(asyncio.get_running_loop()))
        here = await asyncio.wait_for(seen, PATIENCE_S) is loop
        await asyncio.to_thread(handle.stop)
        return here

    assert asyncio.run(main())


def test_run_every_on_a_loop_rests_between_runs(database: Path) -> None:
    async def main() -> list[float]:
        began: list[float] = []
        ended: list[float] = []
        enough = asyncio.Event()

        async def slow() -> None:
            began.append(time.monotonic())
            await asyncio.sleep(0.04)
            ended.append(time.monotonic())
            if len(ended) == 4:
                enough.set()

        async with bellringer.aio.connect(database) as handle:
            await handle.run_every(0.05, slow)
            await asyncio.wait_for(enough.wait(), PATIENCE_S)
        return [later - before for later, before in zip(began[1:], ended, strict=False)]

    assert min(asyncio.run(main())) >= 0.05


# When something ends


def kill_scheduler(handle: SchedulerHandle) -> str:
    process = handle.health().process
    os.kill(pid_of(process), signal.SIGKILL)
    return process


def test_a_repeating_closure_goes_on_after_the_scheduler_was_killed(handle: SchedulerHandle) -> None:
    rings = Rings()
    handle.run_every(0.03, rings, id="goes on")
    eventually(lambda: len(rings.began) >= 2)
    process = kill_scheduler(handle)
    eventually(lambda: handle.health().process != process)
    before = len(rings.began)
    eventually(lambda: len(rings.began) >= before + 3)
    handle.cancel("goes on")
    assert all(began >= ended for began, ended in zip(rings.began[1:], rings.ended, strict=False))


def test_a_closure_that_waits_runs_once_though_the_scheduler_was_killed(handle: SchedulerHandle) -> None:
    rings, asked_at = Rings(), time.monotonic()
    handle.run_after(0.5, rings)
    kill_scheduler(handle)
    eventually(lambda: rings.ended)
    later = Rings()
    handle.run_after(0.2, later)
    eventually(lambda: later.ended)
    assert len(rings.began) == 1
    assert 0.5 <= rings.began[0] - asked_at < 2.0


@pytest.mark.parametrize("repeating", [False, True])
def test_a_closure_that_runs_while_the_scheduler_is_killed_is_not_begun_beside_itself(
    handle: SchedulerHandle, repeating: bool
) -> None:
    began, go_on = threading.Semaphore(0), threading.Event()
    begun: list[int] = []

    def slow() -> None:
        begun.append(1)
        began.release()
        go_on.wait(PATIENCE_S)

    if repeating:
        handle.run_every(0.01, slow, id="slow")
    else:
        handle.run_after(0, slow, id="slow")
    assert began.acquire(timeout=PATIENCE_S)
    process = kill_scheduler(handle)
    eventually(lambda: handle.health().process != process)
    later = Rings()
    handle.run_after(0.1, later)
    eventually(lambda: later.ended)
    assert begun == [1]
    go_on.set()
    if repeating:
        eventually(lambda: len(begun) >= 3)
        handle.cancel("slow")
    else:
        eventually(lambda: handle.get("slow") is None or handle.get("slow").is_finished)  # type: ignore[union-attr]
        assert begun == [1]


def test_a_closure_that_replaces_one_that_still_runs_is_called(handle: SchedulerHandle) -> None:
    began, go_on, second = threading.Event(), threading.Event(), Rings()

    def slow() -> None:
        began.set()
        go_on.wait(PATIENCE_S)

    handle.run_after(0, slow, id="replaces")
    assert began.wait(PATIENCE_S)
    handle.run_after(0, second, id="replaces")
    eventually(lambda: second.ended)
    go_on.set()


WITH_A_CLOSURE = """
import sys, threading, bellringer
handle = bellringer.connect(sys.argv[1])
handle.run_after(3_600, print, id="of another process")
handle.run_every(3_600, print)
print("kept", flush=True)
{end}
"""


def with_closures(database: Path, end: str) -> subprocess.Popen[bytes]:
    """A process that has two closures kept, and then does this."""
    process = subprocess.Popen(
        [sys.executable, "-c", WITH_A_CLOSURE.format(end=end), str(database)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"kept\n"
    return process


@pytest.fixture
def ending(handle: SchedulerHandle, database: Path) -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []

    def start(end: str) -> subprocess.Popen[bytes]:
        started.append(with_closures(database, end))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_closures_vanish_with_a_process_that_is_killed(
    handle: SchedulerHandle, ending: Callable[[str], subprocess.Popen[bytes]]
) -> None:
    before = handle.health().in_memory
    process = ending("threading.Event().wait()")
    assert handle.health().in_memory == before + 2
    process.kill()
    eventually(lambda: handle.health().in_memory == before)
    assert "of another process" in handle.cancel("of another process").unknown


def test_closures_vanish_with_a_handle_that_is_stopped(
    handle: SchedulerHandle, ending: Callable[[str], subprocess.Popen[bytes]]
) -> None:
    before = handle.health().in_memory
    process = ending("handle.stop(); threading.Event().wait()")
    eventually(lambda: handle.health().in_memory == before)
    assert process.poll() is None


def test_b94_a_process_that_ends_without_a_stop_ends_at_once(
    handle: SchedulerHandle, ending: Callable[[str], subprocess.Popen[bytes]]
) -> None:
    before = handle.health().in_memory
    process = ending("")
    assert process.wait(PATIENCE_S) == 0
    eventually(lambda: handle.health().in_memory == before)
