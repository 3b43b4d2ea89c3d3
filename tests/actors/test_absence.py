"""Which due times should have an outcome on record, and have none."""

import time
from datetime import UTC, datetime

import pytest

from bellringer.actors.absence import absent, known_from
from bellringer.storage import rules
from bellringer.storage.rules import Rule

DAY = 86_400_000_000
SECOND = 1_000_000


def us(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


FIRST = us("2026-03-27T08:00")
DAILY = rules.daily("09:00", zone="Europe/Berlin")
MINUTELY = rules.parse("every 60s", start=datetime(2026, 1, 1, tzinfo=UTC))
MIDNIGHT = us("2026-01-01T00:00")
MINUTE = 60 * SECOND


def one(at: int) -> tuple[int, int | None, int]:
    return (at, None, 1)


def slots(rule: Rule, first: int, number: int) -> list[int]:
    return rule.upcoming(first - 1, number)


def test_nothing_is_absent_where_each_due_time_is_on_record() -> None:
    ran = slots(DAILY, FIRST, 5)

    assert absent(DAILY, FIRST, ran[-1], map(one, ran), None) == []


def test_a_due_time_without_a_row_is_absent_also_across_a_clock_change() -> None:
    ran = slots(DAILY, FIRST, 5)
    lost = us("2026-03-29T07:00")
    assert lost in ran

    assert absent(DAILY, FIRST, ran[-1], [one(at) for at in ran if at != lost], None) == [lost]


def test_what_is_open_and_what_follows_it_is_not_absent() -> None:
    ran = slots(DAILY, FIRST, 5)

    assert absent(DAILY, FIRST, ran[-1], map(one, ran[:3]), ran[3]) == []
    assert absent(DAILY, FIRST, ran[-1], map(one, ran[:3]), None) == ran[3:]


def test_a_due_time_that_lies_right_at_the_end_counts() -> None:
    ran = slots(DAILY, FIRST, 2)

    assert absent(DAILY, FIRST, ran[1], [one(ran[0])], None) == [ran[1]]
    assert absent(DAILY, FIRST, ran[1] - 1, [one(ran[0])], None) == []


def test_a_row_that_tells_of_many_covers_them() -> None:
    told = [one(MIDNIGHT), (MIDNIGHT + MINUTE, MIDNIGHT + 59 * MINUTE, 59), one(MIDNIGHT + 60 * MINUTE)]

    assert absent(MINUTELY, MIDNIGHT, MIDNIGHT + 60 * MINUTE, told, None) == []


def test_a_row_that_counts_too_few_leaves_the_rest_absent() -> None:
    told = [one(MIDNIGHT), (MIDNIGHT + MINUTE, MIDNIGHT + 59 * MINUTE, 57)]

    assert absent(MINUTELY, MIDNIGHT, MIDNIGHT + 59 * MINUTE, told, None) == [
        MIDNIGHT + 57 * MINUTE,
        MIDNIGHT + 58 * MINUTE,
    ]


def test_rows_within_the_time_that_another_tells_of_count_with_it() -> None:
    told = [one(MIDNIGHT), (MIDNIGHT + MINUTE, MIDNIGHT + 10 * MINUTE, 9), one(MIDNIGHT + 5 * MINUTE)]

    assert absent(MINUTELY, MIDNIGHT, MIDNIGHT + 10 * MINUTE, told, None) == []


def test_a_run_that_was_asked_for_stands_for_no_due_time() -> None:
    told = [one(MIDNIGHT), one(MIDNIGHT + 90 * SECOND + 1), one(MIDNIGHT + 3 * MINUTE)]

    assert absent(MINUTELY, MIDNIGHT, MIDNIGHT + 3 * MINUTE, told, None) == [
        MIDNIGHT + MINUTE,
        MIDNIGHT + 2 * MINUTE,
    ]


def test_no_more_than_twenty_are_told() -> None:
    assert len(absent(MINUTELY, MIDNIGHT, MIDNIGHT + 500 * MINUTE, [one(MIDNIGHT)], None)) == 20


def test_ten_years_of_missed_seconds_are_counted_and_not_walked_through() -> None:
    every_second = rules.parse("every 1s", start=datetime(2016, 1, 1, tzinfo=UTC))
    first, last = us("2016-01-01T00:00"), us("2026-01-01T00:00")
    told = [(first, last, (last - first) // SECOND + 1)]

    began = time.perf_counter()
    assert absent(every_second, first, last + SECOND, told, last + SECOND) == []
    assert time.perf_counter() - began < 1


@pytest.mark.parametrize("rule", ["daily 02:30", "*/30 * * * *", "weekly mon,fri 00:30", "monthly 31 09:00"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Santiago"])
def test_every_single_loss_is_found_whatever_the_rule(rule: str, zone: str) -> None:
    asked = rules.parse(rule, zone=zone)
    ran = slots(asked, FIRST, 12)

    for lost in ran[1:]:
        assert absent(asked, ran[0], ran[-1], [one(at) for at in ran if at != lost], None) == [lost]


def test_the_record_is_whole_from_the_earliest_row_on() -> None:
    ran = slots(DAILY, FIRST, 3)

    assert known_from(DAILY, map(one, ran)) == ran[0]
    assert known_from(DAILY, []) is None


def test_a_failure_that_is_kept_longer_than_its_neighbours_begins_no_record() -> None:
    ran = slots(DAILY, FIRST, 20)

    assert known_from(DAILY, map(one, [ran[0], *ran[10:]]), [ran[0]]) == ran[10]


def test_after_a_change_of_zone_the_record_begins_anew() -> None:
    before = slots(DAILY, FIRST, 3)
    moved = DAILY.in_zone("America/New_York")
    after = slots(moved, before[-1] + DAY, 3)

    assert known_from(moved, map(one, [*before, *after])) == after[0]


def test_a_run_that_was_asked_for_does_not_begin_the_record_anew() -> None:
    ran = slots(DAILY, FIRST, 3)

    assert known_from(DAILY, map(one, [*ran, ran[1] + 123_456_789])) == ran[0]
