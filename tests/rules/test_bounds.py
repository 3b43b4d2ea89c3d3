"""What bounds a rule: start, until, count and jitter; and what it is made into when a job is scheduled."""

import sys
import time
import tracemalloc
from datetime import UTC, datetime, timedelta

import pytest

from bellringer.storage import rules
from bellringer.storage.errors import InvalidJobError
from tests.rules.calculator import zone_file, zone_names
from tests.rules.catalogue import SPARSE
from tests.rules.telling import between, local, us, utc, wall

BERLIN = "Europe/Berlin"
NOW = us("2026-01-01T00:00Z")
SECOND, DAY = 1_000_000, 86_400_000_000


def test_start_and_until_are_both_included_and_local_where_they_have_no_zone() -> None:
    rule = rules.daily("09:00", zone=BERLIN, start=wall("2026-07-01T09:00"), until=wall("2026-07-03T09:00"))
    assert between(rule, "2026-01-01T00:00Z", "2027-01-01T00:00Z") == [
        "2026-07-01T07:00Z",
        "2026-07-02T07:00Z",
        "2026-07-03T07:00Z",
    ]
    assert rule.next(us("2026-07-03T07:00Z")) is None
    assert rule.previous(us("2026-07-01T06:59Z")) is None
    assert utc(rule.previous(us("2027-01-01T00:00Z"))) == "2026-07-03T07:00Z"


def test_bounds_with_an_offset_are_instants() -> None:
    rule = rules.daily("09:00", zone=BERLIN, until=datetime(2026, 7, 3, 7, tzinfo=UTC))
    assert rule == rules.daily("09:00", zone=BERLIN, until=wall("2026-07-03T09:00"))


def test_a_bound_at_the_second_pass_of_an_hour_is_not_moved_to_the_first() -> None:
    rule = rules.cron("*/30 * * * *", zone=BERLIN, start=datetime(2026, 10, 25, 1, 15, tzinfo=UTC))
    assert utc(rules.load(rules.dump(rule)).next(NOW)) == "2026-10-25T01:30Z"


@pytest.mark.parametrize("text", ["daily 09:00", "daily/3 09:00", "weekly/2 mon,fri 09:00", "every 5h", "0 9 * * 1"])
@pytest.mark.parametrize("count", [1, 2, 7, 65, 1_000])
@pytest.mark.parametrize("zone", ["UTC", BERLIN, "America/Nuuk", "Asia/Gaza", "Pacific/Kiritimati"])
def test_a_count_ends_the_rule_after_so_many(text: str, count: int, zone: str) -> None:
    endless = rules.parse(text, zone=zone, start=wall("2026-01-01"))
    counted = rules.parse(text, zone=zone, start=wall("2026-01-01"), count=count)
    before = us("2025-12-01T00:00Z")
    assert counted.upcoming(before, count + 1) == endless.upcoming(before, count)
    assert counted.total(before, us("2900-01-01T00:00Z")) == count


@pytest.mark.parametrize("text", [case.text for case in SPARSE])
def test_a_count_is_counted_from_the_first_after_the_job_was_scheduled(text: str) -> None:
    rule = rules.parse(text, zone=BERLIN, count=3).starting(NOW)
    assert len(rule.upcoming(NOW, 9)) == 3
    later = rules.load(rules.dump(rule))
    assert later.upcoming(NOW, 9) == rule.upcoming(NOW, 9)


def test_a_count_and_an_end_hold_both() -> None:
    rule = rules.cron("@hourly", start=wall("2026-01-01T00:00"), until=wall("2026-01-05T00:00"), count=1_000)
    assert rule.total(0, us("2027-01-01T00:00Z")) == 97
    assert rule.upcoming(0, 1_000)[-1] == us("2026-01-05T00:00Z")


@pytest.mark.parametrize("text", ["* * * * * *", "yearly 02-29 09:00", "RRULE:FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13"])
def test_the_highest_count_is_counted_out_at_once(text: str) -> None:
    begun = time.thread_time()
    rule = rules.parse(text, zone="Pacific/Kiritimati", count=100_000).starting(NOW)
    assert time.thread_time() - begun < 1
    assert len(rule.upcoming(NOW, 5)) == 5


def test_a_count_of_seconds_ends_to_the_second() -> None:
    rule = rules.cron("* * * * * *", count=100_000).starting(NOW)
    assert rule.total(0, NOW + 2 * DAY) == 100_000
    assert rule.previous(NOW + 2 * DAY) == NOW + 100_000 * SECOND


def test_each_count_of_hours_is_exact() -> None:
    for count in range(60, 200):
        rule = rules.cron("@hourly", start=wall("2026-01-01"), count=count)
        assert rule.total(0, NOW + 30 * DAY) == count


def test_a_rule_that_counts_needs_a_beginning() -> None:
    with pytest.raises(InvalidJobError, match="counts, so it needs a start"):
        rules.daily("09:00", count=3).next(NOW)


def test_every_other_day_is_counted_from_the_first_that_comes() -> None:
    for zone in (None, BERLIN):
        rule = rules.daily("09:00", interval=2, zone=zone).starting(us("2026-01-01T10:00Z"))
        assert [at[:10] for at in local(rule, "2026-01-01T10:00Z", 3)] == ["2026-01-02", "2026-01-04", "2026-01-06"]


@pytest.mark.parametrize("text", ["weekly/2 mon 00:30", "monthly/2 1 00:30", "yearly/2 01-01 00:30"])
def test_every_other_one_is_counted_by_the_local_calendar_though_the_start_is_an_instant(text: str) -> None:
    start = datetime(2026, 12, 31, 16, tzinfo=UTC)
    by_instant = rules.parse(text, zone="Asia/Tokyo", start=start)
    by_local_time = rules.parse(text, zone="Asia/Tokyo", start=wall("2027-01-01T01:00"))
    assert by_instant == by_local_time
    assert by_instant.upcoming(NOW, 3) == by_local_time.upcoming(NOW, 3)


def test_a_start_at_the_second_pass_of_an_hour_counts_by_its_local_day() -> None:
    start = datetime(2026, 4, 4, 16, 15, tzinfo=UTC)
    rule = rules.daily("09:00", interval=2, zone="Australia/Melbourne", start=start)
    assert rule.start == start
    assert [at[:10] for at in local(rule, "2026-01-01T00:00Z", 2)] == ["2026-04-05", "2026-04-07"]


@pytest.mark.parametrize("text", ["yearly/100 12-25 09:00", "monthly/1000 15 09:00", "RRULE:FREQ=YEARLY;INTERVAL=100"])
def test_the_longest_interval_goes_on(text: str) -> None:
    assert len(rules.parse(text, start=wall("2026-01-01")).upcoming(NOW - 1, 4)) == 4


def test_the_start_of_an_interval_is_one_interval_from_now() -> None:
    assert rules.every(90).starting(NOW).upcoming(NOW, 2) == [NOW + 90 * SECOND, NOW + 180 * SECOND]


def test_the_share_of_the_jitter_is_a_job_s_own_and_stays() -> None:
    shares = set()
    for number in range(200):
        rule = rules.daily("09:00", jitter=600, zone=BERLIN).starting(NOW, seed=f"job:{number}")
        assert 0 <= rule.share_us <= 600 * SECOND
        assert rule == rules.daily("09:00", jitter=600, zone=BERLIN).starting(NOW, seed=f"job:{number}")
        assert rule.starting(NOW + DAY, seed="another") == rule
        shares.add(rule.share_us)
    assert len(shares) > 190
    assert max(shares) - min(shares) > 500 * SECOND


@pytest.mark.parametrize("text", ["daily 02:30", "*/10 * * * *", "every 90s", "weekly/2 sun 02:30"])
def test_with_jitter_all_due_times_are_later_by_the_same(text: str) -> None:
    spread = rules.parse(text, zone=BERLIN, jitter=3_600).starting(NOW, seed="a")
    plain = rules.parse(text, zone=BERLIN).starting(NOW)
    assert spread.share_us > 0
    first, last = us("2026-03-20T00:00Z"), us("2026-04-10T00:00Z")
    share = spread.share_us
    expected = [at + share for at in plain.upcoming(first - share - 1, plain.total(first - share, last - share))]
    assert spread.upcoming(first - 1, len(expected)) == expected
    assert spread.total(first, last) == len(expected)
    assert spread.previous(last) == expected[-1]


def test_in_another_zone_a_rule_has_the_same_local_times() -> None:
    rule = rules.daily("09:00", zone=BERLIN, start=wall("2026-07-01T09:00"), until=wall("2026-07-02T09:00"))
    moved = rule.in_zone("America/New_York")
    assert local(rule, "2026-01-01T00:00Z", 9) == ["2026-07-01T09:00+02:00", "2026-07-02T09:00+02:00"]
    assert local(moved, "2026-01-01T00:00Z", 9) == ["2026-07-01T09:00-04:00", "2026-07-02T09:00-04:00"]


@pytest.mark.parametrize("text", ["daily 09:00", "daily/2 02:30", "weekly/2 sat 23:30", "0 9 * * *"])
@pytest.mark.parametrize(("home", "away"), [("UTC", "Asia/Tokyo"), (BERLIN, "America/Nuuk"), ("Asia/Tokyo", BERLIN)])
def test_in_another_zone_as_many_come_on_the_same_local_days(text: str, home: str, away: str) -> None:
    rule = rules.parse(text, zone=home, count=5).starting(NOW)
    moved = [at[:16] for at in local(rule.in_zone(away), "2025-12-01T00:00Z", 9)]
    assert moved == [at[:16] for at in local(rule, "2025-12-01T00:00Z", 9)]
    assert len(moved) == 5


def test_in_another_zone_an_interval_keeps_its_instants() -> None:
    rule = rules.every(3_600, zone=BERLIN).starting(NOW)
    assert rule.in_zone("Asia/Kathmandu").upcoming(NOW, 3) == rule.upcoming(NOW, 3)


def test_in_another_zone_what_is_local_comes_at_its_local_time() -> None:
    rule = rules.at(wall("2026-12-25T08:00"), zone=BERLIN)
    assert utc(rule.next(NOW)) == "2026-12-25T07:00Z"
    assert utc(rule.in_zone("Asia/Tokyo").next(NOW)) == "2026-12-24T23:00Z"


def test_once_comes_once() -> None:
    rule = rules.at(datetime(2026, 7, 1, tzinfo=UTC))
    assert between(rule, "2026-01-01T00:00Z", "2027-01-01T00:00Z") == ["2026-07-01T00:00Z"]
    assert rule.next(us("2026-07-01T00:00Z")) is None
    assert rule.previous(us("2026-07-01T00:00Z")) == us("2026-07-01T00:00Z")


def test_datetimes_are_answered_with_datetimes_in_the_zone_of_the_rule() -> None:
    found = rules.daily("09:00", zone=BERLIN).next(datetime(2026, 7, 1, tzinfo=UTC))
    assert found is not None
    assert found.isoformat() == "2026-07-01T09:00:00+02:00"
    assert found.timezone_name == BERLIN


def test_long_before_1970_the_first_is_the_first_since_then() -> None:
    assert rules.daily("09:00").next(us("1600-01-01T00:00Z")) == 9 * 3_600 * SECOND


def test_past_the_year_9999_nothing_comes() -> None:
    assert rules.daily("09:00").next(us("9999-12-31T09:00Z")) is None
    assert rules.every(3_600).next(us("9999-12-31T23:30Z")) is None


@pytest.mark.parametrize("zone", ["UTC", BERLIN, "Africa/Casablanca"])
def test_ten_years_of_seconds_are_counted_by_arithmetic(zone: str) -> None:
    rule, last = rules.cron("* * * * * *", zone=zone), NOW + 3_652 * DAY - SECOND
    rule.total(NOW, last)
    tracemalloc.start()
    begun = time.thread_time()
    assert rule.total(NOW, last) == 3_652 * 86_400
    took, (_, peak) = time.thread_time() - begun, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert took < 0.05
    assert peak < 100_000


def test_ten_years_of_the_seldom_are_counted_as_they_come() -> None:
    rule = rules.parse("monthly last,31 02:30", zone=BERLIN)
    assert rule.total(NOW, NOW + 3_652 * DAY) == len(rule.upcoming(NOW, 200)[:120]) == 120


def test_a_rule_is_small() -> None:
    rule = rules.daily("09:00", zone=BERLIN)
    assert sys.getsizeof(rule) < 300
    assert not hasattr(rule, "__dict__")


def test_an_interval_knows_no_zone() -> None:
    grids = {tuple(rules.every(timedelta(days=1), zone=name).starting(NOW).upcoming(NOW, 3)) for name in zone_names()}
    assert len(grids) == 1
    assert zone_file(BERLIN).changes
