"""The kit that tests of bots drive: what it promises of time, hosts, crashes and what it shows."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pendulum
import pytest

from bellringer import Context, Retry, SchedulerHandle, SchedulerUnavailableError, SyncContext
from bellringer.actors.messages import RunBatch
from bellringer.storage.memory_store import MemoryStore
from bellringer.testing import Drive, StuckError

MakeDrive = Callable[..., Drive]


def remember(drive: Drive, name: str = "work") -> list[pendulum.DateTime]:
    """Register a handler that notes when it runs."""
    ran: list[pendulum.DateTime] = []

    @drive.handler(name)
    async def work(ctx: Context, payload: object) -> None:
        ran.append(drive.clock.now)

    return ran


def outcomes(drive: Drive, job_id: str | None = None) -> list[str]:
    return [occurrence.outcome for occurrence in reversed(drive.history(job_id))]


# Time


def test_a_job_runs_at_its_very_instant_however_far_the_drive_advances(drive: Drive) -> None:
    ran = remember(drive)
    drive.persisted("a", "work", after=61.5)
    drive.advance(hours=5)
    assert ran == [pendulum.datetime(2026, 1, 1, 0, 1, 1, 500_000)]
    assert drive.clock.now == pendulum.datetime(2026, 1, 1, 5)


def test_a_job_does_not_run_a_microsecond_early(drive: Drive) -> None:
    ran = remember(drive)
    drive.persisted("a", "work", after=0.1)
    drive.advance(microseconds=99_999)
    assert ran == []
    drive.advance(microseconds=1)
    assert len(ran) == 1


def test_each_occurrence_of_a_repeating_job_runs_at_its_own_instant(drive: Drive) -> None:
    ran = remember(drive)
    drive.persisted_every("a", "work", every=pendulum.duration(minutes=10))
    drive.advance(hours=1)
    assert [at.minute for at in ran] == [10, 20, 30, 40, 50, 0]
    assert {occurrence.late_by for occurrence in drive.history("a")} == {pendulum.duration()}


def test_what_is_due_now_runs_before_the_call_returns(drive: Drive) -> None:
    ran = remember(drive)
    drive.persisted("a", "work", after=0)
    assert len(ran) == 1


def test_a_jump_lets_nothing_happen_until_the_drive_goes_on(drive: Drive) -> None:
    ran = remember(drive)
    drive.persisted("a", "work", after=60)
    drive.jump(wall=90, monotonic=90)
    assert ran == []
    drive.run_due()
    assert len(ran) == 1
    assert drive.history("a")[0].late_by == pendulum.duration(seconds=30)


def test_the_wall_clock_can_be_set_to_an_instant_and_back(drive: Drive) -> None:
    drive.jump(wall=pendulum.datetime(2030, 5, 1))
    assert drive.clock.now == pendulum.datetime(2030, 5, 1)
    drive.jump(wall=-86_400)
    assert drive.clock.now == pendulum.datetime(2030, 4, 30)


def test_the_monotonic_clock_never_goes_back(drive: Drive) -> None:
    with pytest.raises(ValueError, match="never goes back"):
        drive.jump(monotonic=-1)
    with pytest.raises(ValueError, match="time passes forwards"):
        drive.clock.advance(seconds=-1)


def test_a_drive_may_begin_at_any_instant(make_drive: MakeDrive) -> None:
    drive = make_drive(at=pendulum.datetime(1999, 12, 31, 23, 59))
    ran = remember(drive)
    drive.persisted("a", "work", after=120)
    drive.advance(minutes=2)
    assert ran == [pendulum.datetime(2000, 1, 1, 0, 1)]


def test_idle_months_pass_in_no_time(drive: Drive) -> None:
    ran = remember(drive)
    drive.persisted("a", "work", after=pendulum.duration(days=300))
    begun = time.monotonic()
    drive.advance(days=365)
    assert len(ran) == 1
    assert time.monotonic() - begun < 5


def test_armed_wakeups_are_the_scheduler_s_own(drive: Drive) -> None:
    ran = remember(drive)
    drive.persisted("a", "work", after=30)
    drive.ticking = False
    drive.advance(seconds=30)
    assert len(ran) == 1


def test_without_wakeups_and_heartbeat_nothing_runs(drive: Drive) -> None:
    ran = remember(drive)
    drive.persisted("a", "work", after=30)
    drive.ticking = False
    assert drive.drop_wakeups() >= 1
    drive.advance(seconds=45)
    assert ran == []


def test_the_heartbeat_covers_for_lost_wakeups(drive: Drive) -> None:
    ran = remember(drive)
    drive.persisted("a", "work", after=30)
    drive.drop_wakeups()
    drive.advance(seconds=45)
    assert len(ran) == 1


# Handlers


def test_a_handler_sleeps_under_the_manual_clock(drive: Drive) -> None:
    ended: list[pendulum.DateTime] = []

    @drive.handler("slow")
    async def slow(ctx: Context, payload: object) -> None:
        await asyncio.sleep(5)
        ended.append(drive.clock.now)

    drive.persisted("a", "slow", after=1)
    drive.advance(seconds=5)
    job = drive.get("a")
    assert job is not None
    assert job.status == "claimed"
    drive.advance(seconds=1)
    assert ended == [pendulum.datetime(2026, 1, 1, 0, 0, 6)]
    assert outcomes(drive) == ["done"]


def test_a_plain_handler_runs_while_everything_waits_for_it(drive: Drive) -> None:
    @drive.handler("plain")
    def plain(ctx: SyncContext, payload: object) -> None:
        ctx.reply("hello")
        ctx.session["n"] = ctx.session.get("n", 0) + 1

    for number in range(3):
        drive.persisted(f"a{number}", "plain", chat_id=number, user_id=1, after=1)
    drive.advance(seconds=1)
    assert [(sent.chat_id, sent.text) for sent in drive.sent] == [(0, "hello"), (1, "hello"), (2, "hello")]
    assert [session.data for session in drive.sessions()] == [{"n": 1}] * 3


def test_a_call_in_a_thread_is_waited_for(drive: Drive) -> None:
    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        await ctx.reply(await asyncio.to_thread(str.upper, "quiet"))

    drive.persisted("a", "work", chat_id=1, after=1)
    drive.advance(seconds=1)
    assert [sent.text for sent in drive.sent] == ["QUIET"]


def test_a_handler_of_one_drive_is_unknown_to_the_next(make_drive: MakeDrive) -> None:
    first, second = make_drive(), make_drive()
    ran = remember(first)
    second.persisted("a", "work", after=5)
    second.advance(minutes=1)
    job = second.get("a")
    assert ran == []
    assert job is not None
    assert job.why == "waiting: no host knows the handler 'work'"


def test_a_drive_knows_the_handlers_of_the_bot(drive: Drive) -> None:
    drive.persisted("a", "bellringer.send", chat_id=3, after=1, payload={"text": "hello"})
    drive.advance(seconds=1)
    assert [(sent.chat_id, sent.text) for sent in drive.sent] == [(3, "hello")]


def test_a_handler_of_the_drive_hides_the_bot_s_own(drive: Drive) -> None:
    ran = remember(drive, "bellringer.send")
    drive.persisted("a", "bellringer.send", chat_id=3, after=1, payload={"text": "hello"})
    drive.advance(seconds=1)
    assert (len(ran), drive.sent) == (1, [])


def test_handlers_find_what_the_drive_gives_them(drive: Drive) -> None:
    drive.register_dependency("greeting", "good morning")

    @drive.dependency("name")
    async def name() -> str:
        return "Ada"

    @drive.handler("greet", needs=["greeting", "name"])
    async def greet(ctx: Context, payload: object) -> None:
        await ctx.reply(f"{ctx.dependencies['greeting']}, {ctx.dependencies['name']}")

    drive.persisted("a", "greet", chat_id=1, after=1)
    drive.advance(seconds=1)
    assert [sent.text for sent in drive.sent] == ["good morning, Ada"]


def test_a_handler_may_use_the_handle_itself(drive: Drive) -> None:
    ran = remember(drive)

    @drive.handler("starter")
    async def starter(ctx: Context, payload: object) -> None:
        drive.persisted("next", "work", after=10)

    drive.persisted("a", "starter", after=1)
    drive.advance(minutes=1)
    assert ran == [pendulum.datetime(2026, 1, 1, 0, 0, 11)]


def test_a_handler_can_not_move_the_time_that_it_runs_in(drive: Drive) -> None:
    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        drive.advance(seconds=1)

    drive.persisted("a", "work", after=1)
    drive.advance(seconds=1)
    assert "from inside a handler" in (drive.history("a")[0].reason or "")


def test_a_handler_that_never_waits_is_reported(drive: Drive) -> None:
    @drive.handler("spin")
    async def spin(ctx: Context, payload: object) -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(StuckError, match="busy without ever waiting"):
        drive.persisted("a", "spin", after=0)


def test_what_was_sent_is_recorded_with_chat_text_and_time(drive: Drive) -> None:
    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        await ctx.reply("first")
        await asyncio.sleep(2)
        await ctx.send(9, "second")

    drive.persisted("a", "work", chat_id=4, thread_id=8, after=1)
    drive.advance(minutes=1)
    assert [(sent.chat_id, sent.thread_id, sent.text, sent.at.second) for sent in drive.sent] == [
        (4, 8, "first", 1),
        (9, None, "second", 3),
    ]


def test_a_refused_message_is_the_handler_s_failure(drive: Drive) -> None:
    drive.transport.fail_next(ConnectionError("no network"))
    drive.persisted("a", "bellringer.send", chat_id=3, after=1, payload={"text": "hello"})
    drive.advance(seconds=1)
    assert outcomes(drive) == ["failed"]
    assert drive.sent == []


# Closures


def test_closures_run_under_the_manual_clock(drive: Drive) -> None:
    called: list[int] = []
    drive.run_after(2.0, called.append, 7)
    drive.advance(seconds=1)
    assert called == []
    drive.advance(seconds=1)
    assert called == [7]


def test_a_repeated_closure_rests_between_its_runs(drive: Drive) -> None:
    begun: list[int] = []

    async def work() -> None:
        begun.append(drive.clock.now.minute * 60 + drive.clock.now.second)
        await asyncio.sleep(5)

    drive.run_every(10.0, work)
    drive.advance(minutes=1)
    assert begun == [10, 25, 40, 55]


def test_closures_outlive_the_scheduler_but_not_their_process(drive: Drive) -> None:
    called: list[str] = []
    drive.run_every(10.0, called.append, "again")
    drive.crash_scheduler()
    drive.advance(seconds=10)
    assert called == ["again"]
    drive.crash()
    drive.start()
    drive.advance(minutes=5)
    assert called == ["again"]


# Hosts


def test_a_job_waits_for_a_host_and_runs_when_one_joins(make_drive: MakeDrive) -> None:
    drive = make_drive(hosts=0)
    ran = remember(drive)
    drive.persisted("a", "work", after=1)
    drive.advance(minutes=10)
    assert ran == []
    drive.host()
    assert len(ran) == 1
    assert drive.history("a")[0].late_by == pendulum.duration(seconds=599)


def test_a_crashed_handler_actor_is_replaced(drive: Drive) -> None:
    ran = remember(drive)
    before = drive.hosts[0]
    drive.crash_host()
    assert not before.alive
    drive.persisted("a", "work", after=1)
    drive.advance(seconds=1)
    assert len(ran) == 1
    assert drive.restarts == 1


def test_a_host_that_leaves_runs_nothing_more(make_drive: MakeDrive) -> None:
    drive = make_drive(hosts=0)
    ran = remember(drive)
    host = drive.host()
    drive.remove_host(host)
    drive.persisted("a", "work", after=1)
    drive.advance(minutes=1)
    assert (ran, drive.hosts) == ([], [])


def test_held_results_look_like_running_jobs(drive: Drive) -> None:
    ran = remember(drive)
    drive.hold_results()
    drive.persisted("a", "work", after=1)
    drive.advance(seconds=1)
    assert (len(ran), outcomes(drive)) == (1, [])
    drive.release_results()
    assert outcomes(drive) == ["done"]


def test_a_frozen_host_says_nothing_until_it_is_thawed(drive: Drive) -> None:
    ran = remember(drive)
    drive.freeze_host()
    drive.persisted("a", "work", after=1)
    drive.advance(seconds=5)
    assert (ran, outcomes(drive)) == ([], [])
    drive.thaw_host()
    assert outcomes(drive) == ["done"]


# Crashes


@pytest.mark.parametrize("store", ["sqlite", "memory"])
def test_a_new_scheduler_knows_what_the_killed_one_had_stored(make_drive: MakeDrive, store: str) -> None:
    drive = make_drive(store=store)
    ran = remember(drive)
    drive.persisted("a", "work", after=10)
    drive.crash_scheduler()
    assert drive.health().restarts == 1
    drive.advance(seconds=10)
    assert len(ran) == 1


def test_what_runs_while_the_scheduler_is_killed_is_settled_by_the_next(drive: Drive) -> None:
    @drive.handler("slow")
    async def slow(ctx: Context, payload: object) -> None:
        await asyncio.sleep(20)

    drive.persisted("a", "slow", after=1)
    drive.advance(seconds=5)
    drive.crash_scheduler()
    drive.advance(minutes=1)
    assert outcomes(drive) == ["done"]


def test_a_call_to_a_scheduler_that_is_being_restarted_is_answered(drive: Drive) -> None:
    for restarts in range(1, 6):
        drive.crash_scheduler()
        assert drive.health().restarts == restarts


def test_a_scheduler_that_is_not_there_can_not_be_crashed(drive: Drive) -> None:
    drive.crash()
    with pytest.raises(SchedulerUnavailableError, match="no scheduler lives"):
        drive.crash_scheduler()


def test_a_supervisor_past_its_budget_says_why(make_drive: MakeDrive) -> None:
    drive = make_drive(restarts=2)
    for _ in range(3):
        drive.crash_scheduler()
    with pytest.raises(SchedulerUnavailableError):
        drive.pending()
    assert "did not help" in (drive.failure or "")


def test_a_crash_of_everything_loses_nothing_that_was_stored(drive: Drive) -> None:
    ran = remember(drive)
    drive.persisted("a", "work", after=10)
    drive.crash()
    with pytest.raises(SchedulerUnavailableError):
        drive.pending()
    drive.jump(wall=60, monotonic=60)
    drive.start()
    assert len(ran) == 1


def test_an_orderly_stop_lets_what_runs_finish(drive: Drive) -> None:
    @drive.handler("slow")
    async def slow(ctx: Context, payload: object) -> None:
        await asyncio.sleep(5)
        await ctx.reply("finished")

    drive.persisted("a", "slow", chat_id=1, after=1)
    drive.advance(seconds=2)
    drive.stop(grace=10)
    assert [sent.text for sent in drive.sent] == ["finished"]
    drive.start()
    assert outcomes(drive) == ["done"]


def test_a_crash_at_a_store_call_undoes_the_transaction_that_it_hits(drive: Drive) -> None:
    drive.store.count_steps()
    drive.persisted("a", "work", after=10)
    steps = drive.store.steps
    assert steps > 4
    drive.store.crash_at(steps // 2)
    drive.persisted("b", "work", after=10)
    assert drive.restarts == 1
    assert [job.id for job in drive.pending()] == ["a", "b"]


def test_lost_messages_are_told_again(drive: Drive) -> None:
    ran = remember(drive)
    drive.lose_messages(RunBatch)
    drive.persisted("a", "work", after=1)
    drive.advance(seconds=1)
    assert ran == []
    drive.lose_messages()
    drive.crash_scheduler()
    drive.advance(minutes=2)
    assert len(ran) == 1


# What it shows


def test_events_are_recorded(drive: Drive) -> None:
    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> Retry | None:
        return Retry(after=1) if ctx.job.attempt == 1 else None

    drive.persisted("a", "work", after=1)
    drive.advance(seconds=5)
    assert [(event.kind, event.job_id, event.attempt) for event in drive.events] == [
        ("job.retry", "a", 1),
        ("job.run", "a", 2),
    ]


def test_listeners_hear_the_same_events(drive: Drive) -> None:
    heard: list[str] = []
    drive.listen(lambda event: heard.append(event.kind))
    remember(drive)
    drive.persisted("a", "work", after=1)
    drive.advance(seconds=1)
    assert heard == [event.kind for event in drive.events] == ["job.run"]


def test_a_drive_is_a_handle_for_whatever_takes_one(drive: Drive) -> None:
    def set_up_bot(scheduler: SchedulerHandle) -> None:
        scheduler.persisted_every("digest", "work", every=3600)

    ran = remember(drive)
    set_up_bot(drive)
    drive.advance(hours=3)
    assert len(ran) == 3


def test_a_store_of_one_s_own_may_be_given(make_drive: MakeDrive) -> None:
    store = MemoryStore()
    drive = make_drive(store=store)
    drive.persisted("a", "work", after=10)
    assert [job.id for job in store.jobs()] == ["a"]


def test_two_drives_may_share_a_file_one_after_the_other(make_drive: MakeDrive, tmp_path: Path) -> None:
    first = make_drive(folder=tmp_path)
    first.persisted("a", "work", after=10)
    first.stop()
    second = make_drive(folder=tmp_path)
    ran = remember(second)
    second.advance(seconds=10)
    assert len(ran) == 1


def test_no_thread_is_started_for_async_handlers(drive: Drive) -> None:
    import threading

    before = threading.active_count()
    remember(drive)
    drive.persisted("a", "work", after=1)
    drive.advance(seconds=1)
    assert threading.active_count() == before
