from collections.abc import Iterator
from pathlib import Path

import pytest

from bellringer.storage.sqlite_store import SqliteStore, open_store
from tests.command_line.calling import Calling, Served
from tests.contract.steps import SECOND, T, claim_due, done, ending, failed, job, put

TRACEBACK = "Traceback:\n  line \x1b[31m\nValueError: no"
FAR_AHEAD = 4_102_444_800_000_000
HANDLERS = """
from bellringer import handler

@handler("greet")
async def greet(ctx, payload):
    ctx.session["greeted"] = True

@handler("break")
async def break_(ctx, payload):
    raise ValueError("it broke")
"""


def fill(store: SqliteStore) -> None:
    """A job in each state, and an ended one."""
    put(store, job("ended", chat_id=42, user_id=7), job("broken", chat_id=-100))
    for order in claim_due(store):
        if order.id == "ended":
            store.settle([done(order, session_set='{"n":1}')], T + 2)
        else:
            told = ending(
                order, "failed", reason="ValueError: no", traceback="Traceback:\n  line \x1b[31m\nValueError: no"
            )
            store.settle([failed(order, "park", reason="ValueError: no")._replace(ending=told)], T + 2)
    (strange,) = put(store, job("strange", T + SECOND, handler="unknown", chat_id=5))
    store.wait([strange], "handler:unknown", T)
    put(store, job("running", T + 2 * SECOND, chat_id=6))
    claim_due(store)
    put(
        store,
        job("reminder:42", FAR_AHEAD, chat_id=42, user_id=7, payload='{"text":"tea"}'),
        job("digest", FAR_AHEAD + SECOND, chat_id="42", rule='{"every_us":86400000000}'),
    )


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A file with a job in each state, on which nothing runs."""
    path = tmp_path / "bot.db"
    store = open_store(path)
    fill(store)
    store.close()
    return path


@pytest.fixture
def bellringer(database: Path) -> Calling:
    return Calling(database)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calling]:
    """A system that runs in a folder with handlers of its own. Each test uses ids of its own."""
    folder = tmp_path_factory.mktemp("serving")
    (folder / "greetings.py").write_text(HANDLERS)
    with Served(folder, "--handlers", "greetings", "--handler-actors", "1") as served:
        assert served.first_line, served.stop().err
        yield Calling(folder / "bot.db")
    assert served.stop().code == 0
