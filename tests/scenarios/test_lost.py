"""Crashes between any two steps: what is repeated, what is recorded, and what goes on."""

import asyncio
import random
import time

import pendulum
import pytest

from bellringer import Context, Retry
from bellringer.actors.messages import RunBatch
from bellringer.storage.values import JobSpec
from bellringer.testing import Drive
from tests.scenarios.steps import MakeDrive, ids, note_runs, outcomes, status


def long_job(drive: Drive) -> list[str]:
    """Register a handler that sends, and then takes ten seconds; the run keys of its runs."""
    keys: list[str] = []

    @drive.handler("long")
    async def long(ctx: Context, payload: object) -> None:
        keys.append(ctx.job.run_key)
        await ctx.reply("begun")
        await asyncio.sleep(10)

    return keys


@pytest.mark.parametrize("what", ["host", "everything"])
def test_b44_a_run_that_died_is_recorded_interrupted_at_most_once(drive: Drive, what: str) -> None:
    keys = long_job(drive)
    drive.persisted("a", "long", chat_id=1, after=1)
    drive.advance(seconds=2)
    if what == "host":
        drive.crash_host()
    else:
        drive.crash()
        drive.start()
    drive.advance(minutes=5)
    assert (len(keys), outcomes(drive), status(drive, "a")) == (1, ["interrupted"], "parked")


@pytest.mark.parametrize("what", ["host", "everything"])
def test_b44_a_run_that_died_is_repeated_at_least_once_under_the_same_key(drive: Drive, what: str) -> None:
    keys = long_job(drive)
    drive.persisted("a", "long", chat_id=1, after=1, delivery="at_least_once")
    drive.advance(seconds=2)
    if what == "host":
        drive.crash_host()
    else:
        drive.crash()
        drive.start()
    drive.advance(minutes=5)
    assert (len(keys), len(set(keys)), outcomes(drive)) == (2, 1, ["done"])


def test_b44_a_repeating_job_goes_on_after_a_run_that_died(drive: Drive) -> None:
    keys = long_job(drive)
    drive.persisted_every("a", "long", chat_id=1, every=60)
    drive.advance(seconds=62)
    drive.crash_host()
    drive.advance(seconds=80)
    assert (len(keys), outcomes(drive)) == (2, ["interrupted", "done"])


def test_b44_the_death_of_the_scheduler_alone_costs_no_run(drive: Drive) -> None:
    keys = long_job(drive)
    drive.persisted("a", "long", chat_id=1, after=1)
    drive.advance(seconds=2)
    drive.crash_scheduler()
    drive.advance(minutes=5)
    assert (len(keys), outcomes(drive)) == (1, ["done"])


def test_b45_five_thousand_claims_of_a_dead_incarnation_are_reclaimed_at_start(make_drive: MakeDrive) -> None:
    drive = make_drive(places=5_000)
    ran = note_runs(drive)
    drive.hold_results()
    drive.schedule_many(
        {
            "handler": "work",
            "id": f"{number}",
            "after": 1,
            "delivery": "at_least_once" if number % 2 else "at_most_once",
        }
        for number in range(5_000)
    )
    drive.advance(seconds=1)
    assert drive.health().claimed == 5_000
    drive.crash()
    drive.release_results()
    del ran[:]
    begun = time.process_time()
    drive.start()
    assert time.process_time() - begun < 10
    assert drive.health().claimed == 0
    assert sorted(int(job_id) for job_id in ids(ran)) == list(range(1, 5_000, 2))
    assert (outcomes(drive).count("done"), outcomes(drive).count("interrupted")) == (2_500, 2_500)


def test_b46_what_can_not_be_run_is_kept_with_its_reason_and_harms_nothing_else(drive: Drive) -> None:
    now = drive.clock.wall()
    drive.store.inner.put(
        [
            JobSpec("no payload", "work", now + 1_000_000, payload="{"),
            JobSpec("newer rule", "work", now + 1_000_000, rule='{"every_full_moon":1}'),
            JobSpec("no handler", "not yet", now + 1_000_000),
            JobSpec("good", "work", now + 1_000_000),
        ],
        now,
    )
    ran = note_runs(drive)
    drive.advance(minutes=5)
    assert ids(ran) == ["good"]
    for _ in range(2):
        why = {job.id: job.why for job in drive.pending()}
        assert set(why) == {"no payload", "newer rule", "no handler"}
        assert why["no payload"] == "the stored job can't be read"
        assert "does not know the rule" in (why["newer rule"] or "")
        assert why["no handler"] == "waiting: no host knows the handler 'not yet'"
        drive.stop()
        drive.start()
    late = note_runs(drive, "not yet")
    drive.advance(seconds=1)
    assert ids(late) == ["no handler"]


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_b48_a_claim_that_never_reached_its_host_is_sent_later(drive: Drive, delivery: str) -> None:
    keys = long_job(drive)
    drive.persisted("a", "long", chat_id=1, after=1, delivery=delivery)
    drive.lose_messages(RunBatch)
    drive.advance(seconds=2)
    drive.lose_messages()
    drive.crash_scheduler()
    drive.advance(minutes=1)
    assert (len(keys), len(drive.sent), outcomes(drive)) == (1, 1, ["done"])


def test_b48_a_batch_that_was_lost_is_given_again_when_its_host_joins_again(drive: Drive) -> None:
    keys = long_job(drive)
    drive.persisted("a", "long", chat_id=1, after=1)
    drive.lose_messages(RunBatch, times=1)
    drive.advance(seconds=2)
    assert keys == []
    note_runs(drive, "another")
    drive.advance(minutes=1)
    assert (len(keys), outcomes(drive)) == (1, ["done"])


def test_b48_what_was_sent_but_not_settled_may_be_sent_again_under_the_same_key(drive: Drive) -> None:
    keys = long_job(drive)
    drive.persisted("a", "long", chat_id=1, after=1, delivery="at_least_once")
    drive.hold_results()
    drive.advance(seconds=30)
    assert len(drive.sent) == 1
    drive.crash()
    drive.release_results()
    drive.start()
    drive.advance(minutes=1)
    assert (len(drive.sent), len(set(keys)), outcomes(drive)) == (2, 1, ["done"])


def test_b51_a_repeating_job_goes_on_whatever_its_handler_raises(drive: Drive) -> None:
    runs = 0

    async def other() -> None:
        pass

    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> object:
        nonlocal runs
        runs += 1
        match runs:
            case 1:
                raise ValueError("no good")
            case 2:
                raise SystemExit(3)
            case 3:
                raise asyncio.CancelledError
            case 4:
                return other()
            case 5:
                raise BaseException("worse")
        return None

    drive.persisted_every("a", "work", every=60)
    drive.advance(minutes=6)
    assert outcomes(drive, "a") == ["failed"] * 5 + ["done"]
    assert drive.history("a")[0].late_by == pendulum.duration()
    assert all(row.reason for row in drive.history("a", outcome="failed"))


# A crash at every step of the store


def live_a_little(drive: Drive) -> None:
    """Schedule, claim, settle, retry, repeat, cancel: a minute with a bit of everything."""
    drive.persisted("once", "work", chat_id=1, user_id=1, after=5)
    drive.persisted_every("often", "work", chat_id=2, user_id=1, every=20, delivery="at_least_once")
    drive.persisted("flaky", "flaky", chat_id=3, after=10)
    drive.persisted("cancelled", "work", after=30)
    drive.persisted("replaced", "work", after=15)
    drive.persisted("replaced", "work", after=35)
    drive.cancel("cancelled")
    drive.advance(seconds=70)


def with_handlers(drive: Drive) -> list[tuple[str, str]]:
    started: list[tuple[str, str]] = []

    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        started.append((ctx.job.id, ctx.job.run_key))
        ctx.session["runs"] = ctx.session.get("runs", 0) + 1

    @drive.handler("flaky")
    async def flaky(ctx: Context, payload: object) -> Retry | None:
        started.append((ctx.job.id, ctx.job.run_key))
        return Retry(after=3) if ctx.job.attempt == 1 else None

    return started


def steps_of_a_little_life(drive: Drive) -> int:
    with_handlers(drive)
    drive.store.count_steps()
    live_a_little(drive)
    return drive.store.steps


def check_the_little_life(drive: Drive, started: list[tuple[str, str]]) -> None:
    """Each occurrence has its one outcome, and nothing that was acknowledged is missing."""
    endings = {
        name: [row.outcome for row in drive.history(name) if row.reason != "replaced"]
        for name in ("once", "flaky", "replaced", "cancelled")
    }
    assert endings == {"once": ["done"], "flaky": ["done"], "replaced": ["done"], "cancelled": ["cancelled"]}
    often = [(row.due_at.second + 60 * row.due_at.minute, row.outcome) for row in drive.history("often")]
    assert often == [(60, "done"), (40, "done"), (20, "done")]
    assert started.count(("once", drive.history("once")[0].run_key)) == 1
    assert {session.chat_id: session.data["runs"] for session in drive.sessions()} == {1: 1, 2: 3, None: 1}
    assert [job.id for job in drive.pending()] == ["often"]
    assert drive.store.inner.check() == []


def live_with_crashes(make_drive: MakeDrive, store: str, crashes: list[tuple[int, ...]]) -> None:
    for steps in crashes:
        drive = make_drive(store=store)
        started = with_handlers(drive)
        drive.store.crash_at(*steps)
        live_a_little(drive)
        try:
            check_the_little_life(drive, started)
        except AssertionError as error:
            raise AssertionError(f"after crashes at the steps {steps}: {error}") from error
        # The second step may come while the scheduler ends of the first.
        assert 1 <= drive.restarts <= len(steps)
        drive.close()


@pytest.mark.parametrize("store", ["sqlite", "memory"])
def test_b28_no_occurrence_is_lost_or_doubled_by_a_crash_at_any_step(make_drive: MakeDrive, store: str) -> None:
    steps = steps_of_a_little_life(make_drive(store=store))
    assert steps > 100
    every = range(1, steps + 1)
    sample = every if store == "memory" else random.Random(28).sample(every, 60)
    live_with_crashes(make_drive, store, [(step,) for step in sample])


def test_b28_no_occurrence_is_lost_or_doubled_by_two_crashes_at_any_steps(make_drive: MakeDrive) -> None:
    steps = steps_of_a_little_life(make_drive(store="memory"))
    chance = random.Random(28)
    pairs = [tuple(sorted(chance.sample(range(1, steps + 1), 2))) for _ in range(150)]
    close = [(step, step + chance.randrange(1, 12)) for step in chance.sample(range(1, steps - 20), 100)]
    live_with_crashes(make_drive, "memory", [*pairs, *close])
