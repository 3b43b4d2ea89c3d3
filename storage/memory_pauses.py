"""What holds jobs up in the store in memory, the outages that are known of, and the sessions."""

from .ledger import number, storable
from .memory_tables import MemoryTables
from .values import ChatId, Outage, Pause, Scope


class MemoryPauses(MemoryTables):
    """The part of `MemoryStore` that knows why and when nothing ran."""

    def pauses(self) -> list[Pause]:
        return [pause for pause in self._pauses.values() if pause.scope in list(Scope)]

    def pause(self, pause: Pause) -> None:
        place = _place(pause.scope, pause.key)
        earlier = self._pauses.get(place)
        since = earlier.since if earlier else pause.since
        with self.transaction():
            self._set(self._pauses, place, pause._replace(key=place[1], since=since, reason=storable(pause.reason)))

    def unpause(self, scope: str, key: ChatId | None) -> Pause | None:
        place = _place(scope, key)
        ended = self._pauses.get(place)
        if ended is not None:
            with self.transaction():
                self._drop(self._pauses, place)
        return ended

    def note_outage(self, outage: Outage) -> None:
        with self.transaction():
            self._last_outage += 1
            self._set(self._outages, self._last_outage, outage)

    def outages(self, since: int, until: int, limit: int = 100) -> list[Outage]:
        found = [outage for outage in self._outages.values() if outage.ended_at >= since and outage.began_at <= until]
        return sorted(found, key=lambda outage: outage.began_at)[:limit]

    def latest_sign(self) -> int | None:
        signs = [at for _, _, at in self._replies.values()]
        if self._ledger:
            signs.append(self._ledger[max(self._ledger)].finished_at)
        alive_at = number(self._meta.get("scheduler.alive_at"))
        return max(signs if alive_at is None else [*signs, alive_at], default=None)

    def session(self, chat_id: ChatId | None, user_id: ChatId | None) -> str | None:
        found = self._sessions.get((chat_id, user_id))
        return found.data if found else None

    def patch_session(
        self, chat_id: ChatId | None, user_id: ChatId | None, set_: str | None, remove: tuple[str, ...], now: int
    ) -> None:
        if set_ is not None or remove:
            with self.transaction():
                self._patch_session((chat_id, user_id), set_, remove, now)


def _place(scope: str, key: ChatId | None) -> tuple[str, ChatId | None]:
    return str(scope), None if scope == Scope.ALL else key
