"""What is paused: a job, a chat, a handler, or all. The scheduler's copy of what the store keeps."""

from ..storage.contract import Store
from ..storage.values import ChatId, DueRow, OnResume, Pause, Scope
from .lateness import BY_PAUSE, BY_PAUSE_THEN_ONE, BY_SNOOZE
from .shelf import lane_key

PAUSE = "pause:"
KEPT_AFTER_END_US = 3_600_000_000
"""How long a pause is remembered that has ended: what came due in it may wait for its own run before to end."""

Key = tuple[str, ChatId | None]


class Pauses:
    """All pauses. One that has an end lets go by itself; what came due meanwhile is told apart from what was missed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[Key, Pause] | None = None
        self._released: set[Key] = set()

    @property
    def _all(self) -> dict[Key, Pause]:
        if self._read is None:
            self._read = {(pause.scope, pause.key): pause for pause in self._store.pauses()}
        return self._read

    def reload(self) -> None:
        """After a transaction that failed: take what the store says, once it can be read again."""
        self._read = None
        self._released.clear()

    def standing(self, now: int) -> list[Pause]:
        """Those that have not ended."""
        return [pause for pause in self._all.values() if pause.until is None or pause.until > now]

    def over(self, job_id: str, chat_id: ChatId | None, handler: str, now: int) -> list[Pause]:
        """Those that hold such a job."""
        keys = _keys(job_id, chat_id, handler)
        return [pause for pause in self.standing(now) if (pause.scope, pause.key) in keys]

    def holding(self, row: DueRow, now: int) -> Pause | None:
        """The pause that keeps a due row from running."""
        if not self._all:
            return None
        for key in _keys(row.id, row.chat_id, row.handler):
            pause = self._all.get(key)
            if pause is None:
                continue
            if pause.until is None or pause.until > now or _came_due_in(pause.since, pause.until, row):
                self._released.discard(key)
                return pause
        return None

    def is_longer(self, pause: Pause, now: int) -> bool:
        """Whether it would hold longer than what stands for the same scope and key."""
        standing = self._all.get((pause.scope, pause.key))
        if standing is None or (standing.until is not None and standing.until <= now):
            return True
        return standing.until is not None and (pause.until is None or pause.until > standing.until)

    def begin(self, pause: Pause) -> None:
        key = pause.scope, pause.key
        earlier = self._all.get(key)
        if earlier is not None and earlier.until is not None and earlier.until <= pause.since:
            self._store.unpause(*key)
            earlier = None
        self._store.pause(pause)
        self._all[key] = pause if earlier is None else pause._replace(since=earlier.since)
        self._released.discard(key)

    def end(self, scope: str, key: ChatId | None, now: int, on_resume: str | None) -> bool:
        """Have it end now. False: there is none."""
        pause = self._all.get((scope, key))
        if pause is None or (pause.until is not None and pause.until <= now):
            return False
        self.begin(pause._replace(until=now, on_resume=on_resume or pause.on_resume))
        return True

    def to_release(self, now: int) -> list[Pause]:
        """Those that have ended and may still have rows waiting."""
        return [
            pause
            for key, pause in self._all.items()
            if pause.until is not None and pause.until <= now and key not in self._released
        ]

    def note_released(self, pause: Pause) -> None:
        self._released.add((pause.scope, pause.key))

    def forget_ended(self, now: int) -> None:
        for key in list(self._released):
            pause = self._all[key]
            if pause.until is not None and pause.until + KEPT_AFTER_END_US < now:
                self._store.unpause(pause.scope, pause.key)
                self._released.discard(key)
                del self._all[key]

    def next_end(self, now: int) -> int | None:
        """When the next one lets go."""
        return min((p.until for p in self._all.values() if p.until is not None and p.until > now), default=None)


def pause_reason(pause: Pause) -> str:
    """What a row waits for that it keeps."""
    if pause.scope == Scope.ALL:
        return f"{PAUSE}all"
    if pause.scope == Scope.CHAT and pause.key is not None:
        return f"{PAUSE}chat:{lane_key(pause.key)}"
    return f"{PAUSE}{pause.scope}:{pause.key}"


def held_by(pause: Pause) -> str:
    """How a row is marked that it has let go."""
    return BY_PAUSE_THEN_ONE if pause.on_resume == OnResume.RUN_ONE else BY_PAUSE


def _came_due_in(since: int, until: int, row: DueRow) -> bool:
    """Whether a pause that has ended held this due time, and it has not been looked at since."""
    is_told = row.attempts or row.held_by in (BY_PAUSE, BY_PAUSE_THEN_ONE, BY_SNOOZE)
    return since <= row.due_at <= until and not is_told


def _keys(job_id: str, chat_id: ChatId | None, handler: str) -> tuple[Key, ...]:
    keys: tuple[Key, ...] = ((Scope.ALL.value, None), (Scope.HANDLER.value, handler), (Scope.JOB.value, job_id))
    return keys if chat_id is None else (*keys, (Scope.CHAT.value, chat_id))
