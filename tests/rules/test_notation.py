"""Rules as text: what is understood, and what is told is read back as the same rule."""

import json
from dataclasses import fields
from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bellringer.storage import rules
from bellringer.storage.rules.calendar_rules import WEEKDAYS
from tests.rules import catalogue
from tests.rules.telling import local, us, wall

NOW = us("2026-01-01T00:00Z")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("daily 9:00", "daily 09:00"),
        ("Daily at 9am", "daily 09:00"),
        ("daily at 9:30 pm", "daily 21:30"),
        ("daily 12am,12pm", "daily 00:00,12:00"),
        ("daily 18:00,9:00,18:00", "daily 09:00,18:00"),
        ("daily 09:00:30.5", "daily 09:00:30.500000"),
        ("daily/1 09:00", "daily 09:00"),
        ("daily/2 09:00", "daily/2 09:00"),
        ("weekly mon 09:00", "weekly mon 09:00"),
        ("weekly on Mondays at 9am", "weekly mon 09:00"),
        ("weekly fri-mon 09:00", "weekly mon,fri,sat,sun 09:00"),
        ("weekly weekdays 18:00", "weekly mon,tue,wed,thu,fri 18:00"),
        ("weekly weekend 10:00", "weekly sat,sun 10:00"),
        ("weekly/2 thurs 10:00", "weekly/2 thu 10:00"),
        ("monthly 15 09:00", "monthly 15 09:00"),
        ("monthly on the 1st at 9am", "monthly 1 09:00"),
        ("monthly last 09:00", "monthly last 09:00"),
        ("monthly last day 09:00", "monthly last 09:00"),
        ("monthly 31-or-last 09:00", "monthly 31-or-last 09:00"),
        ("monthly second tue 09:00", "monthly 2nd-tue 09:00"),
        ("monthly 1,15,last-fri 09:00", "monthly 1,15,last-fri 09:00"),
        ("yearly 12-25 08:00", "yearly 12-25 08:00"),
        ("yearly dec-25 08:00", "yearly 12-25 08:00"),
        ("yearly 25-dec 08:00", "yearly 12-25 08:00"),
        ("yearly 02-last 08:00", "yearly 02-last 08:00"),
        ("yearly 11-4th-thu 08:00", "yearly 11-4th-thu 08:00"),
        ("every 90s", "every 1m30s"),
        ("every 1h30m", "every 1h30m"),
        ("every 0.5s", "every 0.5s"),
        ("every 1w", "every 7d"),
        ("every 1.5d", "every 1d12h"),
        ("*/30  *  * * *", "*/30 * * * *"),
        ("*/7 * * * * *", "*/7 * * * * *"),
        ("@daily", "@daily"),
        ("0 9 * * mon-fri", "0 9 * * mon-fri"),
        ("rrule:freq=weekly;byday=mo", "RRULE:FREQ=WEEKLY;BYDAY=MO"),
        ("FREQ=DAILY;COUNT=3", "RRULE:FREQ=DAILY"),
        ("FREQ=SECONDLY;INTERVAL=90", "every 1m30s"),
        ("at 2030-12-25 08:00", "at 2030-12-25 08:00:00"),
    ],
)
def test_a_text_means_this_rule(text: str, told: str) -> None:
    rule = rules.parse(text)
    assert rule.text == told
    assert rules.parse(told).text == told


def test_the_kinds_of_rules_are_made_by_name_too() -> None:
    assert rules.daily(time(9)) == rules.daily("09:00") == rules.parse("daily 09:00")
    assert rules.daily([time(9, 0, 30), "18:00"]) == rules.parse("daily 09:00:30,18:00")
    assert rules.daily("09:00", interval=2) == rules.parse("daily/2 09:00")
    assert rules.weekly(["mon", "fri"], "9am") == rules.parse("weekly mon,fri 09:00")
    assert rules.monthly(15, "9am") == rules.monthly("15", "09:00") == rules.parse("monthly 15 09:00")
    assert rules.monthly([1, "last"], "9am") == rules.parse("monthly 1,last 09:00")
    assert rules.yearly(["12-25", "01-01"], "9am") == rules.parse("yearly 12-25,01-01 09:00")
    assert rules.every(90) == rules.every(timedelta(seconds=90)) == rules.parse("every 90s")
    assert rules.cron("* * * * *") == rules.parse("* * * * *")
    assert rules.rrule("FREQ=DAILY") == rules.parse("RRULE:FREQ=DAILY")
    assert rules.at(wall("2030-12-25T08:00")) == rules.parse("at 2030-12-25 08:00")


def test_equal_rules_are_one_value() -> None:
    assert hash(rules.daily("18:00,09:00")) == hash(rules.daily("09:00,18:00"))
    assert rules.daily("09:00") != rules.daily("09:00", zone="Europe/Berlin")
    assert rules.daily("09:00") != rules.cron("0 9 * * *")


@pytest.mark.parametrize(
    "line",
    ["DTSTART;TZID=Europe/Berlin:20260105T090000", "DTSTART;VALUE=DATE-TIME;TZID=Europe/Berlin:20260105T090000",
     "DTSTART;TZID=Europe/Berlin;VALUE=DATE-TIME:20260105T090000"],
)  # fmt: skip
def test_the_start_and_zone_of_a_recurrence_may_stand_before_it(line: str) -> None:
    rule = rules.parse(f"{line}\nRRULE:FREQ=WEEKLY;COUNT=2")
    assert rule == rules.rrule("FREQ=WEEKLY", zone="Europe/Berlin", start=wall("2026-01-05T09:00"), count=2)
    assert local(rule, "2026-01-01T00:00Z", 9) == ["2026-01-05T09:00+01:00", "2026-01-12T09:00+01:00"]


def test_the_last_day_of_a_recurrence_counts_whole() -> None:
    rule = rules.parse("DTSTART:20260101T233000 RRULE:FREQ=DAILY;UNTIL=20260102")
    assert local(rule, "2025-12-01T00:00Z", 9) == ["2026-01-01T23:30+00:00", "2026-01-02T23:30+00:00"]


def test_the_first_of_a_recurrence_is_its_start_though_that_has_a_fraction_of_a_second() -> None:
    rule = rules.rrule("FREQ=DAILY", start=datetime(2026, 1, 1, 9, 0, 0, 500_000))  # noqa: DTZ001  a local time
    assert local(rule, "2026-01-01T00:00Z", 1) == ["2026-01-01T09:00+00:00"]


def test_a_rule_is_told_to_people_with_its_bounds() -> None:
    rule = rules.daily("09:00", zone="Europe/Berlin", start=wall("2026-01-01"), count=3, jitter=60)
    assert str(rule) == "daily 09:00, in Europe/Berlin, start 2026-01-01T00:00:00, 3 times, spread over 0:01:00"


def test_a_rule_is_stored_as_text_that_says_the_same() -> None:
    rule = rules.weekly("mon", "09:00", zone="Europe/Berlin", until=wall("2027-01-01"))
    assert json.loads(rules.dump(rule)) == {
        "rule": "weekly mon 09:00",
        "zone": "Europe/Berlin",
        "until": "2027-01-01T00:00:00",
    }


BOUNDS: list[rules.Bounds] = [
    {},
    {"zone": "America/New_York"},
    {"start": wall("2026-02-03T04:05:06.789")},
    {"start": datetime(2026, 10, 25, 1, 15, tzinfo=UTC), "zone": "Europe/Berlin"},
    {"until": datetime(2036, 1, 1, tzinfo=UTC)},
    {"start": wall("2026-01-02"), "until": wall("2036-01-01"), "zone": "Asia/Beirut"},
    {"count": 9, "jitter": 300, "zone": "America/Nuuk"},
]


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_what_is_stored_is_read_back_as_an_equal_rule(bounds: rules.Bounds) -> None:
    for case in (*catalogue.ALL, catalogue.Case("at 2030-12-25 08:00", catalogue.Elapsed(1))):
        rule = rules.parse(case.text, **bounds)
        for one in (rule, rule.starting(NOW, "seed")):
            back = rules.load(rules.dump(one))
            assert back == one, case.text
            assert all(getattr(back, field.name) == getattr(one, field.name) for field in fields(one)), case.text
        assert rules.load(rules.dump(one)).upcoming(NOW, 3) == one.upcoming(NOW, 3)


@given(
    st.sampled_from(["daily", "daily/3", "weekly", "weekly/2", "monthly", "yearly"]),
    st.lists(st.times(), min_size=1, max_size=4),
    st.lists(st.integers(0, 6), min_size=1, max_size=7),
    st.lists(st.one_of(st.integers(1, 28), st.sampled_from(["last", "31-or-last", "5th-mon", "last-sun"])), min_size=1),
)
@settings(max_examples=200, deadline=None)
def test_what_a_rule_tells_is_read_back(kind: str, times: list[time], weekdays: list[int], days: list[object]) -> None:
    names = {"weekly": ",".join(WEEKDAYS[day] for day in weekdays),
             "monthly": ",".join(map(str, days)), "yearly": ",".join(f"07-{day}" for day in days)}  # fmt: skip
    rule = rules.parse(f"{kind} {names.get(kind.partition('/')[0], '')} {','.join(map(str, times))}")
    assert rules.parse(rule.text) == rule
    assert rules.load(rules.dump(rule)) == rule


@given(st.integers(1_000, 36_525 * 86_400_000_000))
@settings(max_examples=200, deadline=None)
def test_any_interval_is_told_to_the_microsecond(interval_us: int) -> None:
    rule = rules.Every(interval_us=interval_us)
    assert rules.parse(rule.text) == rule


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "{", '{"rule":5}', '{"rule":"soon"}', '{"every_us":0}',
                                  '{"rule":"daily 09:00","zone":"Mars/Base"}', '{"rule":"daily 09:00","count":"x"}',
                                  '{"rule":"daily 09:00","start":"x"}', '{"every_us":"x"}'])  # fmt: skip
def test_a_stored_text_that_is_no_rule_is_refused_as_a_value(text: str) -> None:
    with pytest.raises(ValueError, match="this version does not know the rule"):
        rules.load(text)


def test_an_interval_that_nothing_bounds_lies_on_the_grid_of_its_job() -> None:
    rule = rules.of_job('{"every_us":90000000}', NOW + 7)
    assert rule.upcoming(NOW, 2) == [NOW + 7, NOW + 90_000_007]
