import pytest

from tests.handlers.world import World


@pytest.fixture
def world() -> World:
    return World()
