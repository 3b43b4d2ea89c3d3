"""Handlers by name. The name is what is stored, so it means the same across deploys."""

import importlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from .errors import HandlerImportError, HandlerRegistrationError

Function = Callable[..., object]
F = TypeVar("F", bound=Function)


class Handler(NamedTuple):
    """A registered function, called with the context and the payload."""

    name: str
    function: Function
    is_async: bool
    needs: tuple[str, ...]


class Registry:
    """The handlers that a host knows."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}

    def add(self, name: str, function: Function, needs: Iterable[str] = ()) -> Handler:
        """Register a function. A name belongs to one function; the same function of a re-imported module replaces it.

        Raises `HandlerRegistrationError`.
        """
        checked_name("handler", name)
        _check_function(name, function)
        known = self._handlers.get(name)
        if known is not None and not same_function(known.function, function):
            raise HandlerRegistrationError(
                f"the handler name {name!r} belongs to {describe(known.function)} already; "
                f"give {describe(function)} another name"
            )
        if isinstance(needs, str):
            raise HandlerRegistrationError(f"needs of handler {name!r} must be a list of names, not one text")
        entry = Handler(name, function, _is_async(function), tuple(needs))
        self._handlers[name] = entry
        return entry

    def get(self, name: str) -> Handler | None:
        return self._handlers.get(name)

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._handlers))


default_registry = Registry()


def handler(name: str, *, needs: Iterable[str] = (), registry: Registry = default_registry) -> Callable[[F], F]:
    """Register the decorated function, `async def` or plain `def`, under a name.

    `needs` names dependencies that are built before the handler starts; it finds them in `ctx.dependencies`.
    """
    if not isinstance(name, str):
        raise HandlerRegistrationError(
            f'a handler needs a name that stays the same across deploys: write @handler("name") above {describe(name)}'
        )

    def register(function: F) -> F:
        registry.add(name, function, needs)
        return function

    return register


def load(modules: Sequence[str], registry: Registry = default_registry) -> tuple[str, ...]:
    """Import modules that register handlers; the names known afterwards. Raises `HandlerImportError`."""
    if isinstance(modules, str):
        raise TypeError(f"load takes a list of module names: write [{modules!r}]")
    for module in modules:
        try:
            importlib.import_module(module)
        # A border: importing runs whatever the bot's author wrote, sys.exit() included.
        except (Exception, SystemExit) as error:
            raise HandlerImportError(
                f"the handler module {module!r} can't be imported ({type(error).__name__}: {error}); "
                "mend it, or check the name and the import path"
            ) from error
    return registry.names()


def checked_name(kind: str, name: str) -> None:
    """Raise unless the name is one line of visible text of at most 255 characters."""
    if not isinstance(name, str) or not name.isprintable() or name != name.strip() or not 0 < len(name) <= 255:
        raise HandlerRegistrationError(
            f"{name!r} can't name a {kind}: give 1 to 255 visible characters without spaces around them"
        )


def same_function(one: Function, other: Function) -> bool:
    """Whether both come from the same lines: a module imported again, or run as a script and imported too."""
    one, other = inspect.unwrap(one), inspect.unwrap(other)
    if one is other:
        return True
    name = getattr(one, "__qualname__", None)
    if name is None or name != getattr(other, "__qualname__", None) or "<locals>" in name or "<lambda>" in name:
        return False
    return _module(one) == _module(other) or (_file(one) is not None and _file(one) == _file(other))


def describe(function: object) -> str:
    """Where a function comes from, for people."""
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', repr(function))}"


def takes(function: Function, count: int) -> bool:
    """Whether it can be called with so many arguments; True where nobody can know, as with some builtins."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _module(function: object) -> str | None:
    return getattr(function, "__module__", None)


def _file(function: object) -> str | None:
    return getattr(getattr(function, "__code__", None), "co_filename", None)


def _is_async(function: Function) -> bool:
    call = type(function).__call__ if callable(function) else None
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _check_function(name: str, function: Function) -> None:
    if not callable(function) or isinstance(function, type):
        raise HandlerRegistrationError(f"handler {name!r} must be a function, not {function!r}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise HandlerRegistrationError(f"handler {name!r} contains a yield, so it would never run; return instead")
    if not takes(function, 2):
        raise HandlerRegistrationError(
            f"handler {name!r} ({describe(function)}) must take two arguments: the context and the payload"
        )
