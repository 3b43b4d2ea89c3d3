"""Every rule, in every zone, around every change of the clocks from 2020 to 2040, against the calculator."""

import time
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import pytest

from bellringer.storage import rules
from tests.rules.calculator import Change, ZoneFile, distinct_zones, zone_file, zone_names
from tests.rules.catalogue import ALL, SELDOM, SPARSE, Case

US = 1_000_000
HOUR = 3_600
FIRST, LAST = 1_577_836_800 + 3 * 86_400, 2_240_611_200
"""2020-01-04 to the end of 2040."""
CALL_LIMIT_NS = 5_000_000

SAMPLE = (
    "Europe/Berlin",
    "America/New_York",
    "America/Santiago",
    "America/Nuuk",
    "America/St_Johns",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Asia/Beirut",
    "Asia/Gaza",
    "Antarctica/Troll",
    "Australia/Lord_Howe",
    "Europe/Dublin",
    "Pacific/Chatham",
    "Asia/Kathmandu",
)
ONE_YEAR = (1_767_225_600, 1_798_761_600)
"""2026."""


def changes_between(zone: ZoneFile, first: int, last: int) -> list[Change]:
    return [change for change in zone.changes if first <= change.at < last]


def assert_walks(rule: rules.Rule, expected: Sequence[int], first: int, last: int) -> None:
    """From before `first` to `last`, forwards and backwards, it finds each of these, in order and once."""
    assert rule.total(first * US, last * US) == len(expected)
    at: int | None = first * US - 1
    for step in expected:
        assert at is not None
        before, at = at, rule.next(at)
        assert at == step * US > before
    assert at is not None
    after = rule.next(at)
    assert after is None or after > last * US
    back: int | None = last * US
    for step in reversed(expected):
        assert back is not None
        back = rule.previous(back)
        assert back == step * US
        back -= 1
    assert back is not None
    earlier = rule.previous(back)
    assert earlier is None or earlier < first * US


def assert_agrees_around(rule: rules.Rule, case: Case, zone: ZoneFile, at: int) -> None:
    """Each step within two hours, or 26 where a rule comes seldom, and from many places within 26 hours."""
    first, last = at - 26 * HOUR, at + 26 * HOUR
    expected = case.expected(zone, first, last)
    assert rule.total(first * US, last * US) == len(expected)
    reach = 2 * HOUR if case.is_dense else 26 * HOUR
    near = expected[bisect_left(expected, at - reach) : bisect_right(expected, at + reach)]
    assert_walks(rule, near, at - reach, at + reach)
    for place in (first, at - 2 * HOUR, at - 1, at, at + 1, at + HOUR - 1, at + HOUR, at + 2 * HOUR):
        number = bisect_right(expected, place)
        if number < len(expected):
            assert rule.next(place * US) == expected[number] * US
        if number > 0:
            assert rule.previous(place * US) == expected[number - 1] * US


def assert_case(case: Case, name: str, first: int = FIRST, last: int = LAST) -> None:
    zone, rule = zone_file(name), case.rule(name)
    for change in changes_between(zone, first, last):
        assert_agrees_around(rule, case, zone, change.at)


def assert_years(case: Case, name: str, last: int) -> None:
    assert_walks(case.rule(name), case.expected(zone_file(name), FIRST, last), FIRST, last)


def test_there_are_zones_changes_and_rules_enough() -> None:
    assert len(zone_names()) > 590
    assert len(distinct_zones()) > 250
    assert len(ALL) >= 30
    assert len({case.text for case in ALL}) == len(ALL)
    assert sum(len(changes_between(zone_file(name), FIRST, LAST)) for name in distinct_zones()) > 4_000
    assert {case.is_dense for case in ALL} == {True, False}


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.text)
def test_b04_around_the_changes_of_a_year_nothing_is_lost_repeated_or_early(case: Case) -> None:
    for name in SAMPLE:
        assert_case(case, name, *ONE_YEAR)


@pytest.mark.parametrize("case", SPARSE, ids=lambda case: case.text)
def test_two_years_are_walked_through_day_by_day(case: Case) -> None:
    for name in ("Europe/Berlin", "America/Nuuk"):
        assert_years(case, name, FIRST + 2 * 366 * 86_400)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.text)
def test_b04_around_every_change_in_every_zone_nothing_is_lost_repeated_or_early(case: Case) -> None:
    for name in distinct_zones():
        assert_case(case, name)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("case", SELDOM, ids=lambda case: case.text)
def test_ten_years_are_walked_through_in_every_zone(case: Case) -> None:
    for name in distinct_zones():
        if changes_between(zone_file(name), FIRST, LAST):
            assert_years(case, name, FIRST + 3_653 * 86_400)


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.text)
def test_b04_a_call_takes_less_than_5_ms(case: Case) -> None:
    rule, zone = case.rule("Europe/Berlin"), zone_file("Europe/Berlin")
    places = [change.at * US + ahead for change in changes_between(zone, FIRST, LAST) for ahead in (-HOUR * US, 0)]
    for place in places:
        rule.next(place)
    for place in places:
        begun = time.thread_time_ns()
        rule.next(place)
        assert time.thread_time_ns() - begun < CALL_LIMIT_NS


def test_b05_eleven_o_clock_comes_once_on_each_local_day_of_ten_years_in_every_zone() -> None:
    days = 3_653
    for name in SAMPLE:
        assert_once_a_day(name, days)


@pytest.mark.slow
def test_b05_eleven_o_clock_comes_once_on_each_local_day_of_ten_years_in_every_zone_there_is() -> None:
    for name in distinct_zones():
        assert_once_a_day(name, 3_653)


def assert_once_a_day(name: str, days: int) -> None:
    rule, zone = rules.parse("0 11 * * *", zone=name), zone_file(name)
    at: int | None = FIRST * US
    seen = []
    for _ in range(days):
        assert at is not None
        at = rule.next(at)
        assert at is not None
        seen.append((at // US + zone.offset(at // US)) // 86_400)
    assert seen == list(range(seen[0], seen[0] + days))
