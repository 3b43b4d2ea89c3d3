"""`bellringer next`: when a rule or a phrase comes, without a database."""

import json
from pathlib import Path

import pytest

from bellringer.commands import moments
from bellringer.storage.errors import InvalidJobError
from tests.command_line.calling import Told, call

FROM = ("--zone", "Europe/Berlin", "--from", "2026-03-28T00:00Z")


def next_(*arguments: str) -> Told:
    return call("next", *arguments)


def due(rule: str, *arguments: str) -> list[str]:
    told = next_(rule, *(arguments or (*FROM, "--count", "3")), "--json")
    assert told.code == 0, told.err
    return [entry["due_at"] for entry in told.json]


def test_a_preview_is_a_list_of_instants_in_utc_and_in_local_time() -> None:
    told = next_("daily 02:30", *FROM, "--count", "3", "--json")

    assert (told.code, told.err) == (0, "")
    assert told.json == [
        {"due_at": "2026-03-28T01:30:00Z", "local": "2026-03-28T02:30:00+01:00"},
        {"due_at": "2026-03-29T01:30:00Z", "local": "2026-03-29T03:30:00+02:00"},
        {"due_at": "2026-03-30T00:30:00Z", "local": "2026-03-30T02:30:00+02:00"},
    ]


@pytest.mark.parametrize(
    ("rule", "first"),
    [
        ("weekly mon 00:30", "2026-03-29T22:30:00Z"),
        ("monthly last 09:00", "2026-03-31T07:00:00Z"),
        ("yearly 12-25 08:00", "2026-12-25T07:00:00Z"),
        ("*/30 * * * *", "2026-03-28T00:30:00Z"),
        ("@daily", "2026-03-28T23:00:00Z"),
        ("every 90s", "2026-03-28T00:01:30Z"),
        ("every 0.5s", "2026-03-28T00:00:00.500000Z"),
        ("RRULE:FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0;BYSECOND=0", "2026-03-30T07:00:00Z"),
        ("at 2026-12-25 08:00", "2026-12-25T07:00:00Z"),
    ],
)
def test_every_kind_of_rule_can_be_previewed(rule: str, first: str) -> None:
    assert due(rule)[0] == first


@pytest.mark.parametrize(
    ("phrase", "first"),
    [
        ("tomorrow at 9", "2026-03-29T07:00:00Z"),
        ("in 2h", "2026-03-28T02:00:00Z"),
        ("every 2 weeks on monday 9:00", "2026-03-30T07:00:00Z"),
        ("every month on the last day", "2026-03-31T07:00:00Z"),
    ],
)
def test_a_phrase_can_be_previewed(phrase: str, first: str) -> None:
    assert due(phrase)[0] == first


def test_the_words_of_a_rule_need_no_quotes() -> None:
    assert next_("daily", "02:30", *FROM, "--json").json == next_("daily 02:30", *FROM, "--json").json


def test_without_a_zone_local_times_are_utc_and_five_are_shown() -> None:
    assert due("daily 09:00", "--from", "2026-03-28") == [f"2026-03-{day}T09:00:00Z" for day in (28, 29, 30, 31)] + [
        "2026-04-01T09:00:00Z"
    ]


def test_without_a_beginning_it_is_now() -> None:
    (first,) = due("every 1h", "--count", "1")

    assert moments.instant(first[:19] + "Z", "UTC") > 1_700_000_000_000_000


def test_a_due_time_lies_behind_the_beginning_and_never_on_it() -> None:
    assert due("daily 09:00", "--from", "2026-03-28T09:00Z", "--count", "1") == ["2026-03-29T09:00:00Z"]


@pytest.mark.parametrize(
    ("written", "instant"),
    [
        ("2026-03-28T00:00Z", "2026-03-28T00:00:00Z"),
        ("2026-03-28t00:00:30z", "2026-03-28T00:00:30Z"),
        ("2026-03-28T00:00:30.25+01:00", "2026-03-27T23:00:30.250000Z"),
        ("2026-03-28 00:00", "2026-03-27T23:00:00Z"),
        ("2026-03-28", "2026-03-27T23:00:00Z"),
        ("2026-03-29 02:30", "2026-03-29T01:30:00Z"),
        ("2026-10-25 02:30", "2026-10-25T00:30:00Z"),
    ],
)
def test_an_instant_is_written_with_an_offset_or_as_local_time(written: str, instant: str) -> None:
    assert moments.utc(moments.instant(written, "Europe/Berlin")) == instant


@pytest.mark.parametrize(
    "written",
    ["", "yesterday", "2026-02-30", "2026-03-28T24:01Z", "20260328", "2026-W13-6", "1969-12-31T00:00Z", "1969-06-01"],
)
def test_what_is_no_instant_is_refused(written: str) -> None:
    with pytest.raises(InvalidJobError):
        moments.instant(written, "Europe/Berlin")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["daily 09:00", "--zone", "Mars/Olympus"], "there is no time zone 'Mars/Olympus'"),
        (["daily 25:00"], "'25:00' is no time of day"),
        (["60 * * * *"], "the cron expression '60 * * * *' can't be read"),
        (["0 0 30 2 *"], "the cron expression '0 0 30 2 *' can't be read"),
        (["every 0s"], ""),
        (["RRULE:FREQ=DAILY;INTERVAL=0"], "INTERVAL must be at least 1"),
        (["at 2020-01-01 08:00"], "has no due time after"),
        (["nonsense"], ""),
        (["1 2 3"], ""),
        (["9"], ""),
        (["daily 09:00", "--from", "soon"], "'soon' is no instant"),
    ],
)
def test_what_can_not_be_previewed_is_refused_in_a_sentence(arguments: list[str], sentence: str) -> None:
    told = next_(*arguments)
    assert (told.code, told.out, told.err.count("\n")) == (1, "", 1)
    assert sentence in told.err
    assert "unexpectedly" not in told.err

    as_json = next_(*arguments, "--json")
    assert (as_json.code, as_json.out) == (1, "")
    assert as_json.error["code"] == "invalid_job"
    assert sentence in as_json.error["message"]


@pytest.mark.parametrize("arguments", [[], ["daily 09:00", "--count", "0"], ["daily 09:00", "--count", "many"]])
def test_a_call_that_makes_no_sense_is_a_matter_of_usage(arguments: list[str]) -> None:
    assert next_(*arguments).code == 2


def test_people_are_told_the_kind_and_the_zone_and_how_far_ahead_it_is() -> None:
    lines = next_("daily 02:30", *FROM, "--count", "2").out.splitlines()

    assert lines == [
        "Again and again, by local time: daily 02:30, in Europe/Berlin",
        "",
        "LOCAL (Europe/Berlin)          UTC                   AHEAD",
        "Sat 2026-03-28 02:30:00+01:00  2026-03-28T01:30:00Z  in 1 h 30 min",
        "Sun 2026-03-29 03:30:00+02:00  2026-03-29T01:30:00Z  in 1 d 1 h",
    ]


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("every 90s", "Again and again, by elapsed time: every 1m30s"),
        ("at 2026-12-25 08:00", "Once, at a local time: at 2026-12-25 08:00:00, in Europe/Berlin"),
        ("in 2h", "Once, after elapsed time: "),
    ],
)
def test_elapsed_time_and_local_time_are_told_apart(rule: str, kind: str) -> None:
    first, *_ = next_(rule, *FROM).out.splitlines()

    assert first.startswith(kind)
    assert "Europe/Berlin" in first


def test_a_time_that_was_assumed_is_told() -> None:
    assert "No time of day was given, so 09:00 is taken." in next_("tomorrow", *FROM).out
    assert "so 20:00 is taken" in next_("tonight", *FROM).out
    assert "is taken" not in next_("tomorrow at 9", *FROM).out


def test_a_rule_that_ends_shows_fewer_and_says_so() -> None:
    rule = "RRULE:FREQ=DAILY;COUNT=2;BYHOUR=9;BYMINUTE=0"

    assert len(due(rule)) == 2
    assert next_(rule, *FROM).out.endswith("\n\nIt does not come again after that.\n")


def test_nothing_is_made_or_looked_for_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert call("--database", "nowhere/bot.db", "next", "daily 09:00").code == 0
    assert list(tmp_path.iterdir()) == []


def test_json_is_one_line_and_a_list_also_where_nothing_comes_of_it_twice() -> None:
    told = next_("at 2026-12-25 08:00", *FROM, "--json")

    assert told.out.count("\n") == 1
    assert json.loads(told.out) == [{"due_at": "2026-12-25T07:00:00Z", "local": "2026-12-25T08:00:00+01:00"}]


def test_the_end_of_the_calendar_is_no_obstacle() -> None:
    told = next_("at 9999-12-31 23:30", "--zone", "Etc/GMT+1", "--from", "9999-12-31 00:00", "--json")

    assert told.code in (0, 1)
    assert "unexpectedly" not in told.err
