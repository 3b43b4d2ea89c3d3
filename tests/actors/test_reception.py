"""Hosts that come, tell and go: who is there, what they hold, and what they are sent."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from bellringer.actors.claiming import LEASE_US
from bellringer.actors.hosts import EVENTS_KEPT
from bellringer.actors.messages import EndHost, Event, HostJoined, HostLeft, HostReported, JoinAgain, RunBatch
from bellringer.actors.reception import Reception
from bellringer.actors.watch import Watch
from bellringer.storage.errors import StorageBusyError
from bellringer.storage.memory_store import MemoryStore
from bellringer.storage.values import RunOrder, RunResult
from bellringer.testing.clock import ManualClock
from tests.actors.floor import BusyOnce, Floor, result_of, spec
from tests.actors.rows import NOON, SECOND

HOST = "7-1/a"
SCHEDULER = "1-1"
SUPERVISOR = "supervisor"


class Processes:
    """Which processes live. What is given out to watch them are real descriptors, which the watch closes."""

    def __init__(self) -> None:
        self.alive: set[str] = set()

    def is_alive(self, process: str) -> bool:
        assert process, "no process has this name"
        return process in self.alive

    def open_pidfd(self, process: str) -> int | None:
        return os.open(os.devnull, os.O_RDONLY) if process in self.alive else None


class Hall(Floor):
    """A floor whose hosts come through a reception; what they are sent is kept by address."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        super().__init__(store)
        self.clock = ManualClock()
        self.kernel = Processes()
        self.watch = Watch()
        self.sent: list[tuple[Any, object]] = []
        self.reception = self.open()
        self.now = self.clock.wall()

    def open(self) -> Reception:
        return Reception(
            self.dispatch,
            clock=self.clock,
            kernel=self.kernel,
            watch=self.watch,
            send=lambda address, message: self.sent.append((address, message)),
            process=SCHEDULER,
            supervisor=SUPERVISOR,
        )

    def join(self, host: str = HOST, **fields: Any) -> None:
        process = host.partition("/")[0]
        self.kernel.alive.add(process)
        values = {"kind": "handler actor", "process": process, "handlers": ("work",), "places": 10, **fields}
        self.reception.receive_host_joined(HostJoined(host=host, **values), f"address of {host}")

    def report(self, received: int, *results: RunResult, host: str = HOST, is_open: bool = True) -> None:
        message = HostReported(host=host, received=received, results=results, open=is_open)
        self.reception.receive_host_reported(message, f"address of {host}")

    def go_on(self) -> list[RunBatch]:
        """Make a pass and send what comes of it; the batches."""
        self.now = self.clock.wall()
        self.sent.clear()
        self.reception.send_batches(self.given())
        return [message for _, message in self.sent if isinstance(message, RunBatch)]

    def put_due(self, *ids: str, **fields: object) -> None:
        self.put(*(spec(job_id, self.now, **fields) for job_id in ids))

    @property
    def known(self) -> list[str]:
        return list(self.dispatch.hosts.by_id)


@pytest.fixture
def hall() -> Iterator[Hall]:
    made = Hall()
    yield made
    made.watch.close()


def ids(batch: RunBatch) -> list[str]:
    return [order.id for order in batch.orders]


def order_of(token: int, seq: int) -> RunOrder:
    return RunOrder(seq, token, "a", "work", None, None, None, "null", None, NOON, 1, SECOND, "key")


# Joining


def test_a_host_that_joins_is_welcomed_once(hall: Hall) -> None:
    hall.join(joining=4)
    (welcome,) = hall.go_on()
    assert (welcome.scheduler, welcome.number, welcome.joining, welcome.orders) == (SCHEDULER, 0, 4, ())
    assert hall.sent[0][0] == f"address of {HOST}"
    assert hall.go_on() == []


def test_a_host_is_known_as_it_has_told_itself(hall: Hall) -> None:
    hall.join(kind="attached", handlers=("b", "a", "memory:7"), places=3)
    (host,) = hall.dispatch.hosts
    seen = host.seen()
    assert (seen.host, seen.kind, seen.process) == (HOST, "attached", "7-1")
    assert (seen.handlers, seen.places, seen.running) == (("a", "b"), 3, 0)


def test_a_host_that_joins_gets_what_is_due(hall: Hall) -> None:
    hall.join()
    hall.put_due("a", "b")
    (batch,) = hall.go_on()
    assert (ids(batch), batch.number) == (["a", "b"], 1)


def test_the_process_of_a_host_is_watched(hall: Hall) -> None:
    hall.join()
    assert "7-1" in hall.watch


def test_a_host_whose_process_has_ended_while_it_was_joining_is_not_kept(hall: Hall) -> None:
    hall.put_due("a", delivery="at_least_once")
    hall.join("8-1/b")
    hall.go_on()
    message = HostJoined(host=HOST, kind="handler actor", process="dead-1", handlers=("work",), places=10)
    hall.reception.receive_host_joined(message, "nowhere")
    assert hall.known == ["8-1/b"]


def test_a_host_that_is_not_known_is_asked_to_join_again(hall: Hall) -> None:
    hall.report(1)
    assert hall.sent == [(f"address of {HOST}", JoinAgain(host=HOST))]
    assert hall.known == []


# Credit


def test_a_host_that_has_not_confirmed_its_orders_gets_no_new_ones(hall: Hall) -> None:
    hall.join()
    hall.put_due("a")
    hall.go_on()
    hall.put_due("b")
    assert hall.go_on() == []
    hall.report(0)
    assert hall.go_on() == []
    hall.report(1)
    (batch,) = hall.go_on()
    assert (ids(batch), batch.number) == (["b"], 2)


def test_a_host_that_has_not_confirmed_is_told_its_settled_tokens_all_the_same(hall: Hall) -> None:
    hall.join()
    hall.put_due("a")
    hall.go_on()
    hall.put_due("b")
    hall.report(0, result_of(hall.orders["a"]))
    (batch,) = hall.go_on()
    assert (batch.settled, batch.orders, batch.number) == ((hall.orders["a"].token,), (), 1)
    assert hall.go_on() == []


def test_a_batch_that_only_settles_needs_no_confirmation(hall: Hall) -> None:
    hall.join()
    hall.put_due("a")
    hall.go_on()
    hall.report(1, result_of(hall.orders["a"]))
    (batch,) = hall.go_on()
    assert (batch.settled, batch.number) == ((hall.orders["a"].token,), 1)
    hall.put_due("b")
    (batch,) = hall.go_on()
    assert (ids(batch), batch.settled) == (["b"], ())


def test_a_report_says_where_its_host_is_now_and_whether_it_takes_more(hall: Hall) -> None:
    hall.join()
    hall.report(0, is_open=False)
    hall.put_due("a")
    hall.go_on()
    assert hall.out() == []
    hall.reception.receive_host_reported(HostReported(host=HOST, received=0), "elsewhere")
    hall.go_on()
    assert hall.sent[-1][0] == "elsewhere"
    assert hall.out() == ["a"]


# Events


def test_a_host_that_listens_is_told_events_and_confirms_them(hall: Hall) -> None:
    hall.join(wants_events=True)
    hall.join("8-1/b")
    hall.go_on()
    event = Event(kind="job.error", at=NOON)
    hall.dispatch.hosts.tell([event])
    (batch,) = hall.go_on()
    assert (batch.events, batch.number) == ((event,), 1)
    hall.dispatch.hosts.tell([event])
    assert hall.go_on() == []
    hall.report(1)
    (batch,) = hall.go_on()
    assert (batch.events, batch.number) == ((event,), 2)


def test_events_wait_for_the_confirmation_while_tokens_are_settled(hall: Hall) -> None:
    hall.join(wants_events=True)
    hall.put_due("a")
    hall.go_on()
    hall.dispatch.hosts.tell([Event(kind="job.run", at=NOON)])
    hall.report(0, result_of(hall.orders["a"]))
    (settling,) = hall.go_on()
    assert (settling.events, len(settling.settled)) == ((), 1)
    hall.report(1)
    (telling,) = hall.go_on()
    assert [event.kind for event in telling.events] == ["job.run"]


def test_of_events_that_nobody_fetches_the_last_thousand_are_kept(hall: Hall) -> None:
    assert EVENTS_KEPT == 1_000
    hall.join(wants_events=True)
    hall.dispatch.hosts.tell(Event(kind="job.run", at=at) for at in range(1_005))
    (batch,) = hall.go_on()
    assert [event.at for event in batch.events] == list(range(5, 1_005))


def test_events_outlast_a_host_joining_again(hall: Hall) -> None:
    hall.join(wants_events=True)
    hall.dispatch.hosts.tell([Event(kind="job.run", at=NOON)])
    hall.join(wants_events=True)
    (batch,) = hall.go_on()
    assert [event.at for event in batch.events] == [NOON]


# Joining again


def test_a_host_that_joins_again_keeps_what_it_still_holds(hall: Hall) -> None:
    hall.join(places=2)
    hall.put_due("a", "b")
    hall.go_on()
    hall.join(places=2, holding=(hall.orders["a"].token, hall.orders["b"].token), joining=1)
    (batch,) = hall.go_on()
    assert (batch.orders, batch.dropped, batch.joining) == ((), (), 1)
    assert hall.out() == ["a", "b"]
    hall.put_due("c")
    assert hall.go_on() == []


def test_what_a_host_that_joins_again_does_not_hold_never_began_and_runs_again(hall: Hall) -> None:
    hall.join()
    hall.put_due("a", "b")
    hall.go_on()
    kept = hall.orders["a"].token
    hall.join(holding=(kept,), joining=1)
    (batch,) = hall.go_on()
    assert (ids(batch), batch.number) == (["b"], 2)
    assert batch.orders[0].attempt == 1
    assert hall.out() == ["a", "b"]
    assert hall.outcomes() == []


def test_results_told_while_joining_again_count(hall: Hall) -> None:
    hall.join()
    hall.put_due("a", "b")
    hall.go_on()
    hall.join(results=(result_of(hall.orders["a"]), result_of(hall.orders["b"], "failed")), joining=1)
    (batch,) = hall.go_on()
    assert sorted(batch.settled) == sorted(hall.orders[job].token for job in "ab")
    assert hall.outcomes() == ["done", "failed"]


def test_a_host_that_joins_again_needs_not_confirm_what_came_before(hall: Hall) -> None:
    hall.join()
    hall.put_due("a")
    hall.go_on()
    hall.join(holding=(hall.orders["a"].token,), joining=1)
    hall.report(0)
    hall.put_due("b")
    (batch,) = hall.go_on()
    assert (ids(batch), batch.number) == (["b"], 2)


def test_a_host_that_dies_while_it_joins_again_loses_what_it_held(hall: Hall) -> None:
    hall.join()
    hall.put_due("a", "b")
    hall.go_on()
    hall.watch.close()
    hall.kernel.alive.clear()
    message = HostJoined(
        host=HOST,
        kind="handler actor",
        process="7-1",
        handlers=("work",),
        places=10,
        holding=(hall.orders["a"].token,),
        results=(result_of(hall.orders["b"]),),
    )
    hall.reception.receive_host_joined(message, "nowhere")
    hall.go_on()
    assert (hall.outcomes("a"), hall.outcomes("b")) == (["interrupted"], ["done"])
    assert (hall.known, hall.out(), hall.sent) == ([], [], [])


def test_a_suspect_stays_alone_when_its_host_joins_again(hall: Hall) -> None:
    hall.join()
    hall.suspect(spec("s", hall.now))
    hall.go_on()
    hall.join(holding=(hall.orders["s"].token,), joining=1)
    hall.put_due("a")
    hall.go_on()
    assert hall.out() == ["s"]


def test_a_host_is_told_to_drop_what_nobody_knows_of_any_more(hall: Hall) -> None:
    hall.join(holding=(999,))
    (batch,) = hall.go_on()
    assert batch.dropped == (999,)
    assert hall.go_on() == []


def test_a_handler_that_has_come_lets_go_what_waited_for_it(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bellringer.actors.dispatch.RELEASED_AT_ONCE", 2)
    hall.put_due("a", "b", "c")
    hall.go_on()
    assert hall.store.counts().waiting == 3
    assert hall.reception.put_back(NOON) is False
    hall.join()
    assert hall.reception.put_back(NOON) is True
    assert hall.store.counts().waiting == 1
    assert hall.reception.put_back(NOON) is False
    assert hall.reception.to_release == set()
    (batch,) = hall.go_on()
    assert ids(batch) == ["a", "b", "c"]


# Going


def test_a_host_that_leaves_tells_its_last_results_and_the_rest_is_interrupted(hall: Hall) -> None:
    hall.join()
    hall.put_due("a", "b")
    hall.go_on()
    left = HostLeft(host=HOST, results=(result_of(hall.orders["a"]),))
    (gone,) = hall.reception.receive_host_left(left, "anybody")
    hall.go_on()
    assert gone.host == HOST
    assert (hall.outcomes("a"), hall.outcomes("b")) == (["done"], ["interrupted"])
    assert hall.store.history(job_id="b")[0].reason == "its host was stopped"
    assert hall.known == []


def test_a_host_that_left_by_itself_makes_no_suspect(hall: Hall) -> None:
    hall.join()
    hall.put_due("a", delivery="at_least_once")
    hall.go_on()
    hall.reception.receive_host_left(HostLeft(host=HOST), "anybody")
    hall.join("8-1/b")
    hall.go_on()
    assert [row.crashes for row in hall.store.claimed()] == [0]


def test_a_host_that_nobody_knows_may_leave(hall: Hall) -> None:
    assert hall.reception.receive_host_left(HostLeft(host=HOST), "anybody") == []


def test_with_a_process_all_its_hosts_end_and_no_others(hall: Hall) -> None:
    hall.join("7-1/a", places=1)
    hall.join("7-1/b", places=1)
    hall.join("8-1/c", places=1)
    hall.put_due("a", "b", "c")
    hall.go_on()
    assert [host.host for host in hall.reception.process_ended("7-1")] == ["7-1/a", "7-1/b"]
    hall.go_on()
    assert hall.known == ["8-1/c"]
    assert hall.outcomes() == ["interrupted", "interrupted"]
    assert {row.reason for row in hall.store.history()} == {"its host, process 7, ended"}
    assert hall.out() == ["c"]


def test_a_process_that_ended_is_counted_against_its_jobs(hall: Hall) -> None:
    hall.join()
    hall.put_due("a", delivery="at_least_once")
    hall.go_on()
    hall.reception.process_ended("7-1")
    hall.join("8-1/b")
    hall.go_on()
    assert [row.crashes for row in hall.store.claimed()] == [1]


# Silence


def test_a_host_that_runs_something_and_is_silent_for_the_lease_is_ended(hall: Hall) -> None:
    hall.join()
    hall.put_due("a")
    hall.go_on()
    hall.clock.advance(LEASE_US / 1e6)
    assert hall.reception.end_silent_hosts() == []
    hall.clock.advance(0.000001)
    (ended,) = hall.reception.end_silent_hosts()
    assert ended.host == HOST
    assert hall.sent[-1] == (SUPERVISOR, EndHost(process="7-1", reason="no sign of life"))
    hall.go_on()
    assert hall.outcomes() == ["interrupted"]
    assert "no sign of life" in (hall.store.history()[0].reason or "")
    assert hall.known == []


def test_a_late_result_of_a_silent_host_is_refused(hall: Hall) -> None:
    hall.join()
    hall.put_due("a")
    hall.go_on()
    hall.clock.advance(16)
    hall.reception.end_silent_hosts()
    hall.go_on()
    hall.join(results=(result_of(hall.orders["a"]),), joining=1)
    (batch,) = hall.go_on()
    assert batch.settled == (hall.orders["a"].token,)
    assert hall.outcomes() == ["interrupted"]


def test_silence_makes_no_suspect(hall: Hall) -> None:
    hall.join()
    hall.put_due("a", delivery="at_least_once")
    hall.go_on()
    hall.clock.advance(16)
    hall.reception.end_silent_hosts()
    hall.join("8-1/b")
    hall.go_on()
    assert [row.crashes for row in hall.store.claimed()] == [0]


def test_a_report_is_a_sign_of_life(hall: Hall) -> None:
    hall.join()
    hall.put_due("a")
    hall.go_on()
    hall.clock.advance(10)
    hall.report(1)
    hall.clock.advance(10)
    assert hall.reception.end_silent_hosts() == []


def test_an_idle_host_may_be_silent(hall: Hall) -> None:
    hall.join()
    hall.clock.advance(3_600)
    assert hall.reception.end_silent_hosts() == []
    assert hall.known == [HOST]


def test_an_attached_bot_that_is_silent_is_forgotten_and_not_ended(hall: Hall) -> None:
    hall.join(kind="attached")
    hall.put_due("a")
    hall.go_on()
    hall.sent.clear()
    hall.clock.advance(16)
    assert [host.host for host in hall.reception.end_silent_hosts()] == [HOST]
    assert hall.sent == []


def test_a_clock_that_was_set_makes_nobody_silent(hall: Hall) -> None:
    hall.join()
    hall.put_due("a")
    hall.go_on()
    hall.clock.jump(wall=86_400)
    assert hall.reception.end_silent_hosts() == []


def test_b69_a_host_whose_end_could_not_be_recorded_is_found_silent_later() -> None:
    store = BusyOnce()
    hall = Hall(store)
    hall.join()
    hall.put_due("a")
    hall.go_on()
    store.failing = "claims"
    with pytest.raises(StorageBusyError):
        hall.reception.process_ended("7-1")
    hall.clock.advance(16)
    hall.reception.end_silent_hosts()
    hall.go_on()
    assert (hall.outcomes(), hall.out()) == (["interrupted"], [])
    hall.watch.close()


# What an earlier scheduler has left


def test_a_claim_of_an_earlier_scheduler_waits_for_its_host(hall: Hall) -> None:
    hall.kernel.alive.add("7-1")
    hall.claimed(spec("a", NOON), HOST, token=50)
    hall.clock.advance(LEASE_US / 1e6)
    hall.reception.release_orphans()
    assert list(hall.dispatch.orphans) == [50]
    hall.join(holding=(50,), places=1)
    assert hall.dispatch.orphans == {}
    (batch,) = hall.go_on()
    assert batch.dropped == ()
    assert hall.dispatch.hosts.by_id[HOST].running == {50}


def test_a_claim_whose_host_has_ended_goes_on_at_once(hall: Hall) -> None:
    hall.claimed(spec("a", hall.now, delivery="at_least_once"), "gone-1/a", token=50)
    hall.reception.release_orphans()
    assert hall.dispatch.orphans == {}
    hall.join()
    (batch,) = hall.go_on()
    assert ids(batch) == ["a"]
    assert [row.crashes for row in hall.store.claimed()] == [1]


def test_a_claim_that_names_no_process_goes_on_at_once(hall: Hall) -> None:
    hall.claimed(spec("a", hall.now), "nonsense", token=50)
    hall.reception.release_orphans()
    hall.go_on()
    assert hall.outcomes() == ["interrupted"]
    assert hall.store.history()[0].reason == "its host has ended"


def test_a_claim_whose_host_lives_and_is_silent_goes_on_after_the_lease(hall: Hall) -> None:
    hall.kernel.alive.add("7-1")
    hall.claimed(spec("a", hall.now, delivery="at_least_once"), HOST, token=50)
    hall.clock.advance(LEASE_US / 1e6 + 0.000001)
    hall.reception.release_orphans()
    assert hall.dispatch.orphans == {}
    hall.join("8-1/b")
    (batch,) = hall.go_on()
    assert ids(batch) == ["a"]
    assert [row.crashes for row in hall.store.claimed()] == [0]


def test_a_claim_that_its_living_host_does_not_hold_never_began(hall: Hall) -> None:
    hall.claimed(spec("a", hall.now), HOST, token=50)
    hall.claimed(spec("b", hall.now), "8-1/b", token=51)
    hall.kernel.alive.add("8-1")
    hall.join()
    (batch,) = hall.go_on()
    assert (ids(batch), batch.orders[0].attempt) == (["a"], 1)
    assert list(hall.dispatch.orphans) == [51]


def test_a_result_for_a_claim_of_an_earlier_scheduler_counts(hall: Hall) -> None:
    row = hall.claimed(spec("a", hall.now), HOST, token=50)
    hall.join(results=(result_of(order_of(50, row.seq)),))
    (batch,) = hall.go_on()
    assert batch.settled == (50,)
    assert hall.outcomes() == ["done"]
