"""What a handler can say at its end."""

import math
from datetime import timedelta

import pendulum
import pytest

from bellringer.handlers.context import Context
from bellringer.handlers.outcomes import MAXIMUM_DELAY_US, Park, Retry
from tests.handlers.world import SECOND, World


@pytest.mark.parametrize(
    ("after", "microseconds"),
    [
        (5, 5 * SECOND),
        (0.25, 250_000),
        (1e-9, 1),
        (0, 0),
        (-3, 0),
        (timedelta(minutes=2), 120 * SECOND),
        (pendulum.duration(hours=1), 3600 * SECOND),
        (-math.inf, 0),
    ],
)
def test_a_delay_is_seconds_or_a_duration_rounded_up(after: float, microseconds: int) -> None:
    assert Retry(after=after).after_us == microseconds


@pytest.mark.parametrize("after", [1e300, math.inf, 2**70, timedelta.max])
def test_b25_an_endless_delay_stops_at_a_maximum(after: float) -> None:
    assert Retry(after=after).after_us == MAXIMUM_DELAY_US


@pytest.mark.parametrize("after", [True, "5", math.nan])
def test_what_names_no_delay_is_refused(after: float) -> None:
    with pytest.raises((TypeError, ValueError), match="seconds or a duration"):
        Retry(after=after)


def test_returning_nothing_is_done(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None: ...

    result = world.run(work)

    assert (result.verdict, result.reason, result.traceback) == ("done", None, None)


def test_a_returned_retry_carries_its_delay_and_reason(world: World) -> None:
    async def work(ctx: Context, payload: object) -> Retry:
        return Retry(after=30, reason="rate limit")

    result = world.run(work)

    assert (result.verdict, result.after_us, result.reason) == ("retry", 30 * SECOND, "rate limit")


def test_a_retry_without_a_delay_leaves_it_to_the_scheduler(world: World) -> None:
    async def work(ctx: Context, payload: object) -> Retry:
        return Retry()

    assert world.run(work).after_us is None


def test_a_raised_retry_means_the_same_as_a_returned_one(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        raise Retry(after=5)

    result = world.run(work)

    assert (result.verdict, result.after_us, result.traceback) == ("retry", 5 * SECOND, None)


def test_a_park_carries_its_reason(world: World) -> None:
    async def work(ctx: Context, payload: object) -> Park:
        return Park("the user left")

    result = world.run(work)

    assert (result.verdict, result.reason) == ("park", "the user left")


def test_a_retry_keeps_what_the_handler_changed(world: World) -> None:
    async def work(ctx: Context, payload: object) -> Retry:
        ctx.session["page"] = 3
        return Retry()

    assert world.run(work).session_set == '{"page":3}'


def test_any_other_value_is_a_failure_that_says_what_to_return(world: World) -> None:
    async def work(ctx: Context, payload: object) -> int:
        return 3

    result = world.run(work)

    assert result.verdict == "failed"
    assert result.reason is not None
    assert "returned a value of type int: return nothing, Retry" in result.reason


def test_a_returned_class_is_a_failure_that_says_to_call_it(world: World) -> None:
    async def work(ctx: Context, payload: object) -> type[Retry]:
        return Retry

    assert "Retry(…) with its parentheses" in (world.run(work).reason or "")


@pytest.mark.parametrize("plain", [True, False])
def test_b51_a_coroutine_returned_by_mistake_is_a_failure_that_says_to_await_it(world: World, plain: bool) -> None:
    async def inner() -> None: ...

    def in_a_thread(ctx: object, payload: object) -> object:
        return inner()

    async def on_the_loop(ctx: object, payload: object) -> object:
        return inner()

    result = world.run(in_a_thread if plain else on_the_loop)

    assert result.verdict == "failed"
    assert "put await before the call" in (result.reason or "")
