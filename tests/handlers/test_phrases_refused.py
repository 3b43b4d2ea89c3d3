"""What is no usable time gets a sentence that helps. It is Wednesday 2026-07-01, 12:00 in Berlin."""

import re

import pytest

from bellringer.handlers import phrases
from bellringer.handlers.phrases import PhraseError
from tests.handlers.phrase_words import BERLIN, NOW


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", "don't see a time"),
        ("stand up", "don't see a time"),
        ("soon stand up", "don't see a time"),
        ("10stand up", "don't see a time"),
        ("10parsecs x", "don't see a time"),
        ("٣s x", "don't see a time"),
        ("next week", "don't see a time"),
        ("last friday", "don't see a time"),
        ("9-10am call", "don't see a time"),
        ("twice a day", "don't see a time"),
        ("9", "9 of what? Say 9s, 9m, 9h or 9d."),
        ("in 9", "9 of what?"),
        ("1 2 3", "1 of what?"),
        ("90 tea", "90s, 90m, 90h or 90d"),
        ("1.5 tea", "1.5s, 1.5m"),
        ("12/25 8:00", "I can't tell day and month apart in 12/25"),
        ("25/12/2026 8:00", "I can't tell day and month apart in 25/12/2026"),
        ("-5m tea", "That lies in the past"),
        ("in -5m tea", "That lies in the past"),
        ("\u22125m tea", "That lies in the past"),
        ("2h ago", "That lies in the past"),
        ("0s tea", "no time at all"),
        ("0h0m tea", "no time at all"),
        ("0.5s x", "Give at least a second"),
        ("0.00001s x", "Give at least a second"),
        ("every 0 hours", "no time at all"),
        ("1h30 x", "I can't read 1h30: give each part its unit, the largest first"),
        ("30m1h tea", "I can't read 30m1h"),
        ("10s5 biscuits", "I can't read 10s5"),
        ("2026-12-25T0800 x", "I can't read the time of day in 2026-12-25T0800"),
        ("25:00 x", "25:00 is no time of day: they go from 00:00 to 23:59"),
        ("24:00 x", "24:00 is no time of day"),
        ("12:60 x", "12:60 is no time of day"),
        ("0am x", "0am is no time of day: with am and pm they go from 1 to 12"),
        ("13pm x", "13pm is no time of day"),
        ("18:30 pm x", "18:30 pm is no time of day"),
        ("at 9 30 x", "Is 9 the hour? Write it as 9:00"),
        ("tomorrow 9 eggs", "Is 9 the time? Then write 9:00"),
        ("every monday 9 pills", "Is 9 the time? Then write 9:00"),
        ("sat on a chair", "At what time? Say it as in sat 9:00"),
        ("march 10 miles", "At what time? Say it as in march 10 9:00"),
        ("today tea", "At what time today?"),
        ("tonight at 2:00 x", "Is that tonight or tomorrow?"),
        ("friday midnight x", "At which end of that day? Say 00:00 for its beginning, or 23:59 for its end"),
        ("every friday at midnight", "At which end of that day?"),
        ("today 11:00 x", "11:00 today is past already"),
        ("2020-01-01 08:00 x", "is past already"),
        ("2020-01-01T08:00Z x", "is past already"),
        ("2026-02-30 08:00 x", "There is no 2026-02-30"),
        ("2026-13-01 08:00 x", "There is no 2026-13-01"),
        ("0000-01-01 08:00 x", "There is no 0000-01-01"),
        ("31 november 9:00", "There is no 31 november"),
        ("12.25.2026 9:00", "There is no 12.25.2026"),
        ("wed 3 jul 9:00", "3 jul is no wed, but a Friday"),
        ("in 2 months x", "Months and years differ in length"),
        ("1y x", "Months and years differ in length"),
        ("in 2 weeks monday x", "That names a span and a day"),
        ("200000d x", "too far away"),
        ("9999-12-31 23:59 x", "too far away"),
        ("9" * 400 + "h x", "too far away"),
        ("every week", "On which day? Say it as in every week on monday 9:00"),
        ("every month", "On which day? Say it as in every month on the 15th 9:00"),
        ("every year", "On which day? Say it as in every year on 25 dec 9:00"),
        ("every 25 dec 2026", "What comes every year has no year of its own"),
        ("every second monday 9:00", "Of the month, or every so many weeks?"),
        ("every 15th", "Of the month, or every so many weeks?"),
        ("every 32nd of the month 9:00", "There is no day 32 in any month"),
        ("every 6th monday of the month 9:00", "No month has a 6th monday"),
        ("every last weekday of the month 9:00", "I can't count working days"),
        ("every child", "I don't understand how often 'every child' is"),
        ("at 9 every 30m", "That names two times of day, or a span and a time of day"),
        ("every 30 feb 9:00", "There is no 30 feb"),
        ("RRULE:FREQ=WHENEVER", "WHENEVER"),
        ("@sometimes", "@sometimes"),
    ],
)
def test_it_is_refused_with_a_sentence_that_helps(words: str, says: str) -> None:
    with pytest.raises(PhraseError, match=re.escape(says)) as refused:
        phrases.read(words, NOW, BERLIN)
    assert str(refused.value)[-1] in ".!?"


@pytest.mark.parametrize(
    "words", ["every month on the second last day 9:00 x", "every 2nd last friday of the month 9:00 x",
              "every 15th and 3rd monday of the month 9:00 x"],
)  # fmt: skip
def test_days_that_can_not_be_told_together_are_refused(words: str) -> None:
    with pytest.raises(phrases.PhraseError):
        phrases.read(words, 1_782_864_000_000_000, "Europe/Berlin")
