"""Rules of every kind, each beside what it means in plain terms for the calculator."""

import calendar
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime

from bellringer.storage import rules
from tests.rules.calculator import DAY, Local, ZoneFile, occurrences

START = datetime(2020, 1, 1)  # noqa: DTZ001  a local time
_START_LOCAL = 18_262 * DAY
_START_DAY = date(2020, 1, 1)


@dataclass(frozen=True)
class Elapsed:
    """So many seconds of real time from one to the next."""

    step: int


@dataclass(frozen=True)
class Case:
    """A rule as text, and its meaning."""

    text: str
    means: Local | Elapsed

    @property
    def is_dense(self) -> bool:
        """More than two in an hour."""
        return self.means.step < 1_800 if isinstance(self.means, Elapsed) else len(self.means.times) > 50

    @property
    def is_seldom(self) -> bool:
        """At most five on a day."""
        return self.means.step >= DAY // 5 if isinstance(self.means, Elapsed) else len(self.means.times) <= 5

    def expected(self, zone: ZoneFile, first: int, last: int) -> list[int]:
        if isinstance(self.means, Local):
            return occurrences(zone, self.means, first, last)
        begin, step = zone.wall(_START_LOCAL), self.means.step
        return list(range(begin - (begin - first) // step * step, last + 1, step))

    def rule(self, zone: str) -> rules.Rule:
        return rules.parse(self.text, zone=zone, start=START)


def _at(*times: str) -> list[int]:
    found = []
    for time in times:
        parts = [int(part) for part in time.split(":")] + [0]
        found.append(parts[0] * 3_600 + parts[1] * 60 + parts[2])
    return sorted(found)


def _every(hours: Iterable[int], minutes: Iterable[int], seconds: Iterable[int] = (0,)) -> list[int]:
    return sorted(h * 3_600 + m * 60 + s for h in hours for m in minutes for s in seconds)


def _any_day(on: date) -> bool:
    return True


def _month_length(on: date) -> int:
    return calendar.monthrange(on.year, on.month)[1]


def _is_last(on: date) -> bool:
    return on.day == _month_length(on)


def _is_nth(on: date, nth: int, weekday: int) -> bool:
    if on.weekday() != weekday:
        return False
    return on.day + 7 > _month_length(on) if nth == -1 else (on.day - 1) // 7 + 1 == nth


def _is_last_workday(on: date) -> bool:
    rest = range(on.day + 1, _month_length(on) + 1)
    return on.weekday() < 5 and all(on.replace(day=day).weekday() >= 5 for day in rest)


def _days_since_start(on: date) -> int:
    return (on - _START_DAY).days


def _weeks_since_start(on: date) -> int:
    # 2020-01-01 was a Wednesday.
    return (_days_since_start(on) + 2) // 7


def _months_since_start(on: date) -> int:
    return (on.year - 2020) * 12 + on.month - 1


def _case(text: str, times: list[int], on: Callable[[date], bool] = _any_day, *, rhythm: bool = False) -> Case:
    return Case(text, Local(on, times, rhythm))


SUNDAY, SATURDAY, MONDAY = 6, 5, 0
_HALF_PAST_TWO = _at("02:30")
_ALL = range(60)
_DAY = range(24)

CALENDAR = (
    _case("daily 00:00", _at("00:00")),
    _case("daily 02:30", _HALF_PAST_TWO),
    _case("daily 02:30,03:30", _at("02:30", "03:30")),
    _case("daily 00:15,01:00,02:00,03:00,23:59:59", _at("00:15", "01:00", "02:00", "03:00", "23:59:59")),
    _case("daily/2 02:30", _HALF_PAST_TWO, lambda on: _days_since_start(on) % 2 == 0),
    _case("daily/3 00:00,12:00", _at("00:00", "12:00"), lambda on: _days_since_start(on) % 3 == 0),
    _case("weekly sun 02:30", _HALF_PAST_TWO, lambda on: on.weekday() == SUNDAY),
    _case("weekly mon 00:30", _at("00:30"), lambda on: on.weekday() == MONDAY),
    _case("weekly sun-thu 00:00", _at("00:00"), lambda on: on.weekday() not in (4, 5)),
    _case(
        "weekly/2 sun 01:30", _at("01:30"), lambda on: on.weekday() == SUNDAY and _weeks_since_start(on) % 2 == 0
    ),
    _case("weekly/3 sat,sun 23:30", _at("23:30"), lambda on: on.weekday() >= 5 and _weeks_since_start(on) % 3 == 0),
    _case("monthly last 02:30", _HALF_PAST_TWO, _is_last),
    _case("monthly 31-or-last 00:00", _at("00:00"), _is_last),
    _case("monthly last-sun 02:30", _HALF_PAST_TWO, lambda on: _is_nth(on, -1, SUNDAY)),
    _case("monthly 2nd-sun 02:30", _HALF_PAST_TWO, lambda on: _is_nth(on, 2, SUNDAY)),
    _case("monthly 1st-sun,5th-sat 01:30", _at("01:30"), lambda on: _is_nth(on, 1, 6) or _is_nth(on, 5, 5)),
    _case("monthly/2 25,31 02:30", _HALF_PAST_TWO, lambda on: on.day in (25, 31) and _months_since_start(on) % 2 == 0),
    _case(
        "monthly/3 last-sun 01:00",
        _at("01:00"),
        lambda on: _is_nth(on, -1, SUNDAY) and _months_since_start(on) % 3 == 0,
    ),
    _case("yearly 03-29,10-25 02:30", _HALF_PAST_TWO, lambda on: (on.month, on.day) in ((3, 29), (10, 25))),
    _case("yearly 02-29 12:00", _at("12:00"), lambda on: (on.month, on.day) == (2, 29)),
    _case("yearly 03-last-sun 02:30", _HALF_PAST_TWO, lambda on: on.month == 3 and _is_nth(on, -1, SUNDAY)),
    _case("yearly/2 10-last-sun 02:30", _HALF_PAST_TWO, lambda on: on.month == 10 and _is_nth(on, -1, SUNDAY)
          and on.year % 2 == 0),
)  # fmt: skip

CRON = (
    _case("* * * * *", _every(_DAY, _ALL), rhythm=True),
    _case("*/30 * * * *", _every(_DAY, (0, 30)), rhythm=True),
    _case("15,45 */2 * * *", _every(range(0, 24, 2), (15, 45)), rhythm=True),
    _case("*/7 * * * * *", _every(_DAY, _ALL, range(0, 60, 7)), rhythm=True),
    _case("@hourly", _every(_DAY, (0,)), rhythm=True),
    _case("@daily", _at("00:00")),
    _case("30 2 * * *", _HALF_PAST_TWO),
    _case("*/5 1-3 * * *", _every(range(1, 4), range(0, 60, 5))),
    _case("*/20 */15 1-3 * * *", _every(range(1, 4), range(0, 60, 15), range(0, 60, 20))),
    _case("0 30 1 * * 7", _at("01:30"), lambda on: on.weekday() == SUNDAY),
    _case("0 0 * * 0-4", _at("00:00"), lambda on: on.weekday() not in (4, 5)),
    _case("30 2 L * *", _HALF_PAST_TWO, _is_last),
    _case("30 2 LW * *", _HALF_PAST_TWO, _is_last_workday),
    _case("30 2 * * SUN#2", _HALF_PAST_TWO, lambda on: _is_nth(on, 2, SUNDAY)),
    _case("30 2 * 3,10 0L", _HALF_PAST_TWO, lambda on: on.month in (3, 10) and _is_nth(on, -1, SUNDAY)),
    _case("30 2 1,15 * 0", _HALF_PAST_TWO, lambda on: on.day in (1, 15) or on.weekday() == SUNDAY),
    _case("30 2 */2 * 0", _HALF_PAST_TWO, lambda on: on.day % 2 == 1 and on.weekday() == SUNDAY),
)

_AT = ";BYHOUR=2;BYMINUTE=30"
RECURRENCES = (
    _case(f"RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU{_AT}", _HALF_PAST_TWO,
          lambda on: on.month == 3 and _is_nth(on, -1, SUNDAY)),
    _case(f"RRULE:FREQ=MONTHLY;BYDAY=2SU,-1SU{_AT}", _HALF_PAST_TWO,
          lambda on: _is_nth(on, 2, SUNDAY) or _is_nth(on, -1, SUNDAY)),
    _case(f"RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1{_AT}", _HALF_PAST_TWO, _is_last_workday),
    _case("RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=SU;BYHOUR=1", _at("01:00"),
          lambda on: on.weekday() == SUNDAY and _weeks_since_start(on) % 2 == 0),
    _case(f"RRULE:FREQ=DAILY;INTERVAL=3{_AT}", _HALF_PAST_TWO, lambda on: _days_since_start(on) % 3 == 0),
    _case("RRULE:FREQ=HOURLY;BYMINUTE=30", _every(_DAY, (30,)), rhythm=True),
    _case("RRULE:FREQ=MINUTELY;BYSECOND=0,30", _every(_DAY, _ALL, (0, 30)), rhythm=True),
    _case("RRULE:FREQ=SECONDLY;INTERVAL=20;BYDAY=SA,SU", _every(_DAY, _ALL, (0, 20, 40)),
          lambda on: on.weekday() >= 5, rhythm=True),
    Case("RRULE:FREQ=HOURLY;INTERVAL=2", Elapsed(7_200)),
)  # fmt: skip

INTERVALS = (Case("every 7s", Elapsed(7)), Case("every 90m", Elapsed(5_400)), Case("every 1d", Elapsed(86_400)))

ALL = (*CALENDAR, *CRON, *RECURRENCES, *INTERVALS)
DENSE = tuple(case for case in ALL if case.is_dense)
SELDOM = tuple(case for case in ALL if case.is_seldom)
SPARSE = tuple(case for case in ALL if not case.is_dense)
