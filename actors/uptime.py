"""When a scheduler was there, so that lateness can be explained: outages, suspends and clock jumps are noted."""

from ..storage.contract import Store
from ..storage.values import Outage
from .clock import Clock

ALIVE_AT = "scheduler.alive_at"
SIGN_EVERY_US = 15_000_000
NOTED_FROM_US = 2_000_000
DOWN = "down"
JUMP = "jump"


class Uptime:
    """Leaves a sign of life in the store, every 15 seconds and at the end; what came after the last one was an outage.

    So an outage that began with a kill may be told up to 15 seconds too long.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._signed_at = 0
        self._to_note: Outage | None = None
        self._wall = 0
        self._monotonic = 0

    def begin(self, now: int, *, restarted: bool) -> None:
        """Look how long nobody was there. `restarted`: the rest of the system has been there all the time.

        It only reads, because storage may be busy at a start; `note` writes it down.
        """
        sign = self._store.latest_sign()
        if sign is not None and not restarted and now - sign > NOTED_FROM_US:
            self._to_note = Outage(sign, now, DOWN)
        self._wall, self._monotonic = now, self._clock.monotonic()

    def note(self, now: int) -> None:
        """Note an outage, and how far the wall clock has come beyond the monotonic one: the machine slept, or somebody
        set it."""
        if self._to_note is not None:
            self._store.note_outage(self._to_note)
            self._to_note = None
        monotonic = self._clock.monotonic()
        slept_us = (now - self._wall) - (monotonic - self._monotonic)
        if slept_us > NOTED_FROM_US:
            self._store.note_outage(Outage(self._wall, now, JUMP))
        self._wall, self._monotonic = now, monotonic
        if abs(now - self._signed_at) >= SIGN_EVERY_US:
            self._sign(now)

    def end(self, now: int) -> None:
        self._sign(now)

    def _sign(self, now: int) -> None:
        self._store.set_meta(ALIVE_AT, str(now))
        self._signed_at = now
