"""What people may write for a time, and when it is. It is Wednesday 2026-07-01, 12:00 in Berlin."""

import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellringer.handlers import languages, phrases
from bellringer.handlers.phrases import SECOND_US, PhraseError
from bellringer.handlers.wording import FARTHEST_US
from bellringer.storage.rules import At
from tests.handlers.phrase_words import BERLIN, NOW, us


@pytest.fixture(autouse=True, scope="module")
def our_own_grammar() -> Iterator[None]:
    """Alone, also where dateparser is installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(languages, "_is_installed", lambda: False)
        yield


def first(words: str, now: int = NOW, zone: str = BERLIN) -> int:
    at = phrases.read(words, now, zone, text_follows=False).rule.next(now)
    assert at is not None
    return at


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("10s", 10),
        ("10 s", 10),
        ("10 seconds", 10),
        ("1h30m", 5_400),
        ("1h 30m", 5_400),
        ("1 hour and 30 minutes", 5_400),
        ("1.5h", 5_400),
        ("1,5h", 5_400),
        ("90 min", 5_400),
        ("30m", 1_800),
        ("in 30m", 1_800),
        ("in 10 minutes", 600),
        ("in 2h", 7_200),
        ("IN 2H", 7_200),
        ("in an hour", 3_600),
        ("in half an hour", 1_800),
        ("in two weeks", 1_209_600),
        ("10 minutes from now", 600),
        ("1w", 604_800),
        ("1d12h", 129_600),
    ],
)
def test_a_span_is_elapsed_time_from_now(words: str, seconds: int) -> None:
    phrase = phrases.read(words, NOW, BERLIN)

    assert (phrase.kind, phrase.rule.next(NOW), phrase.text) == ("after", NOW + seconds * SECOND_US, "")


@pytest.mark.parametrize(
    ("words", "instant"),
    [
        ("18:30", "2026-07-01T18:30:00+02:00"),
        ("at 18:30", "2026-07-01T18:30:00+02:00"),
        ("18:30:15", "2026-07-01T18:30:15+02:00"),
        ("09:00", "2026-07-02T09:00:00+02:00"),
        ("11:59", "2026-07-02T11:59:00+02:00"),
        ("12:00", "2026-07-02T12:00:00+02:00"),
        ("9am", "2026-07-02T09:00:00+02:00"),
        ("9 am", "2026-07-02T09:00:00+02:00"),
        ("at 9", "2026-07-02T09:00:00+02:00"),
        ("@9", "2026-07-02T09:00:00+02:00"),
        ("at 9.30", "2026-07-02T09:30:00+02:00"),
        ("9 o'clock", "2026-07-02T09:00:00+02:00"),
        ("at 9 p.m.", "2026-07-01T21:00:00+02:00"),
        ("9:00PM", "2026-07-01T21:00:00+02:00"),
        ("12pm", "2026-07-02T12:00:00+02:00"),
        ("12am", "2026-07-02T00:00:00+02:00"),
        ("noon", "2026-07-02T12:00:00+02:00"),
        ("midnight", "2026-07-02T00:00:00+02:00"),
    ],
)
def test_a_time_of_day_is_the_next_one_ahead(words: str, instant: str) -> None:
    assert first(words) == us(instant)


@pytest.mark.parametrize(
    ("words", "instant"),
    [
        ("today 18:00", "2026-07-01T18:00:00+02:00"),
        ("tomorrow at 9", "2026-07-02T09:00:00+02:00"),
        ("tomorrow 9", "2026-07-02T09:00:00+02:00"),
        ("9am tomorrow", "2026-07-02T09:00:00+02:00"),
        ("tomorrow at noon", "2026-07-02T12:00:00+02:00"),
        ("day after tomorrow 8:00", "2026-07-03T08:00:00+02:00"),
        ("tonight at 8", "2026-07-01T20:00:00+02:00"),
        ("tonight 23:30", "2026-07-01T23:30:00+02:00"),
        ("friday 18:00", "2026-07-03T18:00:00+02:00"),
        ("on friday at 6pm", "2026-07-03T18:00:00+02:00"),
        ("18:00 on friday", "2026-07-03T18:00:00+02:00"),
        ("wednesday 18:00", "2026-07-01T18:00:00+02:00"),
        ("wednesday 11:00", "2026-07-08T11:00:00+02:00"),
        ("next friday at 18:00", "2026-07-03T18:00:00+02:00"),
        ("next wednesday at 18:00", "2026-07-08T18:00:00+02:00"),
        ("31 dec 23:59", "2026-12-31T23:59:00+01:00"),
        ("dec 31 at 23:59", "2026-12-31T23:59:00+01:00"),
        ("31st of December 23:59", "2026-12-31T23:59:00+01:00"),
        ("31 December 2026 23:59", "2026-12-31T23:59:00+01:00"),
        ("december 31st, 2027 at 23:59", "2027-12-31T23:59:00+01:00"),
        ("friday, 3 july 2026 at 9am", "2026-07-03T09:00:00+02:00"),
        ("1 july 18:00", "2026-07-01T18:00:00+02:00"),
        ("1 july 9:00", "2027-07-01T09:00:00+02:00"),
        ("29 feb 9:00", "2028-02-29T09:00:00+01:00"),
        ("the 15th at 10:00", "2026-07-15T10:00:00+02:00"),
        ("2026-12-25 08:00", "2026-12-25T08:00:00+01:00"),
        ("2026-12-25T08:00", "2026-12-25T08:00:00+01:00"),
        ("at 2026-12-25 08:00", "2026-12-25T08:00:00+01:00"),
        ("25.12.2026 08:00", "2026-12-25T08:00:00+01:00"),
        ("2028-02-29 8:00", "2028-02-29T08:00:00+01:00"),
        ("in 2 days at 9", "2026-07-03T09:00:00+02:00"),
        ("2026-12-25T08:00Z", "2026-12-25T08:00:00+00:00"),
        ("2026-12-25 08:00:00-05:00", "2026-12-25T08:00:00-05:00"),
    ],
)
def test_a_day_with_a_time_is_local_and_lies_ahead(words: str, instant: str) -> None:
    phrase = phrases.read(words, NOW, BERLIN)

    assert (phrase.kind, phrase.rule.next(NOW), phrase.assumed_time) == ("at", us(instant), False)


@pytest.mark.parametrize(
    ("words", "instant"),
    [
        ("tomorrow", "2026-07-02T09:00:00+02:00"),
        ("monday", "2026-07-06T09:00:00+02:00"),
        ("on monday", "2026-07-06T09:00:00+02:00"),
        ("31 dec", "2026-12-31T09:00:00+01:00"),
        ("2026-12-25", "2026-12-25T09:00:00+01:00"),
        ("tonight", "2026-07-01T20:00:00+02:00"),
        ("every friday", "2026-07-03T09:00:00+02:00"),
        ("every day", "2026-07-02T09:00:00+02:00"),
        ("every month on the last day", "2026-07-31T09:00:00+02:00"),
    ],
)
def test_a_day_without_a_time_is_at_nine_and_tonight_at_twenty_and_it_is_told(words: str, instant: str) -> None:
    phrase = phrases.read(words, NOW, BERLIN)

    assert (phrase.rule.next(NOW), phrase.assumed_time) == (us(instant), True)
    assert f"no time of day was given, so {instant[11:16]} was taken" in phrases.tell(phrase, NOW)


@pytest.mark.parametrize(
    ("words", "rule", "instants"),
    [
        ("every 30m", "every 30m", ["2026-07-01T12:30+02:00", "2026-07-01T13:00+02:00"]),
        ("every 2 hours", "every 2h", ["2026-07-01T14:00+02:00", "2026-07-01T16:00+02:00"]),
        ("every hour", "every 1h", ["2026-07-01T13:00+02:00"]),
        ("hourly", "every 1h", ["2026-07-01T13:00+02:00"]),
        ("every half hour", "every 30m", ["2026-07-01T12:30+02:00"]),
        ("every second", "every 1s", ["2026-07-01T12:00:01+02:00"]),
        ("every 1d", "every 1d", ["2026-07-02T12:00+02:00"]),
        ("every 2 weeks", "every 14d", ["2026-07-15T12:00+02:00"]),
        ("every weekday 18:00", "weekly mon,tue,wed,thu,fri 18:00", ["2026-07-01T18:00+02:00"]),
        ("weekdays at 9", "weekly mon,tue,wed,thu,fri 09:00", ["2026-07-02T09:00+02:00"]),
        ("every mon-fri 7:30", "weekly mon,tue,wed,thu,fri 07:30", ["2026-07-02T07:30+02:00"]),
        ("every monday to wednesday 9:00", "weekly mon,tue,wed 09:00", ["2026-07-06T09:00+02:00"]),
        ("every weekend 10:00", "weekly sat,sun 10:00", ["2026-07-04T10:00+02:00", "2026-07-05T10:00+02:00"]),
        ("every day at 9", "daily 09:00", ["2026-07-02T09:00+02:00"]),
        ("daily at 9:00", "daily 09:00", ["2026-07-02T09:00+02:00"]),
        ("every day at midnight", "daily 00:00", ["2026-07-02T00:00+02:00"]),
        ("every day at 9, 12:00 and 18:00", "daily 09:00,12:00,18:00", ["2026-07-01T18:00+02:00"]),
        ("every other day 8:00", "daily/2 08:00", ["2026-07-02T08:00+02:00", "2026-07-04T08:00+02:00"]),
        ("every 2 days at 8", "daily/2 08:00", ["2026-07-02T08:00+02:00", "2026-07-04T08:00+02:00"]),
        ("every 3rd day at 8", "daily/3 08:00", ["2026-07-02T08:00+02:00", "2026-07-05T08:00+02:00"]),
        ("every monday and thursday at 9", "weekly mon,thu 09:00", ["2026-07-02T09:00+02:00"]),
        ("every mon, wed & fri 9:00", "weekly mon,wed,fri 09:00", ["2026-07-03T09:00+02:00"]),
        ("every mon,fri 9:00", "weekly mon,fri 09:00", ["2026-07-03T09:00+02:00"]),
        ("every monday 9", "weekly mon 09:00", ["2026-07-06T09:00+02:00"]),
        ("at 9 every monday", "weekly mon 09:00", ["2026-07-06T09:00+02:00"]),
        ("mondays at 9", "weekly mon 09:00", ["2026-07-06T09:00+02:00"]),
        ("weekly on monday at 9", "weekly mon 09:00", ["2026-07-06T09:00+02:00"]),
        ("every 2 weeks on monday 9:00", "weekly/2 mon 09:00", ["2026-07-06T09:00+02:00", "2026-07-20T09:00+02:00"]),
        ("every other monday 9:00", "weekly/2 mon 09:00", ["2026-07-06T09:00+02:00", "2026-07-20T09:00+02:00"]),
        ("every month on the 15th at 10:00", "monthly 15 10:00", ["2026-07-15T10:00+02:00"]),
        ("every month on the 1st and 15th at 10:00", "monthly 1,15 10:00", ["2026-07-15T10:00+02:00"]),
        ("on the 1st of every month at 10:00", "monthly 1 10:00", ["2026-08-01T10:00+02:00"]),
        ("every last day of the month 18:00", "monthly last 18:00", ["2026-07-31T18:00+02:00"]),
        ("every 31-or-last of the month 9:00", "monthly 31-or-last 09:00", ["2026-07-31T09:00+02:00"]),
        ("every 2nd tuesday of the month 9:00", "monthly 2nd-tue 09:00", ["2026-07-14T09:00+02:00"]),
        ("every last friday of the month at 16:30", "monthly last-fri 16:30", ["2026-07-31T16:30+02:00"]),
        ("every 3 months on the 1st 9:00", "monthly/3 1 09:00", ["2026-08-01T09:00+02:00", "2026-11-01T09:00+01:00"]),
        ("every year on 25 dec 8:00", "yearly 12-25 08:00", ["2026-12-25T08:00+01:00"]),
        ("every 25 dec 8:00", "yearly 12-25 08:00", ["2026-12-25T08:00+01:00"]),
        ("every february 29 at 9:00", "yearly 02-29 09:00", ["2028-02-29T09:00+01:00", "2032-02-29T09:00+01:00"]),
        ("daily 02:30", "daily 02:30", ["2026-07-02T02:30+02:00"]),
        ("weekly mon 00:30", "weekly mon 00:30", ["2026-07-06T00:30+02:00"]),
        ("monthly last 09:00", "monthly last 09:00", ["2026-07-31T09:00+02:00"]),
        ("*/30 * * * *", "*/30 * * * *", ["2026-07-01T12:30+02:00"]),
        ("@daily", "@daily", ["2026-07-02T00:00+02:00"]),
        ("every 0.5s", "every 0.5s", []),
        ("RRULE:FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0;BYSECOND=0", None, ["2026-07-06T09:00+02:00"]),
    ],
)
def test_what_repeats_becomes_a_rule(words: str, rule: str | None, instants: list[str]) -> None:
    phrase = phrases.read(words, NOW, BERLIN, text_follows=False)

    assert phrase.kind == "repeat"
    assert phrase.rule.upcoming(NOW, len(instants)) == [us(instant) for instant in instants]
    assert rule is None or phrase.rule.text == rule


@pytest.mark.parametrize(
    ("zone", "words", "instant"),
    [
        ("Europe/Berlin", "2027-03-28 02:30", "2027-03-28T01:30:00+00:00"),
        ("Europe/Berlin", "2026-10-25 02:30", "2026-10-25T00:30:00+00:00"),
        ("Europe/London", "2026-10-25 01:30", "2026-10-25T00:30:00+00:00"),
        ("America/New_York", "2027-03-14 02:30", "2027-03-14T07:30:00+00:00"),
        ("America/New_York", "1 nov 1:30", "2026-11-01T05:30:00+00:00"),
        ("America/Santiago", "2026-09-06 00:00", "2026-09-06T04:00:00+00:00"),
        ("Africa/Cairo", "2027-04-30 00:00", "2027-04-29T22:00:00+00:00"),
        ("Asia/Tokyo", "sunday 09:00", "2026-07-05T00:00:00+00:00"),
    ],
)
def test_b10_a_skipped_time_keeps_the_earlier_offset_and_a_doubled_one_is_the_first(
    zone: str, words: str, instant: str
) -> None:
    assert first(words, zone=zone) == us(instant)


def test_b10_a_local_time_is_kept_as_local_time_with_its_zone_and_a_span_as_an_instant() -> None:
    local, span = (phrases.read(words, NOW, BERLIN).rule for words in ("2026-12-25 08:00", "in 2h"))

    assert isinstance(local, At)
    assert isinstance(span, At)
    assert (local.at.isoformat(), local.zone, local.is_local) == ("2026-12-25T08:00:00", BERLIN, True)
    assert (span.at.isoformat(), span.is_local) == ("2026-07-01T12:00:00+00:00", False)


def test_a_weekday_is_that_of_the_zone() -> None:
    almost_thursday = us("2026-07-01T23:30:00+00:00")

    assert first("thursday 18:00", almost_thursday, "Europe/Berlin") == us("2026-07-02T18:00:00+02:00")
    assert first("tomorrow 18:00", almost_thursday, "Europe/Berlin") == us("2026-07-03T18:00:00+02:00")


def test_tomorrow_is_a_calendar_day_and_a_day_from_now_is_24_hours() -> None:
    evening_before_the_change = us("2026-10-24T20:00:00+02:00")

    assert first("tomorrow 20:00", evening_before_the_change) == us("2026-10-25T20:00+01:00")
    assert first("1d", evening_before_the_change) == us("2026-10-25T19:00+01:00")


def test_a_grid_begins_one_interval_from_now_and_a_rule_of_every_other_day_with_the_first() -> None:
    later = NOW + 40 * 60 * SECOND_US

    assert phrases.read("every 30m", NOW, BERLIN).rule.next(later) == us("2026-07-01T13:00+02:00")
    assert phrases.read("every other day 8:00", NOW, BERLIN).rule.next(us("2026-07-02T08:00+02:00")) == us(
        "2026-07-04T08:00+02:00"
    )


def pieces() -> st.SearchStrategy[str]:
    words = (
        "in at on every each next this of the and to day week month year hour 2nd last first other half an monday mon "
        "fri dec 31 may 9 9:00 9am 25:00 10m 1h30 2 weeks days -5m 2026-12-25 T08:00 25.12.2026 12/25 daily weekly/2 "
        "* */5 @daily RRULE:FREQ=DAILY noon midnight tonight tomorrow eggs , : - UTC 99999999999 2h me remind"
    )
    return st.lists(st.sampled_from(words.split()), max_size=60).map(" ".join).map(lambda text: text[:500])


@given(st.text(max_size=500) | pieces(), st.booleans(), st.sampled_from([BERLIN, "Pacific/Apia", "America/Nuuk"]))
def test_any_text_is_refused_or_read_as_a_time_ahead_soon(words: str, text_follows: bool, zone: str) -> None:
    begun = time.process_time()
    try:
        phrase = phrases.read(words, NOW, zone, text_follows=text_follows)
    except PhraseError as error:
        assert len(str(error)) > 10  # noqa: PT017  any text may be read, too
    else:
        at = phrase.rule.next(NOW)
        assert at is not None
        assert at > NOW
        assert phrase.kind == "repeat" or at <= NOW + FARTHEST_US
        assert phrases.tell(phrase, NOW)
    assert time.process_time() - begun < 0.2


def test_a_phrase_takes_less_than_a_millisecond() -> None:
    words = [
        "in 2h call mum",
        "every 2 weeks on monday 9:00",
        "buy bread and milk and cheese and eggs on the way home tomorrow at 9",
        "monday tuesday on at in " * 20,
        "on the 1st and " * 33,
    ]
    for one in words:
        assert min(_cost(one) for _ in range(9)) < 0.001, one


def _cost(words: str) -> float:
    begun = time.process_time()
    with suppress(PhraseError):
        phrases.read(words, NOW, BERLIN)
    return time.process_time() - begun
