"""Everything that a handle offers, asked of a running system. The plain and the awaitable handle answer alike."""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pendulum
import pytest

import bellringer
import bellringer.aio
from bellringer import (
    InvalidJobError,
    Registry,
    RequestRefusedError,
    Retry,
    SchedulerHandle,
)
from tests.actors.blocking import Blocking
from tests.actors.systems import eventually

IDS = itertools.count()


def fresh(word: str) -> str:
    return f"{word}:{next(IDS)}"


@pytest.fixture(scope="module")
def registry() -> Registry:
    made = Registry()
    calls = itertools.count(1)

    async def echo(ctx: Any, payload: object) -> None:
        ctx.session["last"] = payload

    async def fails(ctx: Any, payload: object) -> None:
        raise ValueError(f"failed {payload}")

    async def hangs(ctx: Any, payload: object) -> None:
        await asyncio.Event().wait()

    async def parks(ctx: Any, payload: object) -> object:
        return bellringer.Park("told to")

    async def once_more(ctx: Any, payload: object) -> object:
        return Retry(after=0.01) if ctx.job.attempt < 3 else None

    async def counts(ctx: Any, payload: object) -> None:
        next(calls)

    for name, function in (
        *(("echo", echo), ("fails", fails), ("hangs", hangs), ("parks", parks)),
        *(("once more", once_more), ("counts", counts)),
    ):
        made.add(name, function)
    return made


@pytest.fixture(scope="module", autouse=True)
def attached(scheduler: SchedulerHandle, registry: Registry) -> None:
    """The process of the tests is the host of their handlers."""
    scheduler.attach(registry=registry)


@pytest.fixture(scope="module", params=["plain", "awaitable"])
def handle(request: pytest.FixtureRequest, scheduler: SchedulerHandle, database: Path) -> Iterator[Any]:
    if request.param == "plain":
        with bellringer.connect(database) as plain:
            yield plain
        return
    blocking = Blocking(bellringer.aio.connect(database))
    yield blocking
    blocking.end()


def ended(handle: Any, job_id: str) -> Any:
    """The latest occurrence of a job, once there is one."""
    eventually(lambda: handle.history(job_id))
    return handle.history(job_id)[0]


# Scheduling


def test_persisted_is_stored_when_it_returns(handle: Any) -> None:
    job_id, at = fresh("persisted"), pendulum.datetime(2031, 5, 1, 12, 0, 0, 123_456)
    stored = handle.persisted(job_id, "echo", at=at, payload={"text": "é 🎂"})
    assert (stored.id, stored.due_at, stored.replaced) == (job_id, at, False)
    job = handle.get(job_id)
    assert (job.status, job.due_at, job.handler, job.payload) == ("scheduled", at, "echo", {"text": "é 🎂"})


def test_persisted_after_a_delay_runs_and_is_recorded(handle: Any) -> None:
    job_id = fresh("after")
    handle.persisted(job_id, "echo", after=pendulum.duration(microseconds=20_000))
    row = ended(handle, job_id)
    assert (row.outcome, row.attempts, row.times) == ("done", 1, 1)
    assert row.started_at >= row.due_at
    assert handle.get(job_id).is_finished


def test_a_time_in_the_past_runs_at_once_with_its_lateness_recorded(handle: Any) -> None:
    job_id = fresh("past")
    handle.persisted(job_id, "echo", at=pendulum.now().subtract(hours=1))
    row = ended(handle, job_id)
    assert row.outcome == "done"
    assert 3_600 <= row.late_by.total_seconds() < 3_610


def test_the_same_id_again_replaces(handle: Any) -> None:
    job_id = fresh("twice")
    assert not handle.persisted(job_id, "echo", after=3_600, payload=1).replaced
    assert handle.persisted(job_id, "echo", after=7_200, payload=2).replaced
    assert handle.get(job_id).payload == 2
    assert [row.outcome for row in handle.history(job_id)] == ["cancelled"]


def test_persisted_every_starts_one_interval_from_now(handle: Any) -> None:
    job_id, before = fresh("every"), pendulum.now("UTC")
    stored = handle.persisted_every(job_id, "echo", every=pendulum.duration(hours=6))
    assert 0 <= (stored.due_at - before.add(hours=6)).total_seconds() < 5
    assert handle.get(job_id).every == pendulum.duration(hours=6)


def test_persisted_every_keeps_its_grid(handle: Any) -> None:
    job_id = fresh("grid")
    first = handle.persisted_every(job_id, "echo", every=0.05).due_at_us
    eventually(lambda: len(handle.history(job_id)) >= 4)
    handle.cancel(job_id)
    due = [int(row.due_at.timestamp() * 1_000_000 + 0.5) for row in handle.history(job_id, outcome="done")]
    assert due
    assert {(at - first) % 50_000 for at in due} == {0}


def test_persisted_every_may_start_at_an_instant(handle: Any) -> None:
    at = pendulum.datetime(2031, 1, 1)
    assert handle.persisted_every(fresh("at"), "echo", every=60, at=at).due_at == at


def test_schedule_gives_an_id_where_none_was_given(handle: Any) -> None:
    first, second = (handle.schedule("echo", after=3_600) for _ in range(2))
    assert first.id != second.id
    assert handle.get(first.id).id == first.id


def test_all_that_can_be_said_of_a_job_is_kept(handle: Any) -> None:
    job_id = fresh("options")
    handle.schedule(
        *("echo",),
        id=job_id,
        after=3_600,
        chat_id=-1_001,
        user_id=7,
        thread_id=3,
        payload=[1, 2.5, None, "x"],
        delivery="at_least_once",
        attempts=4,
        time_limit=1.5,
        misfire="skip",
        grace=30,
    )
    job = handle.get(job_id)
    assert (job.chat_id, job.user_id, job.thread_id) == (-1_001, 7, 3)
    assert (job.payload, job.delivery) == ([1, 2.5, None, "x"], "at_least_once")


def test_a_failure_is_final_without_attempts(handle: Any) -> None:
    job_id = fresh("fails")
    handle.schedule("fails", id=job_id, after=0, payload=1)
    row = ended(handle, job_id)
    assert (row.outcome, row.attempts) == ("failed", 1)
    assert "failed 1" in row.reason
    assert "ValueError: failed 1" in row.traceback
    assert handle.get(job_id).status == "parked"


def test_a_failure_is_retried_while_the_job_has_attempts(handle: Any) -> None:
    job_id = fresh("attempts")
    handle.schedule("fails", id=job_id, after=0, attempts=2)
    eventually(lambda: handle.get(job_id).attempts == 1 and handle.get(job_id).status == "scheduled")
    assert handle.history(job_id) == []
    assert handle.get(job_id).next_attempt_at > handle.get(job_id).due_at
    assert (ended(handle, job_id).outcome, ended(handle, job_id).attempts) == ("failed", 2)


def test_a_handler_may_ask_for_a_retry(handle: Any) -> None:
    job_id = fresh("retry")
    handle.schedule("once more", id=job_id, after=0)
    assert (ended(handle, job_id).outcome, ended(handle, job_id).attempts) == ("done", 3)


def test_a_run_ends_at_its_time_limit(handle: Any) -> None:
    job_id = fresh("hangs")
    handle.schedule("hangs", id=job_id, after=0, time_limit=0.05)
    row = ended(handle, job_id)
    assert row.outcome == "failed"
    assert "0.05" in row.reason


@pytest.mark.parametrize(("misfire", "outcome"), [("skip", "skipped"), ("expire", "skipped"), ("run_late", "done")])
def test_a_job_found_later_than_its_grace_gets_what_it_asked_for(handle: Any, misfire: str, outcome: str) -> None:
    job_id = fresh(misfire)
    handle.schedule("echo", id=job_id, at=pendulum.now().subtract(minutes=5), misfire=misfire, grace=60)
    assert ended(handle, job_id).outcome == outcome


def test_schedule_many_stores_all_and_gives_their_ids_in_order(handle: Any) -> None:
    ids = [fresh("many") for _ in range(50)]
    jobs = [{"handler": "echo", "id": job_id, "after": 3_600, "payload": job_id} for job_id in ids]
    assert handle.schedule_many(jobs) == ids
    assert all(handle.get(job_id).payload == job_id for job_id in (ids[0], ids[-1]))
    assert len(handle.schedule_many([{"handler": "echo", "after": 3_600}] * 2)) == 2


def test_a_call_may_be_many_megabytes_long(handle: Any) -> None:
    jobs = [{"handler": "echo", "id": fresh("long"), "after": 3_600, "payload": "x" * 1_000_000} for _ in range(12)]
    ids = handle.schedule_many(jobs)
    assert handle.get(ids[-1]).payload == "x" * 1_000_000
    assert len(handle.cancel(*ids).cancelled) == 12


def test_schedule_many_of_nothing_is_nothing(handle: Any) -> None:
    assert handle.schedule_many([]) == []


def test_schedule_many_stores_none_where_one_is_refused(handle: Any) -> None:
    good = fresh("good")
    jobs = [{"handler": "echo", "id": good, "after": 3_600}, {"handler": "echo", "id": "bad", "after": float("nan")}]
    with pytest.raises(InvalidJobError, match=r"job 1 of the list \('bad'\)"):
        handle.schedule_many(jobs)
    assert handle.get(good) is None


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"at": pendulum.datetime(2031, 1, 1), "after": 5},
        {"after": 5, "color": "red"},
        {"after": float("nan")},
        {"every": 0},
        {"after": 5, "payload": float("inf")},
        {"after": 5, "delivery": "exactly_once"},
        {"after": 5, "attempts": 0},
    ],
    ids=str,
)
def test_what_cannot_be_stored_is_refused_before_anything_is_sent(handle: Any, options: dict[str, object]) -> None:
    job_id = fresh("refused")
    with pytest.raises(InvalidJobError):
        handle.schedule("echo", id=job_id, **options)
    assert handle.get(job_id) is None


# Changing


def test_cancel_takes_jobs_away_and_names_the_ids_that_were_not_there(handle: Any) -> None:
    first, second = fresh("cancel"), fresh("cancel")
    handle.schedule_many([{"handler": "echo", "id": job_id, "after": 3_600} for job_id in (first, second)])
    answer = handle.cancel("nobody", first, "no one", second)
    assert (answer.cancelled, answer.unknown) == ((first, second), ("nobody", "no one"))
    assert answer
    assert [row.outcome for row in handle.history(first)] == ["cancelled"]


def test_cancel_of_unknown_ids_only_is_no_error_and_is_false(handle: Any) -> None:
    assert not handle.cancel("nobody")
    assert not handle.cancel()


def test_run_now_runs_a_scheduled_job_now(handle: Any) -> None:
    job_id = fresh("now")
    handle.schedule("echo", id=job_id, after=3_600)
    handle.run_now(job_id)
    assert ended(handle, job_id).outcome == "done"


def test_run_now_of_what_is_not_there_is_refused(handle: Any) -> None:
    with pytest.raises(RequestRefusedError, match="'nobody' is not there") as told:
        handle.run_now("nobody")
    assert told.value.code == "not_found"


def test_redrive_puts_a_parked_job_back(handle: Any) -> None:
    job_id = fresh("redrive")
    handle.schedule("parks", id=job_id, after=0)
    eventually(lambda: handle.get(job_id).status == "parked")
    assert handle.get(job_id).why == "told to"
    handle.redrive(job_id)
    eventually(lambda: len(handle.history(job_id)) == 2)


def test_redrive_of_a_job_that_is_not_parked_is_refused(handle: Any) -> None:
    job_id = fresh("redrive")
    handle.schedule("echo", id=job_id, after=3_600)
    with pytest.raises(RequestRefusedError, match="only a parked job can be redriven") as told:
        handle.redrive(job_id)
    assert told.value.code == "wrong_state"


# Looking


def test_get_of_what_was_never_there_is_none(handle: Any) -> None:
    assert handle.get("nobody") is None


def test_pending_lists_a_chats_jobs_in_due_order_page_by_page(handle: Any) -> None:
    chat = fresh("chat")
    ids = [fresh("page") for _ in range(5)]
    handle.schedule_many(
        [{"handler": "echo", "id": job_id, "after": 9_000 - place, "chat_id": chat} for place, job_id in enumerate(ids)]
    )
    pages, after = [], None
    while page := handle.pending(chat_id=chat, limit=2, after=after):
        pages.append([job.id for job in page])
        after = page[-1].id
    assert pages == [ids[:2:-1], ids[2:0:-1], ids[:1]]


def test_pending_tells_what_is_parked_and_what_waits_for_a_handler_and_why(handle: Any) -> None:
    chat, parked, waiting = fresh("chat"), fresh("parks"), fresh("waits")
    handle.schedule("parks", id=parked, after=0, chat_id=chat)
    handle.schedule("nobody's", id=waiting, after=0)
    eventually(lambda: [job.id for job in handle.pending(chat_id=chat, status="parked")] == [parked])
    eventually(lambda: handle.get(waiting).waiting_for == "handler:nobody's")
    assert handle.get(waiting).why == 'waiting: no host knows the handler "nobody\'s"'
    assert handle.pending(chat_id=chat, status="claimed") == []
    handle.cancel(parked, waiting)


@pytest.mark.parametrize("options", [{"limit": 0}, {"limit": 10_001}, {"limit": True}, {"status": "done"}], ids=str)
def test_pending_refuses_what_it_cannot_list(handle: Any, options: dict[str, object]) -> None:
    with pytest.raises(InvalidJobError):
        handle.pending(**options)


def test_history_is_told_newest_first_by_job_by_chat_and_by_outcome_page_by_page(handle: Any) -> None:
    chat, job_id = fresh("chat"), fresh("told")
    for _ in range(3):
        handle.schedule("echo", id=job_id, after=3_600, chat_id=chat)
    handle.cancel(job_id)
    rows = handle.history(chat_id=chat)
    assert [row.outcome for row in rows] == ["cancelled"] * 3
    assert [row.number for row in rows] == sorted((row.number for row in rows), reverse=True)
    first = handle.history(job_id, limit=1)
    assert handle.history(job_id, limit=2, before=first[-1].number) == rows[1:]
    assert handle.history(chat_id=chat, outcome="done") == []


def test_sessions_tell_what_handlers_have_stored(handle: Any) -> None:
    chat, job_id = fresh("chat"), fresh("session")
    handle.schedule("echo", id=job_id, after=0, chat_id=chat, user_id=7, payload={"n": 1})
    ended(handle, job_id)
    (session,) = handle.sessions(chat_id=chat)
    assert (session.chat_id, session.user_id, session.data) == (chat, 7, {"last": {"n": 1}})
    assert handle.sessions(chat_id="nobody") == []
    assert len(handle.sessions(limit=1)) == 1


def test_health_tells_how_the_system_is(handle: Any, database: Path) -> None:
    health = handle.health()
    assert (health.status, health.storage, health.name) == ("ok", "ok", "bellringer")
    assert (health.database, health.version) == (str(database), bellringer.__version__)
    assert health.armed_wakeups <= 1
    assert {host.kind for host in health.hosts} == {"attached"}
    assert "echo" in {name for host in health.hosts for name in host.handlers}


def test_listen_tells_every_event(handle: Any) -> None:
    told: list[bellringer.Event] = []
    handle.listen(told.append)
    job_id = fresh("told")
    handle.schedule("parks", id=job_id, after=0)
    eventually(lambda: any(event.job_id == job_id for event in told))
    (parked,) = [event for event in told if event.job_id == job_id and event.kind == "job.parked"]
    assert (parked.handler, parked.attempt, parked.reason) == ("parks", 1, "told to")


def test_attach_brings_the_handlers_of_a_process(handle: Any) -> None:
    registry, job_id, ran = Registry(), fresh("brought"), []

    async def note(ctx: Any, payload: object) -> None:
        ran.append(payload)

    name = fresh("note")
    registry.add(name, note)
    handle.schedule(name, id=job_id, after=0, payload="hello")
    assert handle.attach(registry=registry) is not None
    eventually(lambda: ran == ["hello"])
