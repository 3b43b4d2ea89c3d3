"""Which due times should have an outcome on record, and have none. Functions of values."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from ..storage.rules import Rule
from ..storage.rules.zones import SECOND_US

Recorded = tuple[int, int | None, int]
"""Of a ledger row: its due time, the last one that it tells of, and how many they are."""

MOST_TOLD: Final = 20


class _Stretch(NamedTuple):
    """Due times that one row tells of together."""

    first: int
    last: int
    count: int  # type: ignore[assignment]


def absent(rule: Rule, from_at: int, until_at: int, recorded: Iterable[Recorded], open_due_at: int | None) -> list[int]:
    """The first 20 due times, from one instant to another, both included, of which nothing is on record.

    The one at `open_due_at`, and whatever follows it, has not ended yet. Rows beside the grid, such as those of runs
    that were asked for, are passed over. What a row tells of together is counted, not walked through.
    """
    end = until_at if open_due_at is None else min(until_at, open_due_at - 1)
    singles: set[int] = set()
    stretches: list[_Stretch] = []
    for due_at, last_due_at, count in recorded:
        if count == 1:
            singles.add(due_at)
        else:
            stretches.append(_Stretch(due_at, due_at if last_due_at is None else last_due_at, count))
    missing: list[int] = []
    at = from_at - 1
    for stretch in sorted(stretches):
        if stretch.last <= at:
            continue
        missing += _walked(rule, at, min(stretch.first - 1, end), singles, MOST_TOLD - len(missing))
        if len(missing) == MOST_TOLD or stretch.first > end:
            return missing
        missing += _uncounted(rule, stretch, singles, MOST_TOLD - len(missing))
        at = max(at, stretch.last)
    return missing + _walked(rule, at, end, singles, MOST_TOLD - len(missing))


def known_from(rule: Rule, recorded: Iterable[Recorded], outcomes_kept_longer: Iterable[int] = ()) -> int | None:
    """Since when the record of a series is whole: its earliest row, of those after the rule became what it is.

    None: there is no such row. The due times in `outcomes_kept_longer` are on record beyond their neighbours, and
    begin nothing. A wall-clock rule whose zone was changed leaves rows beside its grid, but at full seconds like it;
    runs that were asked for come at any microsecond.
    """
    kept = set(outcomes_kept_longer)
    rows = sorted(row for row in recorded if row[0] not in kept)
    if rule.keeps_local_time:
        for place in range(len(rows) - 1, -1, -1):
            due_at = rows[place][0]
            if (due_at - rule.share_us) % SECOND_US == 0 and not _is_due(rule, due_at):
                rows = rows[place + 1 :]
                break
    on_grid = (row[0] for row in rows if _is_due(rule, row[0]))
    return next(on_grid, None)


def _is_due(rule: Rule, at: int) -> bool:
    return rule.next(at - 1) == at


def _walked(rule: Rule, after: int, last: int, singles: set[int], most: int) -> list[int]:
    missing: list[int] = []
    at = rule.next(after)
    while at is not None and at <= last and len(missing) < most:
        if at not in singles:
            missing.append(at)
        at = rule.next(at)
    return missing


def _uncounted(rule: Rule, stretch: _Stretch, singles: set[int], most: int) -> list[int]:
    """What lies within a stretch and is neither in its number nor on record by itself.

    Which of its due times a row has counted is not known, but for the last: the ones right before that are told.
    """
    beside = sum(1 for at in singles if stretch.first <= at <= stretch.last and _is_due(rule, at))
    lacking = rule.total(stretch.first, stretch.last) - stretch.count - beside
    missing: list[int] = []
    at = rule.previous(stretch.last - 1) if lacking > 0 else None
    while at is not None and at >= stretch.first and len(missing) < min(lacking, most):
        if at not in singles:
            missing.append(at)
        at = rule.previous(at - 1)
    return missing[::-1]
