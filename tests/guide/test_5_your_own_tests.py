"""How a bot's own tests are written: the `drive` fixture comes with the package, and no test sleeps.

A drive is a scheduler's handle on a system of its own, in the test's thread, under a clock that the test moves.
"""

import asyncio

import pendulum

from bellringer import Context, Retry
from bellringer.testing.drive import Drive


def test_a_week_passes_in_no_time(drive: Drive) -> None:
    @drive.handler("remind")
    async def remind(ctx: Context, payload: object) -> None:
        await ctx.reply(f"⏰ {payload}")

    drive.persisted("reminder:42", "remind", after=pendulum.duration(weeks=1), chat_id=42, payload="stand up")
    drive.advance(days=6, hours=23)
    assert drive.sent == []

    drive.advance(hours=1)
    assert [(message.chat_id, message.text) for message in drive.sent] == [(42, "⏰ stand up")]


def test_handlers_may_wait_under_the_same_clock(drive: Drive) -> None:
    @drive.handler("countdown")
    async def countdown(ctx: Context, payload: object) -> None:
        await ctx.reply("three")
        await asyncio.sleep(2)
        await ctx.reply("one")

    drive.persisted("countdown:42", "countdown", after=0, chat_id=42)
    drive.advance(1)
    assert [message.text for message in drive.sent] == ["three"]

    drive.advance(1)
    assert [message.text for message in drive.sent] == ["three", "one"]


def test_a_service_that_is_down_is_asked_again_later(drive: Drive) -> None:
    @drive.handler("post")
    async def post(ctx: Context, payload: object) -> Retry | None:
        if ctx.job.attempt < 3:
            return Retry(after=60, reason="the service is down")
        await ctx.reply("posted")
        return None

    drive.persisted("post:1", "post", after=0, chat_id=42)
    drive.advance(119)
    assert drive.sent == []

    drive.advance(1)
    assert [message.text for message in drive.sent] == ["posted"]
    assert [(row.outcome, row.attempts) for row in drive.history("post:1")] == [("done", 3)]


def test_everything_is_killed_and_nothing_is_lost(drive: Drive) -> None:
    @drive.handler("remind")
    async def remind(ctx: Context, payload: object) -> None:
        await ctx.reply("late" if ctx.job.is_late else "on time")

    drive.persisted("reminder:42", "remind", after=3_600, chat_id=42)
    drive.crash()
    drive.advance(hours=3)
    drive.start()

    drive.advance(1)
    assert [message.text for message in drive.sent] == ["late"]


def test_the_machine_sleeps_and_wakes_up(drive: Drive) -> None:
    @drive.handler("remind")
    async def remind(ctx: Context, payload: object) -> None:
        await ctx.reply(f"{ctx.job.late_by.in_minutes()} min late")

    drive.persisted("reminder:42", "remind", after=300, chat_id=42)
    drive.jump(wall=900)  # its timers, on the monotonic clock, have noticed nothing
    drive.run_due()

    assert [message.text for message in drive.sent] == ["10 min late"]
