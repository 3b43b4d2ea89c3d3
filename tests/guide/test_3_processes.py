"""Handlers in processes of their own, and the same API to await."""

import asyncio
import sys
from pathlib import Path
from queue import Queue

import pytest

import bellringer
from bellringer import Context, Event, Registry, aio, handler

PATIENCE_S = 10.0

MODULE = """
from bellringer import handler

@handler("work")
async def work(ctx, payload):
    ctx.session["worked"] = payload
"""


def test_handler_actors_import_the_bots_modules(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_jobs.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    told: Queue[Event] = Queue()

    with bellringer.start(database, handlers=["my_jobs"], handler_actors=1) as scheduler:
        scheduler.listen(told.put)
        scheduler.persisted("work:1", "work", after=0, chat_id=42, payload="hard")

        assert told.get(timeout=PATIENCE_S).kind == "job.run"
        assert scheduler.sessions(chat_id=42)[0].data == {"worked": "hard"}
        assert "handler actor" in [host.kind for host in scheduler.health().hosts]


def test_everything_can_be_awaited_and_handlers_run_on_the_bots_own_loop(database: Path) -> None:
    async def bot() -> None:
        registry = Registry()
        own_loop = asyncio.get_running_loop()
        called: asyncio.Future[bool] = own_loop.create_future()

        @handler("remind", registry=registry)
        async def remind(ctx: Context, payload: object) -> None:
            called.set_result(asyncio.get_running_loop() is own_loop)

        scheduler = await aio.start(database)
        try:
            await scheduler.attach(registry=registry)
            await scheduler.persisted("reminder:42", "remind", after=0.05)
            assert await asyncio.wait_for(called, PATIENCE_S)
        finally:
            await scheduler.stop()

    asyncio.run(bot())
