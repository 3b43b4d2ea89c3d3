"""What the sample bot needs of a scheduler: its handle, and what that tells, as much of it as is used."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from ..storage.rules import Rule
from ..storage.values import ChatId


class Reminder(Protocol):
    """A job, as much of it as is looked at here."""

    @property
    def id(self) -> str: ...
    @property
    def handler(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def is_finished(self) -> bool: ...
    @property
    def due_at(self) -> datetime: ...
    @property
    def rule(self) -> Rule | None: ...
    @property
    def payload(self) -> object: ...
    @property
    def why(self) -> str | None: ...


class Remembered(Protocol):
    """A stored session."""

    @property
    def user_id(self) -> ChatId | None: ...
    @property
    def data(self) -> Mapping[str, object]: ...


class Cancelled(Protocol):
    @property
    def cancelled(self) -> tuple[str, ...]: ...


class Paused(Protocol):
    """What is paused; `key` is the id of a job where `scope` is `job`."""

    @property
    def scope(self) -> str: ...
    @property
    def key(self) -> ChatId | None: ...


class Scheduler(Protocol):
    """A scheduler's handle, as much of it as is used here."""

    def schedule(
        self,
        handler: str,
        *,
        id: str,
        rule: Rule,
        chat_id: ChatId,
        user_id: ChatId,
        payload: object,
        delivery: str,
        attempts: int,
        only_new: bool,
    ) -> object: ...

    def cancel(self, id: str, /) -> Cancelled: ...

    def pause(self, id: str, /) -> None: ...

    def pauses(self) -> Sequence[Paused]: ...

    def resume(self, id: str, /) -> None: ...

    def skip_next(self, id: str, /) -> int: ...

    def set_zone(self, zone: str, /, *, chat_id: ChatId, user_id: ChatId) -> int: ...

    def get(self, id: str, /) -> Reminder | None: ...

    def pending(self, *, chat_id: ChatId, limit: int, after: str | None) -> Sequence[Reminder]: ...

    def sessions(self, *, chat_id: ChatId) -> Sequence[Remembered]: ...
