"""Short ways to write instants, and to ask a rule for those of a time."""

from datetime import UTC, datetime, timedelta

from bellringer.storage import rules

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def us(text: str) -> int:
    """`2026-03-29T01:30Z`, or with an offset, as microseconds."""
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)


def utc(at: int | None) -> str | None:
    """Microseconds as `2026-03-29T01:30Z`."""
    if at is None:
        return None
    moment = _EPOCH + timedelta(microseconds=at)
    return moment.isoformat(timespec="auto" if moment.second or moment.microsecond else "minutes")[:-6] + "Z"


def between(rule: rules.Rule, first: str, last: str) -> list[str | None]:
    """The due times from one instant up to another, in UTC."""
    found = rule.upcoming(us(first) - 1, rule.total(us(first), us(last)))
    assert not found or us(first) <= found[0] <= found[-1] <= us(last)
    return [utc(at) for at in found]


def local(rule: rules.Rule, first: str, number: int) -> list[str]:
    """So many due times later than an instant, in local time with its offset."""
    return [rule.moment(at).isoformat(timespec="minutes") for at in rule.upcoming(us(first), number)]


def wall(text: str) -> datetime:
    """`2026-01-31` or `2026-01-31T09:00` as a local time."""
    return datetime.fromisoformat(text)
