from collections.abc import Iterator
from pathlib import Path

import pytest

from bellringer.storage.contract import Store
from bellringer.storage.memory_store import MemoryStore
from bellringer.storage.sqlite_store import open_store


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened: Store = open_store(tmp_path / "bot.db") if request.param == "sqlite" else MemoryStore()
    yield opened
    assert opened.check() == []
    opened.close()
