"""A time zone of the tests' own, `Test/Town`, whose data can be changed as a new version of tzdata changes it."""

import struct
import zoneinfo
from collections.abc import Iterator
from pathlib import Path

import pytest

from bellringer.storage.rules import stored, zones

TOWN = "Test/Town"
HOUR_S = 3_600


class Town:
    """Its clocks are one hour ahead of UTC until a test says otherwise."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / TOWN
        self._file.parent.mkdir(parents=True)
        self.ahead(1)

    def ahead(self, hours: int, *, then: int | None = None, from_s: int = 0) -> None:
        """New data: so many hours ahead of UTC, and `then` so many from an instant on (in seconds)."""
        shifts = [hours] if then is None else [hours, then]
        self._file.write_bytes(_tzif(shifts, from_s))
        forget_zones()


def _tzif(shifts: list[int], change_s: int) -> bytes:
    types = b"".join(struct.pack(">lBB", shift * HOUR_S, 0, 0) for shift in shifts)
    changes = len(shifts) - 1

    def block(form: str) -> bytes:
        header = b"TZif2" + bytes(15) + struct.pack(">6l", 0, 0, 0, changes, len(shifts), 4)
        at = struct.pack(f">{form}", change_s) + b"\x01" if changes else b""
        return header + at + types + b"TWN\0"

    return block("l") + block("q") + f"\n<T>{-shifts[-1]}\n".encode()


def forget_zones() -> None:
    """What a new process knows of zones."""
    zoneinfo.ZoneInfo.clear_cache()
    zones.zone.cache_clear()
    stored.load.cache_clear()


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    folder = tmp_path / "zoneinfo"
    zoneinfo.reset_tzpath(to=[str(folder), *zoneinfo.TZPATH])
    yield Town(folder)
    zoneinfo.reset_tzpath()
    forget_zones()
