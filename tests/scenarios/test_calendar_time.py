"""Local times across clock changes, in every zone and on every date that is odd, walked through by the scheduler."""

from datetime import datetime
from itertools import pairwise

import pendulum
import pytest

from bellringer import InvalidJobError
from bellringer.storage import rules
from bellringer.testing import Drive
from tests.scenarios.steps import MakeDrive, absent, note_instants, outcomes, utc


def moment(text: str) -> pendulum.DateTime:
    return pendulum.instance(datetime.fromisoformat(text))


def walk(make_drive: MakeDrive, rule: str, zone: str | None, since: str, until: str) -> list[str]:
    """The instants in UTC at which a job runs, from one to another. None of them is late, or left out."""
    begin, end = moment(since), moment(until)
    drive: Drive = make_drive(at=begin, store="memory", keep_days=36_525)
    ran = note_instants(drive)
    drive.schedule("work", id="a", rule=rule, zone=zone)
    drive.advance(end - begin)
    told = drive.history("a", limit=10_000)
    assert [utc(row.due_at) for row in reversed(told)] == ran
    assert set(outcomes(drive)) <= {"done"}
    assert absent(drive) == []
    drive.close()
    return ran


# Gaps and folds


def test_b01_a_daily_job_in_the_spring_gap_runs_once_on_each_of_three_days(make_drive: MakeDrive) -> None:
    ran = walk(make_drive, "daily 02:30", "Europe/Berlin", "2026-03-28T00:00Z", "2026-03-30T12:00Z")
    assert ran == ["2026-03-28 01:30", "2026-03-29 01:30", "2026-03-30 00:30"]


def test_b02_a_daily_job_in_the_autumn_fold_runs_at_the_first_pass_only(make_drive: MakeDrive) -> None:
    ran = walk(make_drive, "daily 02:30", "Europe/Berlin", "2026-10-23T22:00Z", "2026-10-26T12:00Z")
    assert ran == ["2026-10-24 00:30", "2026-10-25 00:30", "2026-10-26 01:30"]


def test_b02_a_job_that_is_scheduled_between_both_passes_waits_for_the_next_day(make_drive: MakeDrive) -> None:
    ran = walk(make_drive, "daily 02:30", "Europe/Berlin", "2026-10-25T00:45Z", "2026-10-26T12:00Z")
    assert ran == ["2026-10-26 01:30"]


@pytest.mark.parametrize(
    ("zone", "at", "due"),
    [
        ("Europe/Berlin", "2026-03-29 02:30", "2026-03-29 01:30"),
        ("Europe/Berlin", "2026-10-25 02:30", "2026-10-25 00:30"),
        ("Europe/London", "2026-10-25 01:30", "2026-10-25 00:30"),
        ("America/New_York", "2026-03-08 02:30", "2026-03-08 07:30"),
        ("America/New_York", "2026-11-01 01:30", "2026-11-01 05:30"),
        ("Asia/Beirut", "2026-03-29 00:00", "2026-03-28 22:00"),
        ("Africa/Cairo", "2026-04-24 00:00", "2026-04-23 22:00"),
        ("Australia/Melbourne", "2026-04-05 02:30", "2026-04-04 15:30"),
    ],
)
@pytest.mark.parametrize("kind", ["once", "daily", "cron"])
def test_a_local_time_of_a_clock_change_runs_once_whatever_kind_of_job_has_it(
    make_drive: MakeDrive, kind: str, zone: str, at: str, due: str
) -> None:
    drive = make_drive(at=moment(due).subtract(hours=20), store="memory")
    ran = note_instants(drive)
    local = datetime.fromisoformat(at)
    if kind == "once":
        drive.schedule("work", id="a", at=local, zone=zone)
    else:
        rule = f"daily {local:%H:%M}" if kind == "daily" else f"{local.minute} {local.hour} * * *"
        drive.schedule("work", id="a", rule=rule, zone=zone)
    drive.advance(hours=22)
    assert ran == [due]


@pytest.mark.parametrize("around", ["2026-03-29T01:00Z", "2026-10-25T01:00Z"])
@pytest.mark.parametrize("rule", ["*/7 * * * * *", "*/5 * * * *", "0 * * * *", "every 7s", "daily 02:30,02:31"])
def test_b04_around_a_clock_change_a_job_moves_on_and_keeps_its_rhythm(
    make_drive: MakeDrive, rule: str, around: str
) -> None:
    change = moment(around)
    reach = pendulum.duration(minutes=10 if rule.count("*") > 4 or rule == "every 7s" else 120)
    ran = walk(make_drive, rule, "Europe/Berlin", str(change - reach), str(change + reach))
    at = [datetime.fromisoformat(instant).timestamp() for instant in ran]
    steps = {later - earlier for earlier, later in pairwise(at)}
    assert (
        steps
        == {
            "*/7 * * * * *": {7.0, 4.0},
            "*/5 * * * *": {300.0},
            "0 * * * *": {3_600.0},
            "every 7s": {7.0},
            "daily 02:30,02:31": {60.0},
        }[rule]
    )


# Days


def test_b05_midnight_on_weekdays_runs_on_each_of_them_though_one_day_has_23_hours(make_drive: MakeDrive) -> None:
    ran = walk(make_drive, "weekly sun-thu 00:00", "US/Central", "2021-03-12T18:00Z", "2021-03-18T18:00Z")
    assert ran == ["2021-03-14 06:00", *(f"2021-03-{day} 05:00" for day in (15, 16, 17, 18))]


@pytest.mark.parametrize("zone", ["US/Central", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago"])
def test_b05_eleven_o_clock_runs_once_on_each_local_day_of_ten_years(make_drive: MakeDrive, zone: str) -> None:
    ran = walk(make_drive, "0 11 * * *", zone, "2020-01-01T12:00Z", "2030-01-01T12:00Z")
    first = moment(ran[0]).in_timezone(zone)
    told = [moment(at).in_timezone(zone).format("YYYY-MM-DD HH") for at in ran]
    assert told == [first.add(days=day).format("YYYY-MM-DD 11") for day in range(3_653)]


@pytest.mark.parametrize(
    ("zone", "time", "since", "runs"),
    [
        (
            "America/Santiago",
            "00:00",
            "2026-09-04T12:00Z",
            ["2026-09-05 04:00", "2026-09-06 04:00", "2026-09-07 03:00"],
        ),
        ("Asia/Beirut", "00:00", "2026-03-27T12:00Z", ["2026-03-27 22:00", "2026-03-28 22:00", "2026-03-29 21:00"]),
        ("Africa/Cairo", "00:00", "2026-04-22T12:00Z", ["2026-04-22 22:00", "2026-04-23 22:00", "2026-04-24 21:00"]),
        ("America/Nuuk", "23:30", "2026-03-27T12:00Z", ["2026-03-28 01:30", "2026-03-29 01:30", "2026-03-30 00:30"]),
    ],
)
@pytest.mark.parametrize("kind", ["daily", "cron"])
def test_b06_a_midnight_that_is_skipped_runs_once_and_so_do_the_days_beside_it(
    make_drive: MakeDrive, kind: str, zone: str, time: str, since: str, runs: list[str]
) -> None:
    rule = f"daily {time}" if kind == "daily" else f"{time[3:]} {time[:2]} * * *"
    until = str(moment(since).add(days=3))
    assert walk(make_drive, rule, zone, since, until) == runs


def test_b06_what_is_put_off_past_midnight_is_still_the_run_of_the_day_before(make_drive: MakeDrive) -> None:
    rule = "daily 23:30,00:45"
    ran = walk(make_drive, rule, "America/Nuuk", "2026-03-28T12:00Z", "2026-03-30T12:00Z")
    told = [moment(at).in_timezone("America/Nuuk").format("DD HH:mm") for at in ran]
    assert told == ["29 00:30", "29 00:45", "29 23:30", "30 00:45"]


# Weeks


def test_b09_a_weekday_is_that_of_the_job_s_zone(make_drive: MakeDrive) -> None:
    ran = walk(make_drive, "weekly mon 00:30", "Asia/Tokyo", "2026-03-01T00:00Z", "2026-03-15T23:00Z")
    assert ran == ["2026-03-01 15:30", "2026-03-08 15:30", "2026-03-15 15:30"]


def test_b09_a_weekly_job_keeps_its_local_time_and_an_interval_of_seven_days_does_not(make_drive: MakeDrive) -> None:
    since, until = "2026-03-22T08:00Z", "2026-04-06T00:00Z"
    weekly = walk(make_drive, "weekly sun 09:00", "Europe/Berlin", "2026-03-22T07:59Z", until)
    assert weekly == ["2026-03-22 08:00", "2026-03-29 07:00", "2026-04-05 07:00"]
    assert walk(make_drive, "every 7d", "Europe/Berlin", since, until) == ["2026-03-29 08:00", "2026-04-05 08:00"]


def test_b10_a_local_time_of_another_season_is_not_frozen_to_today_s_offset(make_drive: MakeDrive) -> None:
    drive = make_drive(at=pendulum.datetime(2026, 7, 1))
    ran = note_instants(drive)
    drive.schedule("work", id="a", at=datetime(2026, 12, 25, 8), zone="Europe/Berlin")  # noqa: DTZ001  a local time
    drive.crash()
    drive.start()
    job = drive.get("a")
    assert job is not None
    assert (job.local_at, job.zone) == (datetime(2026, 12, 25, 8), "Europe/Berlin")  # noqa: DTZ001
    drive.advance(days=180)
    assert ran == ["2026-12-25 07:00"]


@pytest.mark.parametrize(
    ("weekdays", "days"),
    [
        ("1", "Mon"),
        ("0", "Sun"),
        ("7", "Sun"),
        ("1-5", "Mon Tue Wed Thu Fri"),
        ("MON", "Mon"),
        ("mon-fri", "Mon Tue Wed Thu Fri"),
        ("SUN", "Sun"),
    ],
)
def test_b11_numbers_of_weekdays_mean_what_cron_means(make_drive: MakeDrive, weekdays: str, days: str) -> None:
    ran = walk(make_drive, f"0 9 * * {weekdays}", "UTC", "2026-01-05T00:00Z", "2026-01-12T00:00Z")
    assert " ".join(f"{moment(at):%a}" for at in ran) == days


def test_b11_a_range_that_runs_backwards_is_refused_in_cron_and_wraps_by_name(make_drive: MakeDrive) -> None:
    with pytest.raises(InvalidJobError):
        walk(make_drive, "0 9 * * 5-1", "UTC", "2026-01-05T00:00Z", "2026-01-12T00:00Z")
    ran = walk(make_drive, "weekly fri-mon 09:00", "UTC", "2026-01-05T00:00Z", "2026-01-12T00:00Z")
    assert [f"{moment(at):%a}" for at in ran] == ["Mon", "Fri", "Sat", "Sun"]


# Months and years


def test_b12_the_31st_runs_in_the_seven_months_that_have_one(make_drive: MakeDrive) -> None:
    ran = walk(make_drive, "0 0 31 * *", "UTC", "2025-12-31T12:00Z", "2026-12-31T12:00Z")
    assert [at[5:7] for at in ran] == ["01", "03", "05", "07", "08", "10", "12"]


@pytest.mark.parametrize(("since", "due"), [("2026-03-01", "2028-02-29 00:00"), ("2096-03-01", "2104-02-29 00:00")])
@pytest.mark.parametrize("rule", ["0 0 29 2 *", "yearly 02-29 00:00"])
def test_b12_a_leap_day_is_waited_for(make_drive: MakeDrive, rule: str, since: str, due: str) -> None:
    until = str(moment(due).add(days=1))
    assert walk(make_drive, rule, "UTC", f"{since}T00:00Z", until) == [due]


@pytest.mark.parametrize("rule", ["0 0 30 2 *", "yearly 02-30 00:00", "0 0 31 4,6 *"])
def test_b12_a_date_that_never_comes_is_refused(drive: Drive, rule: str) -> None:
    with pytest.raises(InvalidJobError):
        drive.schedule("work", id="a", rule=rule)
    assert drive.pending() == []


@pytest.mark.parametrize("rule", ["monthly last 00:00", "monthly 31-or-last 00:00", "0 0 L * *"])
def test_b12_the_last_day_runs_in_each_month(make_drive: MakeDrive, rule: str) -> None:
    ran = walk(make_drive, rule, "UTC", "2026-01-01T00:00Z", "2027-01-01T00:00Z")
    days = "01-31 02-28 03-31 04-30 05-31 06-30 07-31 08-31 09-30 10-31 11-30 12-31"
    assert " ".join(at[5:10] for at in ran) == days


def test_b12_every_tenth_day_begins_anew_in_each_month(make_drive: MakeDrive) -> None:
    ran = walk(make_drive, "0 0 */10 * *", "UTC", "2026-01-01T12:00Z", "2026-03-01T12:00Z")
    assert [at[5:10] for at in ran] == ["01-11", "01-21", "01-31", "02-01", "02-11", "02-21", "03-01"]


def test_b12_a_monthly_job_that_is_scheduled_on_the_31st_returns_to_it(make_drive: MakeDrive) -> None:
    ran = walk(make_drive, "monthly 31-or-last 09:00", "UTC", "2026-01-31T00:00Z", "2026-04-01T00:00Z")
    assert [at[5:10] for at in ran] == ["01-31", "02-28", "03-31"]


def test_b15_an_hourly_job_in_utc_loses_no_run_when_others_set_their_clocks_back(make_drive: MakeDrive) -> None:
    for zone in ("UTC", "Europe/Berlin"):
        ran = walk(make_drive, "0 * * * *", zone, "2026-10-24T22:30Z", "2026-10-26T00:30Z")
        assert ran == [utc(pendulum.datetime(2026, 10, 24, 23).add(hours=hour)) for hour in range(26)]


def test_a_rule_as_a_value_does_what_its_text_does(make_drive: MakeDrive) -> None:
    drive = make_drive(at=pendulum.datetime(2026, 3, 28))
    ran = note_instants(drive)
    drive.schedule("work", id="a", rule=rules.daily("02:30", zone="Europe/Berlin"))
    drive.advance(days=2.5)
    assert ran == ["2026-03-28 01:30", "2026-03-29 01:30", "2026-03-30 00:30"]
