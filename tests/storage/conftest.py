from collections.abc import Iterator
from pathlib import Path

import pytest

from bellringer.storage.sqlite_store import SqliteStore, open_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bot.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = open_store(path, busy_timeout_ms=20)
    yield opened
    opened.close()
