"""A change of the time zone data moves what is still to come: the same local time, at its new instant.

For each zone that jobs have, the store keeps which offsets it had. Where a later start finds other ones, every
local time that is to come is computed from the old, and its instant from the new.
"""

import json
import logging
from bisect import bisect_right
from contextlib import suppress

from ..storage import planning, rules
from ..storage.contract import Store
from ..storage.errors import InvalidJobError
from ..storage.rules import Zone
from ..storage.values import ChatId, JobSpec, Moved, ZonedRow
from .relocating import Standing, relocate

PAGE = 1_000
YEAR_US = 366 * 86_400_000_000
BACK_US = 2 * 86_400_000_000
AHEAD_US = 20 * YEAR_US
RENEWED_US = 10 * YEAR_US

ZONE_KEY = "zone"
"""The key of a session under which the zone of its chat or user is kept."""

PROGRESS = "scheduler.zone_progress"
"""Which zone is being moved, and behind which row to go on: what was moved once must not be moved again."""

log = logging.getLogger("bellringer.scheduler")


class ZoneData:
    """Compares at the start, and moves page by page; until that is done, nothing is to be claimed."""

    def __init__(self, store: Store, now: int) -> None:
        self._store = store
        self._read: dict[str, str] | None = None
        # The jobs of a zone that nobody knows any more are parked when they are due.
        used = [name for name in store.zone_names() if rules.is_zone(name)]
        self._changed = [name for name in used if name in self._known and not self._agrees(name)]
        self._to_move = list(self._changed)
        self._to_note = [name for name in used if name not in self._changed and not self._reaches(name, now)]

    @property
    def _known(self) -> dict[str, str]:
        if self._read is None:
            self._read = _readable(self._store.zones())
        return self._read

    @property
    def is_moving(self) -> bool:
        return bool(self._to_move)

    def zone_of(self, chat_id: ChatId | None, user_id: ChatId | None) -> str:
        """Where a job's local times hold that names no zone: where its user is, or its chat; otherwise in UTC."""
        for key in dict.fromkeys(((chat_id, user_id), (chat_id, None))):
            told = self._store.session(*key) if chat_id is not None or user_id is not None else None
            zone = _told_zone(told)
            if zone is not None:
                return zone
        return "UTC"

    def has_own(self, chat_id: ChatId | None, user_id: ChatId | None) -> bool:
        """Whether a user in a chat has a zone of their own."""
        return user_id is not None and _told_zone(self._store.session(chat_id, user_id)) is not None

    def settled(self, spec: JobSpec, now: int) -> JobSpec:
        """A job as it is stored: with the zone of its chat, if it needs one. Joins the open transaction.

        Raises `InvalidJobError` where it has no due time there.
        """
        if planning.needs_zone(spec):
            spec = planning.settled(spec, self.zone_of(spec.chat_id, spec.user_id), now)
        if spec.zone is not None:
            self.finish(now)
            self.note(spec.zone, now)
        return spec

    def note(self, name: str, now: int) -> None:
        """Keep the offsets of a zone that a job has. Joins the open transaction."""
        if name not in self._known:
            self._known[name] = _told(rules.zone_named(name), now - BACK_US, now + AHEAD_US)
            self._store.set_zone(name, self._known[name])

    def keep(self, now: int) -> None:
        """Keep the offsets of zones that were not known at the start, or not far enough ahead."""
        if self._to_note:
            with self._store.transaction():
                for name in self._to_note:
                    self._store.set_zone(name, _told(rules.zone_named(name), now - BACK_US, now + AHEAD_US))
            self._to_note.clear()
            self._read = None

    def forget(self) -> None:
        """After a transaction that failed, and may have kept or moved something: look again, once it can be read."""
        self._read = None
        self._to_move = list(self._changed)

    def _agrees(self, name: str) -> bool:
        since, until, changes = _read(self._known[name])
        return changes == rules.zone_named(name).changes(since, until)

    def _reaches(self, name: str, now: int) -> bool:
        return name in self._known and _read(self._known[name])[1] - now >= RENEWED_US

    def finish(self, now: int) -> None:
        """Move all that is left, before anything is planned by the new data that must not be moved itself."""
        while self._to_move:
            self.move_some(now)

    def move_some(self, now: int) -> None:
        """Move a page of jobs of a zone whose offsets have changed."""
        name = self._to_move[0]
        if self._agrees(name):
            self._to_move.pop(0)
            return
        zone = rules.zone_named(name)
        _, _, before = _read(self._known[name])
        progress = self._store.meta(PROGRESS)
        begun, _, place = (progress or "").partition(" ")
        after = int(place) if begun == name and place.isdecimal() else 0
        with self._store.transaction():
            rows = self._store.zoned(name, after=after, limit=PAGE)
            moved = sum(self._move(row, zone, before, now) for row in rows)
            if len(rows) < PAGE:
                self._store.set_zone(name, _told(zone, now - BACK_US, now + AHEAD_US))
                self._store.set_meta(PROGRESS, "")
            else:
                self._store.set_meta(PROGRESS, f"{name} {rows[-1].seq}")
        if moved:
            log.warning("the data of %s has changed: moved %d jobs", name, moved)
        if len(rows) < PAGE:
            self._read = None
            self._to_move.pop(0)

    def _move(self, row: ZonedRow, zone: Zone, before: list[tuple[int, int]], now: int) -> bool:
        def again(at: int) -> int:
            if row.local_at is not None and at == row.due_at:
                with suppress(InvalidJobError, ValueError):
                    return rules.instant_of(row.local_at, zone.name)
            return zone.instant(at + _shift(before, at))

        try:
            rule = None if row.rule is None else rules.load(row.rule)
        except ValueError:
            return False  # it is parked when it is due
        standing = Standing(row.status, row.due_at, row.next_attempt_at, row.next_due_at, bool(row.attempts))
        found = relocate(standing, rule, again, now, "skipped: its local time had passed when its zone's data changed")
        if found == (row.due_at, row.next_attempt_at, row.next_due_at, None, False):
            return False
        if found.is_over:
            self._store.skip(row.seq, [found.passed] if found.passed else [], None)
            return True
        if found.passed is not None:
            self._store.record(row.seq, found.passed)
        self._store.move([Moved(row.seq, found.due_at, found.next_attempt_at, found.next_due_at)])
        return True


def _told_zone(session: str | None) -> str | None:
    """The zone that a stored session names, if it names one."""
    try:
        zone = json.loads(session).get(ZONE_KEY) if session else None
    except (ValueError, AttributeError):
        return None
    return zone if isinstance(zone, str) and rules.is_zone(zone) else None


def _shift(changes: list[tuple[int, int]], at: int) -> int:
    return changes[max(0, bisect_right(changes, (at, 1 << 62)) - 1)][1]


def _told(zone: Zone, since: int, until: int) -> str:
    return json.dumps({"until": until, "changes": zone.changes(since, until)}, separators=(",", ":"))


def _readable(zones: dict[str, str]) -> dict[str, str]:
    found = {}
    for name, told in zones.items():
        try:
            _read(told)
        except (ValueError, KeyError, IndexError, TypeError):
            continue  # it is kept anew
        found[name] = told
    return found


def _read(told: str) -> tuple[int, int, list[tuple[int, int]]]:
    found = json.loads(told)
    changes = [(int(at), int(shift)) for at, shift in found["changes"]]
    return changes[0][0], int(found["until"]), changes
