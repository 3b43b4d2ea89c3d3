"""A handler that fails costs its own run only, and the failure can be stored."""

import asyncio
from collections.abc import Callable

import pytest

from bellringer.handlers.context import Context
from bellringer.handlers.run import run
from bellringer.handlers.text import TRACEBACK_BYTES
from bellringer.storage.values import RunResult
from tests.handlers.world import NOON, SECOND, World


def raising(error: BaseException, plain: bool) -> Callable[[object, object], object]:
    async def on_the_loop(ctx: object, payload: object) -> None:
        raise error

    def in_a_thread(ctx: object, payload: object) -> None:
        raise error

    return in_a_thread if plain else on_the_loop


def test_an_exception_is_a_failure_with_its_reason_and_traceback(world: World) -> None:
    async def work(ctx: Context, payload: dict[str, str]) -> None:
        payload["missing"]

    result = world.run(work, payload="{}")

    assert (result.verdict, result.reason) == ("failed", "KeyError: 'missing'")
    assert 'payload["missing"]' in (result.traceback or "")
    assert "handlers/run.py" not in (result.traceback or "")


def test_the_result_says_when_the_handler_began_and_when_it_ended(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        world.clock.now += 3 * SECOND

    result = world.run(work)

    assert (result.started_at, result.finished_at) == (NOON, NOON + 3 * SECOND)


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize(
    "kind", [SystemExit, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit, BaseException, StopIteration]
)
def test_b51_b77_whatever_a_handler_raises_fails_only_its_own_run(
    world: World, kind: type[BaseException], plain: bool
) -> None:
    async def fine(ctx: object, payload: object) -> None: ...

    world.add(raising(kind(), plain), "bad")
    world.add(fine, "fine")

    async def main() -> list[RunResult]:
        environment = world.environment()
        return await asyncio.gather(*(run(world.order(name), environment) for name in ("bad", "fine", "bad", "fine")))

    results = asyncio.run(main())

    assert [result.verdict for result in results] == ["failed", "done", "failed", "done"]
    assert kind.__name__ in (results[0].reason or "") + (results[0].traceback or "")


def test_b51_a_handler_that_cancels_its_own_task_has_failed(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.Event().wait()

    result = world.run(work)

    assert (result.verdict, result.reason) == ("failed", "CancelledError")


def test_b43_a_handler_that_sends_and_then_raises_has_sent_once_and_is_told_once(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        await ctx.reply("hello")
        raise ValueError("after sending")

    result = world.run(work)

    assert world.transport.texts == ["hello"]
    assert (result.verdict, result.reason, result.delivered) == ("failed", "ValueError: after sending", ("1",))


@pytest.mark.parametrize("message", ["\ud83c", "a\0b", "🎂", "\u200f"])
def test_b65_the_text_of_any_error_can_be_stored(world: World, message: str) -> None:
    result = world.run(raising(ValueError(message), plain=False))

    for text in (result.reason, result.traceback):
        assert text is not None
        assert "ValueError" in text
        assert "\0" not in text
        text.encode()


@pytest.mark.parametrize("letter", ["x", "🎂", "\ud83c"])
def test_b65_a_huge_error_is_cut_keeping_the_end_of_its_traceback(world: World, letter: str) -> None:
    result = world.run(raising(ValueError(letter * 1_000_000 + "the end"), plain=False))

    assert (result.traceback or "").rstrip().endswith("the end")
    assert len((result.traceback or "").encode()) <= TRACEBACK_BYTES
    assert (result.reason or "").startswith("ValueError: ")
    assert len((result.reason or "").encode()) <= 1024


def test_b65_an_error_whose_message_can_not_be_made_is_still_told(world: World) -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise KeyboardInterrupt

    result = world.run(raising(Broken(), plain=False))

    assert result.verdict == "failed"
    assert result.reason == "Broken: (its message could not be made: KeyboardInterrupt)"


def test_a_payload_that_can_not_be_read_parks_the_job_without_calling_the_handler(world: World) -> None:
    calls = []

    async def work(ctx: Context, payload: object) -> None:
        calls.append(1)

    result = world.run(work, payload="{broken")

    assert (result.verdict, calls) == ("park", [])
    assert "the stored payload is not JSON" in (result.reason or "")


def test_an_order_for_an_unknown_handler_is_handed_back_unstarted(world: World) -> None:
    result = asyncio.run(run(world.order("nobody"), world.environment()))

    assert (result.verdict, result.reason) == ("not_started", "this host knows no handler 'nobody'")
