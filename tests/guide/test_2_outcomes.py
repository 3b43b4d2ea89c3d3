"""How a run ends: done, again, failed, parked. And what is kept of it."""

from queue import Queue

from bellringer import Context, Event, Park, Registry, Retry, SchedulerHandle, handler

PATIENCE_S = 10.0


def test_the_session_keeps_what_a_handler_put_there(scheduler: SchedulerHandle, events: "Queue[Event]") -> None:
    registry = Registry()

    @handler("count", registry=registry)
    async def count(ctx: Context, payload: object) -> None:
        ctx.session["rung"] = ctx.session.get("rung", 0) + 1

    scheduler.attach(registry=registry)
    for number in range(3):
        scheduler.persisted(f"count:{number}", "count", after=0, chat_id=42, user_id=7)
    for _ in range(3):
        assert events.get(timeout=PATIENCE_S).kind == "job.run"

    (session,) = scheduler.sessions(chat_id=42)
    assert (session.user_id, session.data) == (7, {"rung": 3})


def test_a_handler_that_asks_for_it_is_called_again_with_the_same_run_key(scheduler: SchedulerHandle) -> None:
    registry, calls = Registry(), Queue[tuple[int, str]]()

    @handler("post", registry=registry)
    async def post(ctx: Context, payload: object) -> Retry | None:
        calls.put((ctx.job.attempt, ctx.job.run_key))
        return Retry(after=0.05, reason="the service is busy") if ctx.job.attempt == 1 else None

    scheduler.attach(registry=registry)
    scheduler.persisted("post:1", "post", after=0)

    (first, key), (second, same_key) = calls.get(timeout=PATIENCE_S), calls.get(timeout=PATIENCE_S)
    assert (first, second) == (1, 2)
    assert key == same_key


def test_an_exception_is_final_unless_the_job_has_attempts(scheduler: SchedulerHandle, events: "Queue[Event]") -> None:
    registry = Registry()

    @handler("post", registry=registry)
    async def post(ctx: Context, payload: object) -> None:
        raise ConnectionError("no route to the service")

    scheduler.attach(registry=registry)
    scheduler.persisted("post:1", "post", after=0)
    assert [events.get(timeout=PATIENCE_S).kind for _ in range(2)] == ["job.error", "job.parked"]

    job = scheduler.get("post:1")
    assert job is not None
    assert (job.status, job.why) == ("parked", "ConnectionError: no route to the service")
    (row,) = scheduler.history("post:1")
    assert row.outcome == "failed"
    assert row.traceback is not None
    assert "raise ConnectionError" in row.traceback

    scheduler.persisted("post:2", "post", after=0, attempts=2)
    assert events.get(timeout=PATIENCE_S).kind == "job.retry"


def test_a_parked_job_waits_for_a_person_and_is_redriven(scheduler: SchedulerHandle, events: "Queue[Event]") -> None:
    registry, open_for_business = Registry(), Queue[bool]()

    @handler("post", registry=registry)
    async def post(ctx: Context, payload: object) -> Park | None:
        return Park("the account is closed") if open_for_business.empty() else None

    scheduler.attach(registry=registry)
    scheduler.persisted("post:1", "post", after=0)
    assert events.get(timeout=PATIENCE_S).kind == "job.parked"
    assert [job.why for job in scheduler.pending(status="parked")] == ["the account is closed"]

    open_for_business.put(True)
    scheduler.redrive("post:1")
    assert events.get(timeout=PATIENCE_S).kind == "job.run"
    assert [row.outcome for row in scheduler.history("post:1")] == ["done", "failed"]


def test_a_handler_plans_what_comes_next(scheduler: SchedulerHandle) -> None:
    registry, called = Registry(), Queue[str]()

    @handler("ask", registry=registry)
    async def ask(ctx: Context, payload: object) -> None:
        ctx.schedule("ask_again", id="ask_again:42", after=0.05)
        ctx.cancel("nag:42")

    @handler("ask_again", registry=registry)
    async def ask_again(ctx: Context, payload: object) -> None:
        called.put(f"asked again in chat {ctx.chat_id}")

    scheduler.attach(registry=registry)
    scheduler.persisted("nag:42", "ask", after=3_600)
    scheduler.persisted("ask:42", "ask", after=0, chat_id=42)

    assert called.get(timeout=PATIENCE_S) == "asked again in chat 42"
    assert scheduler.cancel("nag:42").unknown == ("nag:42",)


def test_a_job_waits_for_a_handler_that_nobody_knows_yet(scheduler: SchedulerHandle) -> None:
    registry, called = Registry(), Queue[str]()

    @handler("brought_later", registry=registry)
    async def brought_later(ctx: Context, payload: object) -> None:
        called.put(ctx.job.id)

    scheduler.persisted("early:1", "brought_later", after=0)
    scheduler.attach(registry=registry)

    assert called.get(timeout=PATIENCE_S) == "early:1"


def test_what_a_handler_did_before_it_parked_its_job_is_kept(
    scheduler: SchedulerHandle, events: "Queue[Event]"
) -> None:
    registry = Registry()

    @handler("post", registry=registry)
    async def post(ctx: Context, payload: object) -> Park:
        ctx.session["told"] = "the account is closed"
        ctx.schedule("post", id="post:later", after=3_600)
        return Park("the account is closed")

    scheduler.attach(registry=registry)
    scheduler.persisted("post:1", "post", after=0, chat_id=42)
    assert events.get(timeout=PATIENCE_S).kind == "job.parked"

    assert scheduler.sessions(chat_id=42)[0].data == {"told": "the account is closed"}
    assert {job.id for job in scheduler.pending()} == {"post:1", "post:later"}


def test_what_a_handler_put_into_the_session_before_it_failed_is_dropped(
    scheduler: SchedulerHandle, events: "Queue[Event]"
) -> None:
    registry = Registry()

    @handler("post", registry=registry)
    async def post(ctx: Context, payload: object) -> None:
        ctx.session["told"] = "half of it"
        ctx.schedule("post", id="post:later", after=3_600)
        raise ConnectionError("no route to the service")

    scheduler.attach(registry=registry)
    scheduler.persisted("post:1", "post", after=0, chat_id=42)
    assert [events.get(timeout=PATIENCE_S).kind for _ in range(2)] == ["job.error", "job.parked"]

    assert scheduler.sessions(chat_id=42) == []
    assert {job.id for job in scheduler.pending()} == {"post:1", "post:later"}
