"""The job as its handler sees it."""

import pendulum

from ..storage.values import RunOrder

LATE_AFTER_US = 1_000_000


class CurrentJob:
    """The job, and the attempt at one of its occurrences, that a handler is running for."""

    __slots__ = ("_order", "_started_at")

    def __init__(self, order: RunOrder, started_at: int) -> None:
        self._order = order
        self._started_at = started_at

    @property
    def id(self) -> str:
        return self._order.id

    @property
    def handler(self) -> str:
        return self._order.handler

    @property
    def attempt(self) -> int:
        """1 for the first."""
        return self._order.attempt

    @property
    def run_key(self) -> str:
        """The same for every attempt at one occurrence: give it to services that accept an idempotency key."""
        return self._order.run_key

    @property
    def due_at(self) -> pendulum.DateTime:
        """The instant planned, in UTC. A retry keeps it."""
        seconds, microseconds = divmod(self._order.due_at, 1_000_000)
        return pendulum.from_timestamp(seconds).set(microsecond=microseconds)

    @property
    def late_by(self) -> pendulum.Duration:
        """How long after the instant planned this attempt began. Never negative."""
        return pendulum.duration(microseconds=max(0, self._started_at - self._order.due_at))

    @property
    def is_late(self) -> bool:
        """Whether it began more than a second after the instant planned."""
        return self._started_at - self._order.due_at > LATE_AFTER_US
