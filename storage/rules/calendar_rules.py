"""Rules that follow the clock on the wall: daily, weekly, monthly and yearly, at local times of day."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ClassVar, Final, Self

from ..errors import InvalidJobError
from . import days as calendar_days
from . import zones
from .base import Rule
from .days import DayOfMonth, Days, MonthDay, MonthDays, NthWeekday, WeekDays, YearDays
from .times import ListedTimes, Times, is_time
from .zones import DAY_US, SECOND_US

WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarRule(Rule):
    """Days and times of day. Each local day and time comes once, whatever the clocks do."""

    _days: Days = field(default_factory=calendar_days.EveryDay, init=False, repr=False, compare=False)
    _times: Times = field(default_factory=lambda: ListedTimes((0,)), init=False, repr=False, compare=False)

    follows_wall = True
    """False: its local times have no date of their own, so that they come as often as the local clock shows them."""

    def __post_init__(self) -> None:
        Rule.__post_init__(self)
        object.__setattr__(self, "_days", calendar_days.Remembered(self._made_days()))
        object.__setattr__(self, "_times", self._made_times())

    def in_zone(self, zone: str) -> Self:
        """The same local times in another zone. What keeps the clock's rhythm begins and ends at the same instants."""
        if self.follows_wall or self.zone is None:
            return replace(self, zone=zone)
        start, until, last = (
            None if bound is None else zones.moment(self._instant(bound))
            for bound in (self.start, self.until, self.last)
        )
        return replace(self, zone=zone, start=start, until=until, last=last)

    @abstractmethod
    def _made_days(self) -> Days: ...

    @abstractmethod
    def _made_times(self) -> Times: ...

    def _grid_next(self, after: int) -> int | None:
        there = zones.zone(self.zone or zones.UTC)
        best: int | None = None
        limit = max(after, 0) + calendar_days.FAR_US
        for start_at, end_at, shift in there.wall(after + 1) if self.follows_wall else there.real(after + 1):
            if start_at >= limit or (best is not None and start_at >= best):
                break
            local = self._first(max(start_at, after + 1) + shift, end_at + shift)
            if local is not None and (best is None or local - shift < best):
                best = local - shift
        return best

    def _grid_previous(self, at: int) -> int | None:
        there = zones.zone(self.zone or zones.UTC)
        best: int | None = None
        limit = min(at, zones.MAX_INSTANT) - calendar_days.FAR_US
        for start_at, end_at, shift in there.wall_before(at) if self.follows_wall else there.real_before(at):
            if end_at <= limit or (best is not None and end_at <= best):
                break
            local = self._last(start_at + shift, min(end_at - 1, at) + shift)
            if local is not None and (best is None or local - shift > best):
                best = local - shift
        return best

    def _grid_total(self, first: int, last: int) -> int:
        there = zones.zone(self.zone or zones.UTC)
        total = 0
        before: zones.Piece | None = None
        for piece in there.wall(first) if self.follows_wall else there.real(first):
            start_at, end_at, shift = piece
            if start_at > last:
                break
            low, high = max(start_at, first) + shift, min(end_at - 1, last) + shift
            total += self._count(low, high)
            if before is not None and before.start_at == start_at and before.shift != shift:
                total -= self._coinciding(before, shift, first, last)
            before = piece
        return total

    def _coinciding(self, skipped: zones.Piece, shift: int, first: int, last: int) -> int:
        """How many of the skipped local times fall on an instant that is due by its own local time too."""
        same = 0
        place = max(skipped.start_at, first) + skipped.shift
        end = min(skipped.end_at - 1, last) + skipped.shift
        ahead = shift - skipped.shift
        while (local := self._first(place, end + 1)) is not None:
            same += self._first(local + ahead, local + ahead + 1) is not None
            place = local + 1
        return same

    # Local times, as integers

    def _first(self, low: int, end: int) -> int | None:
        """The first from `low` on and before `end`."""
        day, time = divmod(low, DAY_US)
        last = (end - 1) // DAY_US
        found = calendar_days.from_day(self._days, day, last)
        if found == day:
            at = self._times.from_(time)
            if at is not None:
                local = day * DAY_US + at
                return local if local < end else None
            found = calendar_days.from_day(self._days, day + 1, last)
        if found is None:
            return None
        local = found * DAY_US + self._times.first
        return local if local < end else None

    def _last(self, low: int, high: int) -> int | None:
        """The last up to `high`, but not before `low`."""
        day, time = divmod(high, DAY_US)
        first = low // DAY_US
        found = calendar_days.up_to_day(self._days, first, day)
        if found == day:
            at = self._times.up_to(time)
            if at is not None:
                local = day * DAY_US + at
                return local if local >= low else None
            found = calendar_days.up_to_day(self._days, first, day - 1)
        if found is None:
            return None
        local = found * DAY_US + self._times.last
        return local if local >= low else None

    def _count(self, low: int, high: int) -> int:
        """How many from `low` to `high`, both included."""
        if low > high:
            return 0
        first, low_time = divmod(low, DAY_US)
        last, high_time = divmod(high + 1, DAY_US)
        times = self._times
        total = calendar_days.count_days(self._days, first, last) * times.total
        if calendar_days.from_day(self._days, first, first) == first:
            total -= times.before(low_time)
        if calendar_days.from_day(self._days, last, last) == last:
            total -= times.total - times.before(high_time)
        return total

    def _start_local(self) -> datetime:
        """The start by the clock on the wall."""
        start = zones.naive(0) if self.start is None else self.start
        if start.tzinfo is None:
            return start
        return zones.naive(zones.zone(self.zone or zones.UTC).local(self._instant(start)))

    def _anchor_day(self) -> int:
        return zones.local_of(self._start_local()) // DAY_US


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesOfDayRule(CalendarRule):
    """Days at given times; `interval` 2 is every other day, week, month or year, counted from `start`."""

    times: tuple[int, ...]
    """Microseconds since local midnight, in order."""
    interval: int = 1

    longest_interval: ClassVar[int] = 1_000

    def __post_init__(self) -> None:
        if not self.times or not all(map(is_time, self.times)):
            raise InvalidJobError("a rule needs times of day, from 00:00 up to 23:59:59, as in daily 09:00")
        object.__setattr__(self, "times", tuple(sorted(set(self.times))))
        if not 1 <= self.interval <= self.longest_interval:
            raise InvalidJobError(f"the interval is {self.interval}, but must be from 1 to {self.longest_interval}")
        CalendarRule.__post_init__(self)

    def _made_times(self) -> Times:
        return ListedTimes(self.times)

    def _anchored(self, now: int) -> Self:
        """Every other one is counted from the first that comes."""
        if self.interval == 1 or self.start is not None:
            return self
        first = replace(self, interval=1, count=None)._next(now)
        return self if first is None else replace(self, start=self._bound(first - self.share_us))

    def _named(self, word: str, *parts: str) -> str:
        step = f"/{self.interval}" if self.interval > 1 else ""
        return " ".join([word + step, *parts, ",".join(map(shown_time, self.times))])


@dataclass(frozen=True, slots=True, kw_only=True)
class Daily(TimesOfDayRule):
    """Every day, or every `interval` days, at these times."""

    @property
    def text(self) -> str:
        return self._named("daily")

    def _made_days(self) -> Days:
        return calendar_days.EveryDay(self.interval, self._anchor_day() if self.interval > 1 else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weekly(TimesOfDayRule):
    """On these weekdays (Monday is 0) of every `interval` weeks, at these times."""

    weekdays: tuple[int, ...]

    @property
    def text(self) -> str:
        return self._named("weekly", ",".join(WEEKDAYS[day] for day in self.weekdays))

    def _made_days(self) -> Days:
        if not self.weekdays or not all(0 <= day <= 6 for day in self.weekdays):
            raise InvalidJobError("a weekly rule needs weekdays, as in weekly mon,fri 09:00")
        object.__setattr__(self, "weekdays", tuple(sorted(set(self.weekdays))))
        return WeekDays(self.weekdays, self.interval, self._anchor_day() if self.interval > 1 else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Monthly(TimesOfDayRule):
    """On these days of every `interval` months. A month without the day is passed over, unless it is `or_last`."""

    days: tuple[DayOfMonth, ...]

    @property
    def text(self) -> str:
        return self._named("monthly", ",".join(map(shown_day, self.days)))

    def _made_days(self) -> Days:
        if not self.days:
            raise InvalidJobError("a monthly rule needs days, as in monthly last 09:00")
        for day in self.days:
            check_day(day)
        start = self._start_local()
        return MonthDays(self.days, self.interval, start.year * 12 + start.month - 1 if self.interval > 1 else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Yearly(TimesOfDayRule):
    """On these days, each with its month, of every `interval` years. 29 February comes in leap years only."""

    days: tuple[tuple[int, DayOfMonth], ...]

    longest_interval: ClassVar[int] = 100

    @property
    def text(self) -> str:
        return self._named("yearly", ",".join(f"{month:02}-{shown_day(day, width=2)}" for month, day in self.days))

    def _made_days(self) -> Days:
        if not self.days:
            raise InvalidJobError("a yearly rule needs dates, as in yearly 12-25 09:00")
        for month, day in self.days:
            if not 1 <= month <= 12:
                raise InvalidJobError(f"there is no month {month}: they go from 1 to 12")
            check_day(day, month)
        return YearDays(self.days, self.interval, self._start_local().year if self.interval > 1 else 0)


def check_day(day: DayOfMonth, month: int | None = None) -> None:
    """Raises `InvalidJobError` for a day that no month has, or not this one, in any year."""
    if isinstance(day, NthWeekday):
        if day.nth == 0 or not -5 <= day.nth <= 5 or not 0 <= day.weekday <= 6:
            raise InvalidJobError("give the first to fifth or the last of a weekday, as in monthly 2nd-tue 09:00")
        return
    longest = 31 if month is None else calendar_days.month_length(2024, month)
    if not (1 <= abs(day.day) <= longest or (day.or_last and 1 <= day.day <= 31)):
        where = "any month" if month is None else f"month {month}"
        raise InvalidJobError(f"there is no day {day.day} in {where}, in any year")


def shown_time(us: int) -> str:
    seconds, rest = divmod(us, SECOND_US)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}"
    if seconds % 60 or rest:
        text += f":{seconds % 60:02}"
    return f"{text}.{rest:06}" if rest else text


def shown_day(day: DayOfMonth, width: int = 1) -> str:
    if isinstance(day, NthWeekday):
        nth = "last" if day.nth == -1 else ("1st", "2nd", "3rd", "4th", "5th")[day.nth - 1] if day.nth > 0 else day.nth
        return f"{nth}-{WEEKDAYS[day.weekday]}"
    if day == MonthDay(-1):
        return "last"
    return f"{day.day:0{width}}" + ("-or-last" if day.or_last else "")
