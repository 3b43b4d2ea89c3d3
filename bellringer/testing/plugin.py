"""The pytest plugin. It comes with the package: a test asks for `drive`, and nothing else is needed.

async def remind(ctx, payload):
    await ctx.reply(payload["text"])

def test_a_reminder_rings_once(drive):
    drive.handler("remind")(remind)
    drive.persisted("reminder:42", "remind", chat_id=42, after=1800, payload={"text": "stand up"})
    drive.advance(minutes=30)
    assert [(message.chat_id, message.text) for message in drive.sent] == [(42, "stand up")]
    drive.crash()
    drive.start()
    drive.advance(days=1)
    assert len(drive.sent) == 1
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .drive import Drive


@pytest.fixture
def make_drive(tmp_path: Path) -> "Iterator[Callable[..., Drive]]":
    """Makes drives with options: see `Drive`. Each gets a folder of its own, unless `folder` names one."""
    from .drive import Drive

    made: list[Drive] = []

    def make(folder: Path | None = None, **options: object) -> Drive:
        if folder is None:
            folder = tmp_path / f"drive-{len(made)}"
            folder.mkdir()
        drive = Drive(folder, **options)  # type: ignore[arg-type]
        made.append(drive)
        return drive

    yield make
    for drive in made:
        drive.close()


@pytest.fixture
def drive(make_drive: "Callable[..., Drive]") -> "Drive":
    """A running system on an SQLite file of its own, with one host that knows all registered handlers."""
    return make_drive()
