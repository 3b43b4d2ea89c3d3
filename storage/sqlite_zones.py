"""Zones in SQLite: which are in use, how they were read, and the rows that a change of one moves."""

from collections.abc import Sequence
from typing import Final

from . import ledger
from .connection import Row
from .shapes import ZONED_SHAPE, is_utf8
from .sqlite_parts import SqliteParts
from .values import Moved, Rezoned, Status, ZonedRow

# One step in the index for each zone, however many jobs it has.
_ZONES_IN_USE: Final = (
    "WITH RECURSIVE used (name) AS ("
    "SELECT min(zone) FROM job WHERE zone IS NOT NULL UNION ALL "
    "SELECT (SELECT min(zone) FROM job WHERE zone IS NOT NULL AND zone > name) FROM used WHERE name IS NOT NULL"
    ") SELECT name FROM used WHERE name IS NOT NULL"
)
_ZONED: Final = (
    "SELECT s.seq, s.status, s.due_at, s.next_attempt_at, s.next_due_at, s.attempts, j.rule, j.zone, j.local_at "
    "FROM job j CROSS JOIN job_state s ON s.seq = j.seq "
    "WHERE j.zone = ? AND j.series IS NULL AND j.seq > ? ORDER BY j.seq LIMIT ?"
)
_INSTANTS: Final = "due_at = ?, next_attempt_at = ifnull(?, next_attempt_at), next_due_at = ?"
_MOVE: Final = f"UPDATE job_state SET {_INSTANTS} WHERE seq = ? AND status <> '{Status.PARKED}'"
_REZONE_STATE: Final = (
    f"UPDATE job_state SET {_INSTANTS}, waiting_for = iif(status = '{Status.SCHEDULED}', NULL, waiting_for) "
    "WHERE seq = ?"
)


class SqliteZones(SqliteParts):
    """The part of `SqliteStore` that knows of zones."""

    def zones(self) -> dict[str, str]:
        rows = self._connection.rows("SELECT name, changes FROM zone ORDER BY name")
        return {name: changes for name, changes in rows if type(name) is str and type(changes) is str}

    def set_zone(self, name: str, changes: str) -> None:
        with self._connection.transaction():
            self._connection.run("INSERT OR REPLACE INTO zone (name, changes) VALUES (?, ?)", (name, changes))

    def zone_names(self) -> list[str]:
        names = (row[0] for row in self._connection.rows(_ZONES_IN_USE))
        return [name for name in names if type(name) is str and is_utf8(name)]

    def zoned(self, zone: str, *, after: int = 0, limit: int) -> list[ZonedRow]:
        found: list[ZonedRow] = []
        while len(found) < limit:
            wanted = limit - len(found)
            rows = self._connection.rows(_ZONED, (zone, after, wanted))
            garbled = self._connection.garbled
            found += [ZonedRow._make(row) for row in rows if ZONED_SHAPE.fits(row, garbled)]
            if len(rows) < wanted:
                break
            after = ledger.whole(rows[-1][0], after)
        return found

    def move(self, moved: Sequence[Moved]) -> None:
        instants: list[Row] = [(row.due_at, row.next_attempt_at, row.next_due_at, row.seq) for row in moved]
        with self._connection.transaction():
            self._connection.run_many(_MOVE, instants)

    def rezone(self, rezoned: Sequence[Rezoned]) -> None:
        bodies: list[Row] = [(row.zone, row.rule, row.seq) for row in rezoned]
        instants: list[Row] = [(row.due_at, row.next_attempt_at, row.next_due_at, row.seq) for row in rezoned]
        with self._connection.transaction():
            self._connection.run_many("UPDATE job SET zone = ?, rule = ? WHERE seq = ?", bodies)
            self._connection.run_many(_REZONE_STATE, instants)
