"""Recurrence rules of RFC 5545 (iCalendar). They are read with dateutil; when they come is worked out here."""

import re
from dataclasses import dataclass, field, replace
from datetime import UTC as UTC_ZONE
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, Self

from dateutil import rrule as dateutil_rrule

from ..errors import InvalidJobError
from . import zones
from .calendar_rules import CalendarRule
from .days import Days
from .intervals import Every
from .recurrence_days import WEEKDAY_CODES, RecurrenceDays
from .times import Times, of_fields
from .zones import DAY_US, SECOND_US

FREQUENCIES: Final = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY")
_DAY_PARTS: Final = ("BYMONTH", "BYWEEKNO", "BYYEARDAY", "BYMONTHDAY", "BYDAY", "BYSETPOS")
_TIME_PARTS: Final = ("BYHOUR", "BYMINUTE", "BYSECOND")
_OTHER_PARTS: Final = ("FREQ", "INTERVAL", "WKST", "COUNT", "UNTIL")
_UNIT_SECONDS: Final = {"HOURLY": 3_600, "MINUTELY": 60, "SECONDLY": 1}
_HIGHEST: Final = {"BYHOUR": 23, "BYMINUTE": 59, "BYSECOND": 59}
_HIGHEST_EITHER_WAY: Final = {"BYWEEKNO": 53, "BYYEARDAY": 366, "BYMONTHDAY": 31, "BYSETPOS": 366}
_SIGNED: Final = re.compile(r"[+-]?[0-9]{1,3}")
_NUMBERED_WEEKDAY: Final = re.compile(r"[+-]?[0-9]{1,2}[A-Z]{2}")
_MAX_LENGTH: Final = 1_024
_HUNDRED_YEARS: Final = {
    "YEARLY": 100,
    "MONTHLY": 1_200,
    "WEEKLY": 5_217,
    "DAILY": 36_525,
    "HOURLY": 36_525 * 24,
    "MINUTELY": 36_525 * 1_440,
    "SECONDLY": 36_525 * 86_400,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence(CalendarRule):
    """A recurrence rule, as `FREQ=WEEKLY;BYDAY=MO,WE;BYHOUR=9;BYMINUTE=0`. Its DTSTART is `start`.

    COUNT and UNTIL become `count` and `until`. What only repeats an elapsed time is an `Every`.
    """

    recurrence: str
    _by_hour: bool = field(default=True, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = _parts(self.recurrence)
        if isinstance(self.start, datetime):
            # Its due times are whole seconds; without that the first would lie before the start.
            object.__setattr__(self, "start", self.start.replace(microsecond=0))
        object.__setattr__(self, "_by_hour", "BYHOUR" in parts or parts["FREQ"] not in _UNIT_SECONDS)
        CalendarRule.__post_init__(self)

    @property
    def text(self) -> str:
        return f"RRULE:{self.recurrence}"

    @property
    def follows_wall(self) -> bool:  # type: ignore[override]  # the rule's own parts decide
        return self._by_hour

    def _made_days(self) -> Days:
        parts, begin = _parts(self.recurrence), self._start_local()
        frequency = parts["FREQ"] if parts["FREQ"] not in _UNIT_SECONDS else "DAILY"
        interval = _whole(parts, "INTERVAL") if parts["FREQ"] not in _UNIT_SECONDS else 1
        chosen = {name: parts[name] for name in (*_DAY_PARTS, "WKST") if name in parts}
        if not chosen.keys() & {"BYWEEKNO", "BYYEARDAY", "BYMONTHDAY", "BYDAY"}:
            if frequency == "YEARLY":
                chosen.setdefault("BYMONTH", str(begin.month))
                chosen["BYMONTHDAY"] = str(begin.day)
            elif frequency == "MONTHLY":
                chosen["BYMONTHDAY"] = str(begin.day)
            elif frequency == "WEEKLY":
                chosen["BYDAY"] = WEEKDAY_CODES[begin.weekday()]
        return RecurrenceDays(frequency, interval, tuple(chosen.items()), zones.local_of(begin) // DAY_US)

    def _made_times(self) -> Times:
        parts, begin = _parts(self.recurrence), self._start_local()
        given = {"BYHOUR": begin.hour, "BYMINUTE": begin.minute, "BYSECOND": begin.second}
        unit = parts["FREQ"] if parts["FREQ"] in _UNIT_SECONDS else None
        # What is smaller than the rule's own unit stands as in the start; what is larger is free.
        free = {"HOURLY": ("BYHOUR",), "MINUTELY": ("BYHOUR", "BYMINUTE"), "SECONDLY": _TIME_PARTS}
        sets: dict[str, tuple[int, ...]] = {}
        for name in _TIME_PARTS:
            if name in parts:
                sets[name] = tuple(sorted({int(value) for value in parts[name].split(",")}))
            elif unit is not None and name in free[unit]:
                sets[name] = tuple(range(_HIGHEST[name] + 1))
            else:
                sets[name] = (given[name],)
        if "BYSETPOS" in parts and len(sets["BYHOUR"]) * len(sets["BYMINUTE"]) * len(sets["BYSECOND"]) > 1:
            raise InvalidJobError(f"{self.recurrence}: BYSETPOS is understood for one time of day only")
        step = _whole(parts, "INTERVAL")
        if unit is not None and step > 1:
            sets = self._thinned(sets, unit, step, begin)
        return of_fields(sets["BYHOUR"], sets["BYMINUTE"], sets["BYSECOND"])

    def _thinned(
        self, sets: dict[str, tuple[int, ...]], unit: str, step: int, begin: datetime
    ) -> dict[str, tuple[int, ...]]:
        """Every other hour and the like, beside parts that choose days or times: the same on each day, or refused."""
        name = {"HOURLY": "BYHOUR", "MINUTELY": "BYMINUTE", "SECONDLY": "BYSECOND"}[unit]
        round_ = 24 if unit == "HOURLY" else 60
        if round_ % step:
            raise InvalidJobError(
                f"{self.recurrence}: beside other parts, an interval of {step} has to divide {round_}, and does not"
            )
        phase = {"HOURLY": begin.hour, "MINUTELY": begin.minute, "SECONDLY": begin.second}[unit]
        kept = tuple(value for value in sets[name] if (value - phase) % step == 0)
        if not kept:
            raise InvalidJobError(f"{self.recurrence} never comes: its interval passes over what its parts ask for")
        return {**sets, name: kept}

    def _anchored(self, now: int) -> Self:
        """Without a DTSTART what it does not say is as it is now, and it starts with the first that comes."""
        if self.start is not None:
            return self
        return replace(self, start=self._bound(now - now % SECOND_US))._from_first(now)


def recurrence(
    text: str, *, zone: str | None = None, start: datetime | None = None, until: datetime | None = None,
    count: int | None = None, jitter_us: int = 0,
) -> Recurrence | Every:  # fmt: skip
    """Read an RRULE, with or without `RRULE:`, and with a DTSTART line before it if there is one.

    Raises `InvalidJobError`. Of COUNT and `count`, and of UNTIL and `until`, the one that is given stands.
    """
    shown = ascii(text)[:60]
    if not isinstance(text, str):
        raise InvalidJobError(f"a recurrence rule is text, not {shown}")
    if len(text) > _MAX_LENGTH:
        raise InvalidJobError(f"the recurrence rule {shown} is longer than {_MAX_LENGTH} characters")
    rules: list[str] = []
    for line in text.replace("\\n", "\n").split():
        name, _, value = line.rpartition(":")
        name = name.upper()
        if name.startswith("DTSTART"):
            for parameter in line.rpartition(":")[0].split(";"):
                if parameter.upper().startswith("TZID="):
                    zone = parameter[len("TZID=") :]
            start = start or _moment(value, shown)
        elif name in ("", "RRULE"):
            rules.append(value.upper())
        else:
            raise InvalidJobError(f"{shown}: {name} is not understood; give one RRULE, and DTSTART if it has one")
    if len(rules) != 1:
        raise InvalidJobError(f"{shown}: give one RRULE, not {len(rules)}")
    parts = _parts(rules[0])
    if "COUNT" in parts and count is None:
        count = _whole(parts, "COUNT")
    if "UNTIL" in parts and until is None:
        until = _moment(parts["UNTIL"], shown, end_of_day=True)
    bounds = ("COUNT", "UNTIL", *(("INTERVAL",) if parts["INTERVAL"] == "1" else ()))
    kept = ";".join(f"{name}={value}" for name, value in parts.items() if name not in bounds)
    unit_seconds = _UNIT_SECONDS.get(parts["FREQ"])
    if unit_seconds is not None and not parts.keys() & {*_DAY_PARTS, *_TIME_PARTS}:
        interval_us = _whole(parts, "INTERVAL") * unit_seconds * SECOND_US
        return Every(
            interval_us=interval_us, zone=zone, start=start, until=until, count=count, jitter_us=jitter_us
        )  # fmt: skip
    return Recurrence(recurrence=kept, zone=zone, start=start, until=until, count=count, jitter_us=jitter_us)


@lru_cache(maxsize=4_096)
def _parts(text: str) -> dict[str, str]:
    shown = ascii(text)[:60]
    parts: dict[str, str] = {}
    for part in text.rstrip(";").split(";"):
        name, equals, value = part.partition("=")
        if not equals or not value or name in parts or name not in (*_OTHER_PARTS, *_DAY_PARTS, *_TIME_PARTS):
            raise InvalidJobError(f"{shown}: the part {part[:30]!r} is not understood, or stands there twice")
        parts[name] = value
    if parts.get("FREQ") not in FREQUENCIES:
        raise InvalidJobError(f"{shown}: FREQ must be one of {', '.join(FREQUENCIES)}")
    if "COUNT" in parts and "UNTIL" in parts:
        raise InvalidJobError(f"{shown}: COUNT and UNTIL exclude each other")
    parts.setdefault("INTERVAL", "1")
    if not 1 <= _whole(parts, "INTERVAL") <= _HUNDRED_YEARS[parts["FREQ"]]:
        raise InvalidJobError(f"{shown}: INTERVAL must be at least 1, and not beyond a hundred years")
    for name, highest in _HIGHEST.items():
        for value in parts.get(name, "0").split(","):
            if not value.isdecimal() or int(value) > highest:
                raise InvalidJobError(f"{shown}: {name} must be numbers from 0 to {highest}")
    for name, highest in _HIGHEST_EITHER_WAY.items():
        for value in parts.get(name, "1").split(","):
            if not _SIGNED.fullmatch(value) or not 1 <= abs(int(value)) <= highest:
                raise InvalidJobError(f"{shown}: {name} must be numbers from 1 to {highest}, or negative ones")
    for value in parts.get("BYMONTH", "1").split(","):
        if not value.isdecimal() or not 1 <= int(value) <= 12:
            raise InvalidJobError(f"{shown}: BYMONTH must be numbers from 1 to 12")
    _check_weekdays(parts, shown)
    try:
        dateutil_rrule.rrulestr(
            ";".join(f"{name}={value}" for name, value in parts.items() if name not in ("COUNT", "UNTIL")),
            dtstart=datetime(2024, 1, 1),  # noqa: DTZ001  only read, not run
        )
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise InvalidJobError(f"{shown} can't be read ({error})") from None
    return parts


def _check_weekdays(parts: dict[str, str], shown: str) -> None:
    for value in parts.get("BYDAY", "MO").split(","):
        if value in WEEKDAY_CODES:
            continue
        if not _NUMBERED_WEEKDAY.fullmatch(value) or value[-2:] not in WEEKDAY_CODES or not int(value[:-2]):
            raise InvalidJobError(f"{shown}: BYDAY must be weekdays, as MO, 2TU or -1FR")
        if parts["FREQ"] not in ("YEARLY", "MONTHLY") or "BYWEEKNO" in parts:
            raise InvalidJobError(f"{shown}: {value} counts weekdays, which means something by month or year only")


def _whole(parts: dict[str, str], name: str) -> int:
    value = parts.get(name, "1")
    if not value.isdecimal() or len(value) > 12:
        raise InvalidJobError(f"{name}={value[:30]} must be a whole number")
    return int(value)


def _moment(text: str, shown: str, *, end_of_day: bool = False) -> datetime:
    """`20261225T080000`, the same with Z for UTC, or a date."""
    for form in ("%Y%m%dT%H%M%SZ", "%Y%m%dT%H%M%S", "%Y%m%d"):
        try:
            found = datetime.strptime(text.upper(), form)  # noqa: DTZ007  local, unless Z says otherwise
        except ValueError:
            continue
        if form.endswith("Z"):
            return found.replace(tzinfo=UTC_ZONE)
        return found + timedelta(days=1, microseconds=-1) if form == "%Y%m%d" and end_of_day else found
    raise InvalidJobError(f"{shown}: {text[:30]} is no date; write 20261225T080000, with Z behind it for UTC")
