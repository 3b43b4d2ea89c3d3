"""Two kinds of handle, and how they come and go."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import bellringer
import bellringer.aio
from bellringer import SchedulerHandle, SchedulerUnavailableError, WrongSchedulerError
from bellringer.aio import AsyncSchedulerHandle
from tests.actors.blocking import Blocking


def test_both_handles_offer_the_same_names_with_the_same_parameters() -> None:
    def offered(kind: type) -> dict[str, list[inspect.Parameter]]:
        methods = inspect.getmembers(kind, inspect.isfunction)
        return {
            name: [parameter.replace(annotation="") for parameter in inspect.signature(method).parameters.values()]
            for name, method in methods
            if not name.startswith("_")
        }

    assert offered(SchedulerHandle) == offered(AsyncSchedulerHandle)
    assert len(offered(SchedulerHandle)) >= 16


def test_every_method_of_the_awaitable_handle_is_awaited() -> None:
    methods = inspect.getmembers(AsyncSchedulerHandle, inspect.isfunction)
    assert all(inspect.iscoroutinefunction(method) for name, method in methods if not name.startswith("_"))


@pytest.fixture(params=["plain", "awaitable"])
def connect(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Makes handles of one kind, and ends them."""
    made: list[Blocking] = []

    def awaitable(*arguments: Any, **options: Any) -> Any:
        made.append(Blocking(bellringer.aio.connect(*arguments, **options)))
        return made[-1]

    yield bellringer.connect if request.param == "plain" else awaitable
    for blocking in made:
        blocking.end()


def test_connect_looks_at_nothing_before_its_first_use(connect: Callable[..., Any], tmp_path: Path) -> None:
    handle = connect(tmp_path / "nowhere" / "bot.db")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SchedulerUnavailableError, match=r"no scheduler runs on .*bellringer serve"):
        handle.get("a", timeout=0.05)
    assert list(tmp_path.iterdir()) == []


def test_a_handle_made_before_the_system_finds_it_later(connect: Callable[..., Any], tmp_path: Path) -> None:
    early = connect(tmp_path / "bot.db")
    with bellringer.start(tmp_path / "bot.db", grace=1.0):
        assert early.health().status == "ok"


def test_a_scheduler_of_another_name_is_refused(
    connect: Callable[..., Any], scheduler: SchedulerHandle, database: Path
) -> None:
    assert connect(database, name="bellringer").health().name == "bellringer"
    with pytest.raises(WrongSchedulerError, match="is named 'bellringer', not 'mine'"):
        connect(database, name="mine").health(timeout=2.0)


def test_b94_a_handle_that_was_stopped_refuses_every_call(
    connect: Callable[..., Any], scheduler: SchedulerHandle, database: Path
) -> None:
    handle = connect(database)
    assert handle.health().status == "ok"
    handle.stop()
    for call in (handle.health, lambda: handle.persisted("a", "echo", after=1), lambda: handle.run_after(1, print)):
        with pytest.raises(SchedulerUnavailableError):
            call()
    assert scheduler.health().status == "ok"


def test_stopping_twice_is_harmless(connect: Callable[..., Any], scheduler: SchedulerHandle, database: Path) -> None:
    handle = connect(database)
    handle.health()
    handle.stop()
    handle.stop()


def test_a_handle_is_a_context_that_stops_it(scheduler: SchedulerHandle, database: Path) -> None:
    async def awaitable() -> AsyncSchedulerHandle:
        async with bellringer.aio.connect(database) as entered:
            assert (await entered.health()).status == "ok"
        return entered

    with bellringer.connect(database) as plain:
        assert plain.health().status == "ok"
    with pytest.raises(SchedulerUnavailableError, match="stopped"):
        plain.health()
    left = asyncio.run(awaitable())
    with pytest.raises(SchedulerUnavailableError, match="stopped"):
        asyncio.run(left.health())


def test_start_refuses_an_option_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="no option 'handelers'"):
        bellringer.start(tmp_path / "bot.db", handelers=[])  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="list of module names"):
        bellringer.start(tmp_path / "bot.db", handlers="mybot")
