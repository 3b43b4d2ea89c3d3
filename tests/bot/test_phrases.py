"""How times are read and told. All of it is arithmetic: `now` is Wednesday 2026-07-01 12:00 in Berlin."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellringer.handlers import phrases
from bellringer.handlers.phrases import DAY_US, HOUR_US, MINUTE_US, SECOND_US, PhraseError

BERLIN = ZoneInfo("Europe/Berlin")


def us(text: str) -> int:
    return int(datetime.fromisoformat(text).astimezone(UTC).timestamp()) * SECOND_US


NOW = us("2026-07-01T12:00:00+02:00")


@pytest.mark.parametrize(
    ("words", "seconds", "text"),
    [
        ("10s stand up", 10, "stand up"),
        ("10 s stand up", 10, "stand up"),
        ("10 seconds stand up", 10, "stand up"),
        ("1h30m tea", 5_400, "tea"),
        ("1h 30m tea", 5_400, "tea"),
        ("1 hour 30 minutes tea", 5_400, "tea"),
        ("1.5h tea", 5_400, "tea"),
        ("1,5h tea", 5_400, "tea"),
        ("90m tea", 5_400, "tea"),
        ("1w water the plants", 604_800, "water the plants"),
        ("1d12h x", 129_600, "x"),
        ("in 2h call home", 7_200, "call home"),
        ("IN 2H call home", 7_200, "call home"),
        ("10m 5 sit-ups", 600, "5 sit-ups"),
        ("10m 2 m of rope", 600, "2 m of rope"),
        ("10s 🎂 cake", 10, "🎂 cake"),
        ("10s two  spaces", 10, "two  spaces"),
        ("10s", 10, ""),
    ],
)
def test_a_delay_is_read_and_the_text_is_left(words: str, seconds: int, text: str) -> None:
    assert phrases.read_when(words, NOW, BERLIN) == (NOW + seconds * SECOND_US, text)


@pytest.mark.parametrize(
    ("words", "instant"),
    [
        ("18:30 x", "2026-07-01T18:30:00+02:00"),
        ("at 18:30 x", "2026-07-01T18:30:00+02:00"),
        ("18:30:15 x", "2026-07-01T18:30:15+02:00"),
        ("11:59 x", "2026-07-02T11:59:00+02:00"),
        ("12:00 x", "2026-07-02T12:00:00+02:00"),
        ("today 18:30 x", "2026-07-01T18:30:00+02:00"),
        ("9am x", "2026-07-02T09:00:00+02:00"),
        ("9 am x", "2026-07-02T09:00:00+02:00"),
        ("at 9 p.m. x", "2026-07-01T21:00:00+02:00"),
        ("9:00PM x", "2026-07-01T21:00:00+02:00"),
        ("12pm x", "2026-07-02T12:00:00+02:00"),
        ("tomorrow 12:30 am x", "2026-07-02T00:30:00+02:00"),
        ("tomorrow 9:00 x", "2026-07-02T09:00:00+02:00"),
        ("Tomorrow at 09:00 x", "2026-07-02T09:00:00+02:00"),
        ("2026-12-25 08:00 x", "2026-12-25T08:00:00+01:00"),
        ("2026-12-25T08:00 x", "2026-12-25T08:00:00+01:00"),
        ("2028-02-29 8:00 x", "2028-02-29T08:00:00+01:00"),
    ],
)
def test_a_time_of_day_is_local_and_lies_ahead(words: str, instant: str) -> None:
    assert phrases.read_when(words, NOW, BERLIN) == (us(instant), "x")


@pytest.mark.parametrize(
    ("zone", "words", "instant"),
    [
        ("Europe/Berlin", "2027-03-28 02:30", "2027-03-28T01:30:00+00:00"),
        ("Europe/Berlin", "2026-10-25 02:30", "2026-10-25T00:30:00+00:00"),
        ("Europe/London", "2026-10-25 01:30", "2026-10-25T00:30:00+00:00"),
        ("America/New_York", "2027-03-14 02:30", "2027-03-14T07:30:00+00:00"),
        ("America/New_York", "2026-11-01 01:30", "2026-11-01T05:30:00+00:00"),
        ("America/Santiago", "2026-09-06 00:00", "2026-09-06T04:00:00+00:00"),
        ("Africa/Cairo", "2027-04-30 00:00", "2027-04-29T22:00:00+00:00"),
        ("Asia/Tokyo", "2026-07-05 09:00", "2026-07-05T00:00:00+00:00"),
    ],
)
def test_b10_a_skipped_time_keeps_the_earlier_offset_and_a_doubled_one_is_the_first(
    zone: str, words: str, instant: str
) -> None:
    assert phrases.read_when(f"{words} x", NOW, ZoneInfo(zone)).us == us(instant)


def test_a_skipped_time_is_told_as_it_will_be() -> None:
    at = phrases.read_when("2027-03-28 02:30 x", NOW, BERLIN).us

    assert phrases.tell_instant(at, NOW, BERLIN) == "03:30:00 on Sun 28 Mar 2027"


def test_tomorrow_is_a_calendar_day_and_not_24_hours() -> None:
    evening_before_the_change = us("2026-10-24T20:00:00+02:00")

    assert phrases.read_when("tomorrow 20:00 x", evening_before_the_change, BERLIN).us == us("2026-10-25T20:00+01:00")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", "don't see a time"),
        ("stand up", "don't see a time"),
        ("soon stand up", "don't see a time"),
        ("10stand up", "don't see a time"),
        ("10parsecs x", "don't see a time"),
        ("٣s x", "don't see a time"),
        ("90 tea", "90s, 90m, 90h or 90d"),
        ("90", "90s, 90m, 90h or 90d"),
        ("1.5 tea", "1.5s, 1.5m"),
        ("-5m tea", "in the past"),
        ("in -5m tea", "in the past"),
        ("\u22125m tea", "in the past"),
        ("0s tea", "no time at all"),
        ("0h0m tea", "no time at all"),
        ("25:00 x", "25:00 is no time of day"),
        ("24:00 x", "24:00 is no time of day"),
        ("12:60 x", "12:60 is no time of day"),
        ("tomorrow x", "At what time"),
        ("2026-12-25 x", "At what time"),
        ("today 11:00 x", "past already"),
        ("2020-01-01 08:00 x", "past already"),
        ("2026-02-30 08:00 x", "There is no 2026-02-30"),
        ("2026-13-01 08:00 x", "There is no 2026-13-01"),
        ("0000-01-01 08:00 x", "There is no 0000-01-01"),
        ("200000d x", "too far away"),
        ("9999-12-31 23:59 x", "too far away"),
        ("9" * 5_000 + "h x", "too far away"),
        ("1" * 30 + "s x", "too far away"),
    ],
)
def test_what_names_no_usable_time_gets_a_sentence_that_helps(words: str, says: str) -> None:
    with pytest.raises(PhraseError, match=says.replace(".", r"\.")):
        phrases.read_when(words, NOW, BERLIN)


@given(st.text(max_size=40))
def test_any_text_is_refused_or_read_as_a_time_ahead(words: str) -> None:
    try:
        at, _ = phrases.read_when(words, NOW, BERLIN)
    except PhraseError:
        return
    assert NOW < at <= NOW + phrases.FARTHEST_US


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
    assert phrases.tell_instant(NOW + ahead, NOW, BERLIN) == told


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
    assert phrases.tell_duration(duration) == told


def test_a_duration_can_be_told_in_one_part() -> None:
    assert phrases.tell_duration(3 * MINUTE_US + 5 * SECOND_US, parts=1) == "3 min"


@pytest.mark.parametrize("words", ["1h30 x", "30m1h tea", "10s5 biscuits", "1m1m x", "in 1h30"])
def test_a_digit_glued_to_a_time_is_refused(words: str) -> None:
    with pytest.raises(PhraseError, match="give each part its unit, the largest first"):
        phrases.read_when(words, NOW, BERLIN)


@pytest.mark.parametrize("words", ["0.00001s x", "0.5s x", "0s x"])
def test_less_than_a_second_is_refused(words: str) -> None:
    with pytest.raises(PhraseError, match="Give at least a second"):
        phrases.read_when(words, NOW, BERLIN)


@pytest.mark.parametrize("words", ["0am x", "13pm x", "18:30 pm x", "9:60am x"])
def test_a_time_that_the_half_of_the_day_does_not_have_is_refused(words: str) -> None:
    with pytest.raises(PhraseError, match="is no time of day"):
        phrases.read_when(words, NOW, BERLIN)


def test_a_word_that_begins_like_am_belongs_to_the_text() -> None:
    assert phrases.read_when("9:30 ambulance", NOW, BERLIN).text == "ambulance"
