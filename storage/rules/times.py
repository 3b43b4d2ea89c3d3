"""The times of day of a calendar rule, as microseconds since local midnight."""

from bisect import bisect_left, bisect_right
from typing import Final, NamedTuple, Protocol

from .zones import DAY_US, SECOND_US

MINUTE_US: Final = 60 * SECOND_US


class Times(Protocol):
    """At least one time of day."""

    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...
    @property
    def total(self) -> int: ...

    def from_(self, us: int) -> int | None:
        """The earliest at or after."""
        ...

    def up_to(self, us: int) -> int | None:
        """The latest at or before."""
        ...

    def before(self, us: int) -> int:
        """How many come earlier."""
        ...


class ListedTimes(NamedTuple):
    """Times that are given one by one, in order."""

    times: tuple[int, ...]

    @property
    def first(self) -> int:
        return self.times[0]

    @property
    def last(self) -> int:
        return self.times[-1]

    @property
    def total(self) -> int:
        return len(self.times)

    def from_(self, us: int) -> int | None:
        place = bisect_left(self.times, us)
        return self.times[place] if place < len(self.times) else None

    def up_to(self, us: int) -> int | None:
        place = bisect_right(self.times, us)
        return self.times[place - 1] if place else None

    def before(self, us: int) -> int:
        return bisect_left(self.times, us)


class SecondsOfMinutes(NamedTuple):
    """The same seconds in each of some minutes of the day, both in order: a day of seconds costs 1,440 numbers."""

    minutes: tuple[int, ...]
    seconds: tuple[int, ...]

    @property
    def first(self) -> int:
        return self.minutes[0] * MINUTE_US + self.seconds[0] * SECOND_US

    @property
    def last(self) -> int:
        return self.minutes[-1] * MINUTE_US + self.seconds[-1] * SECOND_US

    @property
    def total(self) -> int:
        return len(self.minutes) * len(self.seconds)

    def from_(self, us: int) -> int | None:
        number = self.before(us)
        return self._at(number) if number < self.total else None

    def up_to(self, us: int) -> int | None:
        number = self.before(us + 1)
        return self._at(number - 1) if number else None

    def before(self, us: int) -> int:
        minute, rest = divmod(us, MINUTE_US)
        place = bisect_left(self.minutes, minute)
        number = place * len(self.seconds)
        if place < len(self.minutes) and self.minutes[place] == minute:
            number += bisect_left(self.seconds, -(-rest // SECOND_US))
        return number

    def _at(self, number: int) -> int:
        minute, second = divmod(number, len(self.seconds))
        return self.minutes[minute] * MINUTE_US + self.seconds[second] * SECOND_US


def of_fields(hours: tuple[int, ...], minutes: tuple[int, ...], seconds: tuple[int, ...]) -> Times:
    """Each of these seconds in each of these minutes of each of these hours."""
    return SecondsOfMinutes(tuple(hour * 60 + minute for hour in hours for minute in minutes), seconds)


def is_time(us: int) -> bool:
    return 0 <= us < DAY_US
