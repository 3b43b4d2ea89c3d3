"""The door: every input is checked here, once, before anything is stored. Pure functions.

All raise `InvalidJobError` with a sentence that says what was given and what is accepted. Nothing is changed on
the way in: an id or a text that is accepted is stored as it came.
"""

import json
import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Final

from .durations import Duration, microseconds, shown
from .errors import InvalidJobError
from .rules.intervals import MAXIMUM_INTERVAL_US as MAX_INTERVAL_US
from .rules.intervals import MINIMUM_INTERVAL_US as MIN_INTERVAL_US
from .rules.zones import MAX_INSTANT
from .values import CatchUp, ChatId, Delivery, JobSpec, Misfire, Overlap

MAX_TEXT: Final = 512
MAX_PAYLOAD_BYTES: Final = 1_048_576
MAX_PAYLOAD_DEPTH: Final = 200
MAX_ATTEMPTS: Final = 1_000_000
MAX_CATCH_UP: Final = 1_000
DEFAULT_CATCH_UP: Final = 100
MAX_PARALLEL: Final = 1_000
DEFAULT_TIME_LIMIT_US: Final = 60_000_000

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_DELIVERIES: Final = {choice.value: choice.value for choice in Delivery}
_MISFIRES: Final = {choice.value: choice.value for choice in Misfire}
_CATCH_UPS: Final = {choice.value: choice.value for choice in CatchUp}
_OVERLAPS: Final = {choice.value: choice.value for choice in Overlap}
_ONE: Final = (CatchUp.ONE.value, None)
_QUEUE_ONE: Final = (Overlap.QUEUE_ONE.value, None)
_NUMBERED: Final = re.compile(r"(\w+)\(\s*([0-9]{1,9})\s*\)")
_encode: Final = json.JSONEncoder(
    allow_nan=False, ensure_ascii=False, check_circular=False, separators=(",", ":")
).encode
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_TEXT: Final = frozenset({str})
_HINTS: Final = {
    "tuple": "give a list",
    "set": "give a list",
    "frozenset": "give a list",
    "bytes": "give text, such as base64",
    "bytearray": "give text, such as base64",
    "datetime": "give its isoformat()",
    "DateTime": "give its isoformat()",
    "date": "give its isoformat()",
    "Decimal": "give text",
    "UUID": "give text",
}


def job_id(value: object) -> str:
    """The id, byte for byte as it came."""
    return _text(value, "a job's id")


def handler_name(value: object) -> str:
    return _text(value, "a handler's name")


def chat_key(value: object, what: str) -> ChatId | None:
    """A chat, user or thread. The number 42 and the text "42" are two different ones."""
    if value is None:
        return None
    if type(value) is int:
        if -(2**63) <= value < 2**63:
            return value
        raise InvalidJobError(f"{what} is {shown(value)}, but must fit into 64 bits")
    if isinstance(value, str):
        return _text(value, what)
    raise InvalidJobError(f"{what} is {shown(value)}, but must be a whole number, text or None")


def instant(at: object, what: str) -> int:
    """An aware datetime as microseconds since the epoch, exact to the microsecond."""
    if not isinstance(at, datetime):
        raise InvalidJobError(f"{what} is {shown(at)}, but must be a datetime with a time zone")
    if at.utcoffset() is None:
        raise InvalidJobError(
            f"{what} is {at.isoformat()} without a time zone, so it names no instant: give it one, as in "
            f"pendulum.instance(value, tz='Europe/Berlin')"
        )
    us = timedelta.__floordiv__(datetime.__sub__(at, _EPOCH), _MICROSECOND)
    # The words are made only where they are needed: this is asked for every job.
    return us if 0 <= us <= MAX_INSTANT else in_range(us, f"{what} is {at.isoformat()}")


def interval_us(value: object, what: str) -> int:
    """Seconds, or a timedelta, as microseconds: from a millisecond up to a hundred years."""
    us = microseconds(value, what)
    if not MIN_INTERVAL_US <= us <= MAX_INTERVAL_US:
        raise InvalidJobError(f"{what} is {shown(value)}, but must be from 1 millisecond to 36525 days")
    return us


def span_us(value: object, what: str) -> int:
    """A duration of zero or more."""
    us = microseconds(value, what)
    if us < 0:
        raise InvalidJobError(f"{what} is {shown(value)}, but must not be below zero")
    return in_range(us, f"{what} is {shown(value)}")


def delay_us(value: object, what: str, now: int = 0) -> int:
    """Like an interval, but zero and less mean at once. What leads from `now` past year 9999 is refused."""
    us = max(0, microseconds(value, what))
    in_range(now + us, f"{what} is {shown(value)}")
    return us


def payload_text(payload: object) -> str:
    """The payload as JSON text from which exactly the same value is read again."""
    _check_json(payload)
    try:
        text = _encode(payload)
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError:
        raise InvalidJobError(
            "the payload holds a lone surrogate (half of an emoji, perhaps from cut text): remove it"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InvalidJobError(
            f"the payload can't be stored as JSON ({error}): NaN, infinities and endless numbers are no JSON"
        ) from None
    if size > MAX_PAYLOAD_BYTES:
        raise _too_large()
    return text


def job_spec(
    job_id: object,
    handler: object,
    *,
    due_at: int,
    payload: object = None,
    chat_id: object = None,
    user_id: object = None,
    thread_id: object = None,
    rule: str | None = None,
    zone: str | None = None,
    local_at: str | None = None,
    delivery: str = Delivery.AT_MOST_ONCE,
    misfire: str = Misfire.RUN_LATE,
    grace: Duration | None = None,
    catch_up: str = CatchUp.ONE,
    overlap: str = Overlap.QUEUE_ONE,
    stale_after: Duration | None = None,
    attempts: int | None = None,
    time_limit: Duration | None = None,
    due_until: int | None = None,
) -> JobSpec:
    """A job as it may be stored. `due_at`, `rule`, `zone` and `local_at` are made by `planning.plan`.

    `catch_up` is `none`, `one`, `all` or `all(n)`; `overlap` is `skip`, `queue_one` or `parallel(n)`.
    """
    try:
        return JobSpec(
            _text(job_id, "a job's id"),
            _text(handler, "a handler's name"),
            due_at
            if type(due_at) is int and 0 <= due_at <= MAX_INSTANT
            else in_range(due_at, f"its due time is {shown(due_at)}"),
            "null" if payload is None else payload_text(payload),
            chat_id if chat_id is None else chat_key(chat_id, "chat_id"),
            user_id if user_id is None else chat_key(user_id, "user_id"),
            thread_id if thread_id is None else chat_key(thread_id, "thread_id"),
            rule,
            _choice(delivery, _DELIVERIES, "delivery"),
            _choice(misfire, _MISFIRES, "misfire"),
            None if grace is None else span_us(grace, "grace"),
            None if attempts is None else _count(attempts),
            DEFAULT_TIME_LIMIT_US if time_limit is None else interval_us(time_limit, "time_limit"),
            due_until,
            zone,
            local_at,
            *(_ONE if catch_up == CatchUp.ONE else _numbered(catch_up, _CATCH_UPS, "catch_up", MAX_CATCH_UP)),
            *(_QUEUE_ONE if overlap == Overlap.QUEUE_ONE else _overlap(overlap, chat_id)),
            None if stale_after is None else span_us(stale_after, "stale_after"),
        )
    except InvalidJobError as error:
        raise InvalidJobError(f"job {shown(job_id)}: {error}") from None


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise InvalidJobError(f"{what} is {shown(value)}, but must be text")
    if not 1 <= len(value) <= MAX_TEXT:
        raise InvalidJobError(f"{what} has {len(value)} characters, but must have 1 to {MAX_TEXT}")
    if "\0" in value:
        raise InvalidJobError(f"{what} is {shown(value)}, but must not hold NUL")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidJobError(f"{what} is {shown(value)}, but must not hold a lone surrogate") from None
    return value if type(value) is str else str.__str__(value)


def in_range(us: object, what: str) -> int:
    """An instant that can be stored."""
    if type(us) is not int or not 0 <= us <= MAX_INSTANT:
        raise InvalidJobError(f"{what}, but must lie in the years 1970 to 9999")
    return us


def _choice(value: object, choices: dict[str, str], what: str) -> str:
    try:
        return choices[value]  # type: ignore[index]
    except (KeyError, TypeError):
        raise InvalidJobError(f"{what} is {shown(value)}, but must be one of {', '.join(choices)}") from None


def _numbered(value: object, choices: dict[str, str], what: str, most: int) -> tuple[str, int | None]:
    """`one` as it is, and `all(10)` as `all` and 10. What takes a number is `all` and `parallel`."""
    text = value if isinstance(value, str) else ""
    if text in choices and text not in (CatchUp.ALL, Overlap.PARALLEL):
        return choices[text], None
    found = _NUMBERED.fullmatch(text)
    kind, number = (found[1], int(found[2])) if found else (text, DEFAULT_CATCH_UP)
    if kind not in (CatchUp.ALL, Overlap.PARALLEL) or kind not in choices or (kind == Overlap.PARALLEL and not found):
        forms = ", ".join(f"{form}(n)" if form in (CatchUp.ALL, Overlap.PARALLEL) else form for form in choices)
        raise InvalidJobError(f"{what} is {shown(value)}, but must be one of {forms}")
    if not 1 <= number <= most:
        raise InvalidJobError(f"{what} is {shown(value)}, but the number must be from 1 to {most}")
    return str(kind), number


def _overlap(value: object, chat_id: object) -> tuple[str, int | None]:
    overlap, most = _numbered(value, _OVERLAPS, "overlap", MAX_PARALLEL)
    if most is not None and most > 1 and chat_id is not None:
        raise InvalidJobError(
            f"overlap is {value}, but jobs of one chat run one at a time: leave it out, or schedule without a chat_id"
        )
    return overlap, most


def _count(value: object) -> int:
    if type(value) is not int or not 1 <= value <= MAX_ATTEMPTS:
        raise InvalidJobError(f"attempts is {shown(value)}, but must be a whole number from 1 to {MAX_ATTEMPTS}")
    return value


def _check_json(payload: object) -> None:
    """Walk the containers only: which types lie in each is found at the speed of C.

    The size is counted from below on the way, so that the huge, the endless and the exponential end early.
    """
    if type(payload) in _PLAIN:
        if type(payload) is str and len(payload) > MAX_PAYLOAD_BYTES:
            raise _too_large()
        return
    level: list[object] = [payload]
    smallest = 0
    for _ in range(MAX_PAYLOAD_DEPTH):
        below: list[object] = []
        for container in level:
            inside: Collection[object]
            kind = type(container)
            if kind is dict:
                assert isinstance(container, dict)
                if not _TEXT.issuperset(map(type, container)):
                    raise _not_json(next(key for key in container if type(key) is not str), "as a key")
                smallest += 5 * len(container) + 2
                inside = container.values()
            elif kind is list:
                assert isinstance(container, list)
                smallest += 2 * len(container) + 2
                inside = container
            else:
                raise _not_json(container, "")
            if smallest > MAX_PAYLOAD_BYTES + 2:
                raise _too_large()
            types = set(map(type, inside))
            if str in types:
                smallest += sum(len(value) for value in inside if type(value) is str)
            if not _PLAIN.issuperset(types):
                below.extend(value for value in inside if type(value) not in _PLAIN)
        if smallest > MAX_PAYLOAD_BYTES + 2:
            raise _too_large()
        if not below:
            return
        level = below
    raise InvalidJobError(f"the payload is nested deeper than {MAX_PAYLOAD_DEPTH} levels, or holds itself")


def _not_json(value: object, where: str) -> InvalidJobError:
    kind = type(value).__name__
    hint = "give text" if where else _HINTS.get(kind, "give plain dict, list, str, int, float, bool or None")
    return InvalidJobError(
        f"the payload holds {shown(value)} ({kind}) {where}".rstrip()
        + f", which would not come back from JSON as it is: {hint}"
    )


def _too_large() -> InvalidJobError:
    return InvalidJobError(
        f"the payload is larger than {MAX_PAYLOAD_BYTES} bytes (1 MiB) of JSON: store it elsewhere and schedule its key"
    )
