"""Handlers and dependencies of one test, on top of those that its bot registers."""

from ..handlers.dependencies import Factories, default_factories
from ..handlers.registry import Function, Handler, Registry, default_registry


class RegistryOnTop(Registry):
    """What is added here hides what the registry below knows under the same name, and leaves it as it is."""

    def __init__(self, below: Registry = default_registry) -> None:
        super().__init__()
        self._below = below

    def get(self, name: str) -> Handler | None:
        return super().get(name) or self._below.get(name)

    def names(self) -> tuple[str, ...]:
        return tuple(sorted({*super().names(), *self._below.names()}))


class FactoriesOnTop(Factories):
    """As `RegistryOnTop`, for dependencies."""

    def __init__(self, below: Factories = default_factories) -> None:
        super().__init__()
        self._below = below

    def get(self, name: str) -> Function | None:
        return super().get(name) or self._below.get(name)
