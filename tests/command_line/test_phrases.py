"""Instants, durations and foreign text as people read them."""

import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest

from bellringer.commands import phrases

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("distance", "told"),
    [
        (timedelta(milliseconds=400), "now"),
        (timedelta(seconds=45), "in 45 s"),
        (timedelta(minutes=5), "in 5 min"),
        (timedelta(minutes=-5, seconds=-10), "5 min 10 s ago"),
        (timedelta(hours=3, minutes=10), "in 3 h 10 min"),
        (timedelta(hours=23, minutes=59), "in 23 h"),
        (timedelta(days=2, minutes=3), "in 2 d"),
        (timedelta(days=400, hours=5), "in 400 d"),
        (timedelta(days=-20_000), "20,000 d ago"),
    ],
)
def test_how_long_until_then(distance: timedelta, told: str) -> None:
    assert phrases.from_now(NOON + distance, NOON) == told


@pytest.mark.parametrize(
    ("duration", "told"),
    [
        (timedelta(), "0 ms"),
        (timedelta(microseconds=36), "36 µs"),
        (timedelta(milliseconds=12.9), "12 ms"),
        (timedelta(seconds=1.25), "1.2 s"),
        (timedelta(seconds=61), "1 min 1 s"),
        (timedelta(days=1), "1 d"),
        (timedelta(hours=23, minutes=59, seconds=59), "23 h 59 min"),
    ],
)
def test_how_long_it_took(duration: timedelta, told: str) -> None:
    assert phrases.span(duration) == told


def test_an_instant_is_told_in_local_time_with_its_zone(berlin: None) -> None:
    assert phrases.local(NOON) == "2026-07-01 14:00:00 CEST"
    assert phrases.local(NOON.replace(month=1)) == "2026-01-01 13:00:00 CET"


def test_b25_the_last_instant_of_the_calendar_can_be_told(berlin: None) -> None:
    assert phrases.local(datetime.max.replace(tzinfo=UTC)) == "9999-12-31 23:59:59 UTC"


def test_a_column_of_instants_names_its_zone_once(berlin: None) -> None:
    assert phrases.local_column("DUE", [NOON]) == ("DUE (CEST)", ["2026-07-01 14:00:00"])


def test_a_column_with_two_zones_names_them_row_by_row(berlin: None) -> None:
    winter = NOON.replace(month=1)

    assert phrases.local_column("DUE", [NOON, winter]) == (
        "DUE",
        ["2026-07-01 14:00:00 CEST", "2026-01-01 13:00:00 CET"],
    )


def test_instants_for_programs_are_utc_to_the_microsecond() -> None:
    east = datetime(2026, 7, 1, 14, 0, 0, 1, tzinfo=timezone(timedelta(hours=2)))

    assert phrases.rfc3339(east) == "2026-07-01T12:00:00.000001Z"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("plain text", "plain text"),
        ("two\nlines\t\x1b[31m", "two\\nlines\\t\\x1b[31m"),
        ("\u202eright to left", "\\u202eright to left"),
        ("lone \ud83c", "lone \\ud83c"),
        ("名前 🎂 👨\u200d👩 é", "名前 🎂 👨\u200d👩 é"),
    ],
)
def test_b65_text_can_be_printed_whatever_it_holds(text: str, told: str) -> None:
    assert phrases.safe(text) == told


@pytest.mark.parametrize("text", ["plain", "two words", "it's", "a\nb", "\x1b[31m'\\", "--weird", "$HOME", "🎂 \u202e"])
def test_b59_a_shell_takes_back_the_word_that_it_is_given(text: str) -> None:
    word = phrases.shell_word(text)
    got = subprocess.run(
        ["bash", "-c", f"printf %s {word}"], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}
    )

    assert word.isprintable()
    assert got.stdout.decode() == text


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("名前", 4), ("🎂", 2), ("e\u0301", 1), ("👨\u200d👩", 4)])
def test_wide_letters_take_two_columns(text: str, columns: int) -> None:
    assert phrases.cells(text) == columns


@pytest.mark.parametrize(("room", "told"), [(9, "名前 long"), (8, "名前 lo…"), (4, "名…"), (1, "…"), (0, "")])
def test_what_does_not_fit_is_cut_at_a_letter(room: int, told: str) -> None:
    assert phrases.clipped("名前 long", room) == told
