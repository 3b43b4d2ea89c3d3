"""Handlers that hang or fail all at once, chats that keep their order, and hand-overs that fail."""

import asyncio
import math
from collections import Counter
from datetime import timedelta
from itertools import pairwise

import pendulum
import pytest

from bellringer import Context, InvalidJobError, Retry, SyncContext
from bellringer.actors.messages import RunBatch
from bellringer.testing import Drive
from tests.scenarios.steps import MakeDrive, absent, ids, note_instants, note_runs, outcomes, seconds, status


def test_b77_a_handler_that_sleeps_for_ever_is_cut_at_its_time_limit_and_delays_nobody(drive: Drive) -> None:
    ran = note_runs(drive)

    @drive.handler("hang")
    async def hang(ctx: Context, payload: object) -> None:
        await asyncio.Event().wait()

    drive.persisted("stuck", "hang", chat_id=1, after=1)
    for number in range(2, 50):
        drive.persisted(f"a{number}", "work", chat_id=2, after=number)
    drive.advance(seconds=50)
    assert [at for _, at in ran] == [float(number) for number in range(2, 50)]
    stuck = drive.get("stuck")
    assert stuck is not None
    assert "running on" in (stuck.why or "")
    drive.advance(seconds=15)
    assert outcomes(drive, "stuck") == ["failed"]
    assert "time limit" in (drive.history("stuck")[0].reason or "")


def test_b77_a_handler_that_refuses_to_be_cut_is_told_as_failed_all_the_same(drive: Drive) -> None:
    @drive.handler("stubborn")
    async def stubborn(ctx: Context, payload: object) -> None:
        while True:
            try:
                await asyncio.sleep(3_600)
            except asyncio.CancelledError:
                continue

    drive.persisted("a", "stubborn", chat_id=1, after=1, time_limit=10)
    drive.advance(seconds=15)
    assert outcomes(drive, "a") == ["failed"]


def test_b77_handlers_that_raise_or_exit_cost_their_own_run_only(drive: Drive) -> None:
    ran = note_runs(drive)

    @drive.handler("raises")
    async def raises(ctx: Context, payload: object) -> None:
        raise RuntimeError("no good")

    @drive.handler("exits")
    def exits(ctx: SyncContext, payload: object) -> None:
        raise SystemExit(1)

    for number in range(10):
        for name in ("raises", "exits", "work"):
            drive.persisted(f"{name} {number}", name, chat_id=number, after=number)
    drive.advance(seconds=20)
    assert [at for _, at in ran] == [float(number) for number in range(10)]
    assert Counter(outcomes(drive)) == {"failed": 20, "done": 10}


def test_b77_a_job_that_has_killed_its_host_three_times_is_parked(drive: Drive) -> None:
    begun: list[str] = []

    @drive.handler("deadly")
    async def deadly(ctx: Context, payload: object) -> None:
        begun.append(ctx.job.id)
        await asyncio.sleep(10)

    drive.persisted("a", "deadly", chat_id=1, after=1, delivery="at_least_once")
    drive.advance(seconds=1)
    while status(drive, "a") != "parked":
        assert len(begun) <= 3
        drive.crash_host()
        drive.advance(seconds=5)
    assert len(begun) == 3
    assert "has ended its host 3 times" in (drive.history("a")[0].reason or "")


def test_b77_a_job_that_has_killed_two_hosts_is_alone_when_it_kills_the_third(make_drive: MakeDrive) -> None:
    drive = make_drive(hosts=2)
    ended: list[str] = []

    @drive.handler("deadly")
    async def deadly(ctx: Context, payload: object) -> None:
        await asyncio.sleep(10)

    @drive.handler("innocent")
    async def innocent(ctx: Context, payload: object) -> None:
        await asyncio.sleep(3)
        ended.append(ctx.job.id)

    drive.persisted("deadly", "deadly", chat_id=-1, after=5, delivery="at_least_once")
    innocents = [f"innocent {number}" for number in range(40)]
    for number, job_id in enumerate(innocents):
        drive.persisted(job_id, "innocent", chat_id=number, after=number / 2, delivery="at_least_once")
    taken: list[set[str]] = []
    for _ in range(60):
        drive.advance(seconds=1)
        for host in drive.hosts:
            on_it = {order.id for order in host.running.running.values()}
            if "deadly" in on_it:
                taken.append(on_it - {"deadly"})
                drive.crash_host(host)
    assert [bool(others) for others in taken] == [True, True, False]
    assert status(drive, "deadly") == "parked"
    assert sorted(ended) == sorted(innocents)


def test_b78_a_minutely_job_that_hangs_is_cut_by_default_and_goes_on(drive: Drive) -> None:
    begun: list[float] = []

    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        begun.append(seconds(drive))
        if len(begun) == 1:
            await asyncio.Event().wait()

    drive.persisted_every("a", "work", every=60)
    drive.advance(minutes=10)
    assert begun[0] == 60.0
    assert begun[1] == pytest.approx(120, abs=2)
    assert len(begun) == 10
    assert outcomes(drive, "a") == ["failed"] + ["done"] * 9


def test_b78_a_job_that_hangs_is_never_queued_behind_itself(drive: Drive) -> None:
    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        await asyncio.sleep(600)

    drive.persisted_every("a", "work", every=60, time_limit=1_200)
    drive.advance(minutes=8)
    assert len(drive.pending()) == 1
    assert drive.health().claimed == 1
    drive.advance(minutes=5)
    assert "missed: a later one runs" in [row.reason for row in drive.history("a")]


@pytest.mark.parametrize(
    "every",
    [0, -1, 1e-9, 0.0009, math.nan, math.inf, 2**63, timedelta.max, True, "5", None, pendulum.duration(months=1)],
    ids=str,
)
def test_b79_an_interval_that_means_nothing_is_refused_at_the_door(drive: Drive, every: object) -> None:
    with pytest.raises(InvalidJobError):
        drive.persisted_every("a", "work", every=every)  # type: ignore[arg-type]
    assert drive.pending() == []


def test_b79_the_smallest_interval_is_a_millisecond(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted_every("a", "work", every=0.001)
    drive.advance(milliseconds=20)
    assert len(ran) == 20


def test_b84_a_thousand_failures_at_once_come_back_spread_out(make_drive: MakeDrive) -> None:
    drive = make_drive(places=1_000)
    again: list[float] = []

    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        if ctx.job.attempt == 1:
            raise ConnectionError("the service is down")
        again.append(seconds(drive))

    drive.schedule_many({"handler": "work", "id": f"{number}", "after": 10, "attempts": 2} for number in range(1_000))
    drive.advance(minutes=1)
    assert len(again) == 1_000
    assert max(Counter(round(at, 2) for at in again).values()) < 100
    assert 10.5 <= min(again) <= max(again) <= 11.1


def test_b84_retries_wait_longer_each_time_and_never_longer_than_an_hour(drive: Drive) -> None:
    tried: list[float] = []

    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        tried.append(seconds(drive))
        raise ConnectionError("the service is down")

    drive.persisted("a", "work", after=0, attempts=20)
    drive.advance(hours=12)
    pauses = [later - earlier for earlier, later in pairwise(tried)]
    assert len(tried) == 20
    assert all(min(2**place, 3_600) / 2 <= pause <= min(2**place, 3_600) + 1 for place, pause in enumerate(pauses))
    assert (outcomes(drive), status(drive, "a")) == (["failed"], "parked")


def test_b84_a_handler_that_asks_for_retries_without_end_is_parked(drive: Drive) -> None:
    tried: list[int] = []

    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> Retry:
        tried.append(ctx.job.attempt)
        return Retry(after=1)

    drive.persisted("a", "work", after=0)
    drive.advance(minutes=1)
    assert (tried, status(drive, "a")) == ([1, 2, 3, 4, 5], "parked")


def test_b84_a_scheduler_that_dies_again_and_again_is_given_up_with_the_reason(make_drive: MakeDrive) -> None:
    drive = make_drive(restarts=5)
    for _ in range(6):
        drive.crash_scheduler()
        drive.advance(seconds=3)
    assert "5 restarts within 60 s did not help" in (drive.failure or "")


def test_b84_restarts_that_lie_far_apart_are_never_given_up(make_drive: MakeDrive) -> None:
    drive = make_drive(restarts=3)
    for _ in range(10):
        drive.crash_scheduler()
        drive.advance(seconds=30)
    assert drive.failure is None
    assert drive.health().restarts == 10


def test_b90_one_chat_s_jobs_run_one_at_a_time_in_due_order_and_all_change_its_session(drive: Drive) -> None:
    running: Counter[object] = Counter()
    most: Counter[object] = Counter()
    order: dict[object, list[object]] = {0: [], 1: [], 2: []}

    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        running[ctx.chat_id] += 1
        most[ctx.chat_id] = max(most[ctx.chat_id], running[ctx.chat_id])
        most["all"] = max(most["all"], sum(running.values()))
        order[ctx.chat_id].append(payload)
        seen = ctx.session.get("seen", [])
        await asyncio.sleep(0.1)
        ctx.session["seen"] = [*seen, payload]
        running[ctx.chat_id] -= 1

    drive.schedule_many(
        {"handler": "work", "id": f"{number}", "after": 10, "chat_id": number % 3, "user_id": 1, "payload": number}
        for number in range(20)
    )
    drive.advance(seconds=20)
    assert most == {0: 1, 1: 1, 2: 1, "all": 3}
    for chat in range(3):
        assert order[chat] == list(range(chat, 20, 3))
        assert drive.sessions(chat_id=chat)[0].data == {"seen": order[chat]}


@pytest.mark.parametrize("lost", [1, 2, 500, 503])
def test_b99_a_hand_over_that_fails_loses_and_doubles_nothing(make_drive: MakeDrive, lost: int) -> None:
    drive = make_drive(places=1)
    ran = note_runs(drive)
    drive.schedule_many({"handler": "work", "id": f"{number}", "after": 10} for number in range(503))
    handed_over = 0

    def is_the_one(message: object) -> bool:
        nonlocal handed_over
        if isinstance(message, RunBatch) and message.orders:
            handed_over += 1
            return handed_over == lost
        return False

    drive.lose_messages_if(is_the_one)
    drive.advance(seconds=10)
    drive.crash_scheduler()
    drive.advance(minutes=1)
    assert Counter(ids(ran)) == {f"{number}": 1 for number in range(503)}
    assert outcomes(drive) == ["done"] * 503


@pytest.mark.parametrize("lost", [1, 2, 500, 503])
def test_b99_a_claim_that_fails_loses_and_doubles_nothing(make_drive: MakeDrive, lost: int) -> None:
    def begin() -> tuple[Drive, list[tuple[str, float]]]:
        drive = make_drive(places=1, store="memory")
        ran = note_runs(drive)
        drive.schedule_many({"handler": "work", "id": f"{number}", "after": 10} for number in range(503))
        drive.advance(seconds=9)
        drive.store.count_steps()
        return drive, ran

    measured, ran = begin()
    while len(ran) < 503:
        measured.advance(seconds=1)
    drive, ran = begin()
    drive.store.crash_at(measured.store.steps * lost // 503)
    drive.advance(minutes=1)
    assert drive.restarts == 1
    assert Counter(ids(ran)) == {f"{number}": 1 for number in range(503)}
    assert outcomes(drive) == ["done"] * 503


@pytest.mark.parametrize("lost", [1, 2, 500, 503])
def test_b99_what_was_handed_over_and_lost_runs_after_everything_was_killed_and_started_again(
    make_drive: MakeDrive, lost: int
) -> None:
    drive = make_drive(places=1, store="memory")
    ran = note_runs(drive)
    drive.schedule_many(
        {"handler": "work", "id": f"{number}", "after": 10, "delivery": "at_least_once"} for number in range(503)
    )
    handed_over = 0

    def from_the_one_on(message: object) -> bool:
        nonlocal handed_over
        handed_over += isinstance(message, RunBatch) and bool(message.orders)
        return isinstance(message, RunBatch) and handed_over >= lost

    drive.lose_messages_if(from_the_one_on)
    drive.advance(seconds=10)
    assert len(ran) == lost - 1
    drive.crash()
    drive.start()
    drive.advance(minutes=1)
    assert Counter(ids(ran)) == {f"{number}": 1 for number in range(503)}
    assert outcomes(drive) == ["done"] * 503


def test_b104_without_any_host_a_due_job_waits_visibly_and_then_runs(make_drive: MakeDrive) -> None:
    drive = make_drive(hosts=0)
    ran = note_runs(drive)
    drive.persisted("a", "work", after=300)
    drive.advance(minutes=10)
    job = drive.get("a")
    assert job is not None
    assert (job.status, job.why) == ("scheduled", "waiting: no host knows the handler 'work'")
    assert drive.health().waiting == 1
    drive.host()
    assert ran == [("a", 600.0)]
    assert drive.history("a")[0].late_by == pendulum.duration(minutes=5)


def test_b104_what_waited_past_its_grace_expires_with_a_reason(make_drive: MakeDrive) -> None:
    drive = make_drive(hosts=0)
    ran = note_runs(drive)
    drive.persisted("a", "work", after=300, misfire="expire", grace=60)
    drive.advance(minutes=10)
    drive.host()
    assert ran == []
    assert [(row.outcome, row.reason) for row in drive.history("a")] == [("skipped", "expired: found 300.000 s late")]


def test_b104_a_repeating_job_that_waited_runs_once_and_leaves_no_occurrence_without_outcome(
    make_drive: MakeDrive,
) -> None:
    drive = make_drive(hosts=0)
    ran = note_runs(drive)
    drive.persisted_every("a", "work", every=60)
    drive.advance(minutes=10)
    drive.host()
    assert ids(ran) == ["a"]
    assert sum(row.times for row in drive.history("a")) == 10


def test_b104_a_dependency_that_can_not_be_built_is_tried_again_every_minute(drive: Drive) -> None:
    ran: list[float] = []

    @drive.dependency("service")
    async def service() -> str:
        if seconds(drive) < 150:
            raise ConnectionError("the service is down")
        return "up"

    @drive.handler("work", needs=["service"])
    async def work(ctx: Context, payload: object) -> None:
        ran.append(seconds(drive))

    drive.persisted("a", "work", after=10)
    drive.advance(minutes=10)
    assert ran == [190.0]
    assert outcomes(drive) == ["done"]


@pytest.mark.parametrize("misfire", ["run_late", "expire"])
def test_b104_ten_minutes_without_a_host_leave_no_due_time_without_an_outcome(
    make_drive: MakeDrive, misfire: str
) -> None:
    drive = make_drive(hosts=0)
    ran = note_instants(drive)
    host = drive.host()
    drive.schedule("work", id="a", rule="*/15 * * * *", zone="UTC", misfire=misfire, grace=120)
    drive.schedule("work", id="b", rule="* * * * *", zone="UTC", misfire=misfire, grace=120)
    drive.advance(minutes=10, seconds=30)
    drive.remove_host(host)
    drive.advance(minutes=10)
    assert len(ran) == 10
    for job_id in ("a", "b"):
        job = drive.get(job_id)
        assert job is not None
        assert (job.status, job.why) == ("scheduled", "waiting: no host knows the handler 'work'")
    assert absent(drive) == []

    drive.host()
    drive.advance(minutes=1)
    late = ["2026-01-01 00:20:30"] * (2 if misfire == "run_late" else 1)
    assert ran[10:] == [*late, "2026-01-01 00:21"]
    (about_a,) = drive.history("a")
    if misfire == "expire":
        assert (about_a.outcome, about_a.reason) == ("skipped", "expired: found 330.000 s late")
    else:
        assert about_a.late_by == pendulum.duration(minutes=5, seconds=30)
    assert sum(row.times for row in drive.history("b")) == 21
    assert absent(drive) == []


def test_b104_ten_minutes_without_what_a_handler_needs_end_in_a_failure_that_says_so(drive: Drive) -> None:
    ran: list[tuple[str, float]] = []

    @drive.dependency("service")
    async def service() -> str:
        if seconds(drive) < 599:
            raise ConnectionError("the service is down")
        return "up"

    @drive.handler("work", needs=["service"])
    async def work(ctx: Context, payload: object) -> None:
        ran.append((ctx.job.id, seconds(drive)))

    drive.schedule("work", id="once", after=60)
    drive.schedule("work", id="often", every=480)
    drive.advance(minutes=9, seconds=59)
    assert ran == []
    once = drive.get("once")
    assert once is not None
    assert once.status == "parked"
    assert "the service is down" in (once.why or "")

    drive.redrive("once")
    drive.advance(minutes=10)
    assert ran == [("once", 599.0), ("often", 600.0), ("often", 960.0)]
    assert outcomes(drive, "once") == ["failed", "done"]
    assert outcomes(drive, "often") == ["done", "done"]
    assert absent(drive) == []
