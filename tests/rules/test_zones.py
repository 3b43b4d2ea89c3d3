"""Zones: what each is called, and what time it is there."""

import zoneinfo
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bellringer.storage import rules
from bellringer.storage.errors import InvalidJobError
from bellringer.storage.rules import zones
from tests.rules.calculator import distinct_zones, zone_file, zone_names
from tests.rules.telling import us, utc

US = 1_000_000
YEAR_2020, YEAR_2041 = 1_577_836_800, 2_240_611_200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


@pytest.mark.parametrize(
    "name", ["UTC", "Europe/Berlin", "US/Pacific", "Asia/Calcutta", "Europe/Kiev", "EST", "MST7MDT", "Etc/GMT+3"]
)
def test_b14_names_of_the_database_are_accepted_the_old_ones_too(name: str) -> None:
    assert rules.is_zone(name)
    assert rules.daily("09:00", zone=name).zone == name


@pytest.mark.parametrize(
    "name",
    [
        *("SystemV/PST8", "GMT+3", "UTC+3", "local", "localtime", "Europe/Berlin\n", " Europe/Berlin", "Factory"),
        *("", ".", "..", "../etc/passwd", "/etc/passwd", "Europe", "Europe/", "right/UTC", "posix/UTC", "Ber\0lin"),
        *("🎂", "\ud83c", "x" * 10_000),
    ],
)
def test_b14_other_names_are_refused_with_one_kind_of_error(name: str) -> None:
    assert not rules.is_zone(name)
    with pytest.raises(InvalidJobError, match="there is no time zone"):
        rules.daily("09:00", zone=name)


def test_b14_a_name_that_is_nearly_right_is_guessed() -> None:
    with pytest.raises(InvalidJobError, match=r"did you mean Europe/Berlin\?"):
        rules.daily("09:00", zone="europe/berlin")


def test_b14_etc_gmt_plus_3_is_three_hours_behind_utc() -> None:
    assert utc(rules.daily("09:00", zone="Etc/GMT+3").next(us("2026-01-01T00:00Z"))) == "2026-01-01T12:00Z"


def test_each_zone_of_the_database_can_be_named() -> None:
    assert [name for name in zone_names() if not rules.is_zone(name)] == []


def test_the_changes_of_each_clock_are_those_of_its_file() -> None:
    for name in distinct_zones():
        assert_same_changes(name)


@pytest.mark.slow
def test_the_changes_of_each_zone_are_those_of_its_file() -> None:
    for name in zone_names():
        assert_same_changes(name)


def assert_same_changes(name: str) -> None:
    file = zone_file(name)
    told = [(change.at * US, change.after * US) for change in file.changes if YEAR_2020 < change.at < YEAR_2041]
    expected = [(YEAR_2020 * US, file.offset(YEAR_2020) * US), *told]
    assert zones.zone(name).changes(YEAR_2020 * US, YEAR_2041 * US) == expected, name


def test_the_changes_since_1970_are_those_of_the_file() -> None:
    for name in ("Europe/Berlin", "Africa/Casablanca", "Pacific/Apia", "America/Caracas", "Antarctica/Casey"):
        file = zone_file(name)
        told = [(change.at * US, change.after * US) for change in file.changes if 86_400 < change.at < YEAR_2041]
        assert zones.zone(name).changes(86_400 * US, YEAR_2041 * US)[1:] == told, name


def test_around_each_change_of_each_zone_local_time_is_what_python_says() -> None:
    for name in distinct_zones():
        there, info = zones.zone(name), zoneinfo.ZoneInfo(name)
        for change in zone_file(name).changes:
            if YEAR_2020 < change.at < YEAR_2041:
                for at in (change.at * US - 1, change.at * US, change.at * US + 3_600 * US):
                    local = (_EPOCH + timedelta(microseconds=at)).astimezone(info).replace(tzinfo=None)
                    assert zones.naive(there.local(at)) == local
                    assert_means_what_python_says(there, info, local)


@given(st.sampled_from(zone_names()), st.datetimes(datetime(1970, 1, 5), datetime(2150, 1, 1)))  # noqa: DTZ001
@settings(max_examples=600, deadline=None)
def test_any_local_time_means_the_instant_that_python_says(name: str, local: datetime) -> None:
    assert_means_what_python_says(zones.zone(name), zoneinfo.ZoneInfo(name), local)


def assert_means_what_python_says(there: zones.Zone, info: zoneinfo.ZoneInfo, local: datetime) -> None:
    """Python reads a skipped time by the offset before, and the first of two, unless told otherwise."""
    meant = (local.replace(tzinfo=info, fold=0).astimezone(UTC) - _EPOCH) // MICROSECOND
    assert there.instant(zones.local_of(local)) == meant


@given(st.sampled_from(zone_names()), st.integers(86_400 * US, 253_402_000_000 * US))
@settings(max_examples=500, deadline=None)
def test_the_pieces_of_a_zone_follow_one_another_without_a_break(name: str, at: int) -> None:
    there = zones.zone(name)
    pieces = there.real(at)
    first = next(pieces)
    assert first.start_at <= at < first.end_at
    assert first.shift == there.shift(at)
    following = next(pieces, None)
    if following is not None:
        assert following.start_at == first.end_at
