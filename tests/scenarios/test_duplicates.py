"""What must not run twice, and what must not be taken for a duplicate."""

import asyncio

import pendulum

from bellringer import Context
from bellringer.actors.messages import ReplyBatch
from bellringer.testing import Drive
from tests.scenarios.steps import MakeDrive, ids, note_runs, outcomes, status


def sleeper(drive: Drive, for_s: float) -> list[tuple[int, str]]:
    """Register a handler that takes this long, and notes attempt and run key."""
    begun: list[tuple[int, str]] = []

    @drive.handler("long")
    async def long(ctx: Context, payload: object) -> None:
        begun.append((ctx.job.attempt, ctx.job.run_key))
        await asyncio.sleep(for_s)
        await ctx.reply("done")

    return begun


def test_b37_a_run_of_three_leases_runs_once_while_its_host_gives_signs_of_life(drive: Drive) -> None:
    begun = sleeper(drive, 45)
    drive.persisted("a", "long", chat_id=1, after=1, delivery="at_least_once", time_limit=120)
    drive.advance(minutes=3)
    assert (len(begun), outcomes(drive)) == (1, ["done"])


def test_b37_a_silent_host_loses_its_run_after_the_lease(drive: Drive) -> None:
    begun = sleeper(drive, 5)
    drive.persisted("a", "long", chat_id=1, after=1, delivery="at_least_once")
    drive.advance(seconds=2)
    drive.freeze_host()
    drive.advance(seconds=10)
    assert len(begun) == 1
    drive.advance(seconds=30)
    assert len(begun) == 2
    assert begun[0][1] == begun[1][1]
    assert outcomes(drive) == ["done"]


def test_b37_the_result_of_a_run_that_was_taken_away_is_rejected(make_drive: MakeDrive) -> None:
    drive = make_drive(hosts=0)
    begun = sleeper(drive, 5)
    first, second = drive.host(), drive.host()
    drive.persisted("a", "long", chat_id=1, after=1, delivery="at_least_once")
    drive.advance(seconds=2)
    busy = first if first.running.running else second
    drive.freeze_host(busy)
    drive.advance(seconds=30)
    assert (len(begun), outcomes(drive)) == (2, ["done"])
    drive.thaw_host(busy)
    drive.advance(minutes=1)
    assert (len(begun), outcomes(drive)) == (2, ["done"])
    assert drive.health().claimed == 0


def test_b37_the_run_of_a_dead_host_is_repeated_at_once(drive: Drive) -> None:
    begun = sleeper(drive, 5)
    drive.persisted("a", "long", chat_id=1, after=1, delivery="at_least_once")
    drive.advance(seconds=2)
    drive.crash_host()
    assert len(begun) == 2


def test_b39_two_ticks_at_one_instant_make_one_run(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted_every("a", "work", every=60)
    drive.jump(wall=60, monotonic=60)
    drive.run_due()
    drive.run_due()
    assert ids(ran) == ["a"]


def test_b39_a_clock_set_back_over_a_due_time_makes_no_second_run(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted_every("a", "work", every=60)
    drive.advance(seconds=62)
    drive.jump(wall=-10)
    drive.advance(seconds=15)
    assert ids(ran) == ["a"]


def test_b39_a_request_that_is_repeated_after_a_lost_reply_is_done_once(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.lose_messages(ReplyBatch, times=1)
    assert not drive.persisted("a", "work", after=60).replaced
    drive.advance(minutes=2)
    assert ids(ran) == ["a"]
    assert outcomes(drive, "a") == ["done"]


def test_b39_a_request_that_is_repeated_to_the_next_scheduler_is_done_once(drive: Drive) -> None:
    drive.persisted("warm", "work", after=60)
    drive.store.count_steps()
    drive.persisted("a", "work", after=60)
    drive.store.crash_at(drive.store.steps)
    assert not drive.persisted("b", "work", after=60).replaced
    assert drive.restarts == 1
    assert outcomes(drive, "b") == []


def test_b40_the_same_handler_and_time_for_two_chats_are_two_jobs(drive: Drive) -> None:
    at = pendulum.datetime(2026, 1, 1, 0, 1)
    for chat_id in (1, 2):
        drive.schedule("bellringer.send", at=at, chat_id=chat_id, payload={"text": "hello"})
    for text in ("one", "two"):
        drive.schedule("bellringer.send", at=at, chat_id=3, payload={"text": text})
    drive.advance(minutes=1)
    assert sorted((sent.chat_id, sent.text) for sent in drive.sent) == [
        (1, "hello"),
        (2, "hello"),
        (3, "one"),
        (3, "two"),
    ]


def test_b42_a_host_that_joins_again_during_a_run_starts_nothing_twice(drive: Drive) -> None:
    begun = sleeper(drive, 10)
    drive.persisted("a", "long", chat_id=1, after=1)
    drive.advance(seconds=2)
    for number in range(3):
        note_runs(drive, f"another {number}")
    drive.advance(minutes=1)
    assert (len(begun), outcomes(drive)) == (1, ["done"])
    assert len(drive.health().hosts) == 2


def test_b42_a_scheduler_that_is_started_again_during_a_run_starts_nothing_twice(drive: Drive) -> None:
    begun = sleeper(drive, 10)
    drive.persisted_every("a", "long", every=60, chat_id=1)
    drive.advance(seconds=62)
    drive.crash_scheduler()
    drive.crash_scheduler()
    drive.advance(seconds=50)
    assert (len(begun), outcomes(drive)) == (1, ["done"])


def test_b43_a_handler_that_sends_and_then_raises_sends_once_per_attempt(drive: Drive) -> None:
    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        await ctx.reply(f"attempt {ctx.job.attempt}")
        raise ValueError("no good")

    drive.persisted("once", "work", chat_id=1, after=1)
    drive.advance(minutes=1)
    assert [sent.text for sent in drive.sent] == ["attempt 1"]
    drive.persisted("thrice", "work", chat_id=1, after=1, attempts=3)
    drive.advance(hours=1)
    assert [sent.text for sent in drive.sent[1:]] == ["attempt 1", "attempt 2", "attempt 3"]
    failed = drive.history("thrice")
    assert [(row.outcome, row.attempts, row.reason) for row in failed] == [("failed", 3, "ValueError: no good")]
    assert status(drive, "thrice") == "parked"
