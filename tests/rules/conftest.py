"""Rules are tested with the zones of the tzdata package, which the calculator reads too, whatever the machine has."""

import zoneinfo
from collections.abc import Iterator

import pytest

from bellringer.storage.rules import zones


@pytest.fixture(scope="package", autouse=True)
def zones_of_the_package() -> Iterator[None]:
    known = zoneinfo.TZPATH
    zoneinfo.reset_tzpath(to=())
    zoneinfo.ZoneInfo.clear_cache()
    zones.zone.cache_clear()
    yield
    zoneinfo.reset_tzpath(to=known)
    zoneinfo.ZoneInfo.clear_cache()
    zones.zone.cache_clear()
