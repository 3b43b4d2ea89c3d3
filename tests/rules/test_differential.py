"""Rules drawn at random, against cronsim, croniter and dateutil, wherever no known disagreement is in the way."""

import random
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter  # type: ignore[import-untyped]
from cronsim import CronSim
from dateutil.rrule import rrulestr

from bellringer.storage import rules
from bellringer.storage.errors import InvalidJobError
from tests.rules.calculator import zone_file
from tests.rules.telling import us

FEW, MANY = 400, 5_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HOUR = 3_600
Draw = random.Random


def moment(at: float) -> datetime:
    return _EPOCH + timedelta(seconds=at)


def drawn_moment(draw: Draw) -> datetime:
    return moment(draw.randrange(7_000 * 86_400, 33_000 * 86_400))


def field(draw: Draw, low: int, high: int, chance_of_star: float = 0.4) -> str:
    if draw.random() < chance_of_star:
        return "*"
    kind = draw.choice(("one", "list", "range", "step", "stepped range"))
    first, last = sorted(draw.sample(range(low, high + 1), 2))
    if kind == "one":
        return str(first)
    if kind == "list":
        return ",".join(str(draw.randint(low, high)) for _ in range(draw.randint(2, 4)))
    if kind == "range":
        return f"{first}-{last}"
    if kind == "step":
        return f"*/{draw.randint(1, max(2, (high - low) // 2))}"
    return f"{first}-{last}/{draw.randint(1, 5)}"


def expression(draw: Draw, hour: str | None = None) -> str:
    days, weekdays = field(draw, 1, 28, 0.5), field(draw, 0, 7, 0.5)
    seconds = [field(draw, 0, 59)] if draw.random() < 0.3 else []
    return " ".join([*seconds, field(draw, 0, 59), hour or field(draw, 0, 23), days, field(draw, 1, 12, 0.7), weekdays])


def assert_same(text: str, since: datetime, ours: Sequence[datetime | None], theirs: Sequence[datetime]) -> None:
    assert [found and found.isoformat() for found in ours] == [found.isoformat() for found in theirs], (text, since)


def following(rule: rules.Rule, since: datetime, number: int) -> list[datetime]:
    return [moment(at / 1_000_000) for at in rule.upcoming(us(since.isoformat()), number)]


@pytest.mark.parametrize("number", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_cronsim_reads_the_same_days_and_times(number: int) -> None:
    draw = Draw(number)
    for _ in range(number):
        text, since = expression(draw), drawn_moment(draw)
        assert_same(text, since, following(rules.cron(text), since, 5), list(islice(CronSim(text, since), 5)))


@pytest.mark.parametrize("number", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_cronsim_keeps_the_same_rhythm_through_changes_of_the_clocks(number: int) -> None:
    draw = Draw(number)
    for _ in range(number):
        zone = draw.choice(("Europe/Berlin", "America/New_York", "Australia/Sydney", "America/St_Johns"))
        changes = [change.at for change in zone_file(zone).changes if 1.5e9 < change.at < 2.2e9]
        text = expression(draw, hour=draw.choice(("*", "*/2", "*/3")))
        since = moment(draw.choice(changes) - draw.randrange(3 * _HOUR))
        theirs = islice(CronSim(text, since.astimezone(ZoneInfo(zone))), 8)
        ours = following(rules.cron(text, zone=zone), since, 8)
        assert_same(text, since, ours, [found.astimezone(UTC) for found in theirs])


@pytest.mark.parametrize("number", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_croniter_reads_the_same_days_and_times(number: int) -> None:
    draw = Draw(number)
    for _ in range(number):
        text, since = expression(draw), drawn_moment(draw)
        days, weekdays = text.split()[-3], text.split()[-1]
        if "*/" in days + weekdays and days != "*" != weekdays:
            continue
        theirs = croniter(text, since, second_at_beginning=True)
        ours = following(rules.cron(text), since, 4)
        assert_same(text, since, ours, [theirs.get_next(datetime) for _ in range(4)])


def numbers(draw: Draw, low: int, high: int, most: int = 3) -> str:
    return ",".join(str(draw.randint(low, high)) for _ in range(draw.randint(1, most)))


def recurrence(draw: Draw) -> str:
    frequency = draw.choice(("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"))
    parts = [f"FREQ={frequency}"]
    fine = frequency in ("HOURLY", "MINUTELY")
    interval = draw.choice((1, 1, 2, 3))
    if interval > 1:
        parts.append(f"INTERVAL={interval}")
    if draw.random() < 0.3 and not fine:
        parts.append(f"BYMONTH={numbers(draw, 1, 12)}")
    day_part = draw.choice(("", "BYMONTHDAY", "BYDAY", "BYYEARDAY")) if frequency != "MINUTELY" else ""
    if day_part == "BYMONTHDAY" and frequency != "WEEKLY":
        parts.append(f"BYMONTHDAY={draw.choice((numbers(draw, 1, 28), '-1', '-3,5'))}")
    if day_part == "BYYEARDAY" and frequency == "YEARLY" and "BYMONTH" not in parts[-1]:
        parts.append(f"BYYEARDAY={draw.choice((numbers(draw, 1, 365), '-1', '-100,7'))}")
    if day_part == "BYDAY":
        days = draw.sample(("MO", "TU", "WE", "TH", "FR", "SA", "SU"), draw.randint(1, 3))
        if frequency in ("YEARLY", "MONTHLY") and draw.random() < 0.5:
            days = [draw.choice(("1", "2", "3", "-1", "-2")) + day for day in days]
        parts.append(f"BYDAY={','.join(days)}")
        if draw.random() < 0.3 and frequency in ("YEARLY", "MONTHLY"):
            parts.append(f"BYSETPOS={draw.choice(('1', '-1', '1,-1'))}")
    if draw.random() < 0.3:
        parts.append(f"WKST={draw.choice(('SU', 'MO', 'WE'))}")
    if not any(part.startswith("BYSETPOS") for part in parts) and draw.random() < 0.5:
        parts.append(f"BYHOUR={numbers(draw, 0, 23)}")
    if draw.random() < 0.3:
        parts.append(f"BYMINUTE={draw.randint(0, 59)}")
    return ";".join(parts)


@pytest.mark.parametrize("number", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_dateutil_reads_the_same_days_and_times(number: int) -> None:
    draw = Draw(number)
    refused = 0
    for _ in range(number):
        text, since = recurrence(draw), drawn_moment(draw)
        start = since.replace(tzinfo=None)
        try:
            rule = rules.rrule(text, start=start)
        except InvalidJobError:
            refused += 1
            continue
        theirs = [found.replace(tzinfo=UTC) for found in islice(rrulestr(text, dtstart=start), 6)]
        ours = following(rule, since - timedelta(seconds=1), 6)
        assert_same(text, since, ours, theirs)
    assert refused < number / 10


def test_weeks_of_the_year_are_those_of_iso_8601() -> None:
    draw = Draw(1)
    for _ in range(60):
        week, last = draw.randint(1, 53), draw.random() < 0.2
        rule = rules.rrule(f"FREQ=YEARLY;BYWEEKNO={-1 if last else week}", start=datetime(1990, 1, 1))  # noqa: DTZ001
        on = date(draw.randint(1990, 2090), 1, 1)
        for day in (on + timedelta(days=ahead) for ahead in range(366)):
            year, number, _ = day.isocalendar()
            wanted = number == (date(year, 12, 28).isocalendar().week if last else week)
            at = (day - date(1970, 1, 1)).days * 86_400_000_000
            assert rule.total(at, at) == wanted
