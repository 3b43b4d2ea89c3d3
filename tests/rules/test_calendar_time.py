"""Rules that follow the clock on the wall keep their local time when the clocks change."""

from datetime import timedelta
from itertools import pairwise

import pytest

from bellringer.storage import rules
from bellringer.storage.errors import InvalidJobError
from tests.rules.telling import between, local, us, utc, wall

BERLIN = "Europe/Berlin"


def test_b01_a_daily_time_in_the_spring_gap_comes_an_hour_later_by_the_clock() -> None:
    rule = rules.daily("02:30", zone=BERLIN)
    assert between(rule, "2026-03-28T00:00Z", "2026-03-30T12:00Z") == [
        "2026-03-28T01:30Z",
        "2026-03-29T01:30Z",
        "2026-03-30T00:30Z",
    ]


def test_b01_what_is_put_off_onto_another_time_of_the_rule_comes_once() -> None:
    rule = rules.daily("02:30,03:30", zone=BERLIN)
    assert between(rule, "2026-03-29T00:00Z", "2026-03-29T12:00Z") == ["2026-03-29T01:30Z"]


def test_b02_a_daily_time_that_the_clock_shows_twice_comes_at_the_first() -> None:
    rule = rules.daily("02:30", zone=BERLIN)
    assert between(rule, "2026-10-24T12:00Z", "2026-10-26T12:00Z") == ["2026-10-25T00:30Z", "2026-10-26T01:30Z"]


def test_b02_what_was_asked_between_both_passes_does_not_come_at_the_second() -> None:
    rule = rules.daily("02:30", zone=BERLIN)
    assert utc(rule.next(us("2026-10-25T00:30Z"))) == "2026-10-26T01:30Z"


def test_b05_midnight_comes_on_each_of_its_days_though_one_has_23_hours() -> None:
    rule = rules.weekly("sun-thu", "00:00", zone="US/Central")
    assert local(rule, "2021-03-12T12:00-06:00", 2) == ["2021-03-14T00:00-06:00", "2021-03-15T00:00-05:00"]


@pytest.mark.parametrize(
    ("zone", "time", "around", "due"),
    [
        ("America/Santiago", "00:00", "2026-09-06", "2026-09-06T04:00Z"),
        ("Asia/Beirut", "00:00", "2026-03-29", "2026-03-28T22:00Z"),
        ("Africa/Cairo", "00:00", "2026-04-24", "2026-04-23T22:00Z"),
        ("America/Nuuk", "23:30", "2026-03-28", "2026-03-29T01:30Z"),
    ],
)
def test_b06_a_skipped_midnight_comes_once(zone: str, time: str, around: str, due: str) -> None:
    first, last = us(around + "T00:00Z") - 36 * 3_600_000_000, us(around + "T00:00Z") + 60 * 3_600_000_000
    found = rules.daily(time, zone=zone).upcoming(first, rules.daily(time, zone=zone).total(first, last))
    assert [utc(at) for at in found].count(due) == 1
    apart = [later - earlier for earlier, later in pairwise(found)]
    assert set(apart) <= {23 * 3_600_000_000, 24 * 3_600_000_000}


def test_b06_a_time_that_is_put_off_past_midnight_leaves_the_next_day_its_own() -> None:
    rule = rules.daily("23:30", zone="America/Nuuk")
    assert local(rule, "2026-03-27T12:00Z", 3) == [
        "2026-03-27T23:30-02:00",
        "2026-03-29T00:30-01:00",
        "2026-03-29T23:30-01:00",
    ]


def test_a_day_that_a_zone_left_out_is_not_run_twice_on_the_next() -> None:
    rule = rules.daily("11:00", zone="Pacific/Apia")
    assert local(rule, "2011-12-28T22:00Z", 3) == [
        "2011-12-29T11:00-10:00",
        "2011-12-31T11:00+14:00",
        "2012-01-01T11:00+14:00",
    ]


def test_b09_a_weekday_is_meant_locally() -> None:
    rule = rules.weekly("mon", "00:30", zone="Asia/Tokyo")
    assert between(rule, "2026-03-01T00:00Z", "2026-03-14T00:00Z") == ["2026-03-01T15:30Z", "2026-03-08T15:30Z"]


def test_b09_a_weekly_time_is_the_same_by_the_clock_before_and_after_a_change() -> None:
    rule = rules.weekly("sun", "09:00", zone=BERLIN)
    assert between(rule, "2026-03-22T00:00Z", "2026-03-30T00:00Z") == ["2026-03-22T08:00Z", "2026-03-29T07:00Z"]


def test_b09_seven_days_as_an_interval_are_604_800_seconds() -> None:
    rule = rules.every(timedelta(days=7), zone=BERLIN, start=wall("2026-03-22T09:00"))
    assert local(rule, "2026-03-20T00:00Z", 2) == ["2026-03-22T09:00+01:00", "2026-03-29T10:00+02:00"]


@pytest.mark.parametrize(
    ("weekday", "days"),
    [
        ("1", {"Mon"}),
        ("0", {"Sun"}),
        ("7", {"Sun"}),
        ("1-5", {"Mon", "Tue", "Wed", "Thu", "Fri"}),
        ("MON", {"Mon"}),
        ("5-7", {"Fri", "Sat", "Sun"}),
        ("0-1", {"Sun", "Mon"}),
    ],
)
def test_b11_numbers_of_weekdays_are_those_of_cron(weekday: str, days: set[str]) -> None:
    rule = rules.cron(f"0 9 * * {weekday}")
    found = rule.upcoming(us("2026-06-01T00:00Z"), 2 * len(days))
    assert {rule.moment(at).strftime("%a") for at in found} == days


def test_b11_a_range_of_names_may_end_on_sunday() -> None:
    from_friday = rules.cron("0 9 * * FRI-SUN").upcoming(us("2026-03-30T00:00Z"), 4)
    assert [rules.cron("0 9 * * 5-7").next(due_at - 1) for due_at in from_friday] == from_friday
    assert rules.cron("0 9 * * mon-sun").total(us("2026-03-30T00:00Z"), us("2026-04-05T23:00Z")) == 7


def test_b11_a_range_that_runs_backwards_is_refused_in_cron() -> None:
    with pytest.raises(InvalidJobError, match="a range goes upwards"):
        rules.cron("0 9 * * 5-1")


def test_b11_a_weekly_rule_takes_names_only_and_its_ranges_may_run_over_the_weekend() -> None:
    assert rules.weekly("fri-mon", "09:00") == rules.weekly("fri,sat,sun,mon", "09:00")
    with pytest.raises(InvalidJobError, match="no weekday"):
        rules.weekly("1", "09:00")


def test_b12_the_31st_comes_in_the_seven_months_that_have_one() -> None:
    found = between(rules.cron("0 0 31 * *"), "2026-01-01T00:00Z", "2026-12-31T23:59Z")
    assert [str(at)[5:7] for at in found] == ["01", "03", "05", "07", "08", "10", "12"]


@pytest.mark.parametrize("text", ["0 0 29 2 *", "yearly 02-29 00:00", "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29"])
def test_b12_29_february_comes_in_leap_years(text: str) -> None:
    rule = rules.parse(text, start=wall("2020-01-01"))
    assert utc(rule.next(us("2026-03-01T00:00Z"))) == "2028-02-29T00:00Z"
    assert utc(rule.next(us("2096-03-01T00:00Z"))) == "2104-02-29T00:00Z"


def test_b12_30_february_is_refused_where_it_can_be_seen() -> None:
    for text in ("0 0 30 2 *", "yearly 02-30 00:00", "monthly 32 00:00"):
        with pytest.raises(InvalidJobError):
            rules.parse(text)


def test_b12_what_never_comes_is_found_out_in_bounded_time() -> None:
    rule = rules.rrule("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", zone=BERLIN)
    with pytest.raises(InvalidJobError, match="has no due time"):
        rule.starting(us("2026-01-01T00:00Z"))
    assert rule.previous(us("2026-01-01T00:00Z")) is None


@pytest.mark.parametrize("days", ["last", "31-or-last"])
def test_b12_the_last_day_comes_in_each_month(days: str) -> None:
    found = between(rules.monthly(days, "12:00"), "2026-01-01T00:00Z", "2026-12-31T23:59Z")
    assert [str(at)[8:10] for at in found] == ["31", "28", "31", "30", "31", "30", "31", "31", "30", "31", "30", "31"]


def test_b12_every_tenth_day_begins_anew_in_each_month() -> None:
    found = between(rules.cron("0 0 */10 * *"), "2026-01-01T00:00Z", "2026-02-28T23:59Z")
    assert [str(at)[5:10] for at in found] == ["01-01", "01-11", "01-21", "01-31", "02-01", "02-11", "02-21"]


def test_b12_a_job_of_the_31st_returns_to_it_after_february() -> None:
    rule = rules.monthly("31-or-last", "09:00").starting(us("2026-01-31T10:00Z"))
    assert [at[5:10] for at in local(rule, "2026-01-31T10:00Z", 3)] == ["02-28", "03-31", "04-30"]


@pytest.mark.parametrize(
    ("zone", "time", "due"),
    [
        (BERLIN, "2026-03-29T02:30", "2026-03-29T01:30Z"),
        (BERLIN, "2026-10-25T02:30", "2026-10-25T00:30Z"),
        ("Europe/London", "2026-10-25T01:30", "2026-10-25T00:30Z"),
        ("America/New_York", "2026-03-08T02:30", "2026-03-08T07:30Z"),
        ("America/New_York", "2026-11-01T01:30", "2026-11-01T05:30Z"),
        ("Asia/Beirut", "2026-03-29T00:00", "2026-03-28T22:00Z"),
        ("Africa/Cairo", "2026-04-24T00:00", "2026-04-23T22:00Z"),
        ("Australia/Melbourne", "2026-04-05T02:30", "2026-04-04T15:30Z"),
    ],
)
def test_a_local_time_means_this_instant_in_every_kind_of_rule(zone: str, time: str, due: str) -> None:
    day, clock = time.split("T")
    hour, minute = clock.split(":")
    before, after = us(due) - 30 * 3_600_000_000, us(due) + 1
    for rule in (
        rules.daily(clock, zone=zone),
        rules.cron(f"{minute} {hour} * * *", zone=zone),
        rules.yearly(day[5:], clock, zone=zone),
        rules.rrule(f"FREQ=DAILY;BYHOUR={hour};BYMINUTE={minute}", zone=zone, start=wall("2026-01-01")),
        rules.at(wall(time), zone=zone),
    ):
        assert utc(rule.previous(after)) == due
        assert us(due) in rule.upcoming(before, 2)


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)])
def test_every_hour_is_every_real_hour_however_many_a_day_has(day: str, hours: int) -> None:
    rule, midnights = rules.cron("@hourly", zone=BERLIN), rules.daily("00:00", zone=BERLIN)
    first, last = midnights.upcoming(us(day + "T00:00Z") - 4 * 3_600_000_000, 2)
    assert rule.total(first, last - 1) == hours


def test_86_400_seconds_after_noon_it_is_one_o_clock_when_an_hour_was_skipped() -> None:
    rule = rules.every(86_400, zone=BERLIN, start=wall("2026-03-28T12:00"))
    assert local(rule, "2026-03-28T12:00Z", 1) == ["2026-03-29T13:00+02:00"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("monthly last 09:00", "monthly last-mon 09:00"),
        ("monthly 1 09:00", "monthly 1st-mon 09:00"),
        ("monthly 1-or-last 09:00", "monthly 1st-tue 09:00"),
        ("yearly 11-01 09:00", "yearly 11-1st-mon 09:00"),
        ("daily/2 09:00", "monthly/2 1 09:00"),
    ],
)
def test_rules_of_two_kinds_are_never_taken_for_one_another(one: str, other: str) -> None:
    """Whatever was asked before: the answers of one kind are not kept for the other."""
    start = wall("2026-01-01T00:00")
    first, second = rules.parse(one, zone=BERLIN, start=start), rules.parse(other, zone=BERLIN, start=start)
    assert first != second
    asked = [rule.upcoming(us("2026-01-01T00:00Z"), 24) for rule in (first, second, first)]
    assert asked[0] == asked[2] != asked[1]
