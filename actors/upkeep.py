"""What the scheduler does beside its passes: the sweep, trimming the ledger, signs of life, zones whose data changed.

Every method may raise `StorageError`; then it is asked again at its next turn.
"""

from ..storage.contract import Store
from .clock import Clock
from .dispatch import Dispatch
from .messages import Settings
from .uptime import Uptime
from .zone_data import ZoneData

SWEEP_EVERY_US = 120_000_000
TRIMMED_AT_ONCE = 1_000
TRIM_EVERY = 10_000
"""How many runs are settled before the ledger is looked at again."""
DAY_US = 86_400_000_000


class Upkeep:
    """Owned by the scheduler; each call is short."""

    def __init__(
        self, durable: Store, dispatch: Dispatch, zone_data: ZoneData, clock: Clock, settings: Settings
    ) -> None:
        self._durable = durable
        self._dispatch = dispatch
        self._zone_data = zone_data
        self._uptime = Uptime(durable, clock)
        self._settings = settings
        self._swept_at = 0
        self._trimmed_behind = 0
        self.is_trimming = False

    def begin(self, now: int, *, restarted: bool) -> None:
        self._uptime.begin(now, restarted=restarted)

    def note_time(self, now: int) -> None:
        self._zone_data.keep(now)
        self._uptime.note(now)

    def end(self, now: int) -> None:
        self._uptime.end(now)

    @property
    def is_moving_zones(self) -> bool:
        """Whether local times do not lie yet where the zone data has them now: until then nothing may run."""
        return self._zone_data.is_moving

    def go_on(self, now: int) -> None:
        """Do some more of what takes several turns."""
        if self.is_trimming:
            self._trim(now)
        if self._zone_data.is_moving:
            self._zone_data.move_some(now)

    def sweep_is_due(self, now: int) -> bool:
        return abs(now - self._swept_at) >= SWEEP_EVERY_US

    def sweep(self, now: int) -> None:
        """The look that needs no timer and trusts no memory: the due order is read anew, and the ledger trimmed."""
        self._swept_at = now
        self._dispatch.start_over()
        self._dispatch.pauses.forget_ended(now)
        self._trim(now)

    def has_to_trim(self) -> bool:
        """Whether the ledger is to be trimmed now: it was not done last time, or much has been settled since."""
        if self._dispatch.settled - self._trimmed_behind >= TRIM_EVERY:
            self._trimmed_behind = self._dispatch.settled
            self.is_trimming = True
        return self.is_trimming

    def _trim(self, now: int) -> None:
        """Delete a few of the rows that are beyond age or count."""
        trimmed = self._durable.trim(
            finished_before=now - int(self._settings.keep_days * DAY_US),
            keep=self._settings.keep_occurrences,
            limit=TRIMMED_AT_ONCE,
        )
        self._dispatch.in_memory.store.trim(finished_before=now, keep=1_000, limit=1_000_000)
        self.is_trimming = trimmed == TRIMMED_AT_ONCE
