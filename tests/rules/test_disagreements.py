"""Where other calculators answer otherwise, and why. Each line is asserted, so that none outlives its reason."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter  # type: ignore[import-untyped]
from cronsim import CronSim
from dateutil.rrule import rrulestr

from bellringer.storage import rules
from bellringer.storage.errors import InvalidJobError
from tests.rules.telling import us, utc, wall

SPRING, AUTUMN = "2026-03-28T20:00Z", "2026-10-24T20:00Z"
REFUSED = "refused"


def cronsim(text: str, since: str, zone: ZoneInfo) -> Iterator[datetime]:
    return CronSim(text, datetime.fromisoformat(since).astimezone(zone))


def croniter_(text: str, since: str, zone: ZoneInfo) -> Iterator[datetime]:
    found = croniter(text, datetime.fromisoformat(since).astimezone(zone), second_at_beginning=True)
    while True:
        yield found.get_next(datetime)


def dateutil(text: str, since: str, zone: ZoneInfo) -> Iterator[datetime]:
    begin = wall(since).replace(tzinfo=zone)
    return (found for found in rrulestr(text, dtstart=begin) if found > begin)


class Disagreement(NamedTuple):
    """What comes first after an instant; for dateutil after the start, which is a local time."""

    other: Callable[[str, str, ZoneInfo], Iterator[datetime]]
    text: str
    since: str
    ours: tuple[str, ...] | str
    theirs: tuple[str, ...] | str
    reason: str
    zone: str = "Europe/Berlin"


SHIFT = "The house reads a skipped time by the offset before it, so that the distance to other jobs stays."
ONCE = "The house lets a time that comes twice come once."
STAR = "To the house only a star in the hour is a rhythm: stars in smaller fields say how often within given hours."

TABLE = (
    Disagreement(cronsim, "30 2 * * *", SPRING, ("03-29 01:30",), ("03-29 01:00",), SHIFT),
    Disagreement(croniter_, "30 2 * * *", SPRING, ("03-29 01:30",), ("03-29 01:00",), SHIFT),
    Disagreement(
        cronsim, "15 2,3 * * *", SPRING, ("03-29 01:15", "03-30 00:15"), ("03-29 01:00", "03-29 01:15"), SHIFT,
    ),
    Disagreement(cronsim, "*/30 2 * * *", SPRING, ("03-29 01:00", "03-29 01:30"), ("03-30 00:00", "03-30 00:30"), STAR),
    Disagreement(cronsim, "*/20 30 2 * * *", SPRING, ("03-29 01:30",), ("03-30 00:30",), STAR),
    Disagreement(
        cronsim, "*/30 2 * * *", AUTUMN,
        ("10-25 00:00", "10-25 00:30", "10-26 01:00"), ("10-25 00:00", "10-25 00:30", "10-25 01:00"), STAR,
    ),
    Disagreement(
        cronsim, "*/30 */2 6,8 * *", "2026-09-06T02:45Z",
        ("09-06 05:00", "09-06 05:30"), ("09-06 04:00", "09-06 05:00"),
        "cronsim moves a skipped midnight to 01:00, an hour that the rule does not name.", "America/Santiago",
    ),
    Disagreement(
        cronsim, "*/20 */3 * * *", "2026-04-04T13:30Z",
        ("04-04 13:40", "04-04 16:30", "04-04 16:50"), ("04-04 13:40", "04-04 17:10"),
        "cronsim loses the beginning of the next hour where the clocks are set back by half an hour.",
        "Australia/Lord_Howe",
    ),
    Disagreement(croniter_, "30 2 * * *", AUTUMN, ("10-25 00:30", "10-26 01:30"), ("10-25 00:30", "10-25 01:30"), ONCE),
    Disagreement(
        croniter_, "30 */2 * * *", SPRING,
        ("03-28 21:30", "03-28 23:30", "03-29 02:30"), ("03-28 21:30", "03-28 23:30", "03-29 01:00"),
        "croniter moves 02:30 to 03:00, an hour that the rule does not name; cronsim does as the house.",
    ),
    Disagreement(
        croniter_, "0 12 */2 * 0", SPRING,
        ("03-29 10:00", "04-05 10:00"), ("03-29 10:00", "03-31 10:00"),
        "With a star in front of either day field, a day has to match both, as in the cron of Debian and cronsim.",
    ),
    Disagreement(
        croniter_, "0 12 1 1 7#1", SPRING, ("2027-01-01 11:00", "2027-01-03 11:00"), ("2027-01-03 11:00",),
        "croniter forgets the day of the month beside an nth weekday.",
    ),
    Disagreement(
        croniter_, "0 12 * * 5-1", SPRING, REFUSED, ("03-29 10:00", "03-30 10:00"),
        "croniter wraps a range that runs backwards; cron itself takes it for an error.",
    ),
    Disagreement(
        croniter_, "0 12 ? * *", SPRING, REFUSED, ("03-29 10:00",), "The question mark is of Quartz, not of cron.",
    ),
    Disagreement(
        croniter_, "0 12 * * 5L", SPRING, ("04-24 10:00",), REFUSED, "croniter writes the last Friday as L5.",
    ),
    Disagreement(
        croniter_, "0 12 LW * *", SPRING, ("03-31 10:00",), REFUSED, "croniter knows no last day of work.",
    ),
    Disagreement(
        dateutil, "FREQ=HOURLY", "2026-03-29T00:30",
        ("03-29 00:30", "03-29 01:30", "03-29 02:30"), ("03-29 00:30", "03-29 01:30", "03-29 01:30"),
        "dateutil counts the skipped hour, so that one instant comes twice.",
    ),
    Disagreement(
        dateutil, "FREQ=HOURLY;BYMINUTE=30", "2026-10-25T01:30",
        ("10-25 00:30", "10-25 01:30", "10-25 02:30"), ("10-25 00:30", "10-25 02:30"),
        "dateutil leaves the second pass of an hour out of an hourly rule.",
    ),
    Disagreement(
        dateutil, "FREQ=MONTHLY;BYDAY=MO,2TU", "2026-01-01T09:00", ("01-05 08:00", "01-12 08:00", "01-13 08:00"), (),
        "dateutil wants both of a numbered and a plain weekday; the RFC wants either.",
    ),
    Disagreement(
        dateutil, "FREQ=WEEKLY;BYDAY=MO,WE,FR;BYSETPOS=1", "2026-01-01T09:00", ("01-05 08:00",), ("01-02 08:00",),
        "dateutil cuts the first week off at the start before it counts positions.",
    ),
    Disagreement(
        dateutil, "FREQ=YEARLY;BYWEEKNO=53;BYDAY=SU", "2038-06-01T09:00",
        ("2044-01-03 08:00",), ("2039-01-02 08:00",),
        "2039-01-02 is in week 52 of 2038, which has no week 53.",
    ),
)  # fmt: skip


def shown(moments: list[str | None], like: tuple[str, ...]) -> tuple[str, ...]:
    """As in the table: in UTC, without the year where the table leaves it out."""
    texts = [str(moment).replace("T", " ").removesuffix("Z") for moment in moments]
    return tuple(text[5:] if len(like[0]) == 11 else text for text in texts)


def our_answer(line: Disagreement) -> tuple[str, ...] | str:
    try:
        if line.other is dateutil:
            rule = rules.parse(f"RRULE:{line.text}", zone=line.zone, start=wall(line.since))
            since = us(wall(line.since).replace(tzinfo=ZoneInfo(line.zone)).isoformat())
        else:
            rule, since = rules.cron(line.text, zone=line.zone), us(line.since)
    except InvalidJobError:
        return REFUSED
    assert not isinstance(line.ours, str)
    return shown([utc(at) for at in rule.upcoming(since, len(line.ours))], line.ours)


def their_answer(line: Disagreement) -> tuple[str, ...] | str:
    try:
        wanted = len(line.theirs) if isinstance(line.theirs, tuple) else 1
        found = line.other(line.text, line.since, ZoneInfo(line.zone))
        moments = [utc(us(moment.astimezone(UTC).isoformat())) for moment, _ in zip(found, range(wanted), strict=False)]
    except ValueError:
        return REFUSED
    return shown(moments, line.theirs) if isinstance(line.theirs, tuple) and line.theirs else tuple(map(str, moments))


@pytest.mark.parametrize("line", TABLE, ids=lambda line: f"{line.other.__name__} {line.text} {line.since}")
def test_the_house_and_the_other_answer_as_the_table_tells(line: Disagreement) -> None:
    assert our_answer(line) == line.ours
    assert their_answer(line) == line.theirs
    assert line.reason.endswith(".")


def test_dateutil_finds_nothing_where_it_wants_both_weekdays() -> None:
    begin = wall("2026-01-01T09:00")
    found = rrulestr("FREQ=MONTHLY;BYDAY=MO,2TU", dtstart=begin, cache=False)
    assert next(iter(found), None) is None
