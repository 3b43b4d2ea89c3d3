"""Zones in the store in memory."""

from collections.abc import Sequence

from .memory_pauses import MemoryPauses
from .memory_rows import zoned_row
from .values import Moved, Rezoned, Status, ZonedRow


class MemoryZones(MemoryPauses):
    """The part of `MemoryStore` that knows of zones."""

    def zones(self) -> dict[str, str]:
        return dict(sorted(self._zones.items()))

    def set_zone(self, name: str, changes: str) -> None:
        with self.transaction():
            self._set(self._zones, name, changes)

    def zone_names(self) -> list[str]:
        return sorted({row.spec.zone for row in self._rows.values() if row.spec.zone is not None})

    def zoned(self, zone: str, *, after: int = 0, limit: int) -> list[ZonedRow]:
        rows = (row for seq, row in sorted(self._rows.items()) if seq > after)
        found = [zoned_row(row, zone) for row in rows if row.spec.zone == zone and row.series is None]
        return found[:limit]

    def move(self, moved: Sequence[Moved]) -> None:
        with self.transaction():
            for row in moved:
                standing = self._rows.get(row.seq)
                if standing is not None and standing.status is not Status.PARKED:
                    self._move(row)

    def rezone(self, rezoned: Sequence[Rezoned]) -> None:
        with self.transaction():
            for row in rezoned:
                standing = self._rows.get(row.seq)
                if standing is None:
                    continue
                standing = standing._replace(spec=standing.spec._replace(zone=row.zone, rule=row.rule))
                if standing.status is Status.SCHEDULED:
                    standing = standing._replace(waiting_for=None)
                self._write(row.seq, standing)
                self._move(row)

    def _move(self, to: Moved | Rezoned) -> None:
        row = self._rows[to.seq]
        attempt_at = row.next_attempt_at if to.next_attempt_at is None else to.next_attempt_at
        moved = row._replace(due_at=to.due_at, next_attempt_at=attempt_at, next_due_at=to.next_due_at)
        self._write(to.seq, moved)
