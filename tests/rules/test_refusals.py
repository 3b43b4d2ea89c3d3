"""What no rule can mean is refused at once, with one kind of error and a sentence that helps."""

import re
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from bellringer.storage import rules
from bellringer.storage.errors import InvalidJobError
from tests.rules.telling import us, wall
from tests.storage.refusing import refusal

NOW = us("2026-01-01T00:00Z")


@pytest.mark.parametrize(
    "interval",
    [
        0,
        -1,
        1e-9,
        0.000_4,
        float("nan"),
        float("inf"),
        float("-inf"),
        2**63,
        1e300,
        timedelta.max,
        True,
        timedelta(0),
        10**400,
        "5",
        None,
    ],
)
def test_b79_an_interval_without_sense_is_refused(interval: float | timedelta) -> None:
    begun = time.thread_time_ns()
    with pytest.raises(InvalidJobError, match="the interval is"):
        rules.every(interval)
    assert time.thread_time_ns() - begun < 10_000_000


def test_b79_the_shortest_interval_is_a_millisecond_and_the_longest_36525_days() -> None:
    assert rules.every(0.001).interval_us == rules.MINIMUM_INTERVAL_US == 1_000
    assert rules.every(timedelta(days=36_525)).interval_us == 36_525 * 86_400_000_000
    with pytest.raises(InvalidJobError, match="from 1 millisecond to 36525 days"):
        rules.every(timedelta(days=36_525, microseconds=1))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must have 1 to 1024"),
        ("   ", "must have 1 to 1024"),
        ("x" * 2_000, "must have 1 to 1024"),
        ("soon", "is not understood"),
        ("5", "is not understood"),
        ("daily", "lacks a part"),
        ("daily 25:00", "no time of day"),
        ("daily 9", "no time of day"),
        ("daily am", "no time of day"),
        ("daily 13pm", "from 1 to 12"),
        ("daily 09:60", "from 00:00 to 23:59:59"),
        ("daily 09:00,", "no time of day"),
        ("daily mon 09:00", "daily takes times only"),
        ("daily/0 09:00", "the interval is 0"),
        ("daily/1001 09:00", "the interval is 1001"),
        ("weekly 09:00", "lacks a part"),
        ("weekly 1 09:00", "no weekday"),
        ("weekly mon-someday 09:00", "no weekday"),
        ("weekly sun-0 09:00", "no weekday"),
        ("monthly 32 09:00", "no day 32"),
        ("monthly 0 09:00", "no day 0"),
        ("monthly 6th-mon 09:00", "no day of a month"),
        ("monthly ٣ 09:00", "no day of a month"),
        ("yearly 13-01 09:00", "no month"),
        ("yearly 02-30 09:00", "no day 30 in month 2"),
        ("yearly 1225 09:00", "no date of a year"),
        ("yearly/101 12-25 09:00", "must be from 1 to 100"),
        ("every 0s", "the interval is 0"),
        ("every 5", "no interval"),
        ("every -5s", "no interval"),
        ("every s", "no interval"),
        ("every 1.1234567s", "no interval"),
        ("every 99999999999w", "must be from 1 millisecond"),
        ("at noon", "no date and time"),
        ("at 2026-02-30 09:00", "no date and time"),
        ("at 1969-12-31 09:00", "outside of the years 1970 to 9999"),
        ("*/0 * * * *", "can't be read"),
        ("60 * * * *", "can't be read"),
        ("* * * *", "is not understood"),
        ("* * * * * * *", "is not understood"),
        ("* 24 * * *", "can't be read"),
        ("* * 0 * *", "can't be read"),
        ("* * * 13 *", "can't be read"),
        ("* * * * 8", "can't be read"),
        ("0 0 31 2,4 *", "can't be read"),
        ("@fortnightly", "there is no '@fortnightly'"),
        ("@reboot", "there is no '@reboot'"),
        ("RRULE:FREQ=DAILY;INTERVAL=0", "INTERVAL must be at least 1"),
        ("RRULE:FREQ=DAILY;INTERVAL=-1", "must be a whole number"),
        ("RRULE:FREQ=YEARLY;INTERVAL=101", "not beyond a hundred years"),
        ("RRULE:FREQ=MONTHLY;INTERVAL=1201", "not beyond a hundred years"),
        ("RRULE:INTERVAL=1", "FREQ must be one of"),
        ("RRULE:FREQ=OFTEN", "FREQ must be one of"),
        ("RRULE:FREQ=DAILY;FREQ=DAILY", "stands there twice"),
        ("RRULE:FREQ=DAILY;BYEASTER=0", "is not understood"),
        ("RRULE:FREQ=DAILY;BYHOUR=24", "BYHOUR must be numbers from 0 to 23"),
        ("RRULE:FREQ=DAILY;BYMONTH=13", "BYMONTH must be numbers from 1 to 12"),
        ("RRULE:FREQ=MONTHLY;BYMONTHDAY=0", "BYMONTHDAY must be numbers from 1 to 31"),
        ("RRULE:FREQ=MONTHLY;BYMONTHDAY=32", "BYMONTHDAY must be numbers from 1 to 31"),
        ("RRULE:FREQ=YEARLY;BYWEEKNO=54", "BYWEEKNO must be numbers from 1 to 53"),
        ("RRULE:FREQ=YEARLY;BYYEARDAY=367", "BYYEARDAY must be numbers from 1 to 366"),
        ("RRULE:FREQ=WEEKLY;BYDAY=XX", "BYDAY must be weekdays"),
        ("RRULE:FREQ=WEEKLY;BYDAY=MO(+2)", "BYDAY must be weekdays"),
        ("RRULE:FREQ=WEEKLY;BYDAY=2MO", "by month or year only"),
        ("RRULE:FREQ=DAILY;COUNT=0", "count is 0"),
        ("RRULE:FREQ=DAILY;COUNT=3;UNTIL=20270101", "exclude each other"),
        ("RRULE:FREQ=DAILY;UNTIL=tomorrow", "is no date"),
        ("RRULE:FREQ=HOURLY;INTERVAL=5;BYDAY=MO", "has to divide 24"),
        ("RRULE:FREQ=DAILY;BYHOUR=9,10;BYSETPOS=1", "BYSETPOS is understood for one time of day only"),
        ("FREQ=DAILY\nRRULE:FREQ=DAILY", "give one RRULE, not 2"),
        ("RRULE:FREQ=DAILY\nEXDATE:20260101", "EXDATE is not understood"),
    ],
)
def test_b79_a_text_without_sense_is_refused(text: str, sentence: str) -> None:
    assert re.search(sentence, refusal(lambda: rules.parse(text, start=wall("2026-01-01"))))


@pytest.mark.parametrize("text", [None, 5, b"daily 09:00", ["daily 09:00"]])
def test_what_is_no_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidJobError, match="a rule is text"):
        rules.parse(text)


@pytest.mark.parametrize("bound", ["start", "until"])
def test_a_bound_is_a_datetime(bound: str) -> None:
    with pytest.raises(InvalidJobError, match=f"{bound} is '2026-01-01', but must be a datetime"):
        rules.daily("09:00", **{bound: "2026-01-01"})  # type: ignore[arg-type]  # what else may be handed in


def test_what_a_cron_or_recurrence_rule_is_made_of_is_text() -> None:
    with pytest.raises(InvalidJobError, match="is text, not None"):
        rules.cron(None)  # type: ignore[arg-type]
    with pytest.raises(InvalidJobError, match="is text, not None"):
        rules.rrule(None)  # type: ignore[arg-type]
    with pytest.raises(InvalidJobError, match="comes at a datetime"):
        rules.at("2026-01-01")  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, -1, 100_001, 1.5, True, "3"])
def test_a_count_without_sense_is_refused(count: int) -> None:
    with pytest.raises(InvalidJobError, match="count is"):
        rules.daily("09:00", count=count)


@pytest.mark.parametrize("jitter", [-1, timedelta(days=367), float("nan"), float("inf"), 1e300, "1", True])
def test_a_jitter_without_sense_is_refused(jitter: float | timedelta) -> None:
    with pytest.raises(InvalidJobError, match="jitter is"):
        rules.daily("09:00", jitter=jitter)


@pytest.mark.parametrize("interval", [0, -1, 1_001, 1.5, True])
def test_an_interval_of_days_is_a_whole_number(interval: int) -> None:
    with pytest.raises(InvalidJobError, match="the interval is"):
        rules.daily("09:00", interval=interval)


def test_a_rule_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(InvalidJobError, match="ends before it starts"):
        rules.daily("09:00", start=wall("2026-02-01"), until=wall("2026-01-01"))


@pytest.mark.parametrize(
    "rule",
    [
        rules.at(wall("2025-12-31T23:59")),
        rules.daily("09:00", until=wall("2025-12-31")),
        rules.rrule("FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=31", start=wall("2025-01-01")),
        rules.parse("daily 09:00", start=wall("2025-01-01"), count=3),
    ],
    ids=str,
)
def test_a_rule_that_has_nothing_to_come_is_refused_when_it_is_started(rule: rules.Rule) -> None:
    with pytest.raises(InvalidJobError, match="has no due time after 2026-01-01T00:00:00"):
        rule.starting(NOW)


def test_a_time_of_day_with_a_zone_of_its_own_is_refused() -> None:
    with pytest.raises(InvalidJobError, match="has a zone of its own"):
        rules.daily(wall("2026-01-01T09:00").replace(tzinfo=UTC).timetz())


def test_a_datetime_without_zone_names_no_instant() -> None:
    with pytest.raises(InvalidJobError, match="names no instant"):
        rules.daily("09:00").next(wall("2026-01-01"))


def test_an_instant_before_1970_is_refused() -> None:
    with pytest.raises(InvalidJobError, match="outside of the years 1970 to 9999"):
        rules.daily("09:00").next(datetime(1969, 12, 31, 23, tzinfo=UTC))
    with pytest.raises(InvalidJobError, match="outside of the years 1970 to 9999"):
        rules.at(datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=5))))
