"""A plain `def` handler runs in a thread, and can do the same by blocking."""

import asyncio
import threading

from bellringer.handlers.context import SyncContext
from bellringer.handlers.environment import Environment
from bellringer.handlers.outcomes import Retry
from bellringer.handlers.run import run
from bellringer.storage.values import RunResult
from tests.handlers.world import NOON, SECOND, World


def test_it_replies_edits_and_deletes_by_blocking(world: World) -> None:
    def work(ctx: SyncContext, payload: object) -> None:
        here = ctx.reply("one")
        there = ctx.send("@news", "two")
        ctx.edit(here, "three")
        ctx.delete(there, chat_id="@news")

    result = world.run(work)

    assert (result.verdict, result.delivered) == ("done", ("1", "2"))
    assert world.transport.texts == ["one", "two"]
    assert world.transport.edited == [(42, 1, "three")]
    assert world.transport.deleted == [("@news", 2)]


def test_its_session_schedules_and_outcome_count_like_those_of_others(world: World) -> None:
    def work(ctx: SyncContext, payload: object) -> Retry:
        ctx.session["count"] = 1
        ctx.schedule("remind", id="a", after=1)
        ctx.cancel("b")
        return Retry(after=1)

    result = world.run(work)

    assert (result.verdict, result.session_set, result.cancelled) == ("retry", '{"count":1}', ("b",))
    assert [spec.id for spec in result.scheduled] == ["a"]


def test_it_does_not_hold_up_the_loop(world: World) -> None:
    opened = threading.Event()

    def blocking(ctx: SyncContext, payload: object) -> None:
        assert opened.wait(10)

    async def opening(ctx: object, payload: object) -> None:
        opened.set()

    world.add(blocking, "blocking")
    world.add(opening, "opening")

    async def main() -> list[RunResult]:
        environment = world.environment()
        return await asyncio.gather(*(run(world.order(name), environment) for name in ("blocking", "opening")))

    assert [result.verdict for result in asyncio.run(main())] == ["done", "done"]


def test_no_more_of_them_run_at_once_than_there_are_threads(world: World) -> None:
    together = threading.Barrier(3)

    def work(ctx: SyncContext, payload: object) -> None:
        together.wait(10)

    world.add(work)

    async def main() -> list[RunResult]:
        environment = world.environment(threads=3)
        return await asyncio.gather(*(run(world.order(), environment) for _ in range(6)))

    assert [result.verdict for result in asyncio.run(main())] == ["done"] * 6


def test_b33_the_time_that_it_waits_for_a_thread_does_not_count(world: World) -> None:
    first_holds = threading.Event()
    let_go = threading.Event()

    def holds(ctx: SyncContext, payload: object) -> None:
        first_holds.set()
        assert let_go.wait(10)
        world.clock.now = NOON + 60 * SECOND

    def waits(ctx: SyncContext, payload: object) -> None: ...

    world.add(holds, "holds")
    world.add(waits, "waits")

    async def main() -> RunResult:
        environment = world.environment(threads=1)
        holding = asyncio.create_task(run(world.order("holds"), environment))
        await asyncio.to_thread(first_holds.wait, 10)
        waiting = asyncio.create_task(run(world.order("waits", time_limit_us=1_000), environment))
        await passing(10_000)
        let_go.set()
        await holding
        return await waiting

    result = asyncio.run(main())

    assert (result.verdict, result.started_at) == ("done", NOON + 60 * SECOND)


def test_b33_one_that_never_got_a_thread_was_not_started_when_its_host_stops(world: World) -> None:
    let_go = threading.Event()
    begun = threading.Event()
    calls = []

    def holds(ctx: SyncContext, payload: object) -> None:
        begun.set()
        let_go.wait(10)

    def waits(ctx: SyncContext, payload: object) -> None:
        calls.append(1)

    world.add(holds, "holds")
    world.add(waits, "waits")

    async def main() -> tuple[RunResult, Environment]:
        environment = world.environment(threads=1)
        holding = asyncio.create_task(run(world.order("holds"), environment))
        await asyncio.to_thread(begun.wait, 10)
        waiting = asyncio.create_task(run(world.order("waits"), environment))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting.cancel()
        result = await waiting
        let_go.set()
        await holding
        return result, environment

    result, _ = asyncio.run(main())

    assert (result.verdict, calls) == ("not_started", [])


async def passing(microseconds: int) -> None:
    """Let real time pass, as the event loop's timers have no other clock."""
    passed = asyncio.Event()
    asyncio.get_running_loop().call_later(microseconds / 1e6, passed.set)
    await passed.wait()
