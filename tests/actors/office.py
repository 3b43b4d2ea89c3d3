"""A desk, its dispatch and their stores, as a scheduler has them; and a client of the desk."""

from collections.abc import Sequence
from random import Random
from typing import cast

from bellringer.actors.desk import Desk
from bellringer.actors.dispatch import Dispatch
from bellringer.actors.messages import HealthTold, Reply, ReplyBatch, Request, RequestBatch
from bellringer.actors.zone_data import ZoneData
from bellringer.storage.contract import Store
from bellringer.storage.memory_store import MemoryStore
from bellringer.storage.values import JobRow
from tests.actors.floor import Floor

TOLD = cast(HealthTold, "healthy")


class Office(Floor):
    """A floor whose jobs come through a desk. Requests are answered at the instant of the next pass."""

    def __init__(self, store: Store | None = None) -> None:
        super().__init__(store)
        self._asked = 0
        self._open()

    def restart(self) -> None:
        """What a scheduler knows that has just started: the store, and nothing else."""
        self.memory = MemoryStore()
        self.zone_data = ZoneData(self.store, self.now)
        self.dispatch = Dispatch(self.store, self.memory, self.zone_data, first_token=1, chance=Random(4))
        self._open()

    def _open(self) -> None:
        self.dispatch.claiming = not self.zone_data.is_moving
        self.desk = Desk(self.dispatch, self.zone_data, lambda _now: TOLD)

    def send(self, number: int, *requests: Request, client: str = "a") -> ReplyBatch | None:
        return self.desk.answer(RequestBatch(client=client, number=number, requests=requests), self.now)

    def ask(self, number: int, *requests: Request, client: str = "a") -> Sequence[Reply]:
        reply = self.send(number, *requests, client=client)
        assert reply is not None
        assert (reply.client, reply.number) == (client, number)
        return reply.replies

    def asked(self, request: Request) -> Reply:
        """The answer to one request of a client of its own."""
        self._asked += 1
        (reply,) = self.ask(self._asked, request, client="one by one")
        return reply

    def go_on(self) -> list[str]:
        """Let go what has been held up long enough, and make a pass. The ids of what was handed out."""
        while self.dispatch.release_paused(self.now):
            pass
        return self.begun()

    def ids(self) -> list[str]:
        return [row.id for row in self.store.jobs()]

    def seq(self, job_id: str) -> int:
        return self.row(job_id).seq

    def row(self, job_id: str) -> JobRow:
        row = self.store.get(job_id)
        assert row is not None
        return row

    def skipped(self, job_id: str | None = None) -> list[tuple[int, str | None]]:
        """What was recorded as skipped, the oldest first: how many due times, and why."""
        rows = self.store.history(job_id=job_id, outcome="skipped", limit=100_000)
        return [(row.count, row.reason) for row in reversed(rows)]
