"""Cron expressions. They are read with cronsim; when they come follows the house's rule about clock changes."""

import calendar
import re
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple

from cronsim import CronSim, CronSimError

from ..errors import InvalidJobError
from .calendar_rules import CalendarRule
from .days import Days, month_length
from .times import Times, of_fields

ALIASES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_LEAP_YEAR: Final = datetime(2024, 1, 1)  # noqa: DTZ001  only the fields are read
_MAX_LENGTH: Final = 512
# Sunday may end a range of weekdays (MON-SUN), as 7; by its name cronsim takes it for 0.
_TO_SUNDAY: Final = re.compile(r"-SUN(?=\b[^\s]*$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CronDays:
    """The day fields. Numbers of weekdays are cron's own: 0 and 7 are Sunday."""

    months: frozenset[int]
    days: frozenset[int]
    weekdays: frozenset[int | tuple[int, int]]
    both: bool
    """Whether a day has to match both fields: one of them begins with a star. Otherwise either is enough."""

    def in_month(self, year: int, month: int) -> tuple[int, ...]:
        if month not in self.months:
            return ()
        length = month_length(year, month)
        weekday = calendar.weekday(year, month, 1) + 1
        found = []
        for day in range(1, length + 1):
            by_day = day in self.days or self._is_last(day, length, year, month)
            by_weekday = self._matches((weekday + day - 1) % 7, day, length)
            if (by_day and by_weekday) if self.both else (by_day or by_weekday):
                found.append(day)
        return tuple(found)

    def _is_last(self, day: int, length: int, year: int, month: int) -> bool:
        if CronSim.LAST in self.days and day == length:
            return True
        if CronSim.LAST_WEEKDAY in self.days:
            last = calendar.weekday(year, month, length)
            return day == length - max(0, last - 4)
        return False

    def _matches(self, weekday: int, day: int, length: int) -> bool:
        for number in (0, 7) if weekday == 0 else (weekday,):
            if number in self.weekdays or (number, (day + 6) // 7) in self.weekdays:
                return True
            if (number, CronSim.LAST) in self.weekdays and day + 7 > length:
                return True
        return False


class _Fields(NamedTuple):
    days: CronDays
    times: Times
    any_hour: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron(CalendarRule):
    """A cron expression of five fields, or six with seconds first, or `@daily` and the like.

    Where the hour begins with a star, it keeps its rhythm through clock changes: every minute is every real minute.
    With given hours it keeps its local times, each once a day.
    """

    expression: str
    _any_hour: bool = field(default=False, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_any_hour", _read(self.expression).any_hour)
        CalendarRule.__post_init__(self)

    @property
    def text(self) -> str:
        return self.expression

    @property
    def follows_wall(self) -> bool:  # type: ignore[override]  # the one kind whose own values decide
        return not self._any_hour

    def _made_days(self) -> Days:
        return _read(self.expression).days

    def _made_times(self) -> Times:
        return _read(self.expression).times


@lru_cache(maxsize=4_096)
def _read(expression: str) -> _Fields:
    shown = ascii(expression)[:60]
    if len(expression) > _MAX_LENGTH:
        raise InvalidJobError(f"the cron expression {shown} is longer than {_MAX_LENGTH} characters")
    spelled = ALIASES.get(expression.lower(), expression)
    if spelled.startswith("@"):
        raise InvalidJobError(f"there is no {shown}: known are {', '.join(sorted(ALIASES))}")
    try:
        found = CronSim(_TO_SUNDAY.sub("-7", spelled), _LEAP_YEAR)
    except (CronSimError, ValueError, AssertionError) as error:
        raise InvalidJobError(
            f"the cron expression {shown} can't be read ({error}): give minute, hour, day, month and weekday, "
            "as in 0 9 * * mon-fri; a range goes upwards, and a day must be one that a month has"
        ) from None
    days = CronDays(frozenset(found.months), frozenset(found.days), frozenset(found.weekdays), found.day_and)
    times = of_fields(tuple(sorted(found.hours)), tuple(sorted(found.minutes)), tuple(sorted(found.seconds)))
    return _Fields(days, times, found.parts[2].startswith("*"))
