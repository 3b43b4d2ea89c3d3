"""The inside of a drive's handle, and the test itself as a host."""

import asyncio
from collections.abc import Sequence
from typing import cast

from ..actors import questions
from ..actors.attachment import Attachment
from ..actors.closures import Closures
from ..actors.core import Core
from ..actors.events import Listener
from ..actors.messages import Event
from ..handlers.registry import Registry, default_registry, load
from ..handlers.transports import Transport
from .hosts import DriveHost
from .registries import RegistryOnTop
from .world import World


class Bot:
    """The test itself as an attached host: it has the closures and listens to events."""

    def __init__(self, world: World, closures: Closures) -> None:
        self._world = world
        self._closures = closures
        self._registry = RegistryOnTop(Registry())
        self._seated: DriveHost | None = None
        self._listeners: list[Listener] = []

    @property
    def host(self) -> str:
        assert self._seated is not None
        return self._seated.running.host

    def is_seated_in(self, host: DriveHost) -> bool:
        return host is self._seated

    def start(
        self,
        *,
        loop: asyncio.AbstractEventLoop | None = None,
        registry: Registry | None = None,
        transport: Transport | None = None,
        places: int = 100,
        listener: Listener | None = None,
        timeout_s: float = 10.0,
    ) -> None:
        if self._seated is None or not self._seated.alive:
            self._registry = RegistryOnTop(Registry())
            self._seated = self._world.add_host(self._registry, places=places, on_event=self.hear)
            self._closures.serve(self._registry, self.host, on_bot_loop=True)
        if listener is not None:
            self._listeners.append(listener)
        if registry is not None:
            for name in registry.names():
                entry = registry.get(name)
                assert entry is not None
                self._registry.add(name, entry.function, entry.needs)
        if transport is not None:
            self._seated.environment.transport = transport
        self._world.introduce(self._seated)
        self._world.settle()

    def hear(self, event: Event) -> None:
        self._world.events.append(event)
        for listener in self._listeners:
            listener(event)


class DriveCore(Core):
    """The inside of a handle that asks the scheduler of a world."""

    def __init__(self, world: World) -> None:
        self.clock = world.clock
        self.closures = Closures(world.clock)
        self.world = world
        self.bot = Bot(world, self.closures)
        world.rejoined = self._welcomed

    def ask(self, question: questions.Question[questions.T], timeout_s: float) -> questions.T:
        return question.answer(self.world.ask(question.request, int(timeout_s * 1e6)))

    def host(self) -> Attachment:
        return cast(Attachment, self.bot)

    def attach(
        self,
        modules: Sequence[str],
        registry: Registry | None,
        loop: asyncio.AbstractEventLoop | None,
        transport: Transport | None,
        places: int,
        timeout_s: float,
    ) -> None:
        registry = registry or default_registry
        load(modules, registry)
        self.bot.start(registry=registry, transport=transport, places=places)

    def _welcomed(self, host: DriveHost) -> None:
        if self.bot.is_seated_in(host):
            self._rejoined(host.running.host)

    def stop(self, grace_s: float) -> None:
        if self.world.running:
            self.world.stop(int(grace_s * 1e6))
