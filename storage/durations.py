"""Durations as they are given, seconds or timedeltas, as whole microseconds; and values as messages show them."""

import math
from datetime import timedelta

import pendulum

from .errors import InvalidJobError

Duration = int | float | timedelta

_MICROSECOND = timedelta(microseconds=1)


def microseconds(value: object, what: str) -> int:
    """Raises `InvalidJobError` for what is no fixed time, such as a month, and for what is no number."""
    if _is_calendar_time(value):
        raise InvalidJobError(
            f"{what} counts months or years, which are no fixed time: give days, or compute the instant first, "
            f"as in pendulum.now().add(months=1)"
        )
    if isinstance(value, timedelta):
        return timedelta.__floordiv__(value, _MICROSECOND)
    if type(value) is int:
        return value * 1_000_000
    if type(value) is float and math.isfinite(value):
        return round(value * 1_000_000) if abs(value) < 1e15 else int(value) * 1_000_000
    raise InvalidJobError(f"{what} is {shown(value)}, but must be a number of seconds or a duration")


def _is_calendar_time(value: object) -> bool:
    if not isinstance(value, pendulum.Duration) or isinstance(value, pendulum.Interval):
        return False
    return bool(value.years or value.months)


def shown(value: object) -> str:
    """A value for a message: short, and printable whatever it holds."""
    if isinstance(value, (str, bytes, bytearray)):
        value = value[:61]
    elif isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return f"a whole number of {value.bit_length()} bits"
    elif isinstance(value, (list, tuple, dict, set, frozenset)):
        return f"a {type(value).__name__} of {len(value)}"
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
