"""What a handler is given, and what it can do with it."""

import asyncio
from datetime import timedelta

import pendulum
import pytest

from bellringer.handlers.context import Context
from bellringer.handlers.errors import (
    NoChatError,
    NoConversationError,
    NotDeliveredError,
    NoTransportError,
    RunEndedError,
)
from bellringer.handlers.outcomes import Retry
from bellringer.handlers.run import run
from bellringer.storage.errors import InvalidJobError
from bellringer.storage.values import Delivery
from tests.handlers.world import NOON, SECOND, World


def test_a_handler_knows_whom_it_runs_for(world: World) -> None:
    seen = []

    async def work(ctx: Context, payload: object) -> None:
        seen.append((ctx.chat_id, ctx.user_id, ctx.thread_id, payload))

    world.run(work, chat_id=42, user_id=7, thread_id=3, payload='{"text": "tea"}')

    assert seen == [(42, 7, 3, {"text": "tea"})]


def test_a_handler_knows_its_job_and_how_late_it_is(world: World) -> None:
    seen = []

    async def work(ctx: Context, payload: object) -> None:
        seen.append(ctx.job)

    world.clock.now = NOON + 90 * SECOND
    world.run(work, attempt=2, due_at=NOON)

    (job,) = seen
    assert (job.id, job.handler, job.attempt, job.run_key) == ("job:1", "work", 2, "job:1@noon")
    assert job.due_at == pendulum.datetime(2026, 7, 1, 12)
    assert job.due_at.timezone_name == "UTC"
    assert job.late_by == pendulum.duration(seconds=90)
    assert job.is_late


def test_due_times_keep_their_microseconds(world: World) -> None:
    seen = []

    async def work(ctx: Context, payload: object) -> None:
        seen.append(ctx.job.due_at)

    world.run(work, due_at=NOON + 123_457)

    assert seen[0].microsecond == 123_457


def test_lateness_is_never_negative_and_a_few_milliseconds_are_not_late(world: World) -> None:
    seen = []

    async def work(ctx: Context, payload: object) -> None:
        seen.append((ctx.job.late_by.total_seconds(), ctx.job.is_late))

    world.run(work, due_at=NOON + SECOND)
    world.add(work)
    asyncio.run(run(world.order(due_at=NOON - 5_000), world.environment()))

    assert seen == [(0, False), (0.005, False)]


def test_a_reply_goes_to_the_jobs_chat_and_thread(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        await ctx.reply("⏰ tea", reply_to=5, silent=True)

    world.run(work, chat_id=42, thread_id=3)

    (sent,) = world.transport.sent
    assert (sent.chat_id, sent.text, sent.thread_id, sent.reply_to) == (42, "⏰ tea", 3, 5)
    assert sent.options == {"silent": True}


def test_a_message_can_be_sent_elsewhere_edited_and_deleted(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        there = await ctx.send("@news", "one")
        await ctx.edit(there, "two", chat_id="@news")
        await ctx.edit(9, "mine")
        await ctx.delete(9)

    world.run(work, chat_id=42)

    assert [(sent.chat_id, sent.text) for sent in world.transport.sent] == [("@news", "one")]
    assert world.transport.edited == [("@news", 1, "two"), (42, 9, "mine")]
    assert world.transport.deleted == [(42, 9)]


def test_the_result_tells_the_ids_that_the_platform_gave(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        assert await ctx.reply("a") == 1
        assert await ctx.reply("b") == 2
        raise ValueError

    assert world.run(work).delivered == ("1", "2")


def test_b89_a_message_without_an_id_is_not_delivered_and_fails_the_run(world: World) -> None:
    world.transport.lose_next()

    async def work(ctx: Context, payload: object) -> None:
        await ctx.reply("lost")

    result = world.run(work)

    assert (result.verdict, result.delivered) == ("failed", ())
    assert (result.reason or "").startswith(NotDeliveredError.__name__)


def test_b89_what_a_transport_raises_fails_the_run_and_counts_nothing_as_delivered(world: World) -> None:
    world.transport.fail_next(TimeoutError("no answer"))

    async def work(ctx: Context, payload: object) -> None:
        await ctx.reply("perhaps")

    result = world.run(work)

    assert (result.verdict, result.reason, result.delivered) == ("failed", "TimeoutError: no answer", ())


def test_b88_a_transport_can_ask_for_a_retry(world: World) -> None:
    world.transport.fail_next(Retry(after=35, reason="flood control"))

    async def work(ctx: Context, payload: object) -> None:
        await ctx.reply("later")

    result = world.run(work)

    assert (result.verdict, result.after_us, result.reason) == ("retry", 35 * SECOND, "flood control")


def test_a_job_without_a_chat_can_not_reply(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        with pytest.raises(NoChatError, match="belongs to no chat"):
            await ctx.reply("whom?")

    assert world.run(work, chat_id=None).verdict == "done"


def test_a_host_without_a_transport_says_so_at_the_first_reply(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        with pytest.raises(
            NoTransportError, match=r"without a transport.*attach\(transport=.*bellringer serve --transport"
        ):
            await ctx.reply("where to?")

    world.add(work)

    assert asyncio.run(run(world.order(), world.environment(transport=False))).verdict == "done"


@pytest.mark.parametrize("method", ["wait_for_message", "wait_for_reply", "ask"])
def test_waiting_for_an_answer_is_refused_with_what_to_do_instead(world: World, method: str) -> None:
    async def work(ctx: Context, payload: object) -> None:
        await getattr(ctx, method)("Your name?", timeout=60)

    result = world.run(work)

    assert result.verdict == "failed"
    assert (result.reason or "").startswith(NoConversationError.__name__)
    assert "there is no conversation to suspend" in (result.reason or "")
    assert "ctx.session" in (result.reason or "")


def test_a_scheduled_job_belongs_to_this_chat_user_and_thread(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        ctx.schedule("remind", id="remind:1", after=60, payload={"text": "tea"})

    (spec,) = world.run(work, chat_id=42, user_id=7, thread_id=3).scheduled

    assert (spec.id, spec.handler, spec.payload) == ("remind:1", "remind", '{"text":"tea"}')
    assert (spec.chat_id, spec.user_id, spec.thread_id) == (42, 7, 3)
    assert spec.due_at == NOON + 60 * SECOND


def test_a_job_for_another_chat_takes_nobodys_user_and_thread_along(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        ctx.schedule("remind", chat_id=99, after=60)
        ctx.schedule("clean", chat_id=None, after=60)

    there, nowhere = world.run(work, chat_id=42, user_id=7, thread_id=3).scheduled

    assert (there.chat_id, there.user_id, there.thread_id) == (99, None, None)
    assert (nowhere.chat_id, nowhere.user_id, nowhere.thread_id) == (None, None, None)


def test_a_job_can_be_planned_at_an_instant_and_with_its_policies(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        ctx.schedule(
            "remind",
            at=pendulum.datetime(2026, 7, 2, 12),
            every=timedelta(days=1),
            delivery=Delivery.AT_LEAST_ONCE,
            attempts=3,
            time_limit=5,
        )

    (spec,) = world.run(work).scheduled

    assert spec.due_at == NOON + 86_400 * SECOND
    assert spec.rule == '{"every_us":86400000000}'
    assert (spec.delivery, spec.max_attempts, spec.time_limit_us) == ("at_least_once", 3, 5 * SECOND)


def test_a_retry_derives_the_same_ids_again_so_that_nothing_is_doubled(world: World) -> None:
    async def work(ctx: Context, payload: object) -> Retry:
        ctx.schedule("one", after=1)
        ctx.schedule("two", after=1)
        return Retry()

    first = [spec.id for spec in world.run(work, attempt=1).scheduled]
    world.add(work)
    again = [spec.id for spec in asyncio.run(run(world.order(attempt=2), world.environment())).scheduled]
    other = [spec.id for spec in asyncio.run(run(world.order(run_key="other"), world.environment())).scheduled]

    assert first == again
    assert len({*first, *other}) == 4


def test_derived_ids_stay_short_however_long_the_chain_of_jobs(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        ctx.schedule("work", after=1)

    (spec,) = world.run(work, run_key="x" * 2000).scheduled

    assert len(spec.id) < 40


def test_a_failed_run_keeps_what_it_scheduled_and_cancelled(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        ctx.schedule("remind", id="a", after=1)
        ctx.cancel("b")
        raise ValueError

    result = world.run(work)

    assert ([spec.id for spec in result.scheduled], result.cancelled) == (["a"], ("b",))


@pytest.mark.parametrize("payload", [object(), (1, 2), {1: 2}, float("nan"), b"x", "\ud83c"])
def test_b64_b66_a_payload_that_json_can_not_hold_is_refused_at_once(world: World, payload: object) -> None:
    async def work(ctx: Context, _: object) -> None:
        with pytest.raises(InvalidJobError):
            ctx.schedule("remind", id="a", after=1, payload=payload)

    result = world.run(work)

    assert (result.verdict, result.scheduled) == ("done", ())


def test_b55_a_handler_can_cancel_its_own_job_and_others(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        ctx.cancel(ctx.job.id)
        ctx.cancel("other")

    result = world.run(work)

    assert (result.verdict, result.cancelled) == ("done", ("job:1", "other"))


def test_b56_a_handler_can_schedule_its_own_id_again_and_the_last_call_stands(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        for minutes in range(1, 101):
            ctx.schedule("work", id=ctx.job.id, after=timedelta(minutes=minutes))

    result = world.run(work)

    assert [(spec.id, spec.due_at) for spec in result.scheduled] == [("job:1", NOON + 6_000 * SECOND)]


def test_of_schedule_and_cancel_with_one_id_the_last_call_stands(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        ctx.schedule("remind", id="a", after=1)
        ctx.cancel("a")
        ctx.cancel("b")
        ctx.schedule("remind", id="b", after=1)

    result = world.run(work)

    assert ([spec.id for spec in result.scheduled], result.cancelled) == (["b"], ("a",))


def test_a_context_does_nothing_after_its_run_has_ended(world: World) -> None:
    kept: list[Context] = []

    async def work(ctx: Context, payload: object) -> None:
        kept.append(ctx)

    world.run(work)

    with pytest.raises(RunEndedError, match="'job:1' is over"):
        kept[0].schedule("remind", after=1)
    with pytest.raises(RunEndedError):
        asyncio.run(kept[0].send(42, "too late"))
    assert world.transport.sent == []
