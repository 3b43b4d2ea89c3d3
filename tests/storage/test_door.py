"""The door: what is accepted is stored as it came, and what is refused says why."""

import json
import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pendulum
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellringer.storage import door, rules
from bellringer.storage.sqlite_store import open_store
from bellringer.storage.values import CatchUp, Delivery, JobSpec, Misfire, Overlap
from tests.contract.steps import T
from tests.storage.refusing import refusal

FIRST = datetime(1970, 1, 2)  # noqa: DTZ001
LAST = datetime(9999, 12, 30)  # noqa: DTZ001


class Colour(StrEnum):
    RED = "red"


def kind(value: object) -> str:
    return type(value).__name__


def spec(job_id: Any = "a", handler: Any = "remind", **fields: Any) -> JobSpec:
    return door.job_spec(job_id, handler, **{"due_at": T, **fields})


@pytest.mark.parametrize("job_id", ["a", "x" * 512, " a ", "a\nb", "🎂" * 512, "é", "e\u0301", "\u200f", "%", "'"])
def test_b59_an_accepted_id_comes_back_as_it_came(job_id: str) -> None:
    assert door.job_id(job_id) == job_id


@pytest.mark.parametrize("job_id", ["", "x" * 513, "x" * 10_000, "a\0b", "\ud83c", 5, None, b"a", True, ["a"]])
def test_b59_a_refused_id_is_refused_with_a_reason(job_id: object) -> None:
    assert "a job's id" in refusal(lambda: door.job_id(job_id))
    assert "a handler's name" in refusal(lambda: door.handler_name(job_id))


def test_an_id_of_a_subclass_of_text_becomes_plain_text() -> None:
    assert type(door.job_id(Colour.RED)) is str


@pytest.mark.parametrize("key", [0, 42, -1001, 2**63 - 1, -(2**63), "42", "room:a", None])
def test_a_chat_is_a_number_of_64_bits_or_text(key: object) -> None:
    assert door.chat_key(key, "chat_id") == key


@pytest.mark.parametrize("key", [2**63, -(2**63) - 1, True, 1.5, "", "a\0", "\ud83c", "x" * 513, b"a", (1,)])
def test_b66_what_is_no_chat_is_refused(key: object) -> None:
    assert "chat_id" in refusal(lambda: door.chat_key(key, "chat_id"))


@pytest.mark.parametrize(
    "at",
    [
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(1996, 5, 4, 3, 2, 1, 7, tzinfo=UTC),
        datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    ],
)
def test_b25_an_instant_is_exact_to_the_microsecond(at: datetime) -> None:
    us = door.instant(at, "at")

    assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us) == at


@given(st.datetimes(FIRST, LAST, timezones=st.timezones()))
def test_b25_an_instant_is_exact_in_every_zone(at: datetime) -> None:
    in_utc = at.astimezone(UTC)

    assert timedelta(microseconds=door.instant(at, "at")) == in_utc - datetime(1970, 1, 1, tzinfo=UTC)


def test_an_instant_of_pendulum_is_the_same_instant() -> None:
    at = pendulum.datetime(2026, 7, 10, 9, 0, 0, 1, tz="Europe/Berlin")

    assert door.instant(at, "at") == door.instant(datetime(2026, 7, 10, 7, 0, 0, 1, tzinfo=UTC), "at")


def test_the_second_pass_of_an_hour_is_another_instant() -> None:
    first = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))

    assert door.instant(first.replace(fold=1), "at") - door.instant(first, "at") == 3_600_000_000


@pytest.mark.parametrize(
    "at",
    [
        datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-5))),
        datetime.min.replace(tzinfo=UTC),
        date(2026, 1, 1),
        "2026-01-01",
        1_700_000_000,
        math.nan,
        None,
    ],
)
def test_b25_what_is_no_instant_of_the_years_1970_to_9999_is_refused(at: object) -> None:
    assert refusal(lambda: door.instant(at, "at")).startswith("at is ")


def test_a_naive_datetime_is_refused_with_a_way_out() -> None:
    naive = datetime(2026, 1, 1)  # noqa: DTZ001

    assert "time zone" in refusal(lambda: door.instant(naive, "at"))


@pytest.mark.parametrize(
    ("interval", "us"),
    [
        (0.001, 1_000),
        (0.1, 100_000),
        (1, 1_000_000),
        (timedelta(milliseconds=1), 1_000),
        (timedelta(days=36_525), rules.MAXIMUM_INTERVAL_US),
        (pendulum.duration(days=1, microseconds=1), 86_400_000_001),
        (pendulum.duration(weeks=1), 604_800_000_000),
        (pendulum.datetime(2026, 1, 1) - pendulum.datetime(2025, 1, 1), 365 * 86_400_000_000),
    ],
)
def test_an_interval_is_seconds_or_a_duration(interval: object, us: int) -> None:
    assert door.interval_us(interval, "every") == us


@pytest.mark.parametrize(
    "interval",
    [
        *(0, -1, 1e-9, 0.0009, math.nan, math.inf, -math.inf, 2**63, 1e300, 10**4000),
        *(timedelta.max, timedelta(0), timedelta(days=36_525, microseconds=1), pendulum.duration(seconds=-1)),
        *(True, "5", None),
    ],
    ids=kind,
)
def test_b79_an_impossible_interval_is_refused(interval: object) -> None:
    assert "every" in refusal(lambda: door.interval_us(interval, "every"))


@pytest.mark.parametrize("interval", [pendulum.duration(months=1), pendulum.duration(years=1, days=1)])
def test_b09_months_and_years_are_no_fixed_time(interval: object) -> None:
    assert "no fixed time" in refusal(lambda: door.interval_us(interval, "every"))


@pytest.mark.parametrize(
    ("delay", "us"), [(0, 0), (-5, 0), (-1e300, 0), (pendulum.duration(seconds=-5), 0), (2.5, 2_500_000)]
)
def test_a_delay_of_nothing_or_less_means_at_once(delay: object, us: int) -> None:
    assert door.delay_us(delay, "after") == us


def test_b25_a_delay_past_the_year_9999_is_refused() -> None:
    last = (rules.MAX_INSTANT - T) // 1_000_000

    assert door.delay_us(last, "after", T) == last * 1_000_000
    assert "9999" in refusal(lambda: door.delay_us(last + 1, "after", T))
    for endless in (1e22, 2**63, timedelta.max, math.inf, math.nan, True, "5"):
        assert "after" in refusal(lambda given=endless: door.delay_us(given, "after", T))  # type: ignore[misc]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_b66_an_accepted_payload_comes_back_exactly(payload: object) -> None:
    text = door.payload_text(payload)

    assert repr(json.loads(text)) == repr(payload)
    text.encode()


@pytest.mark.parametrize(
    "payload", ["🎂", "👨‍👩‍👧", "a\0b", "\u200f\u200e", 2**63, 2**64, -0.0, 1e308, [[]], {}, {"": None}]
)
def test_b65_unusual_but_sound_payloads_come_back_exactly(payload: object) -> None:
    assert repr(json.loads(door.payload_text(payload))) == repr(payload)


def test_b66_a_hundred_levels_are_accepted_and_a_thousand_are_not() -> None:
    deep: object = 1
    for _ in range(100):
        deep = [deep]
    assert json.loads(door.payload_text(deep)) == deep
    for _ in range(900):
        deep = {"a": deep}

    assert "deeper than 200 levels" in refusal(lambda: door.payload_text(deep))


def test_a_payload_that_holds_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)

    assert "holds itself" in refusal(lambda: door.payload_text(endless))


@pytest.mark.parametrize("wrap", [lambda bad: bad, lambda bad: [1, [bad]], lambda bad: {"a": {"b": bad}}])
@pytest.mark.parametrize(
    "bad",
    [
        *(math.nan, math.inf, -math.inf, (1,), {1: 2}, {True: 1}, {None: 1}, {1, 2}, b"x", bytearray(b"x"), Decimal(1)),
        *(datetime(2026, 1, 1, tzinfo=UTC), date(2026, 1, 1), "\ud83c", {"\ud83c": 1}),
        *(Colour.RED, object(), 10**5000),
    ],
    ids=kind,
)
def test_b66_what_would_not_come_back_as_it_is_is_refused(bad: object, wrap: Callable[[object], object]) -> None:
    assert "payload" in refusal(lambda: door.payload_text(wrap(bad)))


@pytest.mark.parametrize("bad", [lambda: 1, "".join, open, Path(), ValueError("x"), JobSpec("a", "b", 1)])
def test_b64_objects_and_functions_are_refused(bad: object) -> None:
    assert "would not come back" in refusal(lambda: door.payload_text({"call": bad}))


def test_b65_a_payload_of_a_mebibyte_is_accepted_and_a_byte_more_is_not() -> None:
    assert len(door.payload_text("x" * (2**20 - 2))) == 2**20
    assert "1 MiB" in refusal(lambda: door.payload_text("x" * (2**20 - 1)))
    assert "1 MiB" in refusal(lambda: door.payload_text("é" * 2**19))


@pytest.mark.parametrize("huge", ["x" * 50_000_000, ["x" * 600_000] * 2, [1] * 600_000, {"a": ["y" * 2**21]}], ids=kind)
def test_b65_a_huge_payload_is_refused_at_once_and_names_the_limit(huge: object) -> None:
    assert "1048576 bytes (1 MiB)" in refusal(lambda: door.payload_text(huge))


def test_a_job_has_sensible_defaults() -> None:
    assert spec() == JobSpec("a", "remind", T)


def test_a_job_keeps_everything_that_was_given() -> None:
    made = spec(
        *("a", "remind"),
        payload={"text": "é"},
        chat_id=42,
        user_id="7",
        thread_id=-1,
        rule='{"every_us":1000}',
        zone="Europe/Berlin",
        local_at="2026-12-25T08:00:00",
        delivery=Delivery.AT_LEAST_ONCE,
        misfire="skip",
        grace=1.5,
        attempts=3,
        time_limit=timedelta(seconds=2),
        due_until=T + 9,
        catch_up="all(7)",
        overlap="skip",
        stale_after=timedelta(minutes=1),
    )

    assert made == JobSpec(
        *("a", "remind", T, '{"text":"é"}', 42, "7", -1, '{"every_us":1000}'),
        *(Delivery.AT_LEAST_ONCE, Misfire.SKIP, 1_500_000, 3, 2_000_000, T + 9),
        zone="Europe/Berlin",
        local_at="2026-12-25T08:00:00",
        catch_up=CatchUp.ALL,
        catch_up_limit=7,
        overlap=Overlap.SKIP,
        stale_after_us=60_000_000,
    )
    assert type(made.delivery) is str
    assert spec(grace=0).grace_us == 0
    assert spec(stale_after=0).stale_after_us == 0


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        *(("none", ("none", None)), ("one", ("one", None)), ("all", ("all", 100)), (CatchUp.ALL, ("all", 100))),
        *(("all(1)", ("all", 1)), ("all(1000)", ("all", 1_000)), ("all( 7 )", ("all", 7))),
    ],
)
def test_b30_how_much_is_made_up_for_is_a_word_or_all_of_a_number(given: str, kept: tuple[str, int | None]) -> None:
    made = spec(catch_up=given)

    assert (made.catch_up, made.catch_up_limit) == kept
    assert type(made.catch_up) is str


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        *(("skip", ("skip", None)), ("queue_one", ("queue_one", None)), (Overlap.QUEUE_ONE, ("queue_one", None))),
        *(("parallel(1)", ("parallel", 1)), ("parallel(1000)", ("parallel", 1_000))),
    ],
)
def test_what_may_overlap_is_a_word_or_a_number_of_parallel_runs(given: str, kept: tuple[str, int | None]) -> None:
    made = spec(overlap=given)

    assert (made.overlap, made.overlap_limit) == kept
    assert type(made.overlap) is str


@pytest.mark.parametrize(
    "catch_up",
    [
        *("all(0)", "all(1001)", "all(-1)", "all()", "all(x)", "all(1.5)", "all(9999999999)", "one(2)", "none(1)"),
        *("parallel(2)", "ALL", "all(1) ", "", None, 5, True, ["all"], b"all", "all(१)"),
    ],
)
def test_another_word_for_catching_up_is_refused_with_those_there_are(catch_up: object) -> None:
    sentence = refusal(lambda: spec(catch_up=catch_up))

    assert sentence.startswith("job 'a': catch_up is ")
    assert "none, one, all(n)" in sentence or "from 1 to 1000" in sentence


@pytest.mark.parametrize(
    "overlap",
    ["parallel", "parallel(0)", "parallel(1001)", "all(2)", "skip(1)", "queue", "", None, 2, Overlap.PARALLEL],
)
def test_another_word_for_overlapping_is_refused_with_those_there_are(overlap: object) -> None:
    sentence = refusal(lambda: spec(overlap=overlap))

    assert sentence.startswith("job 'a': overlap is ")
    assert "skip, queue_one, parallel(n)" in sentence or "from 1 to 1000" in sentence


@pytest.mark.parametrize("chat_id", [42, "room"])
def test_jobs_of_a_chat_never_run_side_by_side(chat_id: int | str) -> None:
    assert "one at a time" in refusal(lambda: spec(overlap="parallel(2)", chat_id=chat_id))
    assert spec(overlap="parallel(1)", chat_id=chat_id).overlap_limit == 1


@pytest.mark.parametrize(
    "fields",
    [
        *({"due_at": due_at} for due_at in (-1, rules.MAX_INSTANT + 1, 1.5, None, True, "x")),
        *({"catch_up": catch_up} for catch_up in ("twice", "all(0)", None, ["all"])),
        *({"overlap": overlap} for overlap in ("parallel", "parallel(0)", None, ["skip"])),
        {"overlap": "parallel(2)", "chat_id": 42},
        *({"stale_after": stale} for stale in (math.nan, math.inf, True, "5")),
        {"delivery": "twice"},
        {"delivery": None},
        {"delivery": []},
        {"misfire": "sometimes"},
        {"misfire": None},
        *({"attempts": count} for count in (0, -1, 1.5, True, "3", 10**9)),
        *({"time_limit": limit} for limit in (0, -1, math.nan, "5")),
        *({"grace": grace} for grace in (math.nan, math.inf, True, "5")),
        *({"chat_id": 2**63}, {"user_id": True}, {"thread_id": ""}, {"payload": {1: 2}}),
    ],
)
def test_a_refusal_names_the_job(fields: dict[str, Any]) -> None:
    assert refusal(lambda: spec("reminder:42", **fields)).startswith("job 'reminder:42': ")


def test_a_refusal_is_short_and_printable_whatever_was_given() -> None:
    for job_id in ("x" * 10**6, "\ud83c" * 100, "a\0b", list(range(10**6)), 10**5000):
        sentence = refusal(lambda given=job_id: spec(given))  # type: ignore[misc]
        assert len(sentence) < 300
        assert sentence.isprintable()
        sentence.encode()


def test_b25_extreme_instants_come_back_from_the_file(path: Path) -> None:
    store = open_store(path)
    instants = [0, 2**31 * 1_000_000, rules.MAX_INSTANT]

    store.put([spec(f"j{due_at}", due_at=due_at) for due_at in instants], T)

    assert [row.next_attempt_at for row in store.due(rules.MAX_INSTANT, 10)] == instants
    store.close()
