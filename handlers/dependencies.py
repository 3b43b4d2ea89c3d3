"""What handlers share: built once per host, at first need, and closed when the host ends."""

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from typing import Any

from .errors import DependencyError, HandlerRegistrationError, UndeclaredDependencyError
from .registry import F, Function, checked_name, describe, same_function, takes

# What a factory gives is known to the bot's author only; a narrower type would make them cast at every use.
Dependency = Any

log = logging.getLogger("bellringer.handlers")


class Factories:
    """Dependency factories by name."""

    def __init__(self) -> None:
        self._factories: dict[str, Function] = {}

    def add(self, name: str, factory: Function) -> None:
        """Register a factory without arguments. Raises `HandlerRegistrationError`."""
        checked_name("dependency", name)
        if not takes(factory, 0):
            raise HandlerRegistrationError(
                f"the factory of dependency {name!r} ({describe(factory)}) must work without arguments"
            )
        known = self._factories.get(name)
        if known is not None and not same_function(known, factory):
            raise HandlerRegistrationError(
                f"the dependency name {name!r} belongs to {describe(known)} already; "
                f"give {describe(factory)} another name"
            )
        self._factories[name] = factory

    def get(self, name: str) -> Function | None:
        return self._factories.get(name)


default_factories = Factories()


def dependency(name: str, *, factories: Factories = default_factories) -> Callable[[F], F]:
    """Register the decorated function as the factory of what handlers know as `name`.

    It may be `def` or `async def`, or yield the value once and clean up after it. It runs on the host's event
    loop, so a plain `def` should be quick.
    """
    if not isinstance(name, str):
        raise HandlerRegistrationError(f'a dependency needs a name: write @dependency("name") above {describe(name)}')

    def register(factory: F) -> F:
        factories.add(name, factory)
        return factory

    return register


class Declared(Mapping[str, Dependency]):
    """The dependencies that a handler declared."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Dependency]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Dependency:
        try:
            return self._values[name]
        except KeyError:
            raise UndeclaredDependencyError(
                f"this handler did not ask for the dependency {name!r}: "
                f'add it to @handler("…", needs=[{name!r}]), or await ctx.dependency({name!r})'
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


NOTHING_DECLARED = Declared({})


class Dependencies:
    """The dependencies of one host. Belongs to one event loop."""

    def __init__(self, factories: Factories = default_factories, limit_s: float = 30.0) -> None:
        """`limit_s`: how long a factory, and later its clean-up, may take."""
        self._factories = factories
        self._limit_s = limit_s
        self._keepers: dict[str, _Keeper] = {}
        self._closed = False

    async def get(self, name: str) -> Dependency:
        """Build it, or wait for whoever is building it, or take it. A failed build is tried again by the next caller.

        Raises `DependencyError`.
        """
        keeper = self._keepers.get(name)
        if keeper is None:
            keeper = self._keepers[name] = self._keeper(name)
        # Shielded: a run that is cancelled here must not take the build away from those who wait with it.
        value, error = await asyncio.shield(keeper.built)
        if error is not None:
            if self._keepers.get(name) is keeper:
                del self._keepers[name]
            raise DependencyError(f"the dependency {name!r} could not be built ({_told(error)})") from error
        return value

    async def declared(self, names: Iterable[str]) -> Declared:
        return Declared({name: await self.get(name) for name in names})

    async def close(self) -> None:
        """Clean up in reverse order of building. A clean-up that fails or hangs is logged and left."""
        self._closed = True
        for keeper in reversed(self._keepers.values()):
            await keeper.close(self._limit_s)
        self._keepers.clear()

    def _keeper(self, name: str) -> "_Keeper":
        factory = self._factories.get(name)
        if factory is None:
            raise DependencyError(f'no dependency {name!r} is registered on this host: write @dependency("{name}")')
        if self._closed:
            raise DependencyError(f"the dependency {name!r} is gone: this host is ending")
        return _Keeper(name, factory, self._limit_s)


class _Keeper:
    """Enters and leaves a dependency in one task, as cancel scopes inside of it demand."""

    def __init__(self, name: str, factory: Function, limit_s: float) -> None:
        loop = asyncio.get_running_loop()
        self.built: asyncio.Future[tuple[Dependency, BaseException | None]] = loop.create_future()
        self._name = name
        self._ending = asyncio.Event()
        self._task = loop.create_task(self._keep(factory, limit_s))

    async def close(self, limit_s: float) -> None:
        self._ending.set()
        if not self.built.done():
            self._task.cancel()
        _, late = await asyncio.wait([self._task], timeout=limit_s)
        if late:
            self._task.cancel()
            log.warning("the clean-up of dependency %r took longer than %g s and was left", self._name, limit_s)

    async def _keep(self, factory: Function, limit_s: float) -> None:
        # A border: what a factory raises, sys.exit() included, belongs to the runs that need it.
        try:
            async with asyncio.timeout(limit_s):
                manager = _opened(factory)
                value = await manager.__aenter__()
        except BaseException as error:  # noqa: BLE001  told to those who wait for it
            self.built.set_result((None, error))
            return
        self.built.set_result((value, None))
        try:
            await self._ending.wait()
        finally:
            try:
                await manager.__aexit__(None, None, None)
            except BaseException as error:
                log.warning("the clean-up of dependency %r failed: %s", self._name, _told(error), exc_info=error)


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _opened(factory: Function) -> AbstractAsyncContextManager[Dependency]:
    """Only what yields is entered: many values (locks, connections) are context managers for another purpose."""
    yielding = inspect.unwrap(factory)
    if inspect.isasyncgenfunction(yielding):
        decorated: Callable[[], AbstractAsyncContextManager[Dependency]] = (
            asynccontextmanager(factory) if inspect.isasyncgenfunction(factory) else factory  # type: ignore[assignment]
        )
        return decorated()
    if inspect.isgeneratorfunction(yielding):
        plain: Callable[[], AbstractContextManager[Dependency]] = (
            contextmanager(factory) if inspect.isgeneratorfunction(factory) else factory  # type: ignore[assignment]
        )
        return _entered(plain())
    return _made(factory)


@asynccontextmanager
async def _entered(manager: AbstractContextManager[Dependency]) -> AsyncIterator[Dependency]:
    with manager as value:
        yield value


@asynccontextmanager
async def _made(factory: Function) -> AsyncIterator[Dependency]:
    value = factory()
    yield (await value) if inspect.isawaitable(value) else value
