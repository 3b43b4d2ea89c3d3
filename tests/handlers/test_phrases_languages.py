"""Other languages, where dateparser is installed. It is Wednesday 2026-07-01, 12:00 in Berlin."""

import pytest

from bellringer.handlers import languages, phrases
from bellringer.handlers.phrases import PhraseError
from tests.handlers.phrase_words import BERLIN, NOW, us


@pytest.fixture
def dateparser() -> None:
    pytest.importorskip("dateparser")


@pytest.mark.parametrize(
    ("line", "kind", "instant", "text"),
    [
        ("morgen um 9", "at", "2026-07-02T09:00+02:00", ""),
        ("morgen um 9 Tee kochen", "at", "2026-07-02T09:00+02:00", "Tee kochen"),
        ("morgen um 9 Uhr Tee kochen", "at", "2026-07-02T09:00+02:00", "Tee kochen"),
        ("dans 2 heures", "after", "2026-07-01T14:00+02:00", ""),
        ("dans 2 heures maman", "after", "2026-07-01T14:00+02:00", "maman"),
        ("in 2 Stunden Tee", "after", "2026-07-01T14:00+02:00", "Tee"),
        ("übermorgen um 18:00 Kino", "at", "2026-07-03T18:00+02:00", "Kino"),
        ("mañana a las 9 pan", "at", "2026-07-02T09:00+02:00", "pan"),
        ("25. Dezember 2026 8:00 Geschenke", "at", "2026-12-25T08:00+01:00", "Geschenke"),
        ("завтра в 9", "at", "2026-07-02T09:00+02:00", ""),
    ],
)
def test_what_our_own_grammar_does_not_know_is_asked_of_dateparser(
    dateparser: None, line: str, kind: str, instant: str, text: str
) -> None:
    phrase = phrases.read(line, NOW, BERLIN)

    assert (phrase.kind, phrase.rule.next(NOW), phrase.text) == (kind, us(instant), text)


def test_a_day_without_a_time_is_at_nine_there_too(dateparser: None) -> None:
    phrase = phrases.read("übermorgen", NOW, BERLIN)

    assert (phrase.rule.next(NOW), phrase.assumed_time) == (us("2026-07-03T09:00+02:00"), True)


def test_what_is_past_is_refused_there_too(dateparser: None) -> None:
    with pytest.raises(PhraseError, match="gestern um 9 is past already"):
        phrases.read("gestern um 9", NOW, BERLIN)


@pytest.mark.parametrize("line", ["9", "1 2 3", "eggs", "mai", "12/25", "2026 Eier", "Tee kochen", "morgen um neun"])
def test_what_it_only_guesses_is_not_believed(dateparser: None, line: str) -> None:
    with pytest.raises(PhraseError):
        phrases.read(line, NOW, BERLIN)


def test_without_dateparser_other_languages_are_not_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "_is_installed", lambda: False)

    with pytest.raises(PhraseError, match="I don't see a time there"):
        phrases.read("morgen um 9", NOW, BERLIN)
