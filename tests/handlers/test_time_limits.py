"""A handler that does not end is cut, and told as what it is."""

import asyncio
import contextlib
import threading

import pytest

from bellringer.handlers.context import Context, SyncContext
from bellringer.handlers.environment import Environment
from bellringer.handlers.errors import RunEndedError
from bellringer.handlers.run import run, start
from bellringer.storage.values import RunResult
from tests.handlers.world import World

SHORT = 10_000


def test_b77_an_async_handler_past_its_limit_is_cancelled_and_has_failed(world: World) -> None:
    cleaned_up = []

    async def work(ctx: Context, payload: object) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned_up.append(1)

    result = world.run(work, time_limit_us=SHORT)

    assert (result.verdict, cleaned_up) == ("failed", [1])
    assert result.reason == "time limit: the handler ran longer than 0.01 s"
    assert "Event().wait()" in (result.traceback or "")


def test_a_handler_that_shrugs_off_its_cancellation_and_returns_has_still_overrun(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    result = world.run(work, time_limit_us=SHORT)

    assert (result.reason or "").startswith("time limit")


def test_a_handler_that_refuses_to_be_cancelled_is_told_after_a_grace_and_left_behind(world: World) -> None:
    async def main() -> None:
        let_go = asyncio.Event()

        async def work(ctx: Context, payload: object) -> None:
            while not let_go.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await let_go.wait()
            with pytest.raises(RunEndedError):
                await ctx.reply("nobody records this")

        world.add(work)
        environment = world.environment()
        result = await run(world.order(time_limit_us=SHORT), environment)
        assert (result.reason or "").startswith("time limit")
        assert environment.stuck_tasks == 1

        let_go.set()
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
        assert environment.stuck_tasks == 0

    asyncio.run(main())
    assert world.transport.sent == []


def test_b77_a_stuck_thread_is_left_behind_and_the_host_can_tell(world: World) -> None:
    let_go = threading.Event()
    ended = threading.Event()

    def stuck(ctx: SyncContext, payload: object) -> None:
        let_go.wait(10)
        with contextlib.suppress(RunEndedError):
            ctx.reply("nobody records this")
        ended.set()

    async def fine(ctx: object, payload: object) -> None: ...

    def fine_too(ctx: object, payload: object) -> None: ...

    for name, function in (("stuck", stuck), ("fine", fine), ("fine too", fine_too)):
        world.add(function, name)

    async def main() -> tuple[RunResult, list[RunResult], Environment]:
        environment = world.environment(threads=1)
        cut = await run(world.order("stuck", time_limit_us=SHORT), environment)
        assert environment.stuck_threads == 1
        others = [await run(world.order(name), environment) for name in ("fine", "fine too")]
        let_go.set()
        await asyncio.to_thread(ended.wait, 10)
        return cut, others, environment

    cut, others, environment = asyncio.run(main())

    assert (cut.reason or "").startswith("time limit")
    assert "let_go.wait(10)" in (cut.traceback or "")
    assert [result.verdict for result in others] == ["done", "done"]
    assert world.transport.sent == []
    while environment.stuck_threads:
        threading.Event().wait(0.001)


def test_a_thread_that_hangs_in_the_transport_is_freed_by_its_time_limit(world: World) -> None:
    async def hang(*arguments: object, **options: object) -> int:
        await asyncio.Event().wait()
        return 1

    world.transport.send = hang  # type: ignore[method-assign]

    def work(ctx: SyncContext, payload: object) -> None:
        ctx.reply("never")

    world.add(work)

    async def main() -> None:
        environment = world.environment()
        result = await run(world.order(time_limit_us=SHORT), environment)
        assert (result.reason or "").startswith("time limit")
        assert environment.stuck_threads == 0

    asyncio.run(main())


def test_cancelling_a_run_interrupts_its_handler_and_still_gives_a_result(world: World) -> None:
    async def main() -> RunResult:
        begun = asyncio.Event()

        async def work(ctx: Context, payload: object) -> None:
            ctx.session["count"] = 1
            ctx.schedule("remind", id="a", after=1)
            begun.set()
            await asyncio.Event().wait()

        world.add(work)
        running = asyncio.create_task(run(world.order(), world.environment()))
        await begun.wait()
        running.cancel()
        return await running

    result = asyncio.run(main())

    assert (result.verdict, result.session_set) == ("interrupted", None)
    assert [spec.id for spec in result.scheduled] == ["a"]


def test_b93_a_thread_that_finishes_within_the_grace_of_an_interrupt_is_done(world: World) -> None:
    begun, let_go = threading.Event(), threading.Event()

    def work(ctx: SyncContext, payload: object) -> None:
        begun.set()
        let_go.wait(10)
        ctx.session["count"] = 1

    world.add(work)

    async def main() -> RunResult:
        told: asyncio.Future[RunResult] = asyncio.get_running_loop().create_future()
        running = start(world.order(), world.environment(), told.set_result)
        await asyncio.to_thread(begun.wait, 10)
        running.interrupt()
        let_go.set()
        return await told

    result = asyncio.run(main())

    assert (result.verdict, result.session_set) == ("done", '{"count":1}')


def test_a_run_tells_its_result_once_however_often_it_is_interrupted(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        await asyncio.Event().wait()

    world.add(work)

    async def main() -> list[RunResult]:
        results: list[RunResult] = []
        told = asyncio.Event()

        def report(result: RunResult) -> None:
            results.append(result)
            told.set()

        running = start(world.order(), world.environment(), report)
        while running.started_at is None:
            await asyncio.sleep(0)
        running.interrupt()
        running.interrupt()
        await told.wait()
        running.interrupt()
        return results

    assert [result.verdict for result in asyncio.run(main())] == ["interrupted"]


def test_a_run_interrupted_before_its_first_step_was_not_started(world: World) -> None:
    calls = []

    async def work(ctx: Context, payload: object) -> None:
        calls.append(1)

    world.add(work)

    async def main() -> RunResult:
        told: asyncio.Future[RunResult] = asyncio.get_running_loop().create_future()
        start(world.order(), world.environment(), told.set_result).interrupt()
        return await told

    result = asyncio.run(main())

    assert (result.verdict, calls) == ("not_started", [])
