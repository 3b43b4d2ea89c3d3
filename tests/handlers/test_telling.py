"""How times are told. It is Wednesday 2026-07-01, 12:00 in Berlin."""

from zoneinfo import ZoneInfo

import pytest

from bellringer.handlers import phrases, telling
from bellringer.handlers.phrases import DAY_US, HOUR_US, MINUTE_US, SECOND_US
from bellringer.storage import rules
from tests.handlers.phrase_words import BERLIN, NOW


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("30m", "at 12:30:00 today, once, by elapsed time in Europe/Berlin (in 30 min)"),
        (
            "every 30m",
            "every 30 min, by elapsed time in Europe/Berlin, first at 12:30:00 today (in 30 min), "
            "then 13:00:00 today, 13:30:00 today",
        ),
        ("in 30m", "at 12:30:00 today, once, by elapsed time in Europe/Berlin (in 30 min)"),
        ("09:00", "at 09:00:00 tomorrow, once, by local time in Europe/Berlin (in 21 h)"),
        ("tomorrow 9", "at 09:00:00 tomorrow, once, by local time in Europe/Berlin (in 21 h)"),
        (
            "monday",
            "at 09:00:00 on Mon 6 Jul 2026, once, by local time in Europe/Berlin; "
            "no time of day was given, so 09:00 was taken (in 4 d 21 h)",
        ),
        (
            "every monday 9:00",
            "every Monday at 09:00, by local time in Europe/Berlin, first at 09:00:00 on Mon 6 Jul 2026 "
            "(in 4 d 21 h), then 09:00:00 on Mon 13 Jul 2026, 09:00:00 on Mon 20 Jul 2026",
        ),
    ],
)
def test_b96_a_phrase_is_told_with_its_kind_its_zone_and_the_next_three_instants(words: str, told: str) -> None:
    assert phrases.tell(phrases.read(words, NOW, BERLIN), NOW) == told


def test_a_rule_that_comes_once_more_says_so() -> None:
    once = rules.daily("09:00", zone=BERLIN, count=1).starting(NOW)

    assert telling.tell_next(once, NOW, BERLIN).endswith("first at 09:00:00 tomorrow (in 21 h), and never again")


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("every 90s", "every 1 min 30 s"),
        ("daily 09:00,18:00", "every day at 09:00 and 18:00"),
        ("daily/2 09:00", "every 2 days at 09:00"),
        ("weekly mon-fri 18:00", "every weekday at 18:00"),
        ("weekly mon,wed,fri 18:00", "every Monday, Wednesday and Friday at 18:00"),
        ("weekly/2 mon 09:00", "every 2 weeks on Monday at 09:00"),
        ("monthly last 09:00", "every month on the last day at 09:00"),
        ("monthly 1,22 09:00", "every month on the 1st and 22nd at 09:00"),
        ("monthly 31-or-last 09:00", "every month on the 31st or the last day at 09:00"),
        ("monthly last-fri 09:00", "every month on the last Friday at 09:00"),
        ("monthly/3 13 09:00", "every 3 months on the 13th at 09:00"),
        ("yearly 12-25 08:00", "every year on 25 December at 08:00"),
        ("yearly 02-last 08:00", "every year on the last day of February at 08:00"),
        ("*/30 * * * *", "*/30 * * * *"),
    ],
)
def test_a_rule_is_told_in_words(rule: str, told: str) -> None:
    assert telling.tell_rule(rules.parse(rule)) == told


@pytest.mark.parametrize(
    ("ahead", "told"),
    [
        (10 * SECOND_US, "12:00:10 today"),
        (12 * HOUR_US - SECOND_US, "23:59:59 today"),
        (12 * HOUR_US, "00:00:00 tomorrow"),
        (2 * DAY_US, "12:00:00 on Fri 3 Jul 2026"),
    ],
)
def test_an_instant_is_told_in_local_time(ahead: int, told: str) -> None:
    assert telling.tell_instant(NOW + ahead, NOW, ZoneInfo(BERLIN)) == told


def test_a_skipped_time_is_told_as_it_will_be() -> None:
    phrase = phrases.read("2027-03-28 02:30 x", NOW, BERLIN)

    assert phrases.tell(phrase, NOW).startswith("at 03:30:00 on Sun 28 Mar 2027, ")


@pytest.mark.parametrize(
    ("duration", "told"),
    [
        (0, "0 s"),
        (-5, "0 s"),
        (400_000, "0 s"),
        (10 * SECOND_US, "10 s"),
        (59_999_999, "1 min"),
        (90 * SECOND_US, "1 min 30 s"),
        (HOUR_US + 5 * SECOND_US, "1 h"),
        (25 * HOUR_US + MINUTE_US, "1 d 1 h"),
        (400 * DAY_US, "400 d"),
    ],
)
def test_a_duration_is_told_in_two_parts_at_most(duration: int, told: str) -> None:
    assert telling.tell_duration(duration) == told


def test_a_duration_can_be_told_in_one_part_or_in_all() -> None:
    assert telling.tell_duration(3 * MINUTE_US + 5 * SECOND_US, parts=1) == "3 min"
    assert telling.tell_duration(HOUR_US + 5 * SECOND_US, parts=4) == "1 h 5 s"
