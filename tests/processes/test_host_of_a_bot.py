"""A bot that is a host: its loops, its forks, its handlers that stop it."""

import asyncio
import gc
import os
import threading
from pathlib import Path

import pytest

import bellringer
from bellringer import Context, Registry, SyncContext
from bellringer.storage.errors import BellringerError
from tests.processes.conftest import StartSystem
from tests.processes.waiting import Stopwatch, until


def test_b42_a_bot_that_reconnects_on_a_new_event_loop_is_a_host_again(start: StartSystem) -> None:
    scheduler, registry, ran = start(handlers=[]), Registry(), []

    async def note(ctx: Context, payload: object) -> None:
        ran.append(ctx.job.id)

    registry.add("note", note)

    async def connected(job_id: str) -> None:
        await asyncio.to_thread(scheduler.attach, registry=registry, loop=asyncio.get_running_loop())
        scheduler.schedule("note", id=job_id, after=0, delivery="at_least_once")
        while job_id not in ran:
            await asyncio.sleep(0.01)

    for number in range(3):
        asyncio.run(asyncio.wait_for(connected(f"job:{number}"), 10.0))
    assert ran == ["job:0", "job:1", "job:2"]
    stopped = Stopwatch()
    scheduler.stop(grace=5.0)
    assert stopped.seconds < 4.0


def test_a_job_that_a_closed_loop_is_given_goes_to_another_host_unbegun(start: StartSystem, database: Path) -> None:
    scheduler, registry, ran = start(handlers=[]), Registry(), threading.Event()

    async def note(ctx: Context, payload: object) -> None:
        ran.set()

    registry.add("note", note)

    async def attached() -> None:
        await asyncio.to_thread(scheduler.attach, registry=registry, loop=asyncio.get_running_loop())

    asyncio.run(attached())
    scheduler.schedule("note", id="kept", after=0)
    with bellringer.connect(database) as other:
        other.attach(registry=registry)
        assert ran.wait(10.0)
        until(lambda: [row.outcome for row in scheduler.history("kept")] == ["done"], "it has run once")


def test_a_second_event_loop_beside_a_running_one_is_refused(start: StartSystem) -> None:
    scheduler = start(handlers=[])
    scheduler.attach(registry=Registry())

    async def attach() -> None:
        scheduler.attach(registry=Registry(), loop=asyncio.get_running_loop())

    with pytest.raises(BellringerError, match="another event loop"):
        asyncio.run(attach())


def test_a_forked_child_is_a_host_of_its_own(start: StartSystem, database: Path) -> None:
    start(handlers=[])
    with bellringer.connect(database) as bot:
        bot.attach(registry=Registry())
        child = os.fork()
        if child == 0:
            called = threading.Event()
            bot.run_after(0.05, called.set)
            os._exit(0 if called.wait(10.0) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_handler_that_stops_its_own_bot_ends_first_and_is_done(start: StartSystem, database: Path) -> None:
    start(handlers=[])
    bot, registry, returned = bellringer.connect(database), Registry(), threading.Event()

    def shut_down(ctx: SyncContext, payload: object) -> None:
        bot.stop()
        returned.set()

    registry.add("shut_down", shut_down)
    bot.attach(registry=registry)
    bot.schedule("shut_down", id="bye", after=0)
    assert returned.wait(5.0)
    with bellringer.connect(database) as other:
        until(lambda: [row.outcome for row in other.history("bye")] == ["done"], "the run is recorded as done")


def test_handles_that_are_dropped_leave_no_descriptor_behind(start: StartSystem, database: Path) -> None:
    start(handlers=[])
    bellringer.connect(database).health()
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        bellringer.connect(database).health()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before + 3


def test_b84_many_jobs_that_kill_their_hosts_end_no_system(start: StartSystem) -> None:
    scheduler = start(handlers=["tests.processes.jobs_hostile"], restarts=3, handler_actors=1)
    for number in range(8):
        scheduler.schedule("faults", id=f"killer:{number}", after=0.2 * number, chat_id=number)
    scheduler.schedule("ok", id="after them", after=2.0)
    until(lambda: scheduler.pending(status="scheduled") == [], "all have been tried", within_s=40.0)
    until(lambda: [row.outcome for row in scheduler.history("after them")] == ["done"], "the rest runs", within_s=40.0)
    assert scheduler.health().restarts == 0
