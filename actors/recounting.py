"""What happened to each occurrence, in sentences: how late it was and why, and how it ended. Functions of values."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import groupby
from typing import Final

from ..handlers.phrases import tell_duration
from ..storage import rules
from ..storage.rules.zones import UTC
from ..storage.values import OccurrenceRow, Outage, Outcome
from .policy import LATE_AFTER_US

HELD: Final = "held: "
"""What the reason of a run begins with that had been held up; what held it up follows."""

_OUTAGES_TOLD: Final = 3


def recounted(past: Sequence[OccurrenceRow], outages: Sequence[Outage], zone: str | None) -> list[str]:
    """A sentence for each occurrence, in the given order; those of which there is nothing to say share one."""
    sentences: list[str] = []
    for is_plain, group in groupby(past, _is_plain):
        rows = list(group)
        if is_plain and len(rows) > 1:
            first, last = told(rows[0].due_at, zone), told(rows[-1].due_at, zone)
            sentences.append(f"{len(rows):,} due times, from {first} to {last}, ran on time, and are done")
        else:
            sentences += [_happened(row, outages, zone) for row in rows]
    return sentences


def _is_plain(row: OccurrenceRow) -> bool:
    """Whether there is nothing to be said of it."""
    return (
        row.outcome == Outcome.DONE
        and row.count == 1
        and row.attempts == 1
        and row.started_at is not None
        and row.late_by_us <= LATE_AFTER_US
    )


def _happened(row: OccurrenceRow, outages: Sequence[Outage], zone: str | None) -> str:
    if row.count > 1:
        return _happened_to_many(row, outages, zone)
    due = f"Due {told(row.due_at, zone)}"
    if row.outcome == Outcome.SKIPPED:
        return f"{due}: skipped: {_reason(row, 'skipped: ')}"
    if row.outcome == Outcome.CANCELLED:
        return f"{due}: cancelled{_colon(row.reason)}"
    if row.started_at is None:
        return f"{due}: {row.outcome}{_colon(row.reason)}"
    ran = _ran(row, outages, zone)
    tries = f" at attempt {row.attempts}" if row.attempts > 1 else ""
    match row.outcome:
        case Outcome.DONE:
            return f"{due}: {ran}, and is done{tries}"
        case Outcome.FAILED:
            return f"{due}: {ran}, and failed{tries}{_colon(row.reason)}"
        case _:
            return f"{due}: {ran}, and was interrupted{tries}{_colon(row.reason)}"


def _happened_to_many(row: OccurrenceRow, outages: Sequence[Outage], zone: str | None) -> str:
    last = row.due_at if row.last_due_at is None else row.last_due_at
    sentence = (
        f"{row.count:,} due times were {row.outcome}, from {told(row.due_at, zone)} to {told(last, zone)}: "
        f"{_reason(row, 'skipped: ')}"
    )
    known = of_outages(outages, row.due_at, row.finished_at, zone)
    return f"{sentence}, because {known}" if known else sentence


def _ran(row: OccurrenceRow, outages: Sequence[Outage], zone: str | None) -> str:
    assert row.started_at is not None
    if row.late_by_us <= LATE_AFTER_US:
        return "ran on time"
    causes = [of_outages(outages, row.due_at, row.started_at, zone)]
    if row.reason is not None and row.reason.startswith(HELD):
        causes.append(of_hold(row.reason.removeprefix(HELD)))
    if row.attempts > 1:
        causes.append("attempts before had failed or asked for another")
    known = " and ".join(cause for cause in causes if cause)
    late = f"ran late by {tell_duration(row.late_by_us)}"
    return f"{late} because {known}" if known else f"{late}: no host had begun it before"


def of_outages(outages: Sequence[Outage], since: int, until: int, zone: str | None) -> str:
    """Why nothing ran at some time within a stretch, as far as outages tell; empty where none does."""
    known = [outage for outage in outages if outage.began_at < until and outage.ended_at > since]
    parts = []
    for outage in known[-_OUTAGES_TOLD:]:
        what = "the machine slept or its clock jumped" if outage.kind == "jump" else "nothing was running"
        parts.append(f"{what} from {told(outage.began_at, zone)} to {told(outage.ended_at, zone)}")
    if len(known) > len(parts):
        parts.append(f"so it was {len(known) - len(parts):,} times before that")
    return " and ".join(parts)


def of_hold(held: str) -> str:
    """What held a run up, in words."""
    kind, _, name = held.partition(":")
    match kind:
        case "handler":
            return f"it waited for the handler {name!r}, which no host knew"
        case "lane":
            return "another job of its chat ran"
        case "pause":
            return "it was paused"
        case "run":
            return "its run before had not ended"
        case "snooze":
            return "it was snoozed"
        case _:
            return f"it was held up by {held}"


def _reason(row: OccurrenceRow, prefix: str) -> str:
    return (row.reason or "for a reason that is not on record").removeprefix(prefix)


def _colon(reason: str | None) -> str:
    return f": {reason}" if reason and not reason.startswith(HELD) else ""


def told(at: int, zone: str | None) -> str:
    """`Sun 2026-03-29 03:30:00 +02:00 (2026-03-29 01:30:00 UTC)`; in UTC alone where the job has no zone."""
    utc = rules.naive(at)
    if zone is None or zone == UTC or not rules.is_zone(zone):
        return f"{utc:%a %Y-%m-%d %H:%M:%S} UTC"
    shift = rules.zone_named(zone).shift(at)
    try:
        local = rules.naive(at + shift)
    except OverflowError:
        return f"{utc:%a %Y-%m-%d %H:%M:%S} UTC"
    return f"{local:%a %Y-%m-%d %H:%M:%S} {offset(shift)} ({utc:%Y-%m-%d %H:%M:%S} UTC)"


def offset(shift: int) -> str:
    """`+02:00`, with seconds only where a zone once had them."""
    sign, ahead = "-" if shift < 0 else "+", timedelta(microseconds=abs(shift))
    minutes, seconds = divmod(int(ahead.total_seconds()), 60)
    return f"{sign}{minutes // 60:02}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
