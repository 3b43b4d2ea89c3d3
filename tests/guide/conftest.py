from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest

import bellringer
from bellringer import Event, SchedulerHandle


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "bot.db"


@pytest.fixture
def scheduler(database: Path) -> Iterator[SchedulerHandle]:
    """A scheduler of this test's own. Leaving the block stops it, and no process stays behind."""
    with bellringer.start(database) as scheduler:
        yield scheduler


@pytest.fixture
def events(scheduler: SchedulerHandle) -> "Queue[Event]":
    """What the scheduler tells of each run, once it is recorded."""
    told: Queue[Event] = Queue()
    scheduler.listen(told.put)
    return told
