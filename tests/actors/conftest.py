"""A running system for the tests of one module."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import bellringer
from bellringer import SchedulerHandle


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("system") / "bot.db"


@pytest.fixture(scope="module")
def scheduler(database: Path) -> Iterator[SchedulerHandle]:
    """The handle that has started the system."""
    with bellringer.start(database, grace=1.0, restarts=100) as started:
        yield started
