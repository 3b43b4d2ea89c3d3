"""How a line is split into a time and a text, and what is refused rather than guessed."""

import pytest

from bellringer.handlers import phrases
from bellringer.handlers.phrases import PhraseError
from tests.handlers.phrase_words import BERLIN, NOW, us


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("9am 3 eggs", "3 eggs"),
        ("10m 2 eggs", "2 eggs"),
        ("10m 5 sit-ups", "5 sit-ups"),
        ("10m 2 m of rope", "2 m of rope"),
        ("10s 🎂 cake", "🎂 cake"),
        ("10s two  spaces", "two  spaces"),
        ("in 2h call mum", "call mum"),
        ("in 2h to call mum", "call mum"),
        ("in 2h that the oven is hot", "the oven is hot"),
        ("in 2h about the oven", "the oven"),
        ("in 2h: call mum", "call mum"),
        ("10m, call mum", "call mum"),
        ("10m - call mum", "call mum"),
        ("me in 2h to call mum", "call mum"),
        ("remind me in 2h to call mum", "call mum"),
        ("9:30 ambulance", "ambulance"),
        ("9am for mum", "for mum"),
        ("9am: every child", "every child"),
        ("9am tomorrow dentist", "dentist"),
        ("tomorrow dentist", "dentist"),
        ("tomorrow teach every child", "teach every child"),
        ("tomorrow 100 push-ups", "100 push-ups"),
        ("friday 18:00 cinema", "cinema"),
        ("9am every weekday standup", "standup"),
        ("every 30m stretch", "stretch"),
        ("every monday at 9 to call mum", "call mum"),
        ("*/30 * * * * stretch", "stretch"),
        ("@daily water", "water"),
    ],
)
def test_the_time_in_front_is_taken_off(line: str, text: str) -> None:
    assert phrases.read(line, NOW, BERLIN).text == text


@pytest.mark.parametrize(
    ("line", "text", "instant"),
    [
        ("call mum in 2h", "call mum", "2026-07-01T14:00+02:00"),
        ("to call mum in 2h", "call mum", "2026-07-01T14:00+02:00"),
        ("remind me to call mum in 2h", "call mum", "2026-07-01T14:00+02:00"),
        ("call 911 in 5 minutes", "call 911", "2026-07-01T12:05+02:00"),
        ("call mum at 9", "call mum", "2026-07-02T09:00+02:00"),
        ("buy 2 eggs at 9pm", "buy 2 eggs", "2026-07-01T21:00+02:00"),
        ("call mum tomorrow at 9", "call mum", "2026-07-02T09:00+02:00"),
        ("dinner at 8pm tomorrow.", "dinner", "2026-07-02T20:00+02:00"),
        ("call mum on monday", "call mum", "2026-07-06T09:00+02:00"),
        ("call mum 31 dec 18:00", "call mum", "2026-12-31T18:00+01:00"),
        ("meet me at 5th avenue in 2h", "meet me at 5th avenue", "2026-07-01T14:00+02:00"),
        ("water the plants every monday 9:00", "water the plants", "2026-07-06T09:00+02:00"),
        ("pay rent on the 1st of every month at 9:00", "pay rent", "2026-08-01T09:00+02:00"),
    ],
)
def test_a_time_that_a_word_tells_may_stand_behind_the_text(line: str, text: str, instant: str) -> None:
    phrase = phrases.read(line, NOW, BERLIN)

    assert (phrase.text, phrase.rule.next(NOW)) == (text, us(instant))


def test_the_time_in_front_counts() -> None:
    phrase = phrases.read("in 2h call mum at 9", NOW, BERLIN)

    assert (phrase.text, phrase.rule.next(NOW)) == ("call mum at 9", us("2026-07-01T14:00+02:00"))


@pytest.mark.parametrize("line", ["swim 100m", "read John 3:16", "thank god it's friday", "read the daily"])
def test_what_only_looks_like_a_time_behind_the_text_is_not_taken_for_one(line: str) -> None:
    with pytest.raises(PhraseError, match="don't see a time"):
        phrases.read(line, NOW, BERLIN)


@pytest.mark.parametrize(
    "line",
    [
        "9am daily standup",
        "9am to 5pm work",
        "at 9 in the evening pills",
        "tomorrow morning call",
        "tomorrow at six call",
        "tomorrow half past six",
        "tomorrow about 6pm call",
        "tomorrow 18h call",
        "tomorrow 1800 call",
        "tomorrow at 9 or 10 call",
        "friday 14:00-15:00 dentist",
        "friday 13th at 9 x",
        "monday and friday 9:00 x",
        "monday next week 9:00 x",
        "every day at 9 until friday x",
        "every day for 3 weeks pills",
        "every 30m from 9 to 17 stretch",
        "every hour at :30 x",
        "every monday except holidays x",
        "2 hours before dinner x",
        "tomorrow 9:00 every child needs a coat",
        "tomorrow call mum at 9",
        "8pm dinner tomorrow",
    ],
)
def test_a_text_that_goes_on_about_time_is_refused(line: str) -> None:
    with pytest.raises(PhraseError, match="could belong to it"):
        phrases.read(line, NOW, BERLIN)


def test_two_times_behind_the_text_are_refused() -> None:
    with pytest.raises(PhraseError, match="I see two times there"):
        phrases.read("see you tomorrow in 2h", NOW, BERLIN)


@pytest.mark.parametrize("line", ["9:00 UTC call", "9am EST x", "9:00 Europe/London x", "18:00 +02:00 x"])
def test_another_zone_beside_a_time_of_day_is_refused(line: str) -> None:
    with pytest.raises(PhraseError, match="I read times in Europe/Berlin"):
        phrases.read(line, NOW, BERLIN)


def test_where_nothing_may_follow_a_text_is_refused() -> None:
    with pytest.raises(PhraseError, match="I read 'in 2h' as the time, and don't understand 'call mum' behind it"):
        phrases.read("in 2h call mum", NOW, BERLIN, text_follows=False)
    with pytest.raises(PhraseError, match="don't see a time"):
        phrases.read("call mum in 2h", NOW, BERLIN, text_follows=False)
