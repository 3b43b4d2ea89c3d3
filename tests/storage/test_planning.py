"""Every way to say when a job is due, and what is refused."""

import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pendulum
import pytest

from bellringer.storage import planning, rules
from bellringer.storage.errors import InvalidJobError
from bellringer.storage.planning import Plan
from bellringer.storage.values import JobSpec

SECOND = 1_000_000
HOUR = 3_600 * SECOND
BERLIN, TOKYO = "Europe/Berlin", "Asia/Tokyo"


def us(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


NOW = us("2026-07-01T12:00")
LATER = datetime(2026, 7, 2, 8, tzinfo=UTC)


def local(*parts: int) -> datetime:
    return datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001


def plan(**when: Any) -> Plan:
    return planning.plan(NOW, when, "a")  # type: ignore[arg-type]


def job(handler: str = "work", *, job_id: str = "a", **options: Any) -> JobSpec:
    when = {name: options.pop(name, None) for name in ("at", "after", "every")}
    return planning.job(job_id, handler, NOW, options=options, **when)


def refusal(**when: Any) -> str:
    with pytest.raises(InvalidJobError) as caught:
        plan(**when)
    return str(caught.value)


# Once


def test_after_so_long() -> None:
    assert plan(after=90) == Plan(NOW + 90 * SECOND)
    assert plan(after=timedelta(hours=1)) == Plan(NOW + HOUR)
    assert plan(after=-5) == plan(after=0) == Plan(NOW)


@pytest.mark.parametrize("at", [LATER, LATER.astimezone(timezone(timedelta(hours=5))), pendulum.instance(LATER)])
def test_at_an_instant(at: datetime) -> None:
    assert plan(at=at) == Plan(us("2026-07-02T08:00"))


def test_at_an_instant_that_is_past() -> None:
    assert plan(at=datetime(1996, 1, 1, tzinfo=UTC)).due_at == us("1996-01-01T00:00")


def test_b10_a_local_time_is_kept_with_its_zone_and_not_with_today_s_offset() -> None:
    assert plan(at=local(2026, 12, 25, 8), zone=BERLIN) == Plan(
        us("2026-12-25T07:00"), None, BERLIN, "2026-12-25T08:00:00"
    )


@pytest.mark.parametrize(
    "at",
    [
        datetime(2026, 12, 25, 8, tzinfo=ZoneInfo(BERLIN)),
        pendulum.datetime(2026, 12, 25, 8, tz=BERLIN),
    ],
)
def test_b10_a_datetime_in_a_named_zone_is_a_local_time_of_it(at: datetime) -> None:
    assert plan(at=at) == Plan(us("2026-12-25T07:00"), None, BERLIN, "2026-12-25T08:00:00")


@pytest.mark.parametrize("zone", ["UTC", "Etc/UTC"])
def test_a_datetime_in_utc_is_an_instant(zone: str) -> None:
    assert plan(at=datetime(2026, 7, 2, 8, tzinfo=ZoneInfo(zone))) == Plan(us("2026-07-02T08:00"))


def test_an_instant_with_a_zone_is_the_local_time_there() -> None:
    assert plan(at=LATER, zone=TOKYO) == Plan(us("2026-07-02T08:00"), None, TOKYO, "2026-07-02T17:00:00")


def test_a_local_time_that_is_skipped_is_read_with_the_offset_before() -> None:
    assert plan(at=local(2027, 3, 28, 2, 30), zone=BERLIN).due_at == us("2027-03-28T01:30")


def test_a_local_time_that_comes_twice_means_the_first_time() -> None:
    assert plan(at=local(2026, 10, 25, 2, 30), zone=BERLIN).due_at == us("2026-10-25T00:30")


def test_the_second_pass_of_a_local_time_keeps_its_instant_and_nothing_else() -> None:
    at = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo(BERLIN), fold=1)
    assert plan(at=at) == plan(at=at, zone=BERLIN) == Plan(us("2026-10-25T01:30"))


def test_a_rule_that_comes_once_is_a_job_that_runs_once() -> None:
    once = Plan(us("2026-12-25T07:00"), None, BERLIN, "2026-12-25T08:00:00")
    assert plan(rule=rules.at(local(2026, 12, 25, 8), zone=BERLIN)) == once
    assert plan(rule=rules.at(LATER)) == Plan(us("2026-07-02T08:00"))


# Again and again


def test_an_interval_begins_one_interval_from_now() -> None:
    assert plan(every=60) == Plan(NOW + 60 * SECOND, '{"every_us":60000000}')
    assert plan(every=timedelta(hours=1)).due_at == NOW + HOUR


@pytest.mark.parametrize("name", ["at", "start"])
def test_an_interval_may_begin_elsewhere(name: str) -> None:
    assert plan(every=60, **{name: LATER}).due_at == us("2026-07-02T08:00")
    assert plan(every=60, zone=BERLIN, **{name: local(2026, 7, 2, 8)}).due_at == us("2026-07-02T06:00")


def test_b23_an_interval_that_began_in_the_past_keeps_its_grid() -> None:
    long_ago = datetime(2026, 6, 30, 23, 59, 30, tzinfo=UTC)
    assert plan(every=3_600, start=long_ago).due_at == us("2026-07-01T12:59") + 30 * SECOND


def test_the_first_due_time_that_is_asked_for_with_at_may_be_past() -> None:
    assert plan(every=3_600, at=datetime(2026, 7, 1, 11, tzinfo=UTC)).due_at == us("2026-07-01T11:00")


def test_an_interval_with_an_end_is_kept_as_a_rule() -> None:
    made = plan(every=3_600, until=datetime(2026, 7, 1, 14, tzinfo=UTC))
    assert rules.load(made.rule or "").upcoming(NOW, 9) == [us("2026-07-01T13:00"), us("2026-07-01T14:00")]
    counted = plan(every=3_600, count=3)
    assert rules.load(counted.rule or "").upcoming(NOW, 9) == [NOW + number * HOUR for number in (1, 2, 3)]


@pytest.mark.parametrize("rule", ["daily 09:00", rules.daily("09:00"), rules.daily("09:00", zone=BERLIN)])
def test_a_rule_may_be_text_or_a_value_and_gets_the_zone_that_is_said(rule: object) -> None:
    made = plan(rule=rule, zone=TOKYO)
    assert (made.due_at, made.zone, made.local_at) == (us("2026-07-02T00:00"), TOKYO, None)
    assert rules.load(made.rule or "") == rules.daily("09:00", zone=TOKYO)


def test_a_rule_keeps_its_own_zone() -> None:
    made = plan(rule=rules.daily("09:00", zone=BERLIN))
    assert (made.due_at, made.zone) == (us("2026-07-02T07:00"), BERLIN)


@pytest.mark.parametrize(
    ("rule", "due"),
    [
        ("*/30 * * * *", "2026-07-01T12:30"),
        ("weekly mon 18:00", "2026-07-06T18:00"),
        ("monthly last 09:00", "2026-07-31T09:00"),
        ("yearly 12-25 08:00", "2026-12-25T08:00"),
        ("every 90s", "2026-07-01T12:01:30"),
        ("RRULE:FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0", "2026-07-02T09:00"),
        ("@daily", "2026-07-02T00:00"),
    ],
)
def test_every_kind_of_rule_can_be_said(rule: str, due: str) -> None:
    assert plan(rule=rule, zone="UTC").due_at == us(due)


def test_the_bounds_of_a_rule_are_local_times_where_they_name_no_zone() -> None:
    made = plan(rule="daily 09:00", zone=BERLIN, start=local(2026, 7, 5, 9), until=local(2026, 7, 6, 9))
    assert rules.load(made.rule or "").upcoming(NOW, 9) == [us("2026-07-05T07:00"), us("2026-07-06T07:00")]


def test_the_bounds_of_a_rule_may_be_instants() -> None:
    start, until = datetime(2026, 7, 5, 7, tzinfo=UTC), datetime(2026, 7, 6, 6, 59, tzinfo=UTC)
    made = plan(rule="daily 09:00", zone=BERLIN, start=start, until=until)
    assert rules.load(made.rule or "").upcoming(NOW, 9) == [us("2026-07-05T07:00")]


def test_a_rule_that_counts_ends_after_so_many() -> None:
    made = plan(rule="daily 09:00", zone="UTC", count=2)
    assert rules.load(made.rule or "").upcoming(NOW, 9) == [us("2026-07-02T09:00"), us("2026-07-03T09:00")]


def test_each_job_has_its_own_share_of_a_jitter_and_keeps_it() -> None:
    due = {
        seed: planning.plan(NOW, {"rule": "daily 09:00", "zone": "UTC", "jitter": 3_600}, seed) for seed in "abcdefgh"
    }
    late = [made.due_at - us("2026-07-02T09:00") for made in due.values()]
    assert all(0 <= share <= HOUR for share in late)
    assert len(set(late)) == 8
    assert planning.plan(NOW, {"rule": "daily 09:00", "zone": "UTC", "jitter": 3_600}, "a") == due["a"]
    following = rules.load(due["a"].rule or "").next(due["a"].due_at)
    assert following == due["a"].due_at + 24 * HOUR


def test_an_interval_may_be_jittered_too() -> None:
    made = plan(every=3_600, jitter=60)
    assert 0 < made.due_at - NOW - HOUR <= 60 * SECOND
    assert rules.load(made.rule or "").next(made.due_at) == made.due_at + HOUR


# Where the chat is


def spec_of(made: Plan) -> JobSpec:
    return JobSpec("a", "work", made.due_at, rule=made.rule, zone=made.zone, local_at=made.local_at)


@pytest.mark.parametrize("rule", ["daily 09:00", "0 9 * * *", "weekly mon 09:00"])
def test_a_rule_that_names_no_zone_waits_for_that_of_its_chat(rule: str) -> None:
    made = plan(rule=rule)
    assert made.zone is None
    assert planning.needs_zone(spec_of(made))
    settled = planning.settled(spec_of(made), TOKYO, NOW)
    assert settled.zone == TOKYO
    assert settled == spec_of(plan(rule=rule, zone=TOKYO))


@pytest.mark.parametrize(
    "when", [{"every": 60}, {"after": 1}, {"at": LATER}, {"rule": "daily 09:00", "zone": "UTC"}, {"rule": "every 90s"}]
)
def test_what_names_its_zone_or_has_no_local_time_waits_for_none(when: dict[str, Any]) -> None:
    assert not planning.needs_zone(spec_of(plan(**when)))


def test_a_job_that_rests_waits_for_no_zone() -> None:
    assert not planning.needs_zone(JobSpec("m", "work", NOW, rule=rules.rest(SECOND)))


def test_a_rule_that_counts_is_counted_where_the_chat_is() -> None:
    made = planning.settled(spec_of(plan(rule="daily 20:00", count=2)), TOKYO, NOW)
    assert rules.load(made.rule or "").upcoming(NOW, 9) == [us("2026-07-02T11:00"), us("2026-07-03T11:00")]


def test_a_share_of_a_jitter_is_drawn_by_the_id_also_where_the_chat_is() -> None:
    made = planning.settled(spec_of(plan(rule="daily 09:00", jitter=3_600)), TOKYO, NOW)
    assert made == spec_of(plan(rule="daily 09:00", jitter=3_600, zone=TOKYO))


# What is refused


@pytest.mark.parametrize(
    ("when", "sentence"),
    [
        ({}, "say when it is due, with `at`, `after`, `every` or `rule`"),
        ({"zone": BERLIN}, "say when it is due"),
        ({"at": LATER, "after": 1}, "give `at` or `after`, not both"),
        ({"after": 1, "every": 1}, "give `after` or `every`, not both"),
        ({"at": LATER, "rule": "daily 09:00"}, "give `at` or `rule`, not both"),
        ({"every": 1, "rule": "daily 09:00"}, "give `every` or `rule`, not both"),
        ({"at": LATER, "every": 1, "rule": "daily 09:00"}, "not both"),
        ({"at": LATER, "every": 1, "start": LATER}, "`at` and `start` both say when the grid begins"),
        ({"after": 1, "count": 2}, "`count` bounds a repeating job: give it with `every` or `rule`"),
        ({"at": LATER, "until": LATER}, "`until` bounds a repeating job"),
        ({"at": LATER, "jitter": 1}, "`jitter` bounds a repeating job"),
        ({"rule": rules.daily("09:00"), "count": 2}, "`count` belongs to the rule itself: rules.daily(…, count=…)"),
        ({"rule": rules.daily("09:00"), "start": LATER}, "`start` belongs to the rule itself"),
        ({"rule": 5}, "rule is 5, but must be a rule, or text such as 'daily 09:00'"),
        ({"rule": "whenever"}, "whenever"),
        ({"rule": ""}, "the rule has 0 characters"),
        ({"rule": "daily 09:00", "count": 0}, "count is 0"),
        ({"rule": "daily 09:00", "count": True}, "count is True, but must be a whole number"),
        ({"every": 60, "count": 1.5}, "count is 1.5, but must be a whole number"),
        ({"rule": "daily 09:00", "start": "tomorrow"}, "start is 'tomorrow'"),
        ({"every": 60, "until": local(2026, 7, 2)}, "until is 2026-07-02T00:00:00 without a time zone"),
        ({"every": 60, "until": datetime(2026, 7, 1, 12, tzinfo=UTC)}, "ends before it starts"),
        ({"rule": "daily 09:00", "zone": "UTC", "until": datetime(2026, 7, 1, 13, tzinfo=UTC)}, "has no due time"),
        ({"rule": "daily 09:00", "jitter": "5"}, "jitter is '5'"),
        ({"rule": "daily 09:00", "jitter": 367 * 86_400}, "jitter"),
        ({"at": local(2026, 7, 2)}, "without a time zone"),
        ({"at": "2026-07-02"}, "at is '2026-07-02'"),
        ({"at": local(9999, 12, 31, 23), "zone": "America/New_York"}, "must lie in the years 1970 to 9999"),
        ({"after": "soon"}, "after is 'soon'"),
        ({"every": 0}, "every is 0"),
        ({"every": pendulum.duration(months=1)}, "no fixed time"),
    ],
)
def test_what_can_not_be_planned_is_refused_with_a_way_out(when: dict[str, Any], sentence: str) -> None:
    assert sentence in refusal(**when)


@pytest.mark.parametrize("way", [{"at": LATER}, {"after": 1}, {"every": 60}, {"rule": "daily 09:00"}])
@pytest.mark.parametrize("zone", ["Mars/Sea", "", "../etc/passwd", "UTC+3", "local", "Europe/Berlin\n", 5])
def test_b14_a_zone_that_is_not_in_the_database_is_refused(way: dict[str, Any], zone: object) -> None:
    assert "there is no time zone" in refusal(zone=zone, **way)


@pytest.mark.parametrize("rule", ["*/0 * * * *", "60 * * * *", "0 0 30 2 *", "RRULE:FREQ=DAILY;INTERVAL=0", "every 0s"])
def test_b79_an_impossible_rule_is_refused_at_once(rule: str) -> None:
    refusal(rule=rule)
    began = time.thread_time()
    refusal(rule=rule)
    assert time.thread_time() - began < 0.010


# A whole job


def test_a_job_is_what_was_said_of_it() -> None:
    made = job(rule="daily 09:00", zone=BERLIN, chat_id=42, payload=[1], catch_up="all(3)", overlap="skip", attempts=2)
    assert made == JobSpec(
        "a", "work", us("2026-07-02T07:00"), "[1]", 42, rule='{"rule":"daily 09:00","zone":"Europe/Berlin"}',
        max_attempts=2, zone=BERLIN, catch_up="all", catch_up_limit=3, overlap="skip",
    )  # fmt: skip


def test_b61_within_puts_a_limit_to_how_far_a_job_is_put_off() -> None:
    limit = NOW + 60 * SECOND
    assert (job(after=10, within=60).due_at, job(after=10, within=60).due_until) == (NOW + 10 * SECOND, limit)
    assert (job(after=90, within=60).due_at, job(after=10).due_until) == (limit, None)


@pytest.mark.parametrize(
    "options",
    [
        *({}, {"after": 1, "every": 2}, {"after": 1, "within": "x"}, {"after": 1, "chat": 42}),
        *({"rule": "no"}, {"after": 1, "misfire": "x"}),
    ],
)
def test_a_refusal_names_the_job(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidJobError, match=r"^job 'reminder:42': "):
        job(job_id="reminder:42", **options)


def test_an_option_that_there_is_not_is_named() -> None:
    with pytest.raises(InvalidJobError, match="there is no option 'chat'"):
        job(after=1, chat=42)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rule": "at 2030-01-01 09:00", "zone": "UTC", "count": 3}, "comes once"),
        ({"rule": "at 2030-01-01 09:00", "zone": "UTC", "jitter": 5}, "comes once"),
        ({"rule": "every 1h", "start": datetime(2030, 1, 1)}, "without a time zone"),  # noqa: DTZ001
        ({"rule": "daily 09:00", "jitter": -1}, "must not be below zero"),
        ({"rule": "daily 09:00", "grace": -1}, "must not be below zero"),
        ({"rule": "daily 09:00", "stale_after": -0.5}, "must not be below zero"),
    ],
)
def test_what_would_mean_nothing_is_refused(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidJobError, match=sentence):
        planning.job("a", "work", 1_767_225_600_000_000, at=None, after=None, every=None, options=options)


def test_a_rule_that_is_over_in_utc_may_go_on_where_its_chat_is() -> None:
    noon = 1_780_300_800_000_000  # 2026-06-01T08:00Z
    until = datetime(2026, 6, 1, 7)  # noqa: DTZ001
    spec = planning.job(
        "a", "work", noon, at=None, after=None, every=None, options={"rule": "daily 06:00", "until": until}
    )
    assert planning.settled(spec, "Pacific/Pago_Pago", noon).due_at == 1_780_333_200_000_000  # 06:00 there
