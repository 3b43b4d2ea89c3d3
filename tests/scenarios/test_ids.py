"""Cancelling, replacing and rescheduling, from outside and from inside a run; and ids of every kind."""

import asyncio

import pytest

from bellringer import Context, InvalidJobError
from bellringer.testing import Drive
from tests.scenarios.steps import MakeDrive, ids, note_runs, outcomes, seconds, status

ODD_IDS = [
    "a:b",
    "a'b",
    'a"; DROP TABLE job;--',
    "two\nlines",
    "🎂",
    "\u202eright to left",
    "%",
    "_",
    "x",
    "y" * 512,
    " leading and trailing ",
    "\u00e9 composed",
    "e\u0301 decomposed",
]


def test_b55_a_repeating_job_that_cancels_itself_ends_with_that_run(drive: Drive) -> None:
    runs: list[float] = []

    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        runs.append(seconds(drive))
        if len(runs) == 3:
            ctx.cancel(ctx.job.id)
            await ctx.reply("that was the last")

    drive.persisted_every("a", "work", every=60, chat_id=1)
    drive.advance(minutes=10)
    assert runs == [60.0, 120.0, 180.0]
    assert [sent.text for sent in drive.sent] == ["that was the last"]
    assert outcomes(drive, "a")[:3] == ["done", "done", "done"]
    assert drive.pending() == []


def test_b55_a_run_that_cancels_another_job_of_its_chat_keeps_it_from_starting(drive: Drive) -> None:
    ran = note_runs(drive)

    @drive.handler("canceller")
    async def canceller(ctx: Context, payload: object) -> None:
        ctx.cancel("other")

    drive.persisted("first", "canceller", chat_id=1, after=10)
    drive.persisted("other", "work", chat_id=1, after=10)
    drive.advance(minutes=1)
    assert ran == []
    assert (outcomes(drive, "first"), outcomes(drive, "other")) == (["done"], ["cancelled"])


def test_b55_a_job_that_is_cancelled_while_it_runs_is_not_brought_back_by_its_result(drive: Drive) -> None:
    @drive.handler("long")
    async def long(ctx: Context, payload: object) -> None:
        await asyncio.sleep(10)
        await ctx.reply("finished")

    drive.persisted_every("a", "long", every=60, chat_id=1)
    drive.advance(seconds=65)
    assert drive.cancel("a").cancelled == ("a",)
    drive.advance(minutes=10)
    assert [sent.text for sent in drive.sent] == ["finished"]
    assert drive.pending() == []
    assert "done" not in outcomes(drive, "a")


@pytest.mark.parametrize("fails", [False, True])
def test_b56_a_run_that_reschedules_its_own_id_is_not_undone_by_its_end(drive: Drive, fails: bool) -> None:
    runs: list[float] = []

    @drive.handler("snooze")
    async def snooze(ctx: Context, payload: object) -> None:
        runs.append(seconds(drive))
        if len(runs) <= 100:
            ctx.schedule("snooze", id="remind:42", after=600)
        if fails:
            raise ValueError("no good")

    drive.persisted("remind:42", "snooze", chat_id=42, after=600)
    drive.advance(hours=20)
    assert runs == [600.0 * number for number in range(1, 102)]
    ended = [row.outcome for row in drive.history("remind:42", limit=1_000) if row.reason != "replaced"]
    assert ended == ["failed" if fails else "done"] * 101


def test_b56_a_job_that_is_replaced_from_outside_while_it_runs_keeps_the_new_time(drive: Drive) -> None:
    runs: list[float] = []

    @drive.handler("long")
    async def long(ctx: Context, payload: object) -> None:
        runs.append(seconds(drive))
        await asyncio.sleep(10)

    drive.persisted("a", "long", after=10)
    drive.advance(seconds=15)
    drive.persisted("a", "long", after=100)
    drive.advance(minutes=5)
    assert runs == [10.0, 115.0]


def test_b58_the_same_id_twice_is_one_job_by_the_later_word(drive: Drive) -> None:
    ran = note_runs(drive)
    first = drive.persisted("a", "work", after=10)
    second = drive.persisted("a", "work", after=20)
    assert (first.replaced, second.replaced) == (False, True)
    drive.advance(minutes=1)
    assert ran == [("a", 20.0)]


def test_b58_the_same_id_twice_in_one_request_is_one_job_by_the_later_word(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.schedule_many([{"handler": "work", "id": "a", "after": 10}, {"handler": "work", "id": "a", "after": 20}])
    drive.advance(minutes=1)
    assert ran == [("a", 20.0)]


def test_b58_the_same_id_again_before_and_after_a_restart_follows_the_same_rule(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted("a", "work", after=10)
    drive.crash()
    drive.start()
    assert drive.persisted("a", "work", after=20).replaced
    drive.advance(minutes=1)
    assert ran == [("a", 20.0)]


@pytest.mark.parametrize("job_id", ODD_IDS)
def test_b59_an_id_is_kept_exactly_as_it_was_given(drive: Drive, job_id: str) -> None:
    ran = note_runs(drive)
    drive.persisted(job_id, "work", after=10)
    assert [job.id for job in drive.pending()] == [job_id]
    drive.crash_scheduler()
    drive.advance(seconds=10)
    assert ids(ran) == [job_id]
    assert [row.job_id for row in drive.history(job_id)] == [job_id]
    drive.persisted(job_id, "work", after=10)
    assert drive.cancel(job_id).cancelled == (job_id,)


def test_b59_ids_that_look_alike_are_different_jobs(drive: Drive) -> None:
    for job_id in ("\u00e9", "e\u0301", "a", "a ", "A"):
        drive.persisted(job_id, "work", after=10)
    assert len(drive.pending()) == 5


@pytest.mark.parametrize("job_id", ["", "a\0b", "z" * 513, 7, b"a", "\ud83c"])
def test_b59_an_id_that_can_not_be_kept_is_refused_at_the_door(drive: Drive, job_id: object) -> None:
    with pytest.raises(InvalidJobError):
        drive.persisted(job_id, "work", after=10)  # type: ignore[arg-type]
    assert drive.pending() == []


def test_b63_a_job_that_is_replaced_while_it_waits_for_a_place_runs_with_its_new_payload(
    make_drive: MakeDrive,
) -> None:
    drive = make_drive(places=1)
    seen: list[object] = []

    @drive.handler("long")
    async def long(ctx: Context, payload: object) -> None:
        await asyncio.sleep(60)

    @drive.handler("show")
    async def show(ctx: Context, payload: object) -> None:
        seen.append(payload)

    drive.persisted("first", "long", after=1, time_limit=120)
    drive.persisted("waiting", "show", after=2, payload="old")
    drive.advance(seconds=30)
    assert status(drive, "waiting") == "scheduled"
    drive.persisted("waiting", "show", after=1, payload="new")
    drive.advance(minutes=5)
    assert seen == ["new"]


def test_b63_a_job_that_is_cancelled_while_it_waits_for_its_chat_never_runs(drive: Drive) -> None:
    ran = note_runs(drive)

    @drive.handler("long")
    async def long(ctx: Context, payload: object) -> None:
        await asyncio.sleep(30)

    drive.persisted("first", "long", chat_id=1, after=1)
    drive.persisted("behind", "work", chat_id=1, after=2)
    drive.persisted("last", "work", chat_id=1, after=3)
    drive.advance(seconds=10)
    drive.cancel("behind")
    drive.advance(minutes=1)
    assert ran == [("last", 31.0)]
