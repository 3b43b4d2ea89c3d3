"""Handlers are known by name."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bellringer.handlers.errors import HandlerImportError, HandlerRegistrationError
from bellringer.handlers.registry import Registry, handler, load


async def remind(ctx: object, payload: object) -> None: ...


def digest(ctx: object, payload: object) -> None: ...


@pytest.fixture
def registry() -> Registry:
    return Registry()


def test_the_decorator_registers_a_function_and_gives_it_back(registry: Registry) -> None:
    given_back = handler("remind", registry=registry)(remind)

    known = registry.get("remind")
    assert given_back is remind
    assert known is not None
    assert known.function is remind


def test_async_and_plain_functions_are_told_apart(registry: Registry) -> None:
    assert registry.add("a", remind).is_async
    assert not registry.add("b", digest).is_async
    assert registry.add("c", partial(remind)).is_async


def test_an_object_with_an_async_call_is_an_async_handler(registry: Registry) -> None:
    class Greeter:
        async def __call__(self, ctx: object, payload: object) -> None: ...

    assert registry.add("greet", Greeter()).is_async


def test_a_decorator_without_a_name_is_refused_with_the_way_to_write_it() -> None:
    with pytest.raises(HandlerRegistrationError, match=r'write @handler\("name"\) above .*remind'):
        handler(remind)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", " ", " remind", "re\nmind", "nul\0", "x" * 256])
def test_a_name_that_people_could_not_read_is_refused(registry: Registry, name: str) -> None:
    with pytest.raises(HandlerRegistrationError, match="can't name a handler"):
        registry.add(name, remind)


def test_a_name_taken_by_another_function_is_refused(registry: Registry) -> None:
    registry.add("remind", remind)

    with pytest.raises(HandlerRegistrationError, match=r"belongs to .*remind already"):
        registry.add("remind", digest)


def test_two_lambdas_are_two_functions(registry: Registry) -> None:
    registry.add("remind", lambda _ctx, _payload: None)

    with pytest.raises(HandlerRegistrationError, match="already"):
        registry.add("remind", lambda _ctx, _payload: None)


@pytest.mark.parametrize("function", [lambda: None, lambda _ctx: None, lambda _ctx, _payload, _more: None])
def test_a_function_that_can_not_take_context_and_payload_is_refused(
    registry: Registry, function: Callable[..., object]
) -> None:
    with pytest.raises(HandlerRegistrationError, match="must take two arguments"):
        registry.add("remind", function)


def test_a_generator_is_refused_because_it_would_never_run(registry: Registry) -> None:
    def forgotten(ctx: object, payload: object) -> object:
        yield

    with pytest.raises(HandlerRegistrationError, match="contains a yield"):
        registry.add("remind", forgotten)


def test_a_class_is_no_handler(registry: Registry) -> None:
    with pytest.raises(HandlerRegistrationError, match="must be a function"):
        registry.add("remind", Path)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Write a module of a bot, and tell its name."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(text: str) -> str:
        (tmp_path / "a_bots_jobs.py").write_text(text)
        monkeypatch.delitem(sys.modules, "a_bots_jobs", raising=False)
        return "a_bots_jobs"

    return write


MODULE = """
from bellringer.handlers.registry import default_registry, handler
@handler("test.loaded")
def loaded(ctx, payload): pass
"""


def test_load_imports_modules_and_tells_the_names_known(module: Callable[[str], str]) -> None:
    assert "test.loaded" in load([module(MODULE)])


def test_a_module_imported_again_replaces_its_own_handlers(module: Callable[[str], str]) -> None:
    load([module(MODULE)])

    load([module(MODULE)])


def test_a_module_run_as_a_script_and_imported_too_registers_the_same_handler(registry: Registry) -> None:
    def as_script(ctx: object, payload: object) -> None: ...

    as_script.__module__, as_script.__qualname__ = "__main__", digest.__qualname__

    registry.add("digest", digest)
    registry.add("digest", as_script)


@pytest.mark.parametrize("text", ["import no_such_thing", "1 / 0", "def", "raise SystemExit(3)"])
def test_a_module_that_can_not_be_imported_is_one_clear_error(module: Callable[[str], str], text: str) -> None:
    with pytest.raises(HandlerImportError, match="'a_bots_jobs' can't be imported"):
        load([module(text)])


def test_load_takes_a_list_of_names_not_one_text() -> None:
    with pytest.raises(TypeError, match=r"write \['mybot.jobs'\]"):
        load("mybot.jobs")
