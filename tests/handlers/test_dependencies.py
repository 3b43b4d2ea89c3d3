"""Dependencies are built once per host, at first need, and cleaned up when it ends."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from bellringer.handlers.context import Context, SyncContext
from bellringer.handlers.dependencies import Dependencies, Factories, dependency
from bellringer.handlers.environment import Environment
from bellringer.handlers.errors import DependencyError, HandlerRegistrationError
from bellringer.handlers.run import run
from bellringer.storage.values import RunResult
from tests.handlers.world import World


def run_orders(world: World, *names: str) -> list[RunResult]:
    """One host that runs these at once and then ends."""

    async def main() -> list[RunResult]:
        environment = world.environment()
        results = await asyncio.gather(*(run(world.order(name), environment) for name in names))
        await environment.close()
        return results

    return asyncio.run(main())


def test_a_handler_finds_what_it_needs_in_its_context(world: World) -> None:
    @dependency("db", factories=world.factories)
    async def connect() -> str:
        return "connected"

    seen = []

    async def work(ctx: Context, payload: object) -> None:
        seen.append(ctx.dependencies["db"])

    world.add(work, needs=["db"])

    assert run_orders(world, "work")[0].verdict == "done"
    assert seen == ["connected"]


def test_a_dependency_is_built_once_however_many_runs_need_it_at_once(world: World) -> None:
    built = []

    async def connect() -> object:
        await asyncio.sleep(0)
        built.append(1)
        return object()

    world.factories.add("db", connect)
    seen = set()

    async def work(ctx: Context, payload: object) -> None:
        seen.add(ctx.dependencies["db"])

    world.add(work, needs=["db"])
    run_orders(world, *["work"] * 10)

    assert (len(built), len(seen)) == (1, 1)


def test_what_nobody_needs_is_not_built(world: World) -> None:
    built = []
    world.factories.add("db", lambda: built.append(1))

    async def work(ctx: Context, payload: object) -> None: ...

    world.add(work)
    run_orders(world, "work")

    assert built == []


def a_plain_function() -> str:
    return "value"


async def an_async_function() -> str:
    return "value"


def a_generator() -> Iterator[str]:
    yield "value"


async def an_async_generator() -> AsyncIterator[str]:
    yield "value"


@pytest.mark.parametrize(
    "factory",
    [
        a_plain_function,
        an_async_function,
        a_generator,
        an_async_generator,
        contextlib.contextmanager(a_generator),
        contextlib.asynccontextmanager(an_async_generator),
    ],
)
def test_a_factory_may_be_any_of_these(factory: Callable[..., object]) -> None:
    async def main() -> object:
        factories = Factories()
        factories.add("db", factory)
        dependencies = Dependencies(factories)
        value = await dependencies.get("db")
        await dependencies.close()
        return value

    assert asyncio.run(main()) == "value"


def test_what_was_built_first_is_cleaned_up_last(world: World) -> None:
    steps = []

    async def first() -> AsyncIterator[str]:
        steps.append("first opened")
        yield "first"
        steps.append("first closed")

    def second() -> Iterator[str]:
        steps.append("second opened")
        yield "second"
        steps.append("second closed")

    world.factories.add("first", first)
    world.factories.add("second", second)

    async def work(ctx: Context, payload: object) -> None:
        steps.append("ran")

    world.add(work, needs=["first", "second"])
    run_orders(world, "work")

    assert steps == ["first opened", "second opened", "ran", "second closed", "first closed"]


def test_a_value_that_happens_to_be_a_context_manager_is_left_alone(world: World) -> None:
    world.factories.add("lock", threading.Lock)

    async def work(ctx: Context, payload: object) -> None:
        assert not ctx.dependencies["lock"].locked()

    world.add(work, needs=["lock"])

    assert run_orders(world, "work")[0].verdict == "done"


@pytest.mark.parametrize("error", [ConnectionError("refused"), SystemExit(1), asyncio.CancelledError()])
def test_b104_a_dependency_that_can_not_be_built_is_no_failure_of_the_handler_which_is_not_called(
    world: World, error: BaseException
) -> None:
    async def connect() -> None:
        raise error

    world.factories.add("db", connect)
    calls = []

    async def work(ctx: Context, payload: object) -> None:
        calls.append(1)

    async def other(ctx: Context, payload: object) -> None: ...

    world.add(work, needs=["db"])
    world.add(other, "other")

    broken, fine = run_orders(world, "work", "other")

    assert (broken.verdict, fine.verdict, calls) == ("context_failed", "done", [])
    assert "the dependency 'db' could not be built" in (broken.reason or "")
    assert type(error).__name__ in (broken.reason or "")


def test_b104_the_next_run_tries_to_build_it_again(world: World) -> None:
    states = iter([ConnectionError("still down"), None])

    async def connect() -> str:
        error = next(states)
        if error:
            raise error
        return "connected"

    world.factories.add("db", connect)

    async def work(ctx: Context, payload: object) -> None: ...

    world.add(work, needs=["db"])

    async def main() -> list[str]:
        environment = world.environment()
        return [(await run(world.order(), environment)).verdict for _ in range(2)]

    assert asyncio.run(main()) == ["context_failed", "done"]


def test_a_factory_that_hangs_is_given_up_at_its_limit() -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    factories = Factories()
    factories.add("db", hang)

    async def main() -> None:
        with pytest.raises(DependencyError, match="TimeoutError"):
            await Dependencies(factories, limit_s=0.01).get("db")

    asyncio.run(main())


def test_a_run_that_is_cancelled_while_it_waits_takes_the_dependency_from_nobody(world: World) -> None:
    async def main() -> list[str]:
        ready = asyncio.Event()

        async def connect() -> str:
            await ready.wait()
            return "connected"

        async def work(ctx: Context, payload: object) -> None: ...

        world.factories.add("db", connect)
        world.add(work, needs=["db"])
        environment = world.environment()
        first, second = (asyncio.create_task(run(world.order(), environment)) for _ in range(2))
        for _ in range(5):
            await asyncio.sleep(0)
        first.cancel()
        await first
        ready.set()
        return [(await task).verdict for task in (first, second)]

    assert asyncio.run(main()) == ["not_started", "done"]


def test_a_clean_up_that_fails_is_logged_and_the_others_go_on(world: World, caplog: pytest.LogCaptureFixture) -> None:
    closed = []

    def good() -> Iterator[str]:
        yield "good"
        closed.append("good")

    def bad() -> Iterator[str]:
        yield "bad"
        raise ValueError("not today")

    world.factories.add("good", good)
    world.factories.add("bad", bad)

    async def work(ctx: Context, payload: object) -> None: ...

    world.add(work, needs=["good", "bad"])
    run_orders(world, "work")

    assert closed == ["good"]
    assert "the clean-up of dependency 'bad' failed: ValueError: not today" in caplog.text


def test_reaching_for_what_was_not_declared_is_a_failure_that_says_how_to_declare_it(world: World) -> None:
    world.factories.add("db", a_plain_function)

    async def work(ctx: Context, payload: object) -> None:
        ctx.dependencies["db"]

    world.add(work)
    (result,) = run_orders(world, "work")

    assert result.verdict == "failed"
    assert "needs=['db']" in (result.reason or "")


def test_a_dependency_can_be_taken_without_declaring_it(world: World) -> None:
    world.factories.add("db", a_plain_function)
    seen = []

    async def work(ctx: Context, payload: object) -> None:
        seen.append(await ctx.dependency("db"))

    def plain(ctx: SyncContext, payload: object) -> None:
        seen.append(ctx.dependency("db"))

    world.add(work)
    world.add(plain, "plain")
    run_orders(world, "work", "plain")

    assert seen == ["value", "value"]


def test_a_handler_that_takes_one_that_can_not_be_built_has_not_failed_either(world: World) -> None:
    def connect() -> None:
        raise ConnectionError("refused")

    world.factories.add("db", connect)

    async def work(ctx: Context, payload: object) -> None:
        await ctx.dependency("db")

    world.add(work)
    (result,) = run_orders(world, "work")

    assert result.verdict == "context_failed"
    assert "ConnectionError: refused" in (result.reason or "")


def test_a_dependency_that_nobody_registered_is_told_by_name(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None: ...

    world.add(work, needs=["db"])
    (result,) = run_orders(world, "work")

    assert result.verdict == "context_failed"
    assert "no dependency 'db' is registered" in (result.reason or "")


def test_a_host_that_has_ended_builds_nothing_more(world: World) -> None:
    world.factories.add("db", a_plain_function)

    async def main() -> None:
        environment: Environment = world.environment()
        await environment.close()
        with pytest.raises(DependencyError, match="this host is ending"):
            await environment.dependencies.get("db")

    asyncio.run(main())


def test_a_factory_without_a_name_or_with_arguments_is_refused() -> None:
    with pytest.raises(HandlerRegistrationError, match="a dependency needs a name"):
        dependency(a_plain_function)  # type: ignore[arg-type]
    with pytest.raises(HandlerRegistrationError, match="must work without arguments"):
        Factories().add("db", lambda address: address)


def test_a_name_taken_by_another_factory_is_refused() -> None:
    factories = Factories()
    factories.add("db", a_plain_function)

    factories.add("db", a_plain_function)
    with pytest.raises(HandlerRegistrationError, match="already"):
        factories.add("db", an_async_function)
