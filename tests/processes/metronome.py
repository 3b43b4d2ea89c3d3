"""Jobs of other chats at a steady beat, whose lateness tells whether somebody makes them pay."""

import threading
from itertools import count
from types import TracebackType
from typing import Self

from bellringer import SchedulerHandle
from tests.processes import ledger
from tests.processes.waiting import until

BEAT_S = 0.05
AHEAD_S = 0.1


class Metronome:
    """Schedules one job a beat until the block is left."""

    def __init__(self, scheduler: SchedulerHandle, handler: str) -> None:
        self._scheduler = scheduler
        self._handler = handler
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self.beats = 0

    def _beat(self) -> None:
        for number in count():
            # At least once: a beat that is inside a process when a neighbour crashes it is repeated.
            self._scheduler.schedule(
                self._handler,
                id=f"beat:{number}",
                after=AHEAD_S,
                chat_id=f"beat {number}",
                delivery="at_least_once",
            )
            self.beats = number + 1
            if self._ending.wait(BEAT_S):
                return

    def go_on(self, beats: int) -> None:
        """Wait until there were so many in all."""
        until(lambda: self.beats >= beats, f"{beats} beats were scheduled")

    def lateness_p99(self) -> float:
        """Seconds, once all have run. Each has one good end."""
        ledger.all_settled(self._scheduler)
        told = ledger.occurrences(self._scheduler)
        beats = [told[f"beat:{number}"] for number in range(self.beats)]
        assert [occurrence.outcome for occurrences in beats for occurrence in occurrences] == ["done"] * self.beats
        late = sorted(occurrences[0].late_by.total_seconds() for occurrences in beats)
        return late[int(len(late) * 0.99)]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ending.set()
        self._thread.join(30.0)
