"""Dispatch at work: stores, hosts that hold what they are given until a test ends it, and passes at one instant."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random

from bellringer.actors.dispatch import Dispatch
from bellringer.actors.hosts import Host
from bellringer.actors.messages import Event
from bellringer.actors.zone_data import ZoneData
from bellringer.storage.contract import Store
from bellringer.storage.errors import StorageBusyError
from bellringer.storage.memory_store import MemoryStore
from bellringer.storage.values import Claim, ClaimedRow, DueRow, JobSpec, RunOrder, RunResult, Settlement
from tests.actors.rows import NOON, SECOND


def spec(job_id: str, at: int = NOON, **fields: object) -> JobSpec:
    return JobSpec(job_id, "work", at)._replace(**fields)  # type: ignore[arg-type]


class Floor:
    """A dispatch with the stores and the hosts around it. `now` is the instant of the next pass."""

    def __init__(self, store: Store | None = None) -> None:
        self.store: Store = MemoryStore() if store is None else store
        self.memory = MemoryStore()
        self.now = NOON
        self.zone_data = ZoneData(self.store, self.now)
        self.dispatch = Dispatch(self.store, self.memory, self.zone_data, first_token=100, chance=Random(4))
        self.events: list[Event] = []
        self.orders: dict[str, RunOrder] = {}
        """The latest order of each job."""

    def host(
        self,
        name: str = "7-1/a",
        *handlers: str,
        places: int = 100,
        process: str | None = None,
        kind: str = "handler actor",
        wants_events: bool = False,
    ) -> Host:
        host = Host(
            host=name,
            kind=kind,
            process=process or name.partition("/")[0],
            address=name,
            handlers=frozenset(handlers or ("work",)),
            places=places,
            heard_at=0,
            wants_events=wants_events,
        )
        self.dispatch.hosts.add(host)
        return host

    def put(self, *specs: JobSpec, in_memory: bool = False) -> None:
        """As the desk stores what is asked for."""
        shelf = self.dispatch.in_memory if in_memory else self.dispatch.durable
        shelf.store.put(specs, self.now)
        for job in specs:
            shelf.backlog.rewind(job.due_at)

    def suspect(self, job: JobSpec, crashes: int = 2) -> None:
        """A job that was there this often when a host ended, and is due."""
        seq = self.store.put([job], self.now)[0].seq
        self.store.claim([Claim(seq, 1, "gone", job.due_at, None, job.due_at)], self.now)
        self.store.settle([Settlement(seq, 1, "release", None, job.due_at, crashes=crashes)], self.now)
        self.dispatch.durable.backlog.rewind(job.due_at)

    def claimed(self, job: JobSpec, host: str, token: int, claimed_at: int = NOON) -> ClaimedRow:
        """What an earlier scheduler has handed out, inherited by this one."""
        seq = self.store.put([job], claimed_at)[0].seq
        self.store.claim([Claim(seq, token, host, job.due_at, None, claimed_at + 75 * SECOND)], claimed_at)
        row = self.store.claims([seq])[seq]
        self.dispatch.inherit(row)
        return row

    def begun(self) -> list[str]:
        """Make a pass. The ids of what was handed out, host by host."""
        return [order.id for given in self.given().values() for order in given]

    def given(self) -> dict[str, list[RunOrder]]:
        """Make a pass. What each host is to be sent."""
        orders, events = self.dispatch.pass_over(self.now)
        self.events += events
        for given in orders.values():
            self.orders.update((order.id, order) for order in given)
        return orders

    def out(self) -> list[str]:
        return sorted(run.job_id for run in self.dispatch.running.values())

    def end(self, job_id: str, verdict: str = "done", **fields: object) -> None:
        """Have its host tell how the latest run of this job ended."""
        order = self.orders[job_id]
        run = self.dispatch.running.get(order.token)
        host = self.dispatch.hosts.by_id[run.host] if run is not None else next(iter(self.dispatch.hosts))
        self.dispatch.take_result(host, result_of(order, verdict, **fields))

    def status(self, job_id: str) -> str | None:
        row = self.store.get(job_id)
        return None if row is None else row.status

    def outcomes(self, job_id: str | None = None) -> list[str]:
        """How occurrences ended, the oldest first."""
        return [row.outcome for row in reversed(self.store.history(job_id=job_id, limit=100_000))]

    def standing(self) -> tuple[dict[str, set[int]], set[object], list[int], dict[str, bool]]:
        """What a pass that fails must leave as it was: places, lanes, claims that are out, who is alone."""
        dispatch = self.dispatch
        return (
            {host.host: set(host.running) for host in dispatch.hosts},
            set(dispatch.busy_lanes),
            sorted(dispatch.running),
            {host.host: host.alone for host in dispatch.hosts},
        )


def result_of(order: RunOrder, verdict: str = "done", **fields: object) -> RunResult:
    told = RunResult(order.seq, order.token, verdict, order.due_at, order.due_at + SECOND)
    return told._replace(**fields)  # type: ignore[arg-type]


class BusyOnce(MemoryStore):
    """A store of which one thing fails once: `settle`, `claim`, `claims`, `due` or `commit`, as a test says."""

    def __init__(self) -> None:
        super().__init__()
        self.failing: str | None = None
        self._depth = 0

    def _fail(self, what: str) -> None:
        if self.failing == what:
            self.failing = None
            raise StorageBusyError("the database is busy")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with super().transaction():
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
            if self._depth == 0:
                self._fail("commit")

    def settle(self, settlements: Sequence[Settlement], now: int) -> list[bool]:
        self._fail("settle")
        return super().settle(settlements, now)

    def claim(self, claims: Sequence[Claim], now: int) -> list[RunOrder]:
        self._fail("claim")
        return super().claim(claims, now)

    def claims(self, seqs: Sequence[int]) -> dict[int, ClaimedRow]:
        self._fail("claims")
        return super().claims(seqs)

    def due(self, now: int, limit: int, after: object = None) -> list[DueRow]:
        self._fail("due")
        return super().due(now, limit, after)  # type: ignore[arg-type]
