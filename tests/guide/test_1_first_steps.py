"""First steps: start a scheduler, give it handlers, and have them called.

A bot writes `@handler("name")` and needs no registry. These tests make one each, so that their names don't meet.
"""

from datetime import timedelta
from pathlib import Path
from queue import Queue

import pendulum
import pytest

import bellringer
from bellringer import Context, Event, Registry, RequestRefusedError, SchedulerHandle, SyncContext, handler
from bellringer.handlers.transports.recorded import RecordedTransport

PATIENCE_S = 10.0


def test_a_job_calls_its_handler_at_its_time(scheduler: SchedulerHandle) -> None:
    registry, called = Registry(), Queue[object]()

    @handler("remind", registry=registry)
    async def remind(ctx: Context, payload: object) -> None:
        called.put(payload)

    scheduler.attach(registry=registry)
    scheduler.persisted("reminder:42", "remind", after=0.05, payload={"text": "stand up"})

    assert called.get(timeout=PATIENCE_S) == {"text": "stand up"}


def test_a_handler_may_be_plain_and_block(scheduler: SchedulerHandle) -> None:
    registry, called = Registry(), Queue[int]()

    @handler("remind", registry=registry)
    def remind(ctx: SyncContext, payload: object) -> None:
        called.put(ctx.job.attempt)

    scheduler.attach(registry=registry)
    scheduler.persisted("reminder:42", "remind", after=0)

    assert called.get(timeout=PATIENCE_S) == 1


def test_a_handler_knows_its_chat_and_replies_to_it(scheduler: SchedulerHandle) -> None:
    registry, chat, called = Registry(), RecordedTransport(), Queue[object]()

    @handler("remind", registry=registry)
    async def remind(ctx: Context, payload: object) -> None:
        called.put(await ctx.reply(f"⏰ for {ctx.user_id}"))

    scheduler.attach(registry=registry, transport=chat)
    scheduler.persisted("reminder:42", "remind", after=0, chat_id=42, user_id=7)

    assert called.get(timeout=PATIENCE_S) == chat.sent[0].message_id
    assert (chat.sent[0].chat_id, chat.sent[0].text) == (42, "⏰ for 7")


def test_what_was_scheduled_survives_the_end_of_everything(database: Path) -> None:
    with bellringer.start(database) as scheduler:
        scheduler.persisted("reminder:42", "remind", at=pendulum.datetime(2030, 12, 25, 8, tz="Europe/Berlin"))

    with bellringer.start(database) as scheduler:
        (job,) = scheduler.pending()
        assert (job.id, job.status) == ("reminder:42", "scheduled")
        assert job.due_at == pendulum.datetime(2030, 12, 25, 7, tz="UTC")


def test_another_process_connects_by_the_name_of_the_database(scheduler: SchedulerHandle, database: Path) -> None:
    other = bellringer.connect(database)
    other.persisted("reminder:42", "remind", after=3_600)

    assert [job.id for job in scheduler.pending()] == ["reminder:42"]
    other.stop()  # leaves; what it did not start, it does not end
    assert scheduler.health().scheduled == 1


def test_the_same_id_again_replaces_the_job(scheduler: SchedulerHandle) -> None:
    assert not scheduler.persisted("reminder:42", "remind", after=3_600, payload={"text": "tea"}).replaced
    assert scheduler.persisted("reminder:42", "remind", after=7_200, payload={"text": "coffee"}).replaced

    (job,) = scheduler.pending()
    assert job.payload == {"text": "coffee"}


def test_a_cancelled_job_is_gone_and_its_end_is_on_record(scheduler: SchedulerHandle) -> None:
    scheduler.persisted("reminder:42", "remind", after=3_600)

    told = scheduler.cancel("reminder:42", "reminder:43")
    assert (told.cancelled, told.unknown) == (("reminder:42",), ("reminder:43",))
    assert scheduler.pending() == []
    assert [row.outcome for row in scheduler.history("reminder:42")] == ["cancelled"]


def test_many_jobs_are_scheduled_in_one_go_or_none_of_them(scheduler: SchedulerHandle) -> None:
    good = [{"id": f"poll:{chat}", "handler": "close_poll", "after": 3_600, "chat_id": chat} for chat in range(100)]
    with pytest.raises(bellringer.InvalidJobError, match="poll:bad"):
        scheduler.schedule_many([*good, {"id": "poll:bad", "handler": "close_poll", "after": float("nan")}])
    assert scheduler.pending() == []

    assert len(scheduler.schedule_many(good)) == 100
    assert len(scheduler.pending(chat_id=7)) == 1


def test_a_repeating_job_stays_on_its_grid(scheduler: SchedulerHandle) -> None:
    registry, due = Registry(), Queue[pendulum.DateTime]()

    @handler("digest", registry=registry)
    async def digest(ctx: Context, payload: object) -> None:
        due.put(ctx.job.due_at)

    scheduler.attach(registry=registry)
    scheduler.persisted_every("digest:42", "digest", every=0.1)

    first, second = due.get(timeout=PATIENCE_S), due.get(timeout=PATIENCE_S)
    assert (second - first).total_seconds() == pytest.approx(0.1)


def test_after_an_outage_a_repeating_job_runs_once_and_goes_on(
    scheduler: SchedulerHandle, events: "Queue[Event]"
) -> None:
    registry, late = Registry(), Queue[pendulum.Duration]()

    @handler("digest", registry=registry)
    async def digest(ctx: Context, payload: object) -> None:
        late.put(ctx.job.late_by)

    five_and_a_half_days_ago = pendulum.now() - timedelta(days=5, hours=12)
    scheduler.persisted_every("digest:42", "digest", every=pendulum.duration(days=1), at=five_and_a_half_days_ago)
    scheduler.attach(registry=registry)

    assert late.get(timeout=PATIENCE_S).in_hours() == 12
    assert [events.get(timeout=PATIENCE_S).kind for _ in range(2)] == ["job.late", "job.run"]
    (job,) = scheduler.pending()
    assert 11 <= (job.due_at - pendulum.now()).in_hours() <= 12
    assert ("skipped", 5) in [(row.outcome, row.times) for row in scheduler.history("digest:42")]


def test_a_job_can_be_run_at_once(scheduler: SchedulerHandle) -> None:
    registry, called = Registry(), Queue[str]()

    @handler("remind", registry=registry)
    async def remind(ctx: Context, payload: object) -> None:
        called.put(ctx.job.id)

    scheduler.attach(registry=registry)
    scheduler.persisted("reminder:42", "remind", after=3_600)
    scheduler.run_now("reminder:42")
    assert called.get(timeout=PATIENCE_S) == "reminder:42"

    with pytest.raises(RequestRefusedError, match="not there"):
        scheduler.run_now("reminder:43")


def test_functions_of_this_process_can_be_called_later_too(scheduler: SchedulerHandle) -> None:
    called = Queue[str]()

    scheduler.run_after(0.05, called.put, "once")
    assert called.get(timeout=PATIENCE_S) == "once"

    ticking = scheduler.run_every(0.05, called.put, "again")
    assert [called.get(timeout=PATIENCE_S), called.get(timeout=PATIENCE_S)] == ["again", "again"]
    scheduler.cancel(ticking)
