"""What holds jobs up in SQLite: pauses, snoozes, and the outages that are known of."""

from typing import Final

from . import ledger
from .shapes import OUTAGE_SHAPE, PAUSE_SHAPE
from .sqlite_zones import SqliteZones
from .values import SNOOZE, ChatId, Outage, Pause, Scope, Status

_PAUSES: Final = "SELECT scope, key, since, until, on_resume, reason FROM pause"
_PAUSE: Final = (
    "INSERT INTO pause (scope, key, since, until, on_resume, reason) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (scope, key) DO UPDATE SET until = excluded.until, on_resume = excluded.on_resume, "
    "reason = excluded.reason"
)
_SNOOZE: Final = (
    f"UPDATE job_state SET next_attempt_at = ?1, waiting_for = NULL, held_by = '{SNOOZE}', held_from = ?2, "
    f"held_until = ?1 WHERE seq = ?3 AND status = '{Status.SCHEDULED}'"
)
_SIGNS: Final = (
    "SELECT (SELECT finished_at FROM occurrence ORDER BY number DESC LIMIT 1), "
    # A reply that is replaced gets a new place, so the newest one is the last.
    "(SELECT at FROM reply ORDER BY rowid DESC LIMIT 1), "
    "(SELECT value FROM meta WHERE key = 'scheduler.alive_at')"
)


class SqlitePauses(SqliteZones):
    """The part of `SqliteStore` that knows why and when nothing ran."""

    def pauses(self) -> list[Pause]:
        rows = self._connection.rows(f"{_PAUSES} ORDER BY number")
        garbled = self._connection.garbled
        pauses = [Pause._make(row) for row in rows if row[0] in _SCOPES and PAUSE_SHAPE.fits(row, garbled)]
        return [_told(pause) for pause in pauses]

    def pause(self, pause: Pause) -> None:
        key = _stored_key(pause.scope, pause.key)
        with self._connection.transaction():
            self._connection.run(_PAUSE, (pause.scope, key, *pause[2:5], ledger.storable(pause.reason)))

    def unpause(self, scope: str, key: ChatId | None) -> Pause | None:
        place = (scope, _stored_key(scope, key))
        with self._connection.transaction():
            found = self._connection.rows(f"{_PAUSES} WHERE scope = ? AND key = ?", place)
            if not found:
                return None
            self._connection.run("DELETE FROM pause WHERE scope = ? AND key = ?", place)
        return _told(Pause._make(found[0]))

    def snooze(self, seq: int, next_attempt_at: int, now: int) -> bool:
        with self._connection.transaction():
            return bool(self._connection.run(_SNOOZE, (next_attempt_at, now, seq)))

    def note_outage(self, outage: Outage) -> None:
        with self._connection.transaction():
            self._connection.run("INSERT INTO outage (began_at, ended_at, kind) VALUES (?, ?, ?)", outage)

    def outages(self, since: int, until: int, limit: int = 100) -> list[Outage]:
        rows = self._connection.rows(
            "SELECT began_at, ended_at, kind FROM outage WHERE ended_at >= ? AND began_at <= ? "
            "ORDER BY began_at, number LIMIT ?",
            (since, until, limit),
        )
        garbled = self._connection.garbled
        return [Outage._make(row) for row in rows if OUTAGE_SHAPE.fits(row, garbled)]

    def latest_sign(self) -> int | None:
        *seen, alive_at = self._connection.rows(_SIGNS)[0]
        signs = [sign for sign in (*seen, ledger.number(alive_at)) if type(sign) is int]
        return max(signs, default=None)


_SCOPES: Final = frozenset(map(str, Scope))


def _stored_key(scope: str, key: ChatId | None) -> ChatId:
    # A unique index takes two NULLs for different keys.
    return "" if scope == Scope.ALL or key is None else key


def _told(pause: Pause) -> Pause:
    return pause._replace(key=None) if pause.scope == Scope.ALL else pause
