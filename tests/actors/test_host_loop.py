"""Orders on an event loop, and the hand-over between it and the thread that has the messages."""

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest

from bellringer import Context
from bellringer.actors.host_loop import GATHER_S, HostLoop
from bellringer.handlers.environment import Environment
from bellringer.handlers.registry import Registry
from bellringer.storage.values import RunOrder
from bellringer.testing.clock import ManualClock
from bellringer.testing.loop import ManualLoop
from tests.actors.rows import NOON, SECOND

PATIENCE_S = 10.0


def order(token: int, handler: str = "quick") -> RunOrder:
    return RunOrder(token, token, f"job:{token}", handler, None, None, None, "null", None, NOON, 1, 60 * SECOND, "key")


def registry(**handlers: Callable[..., object]) -> Registry:
    made = Registry()
    for name, function in handlers.items():
        made.add(name, function)
    return made


async def quick(ctx: Context, payload: object) -> None:
    pass


async def second(ctx: Context, payload: object) -> None:
    await asyncio.sleep(1)


class Stepped:
    """A host loop on a loop that moves only when a test says so."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.loop = ManualLoop(self.clock)
        self.woken = 0
        self.environment = Environment(self.clock, registry=registry(quick=quick, second=second))
        self.host = HostLoop(self.environment, self._wake, self.loop)

    def _wake(self) -> None:
        self.woken += 1

    def move(self, seconds: float = 0) -> None:
        self.clock.advance(seconds)
        self.loop.run_ready()

    def ended(self) -> list[tuple[int, str]]:
        return [(result.token, result.verdict) for result in self.host.finished()]


@pytest.fixture
def stepped() -> Iterator[Stepped]:
    made = Stepped()
    yield made
    made.loop.abandon()


class Threaded:
    """A host loop with a thread of its own."""

    def __init__(self) -> None:
        self.woken = threading.Semaphore(0)
        self.entered = threading.Event()
        self.go_on = threading.Event()
        self.inside: list[tuple[int | None, int]] = []
        self.environment = Environment(ManualClock(), registry=registry(quick=quick, block=self.block))
        self.host = HostLoop(self.environment, self.woken.release)

    async def block(self, ctx: Context, payload: object) -> None:
        """Keep the loop from moving until the test lets it go on."""
        self.inside.append((self.host.current_token(), threading.get_ident()))
        self.entered.set()
        assert self.go_on.wait(PATIENCE_S)

    def results(self, count: int) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = []
        while len(found) < count:
            assert self.woken.acquire(timeout=PATIENCE_S)
            found += [(result.token, result.verdict) for result in self.host.finished()]
        return found

    def let_move(self) -> None:
        """Return once the loop has done all that it was asked for before."""
        moved = threading.Event()
        self.host.loop.call_soon_threadsafe(moved.set)
        assert moved.wait(PATIENCE_S)

    @property
    def thread(self) -> threading.Thread | None:
        return next((thread for thread in threading.enumerate() if thread.ident == self.host.thread_id), None)

    def close(self) -> None:
        self.go_on.set()
        thread = self.thread
        if thread is not None:
            self.host.close(PATIENCE_S)
            thread.join(PATIENCE_S)


@pytest.fixture
def threaded() -> Iterator[Threaded]:
    made = Threaded()
    yield made
    made.close()


# Beginning and ending


def test_what_is_begun_runs_on_the_loop_and_its_result_is_fetched_once(stepped: Stepped) -> None:
    stepped.host.begin([order(1), order(2)])
    assert stepped.ended() == []
    stepped.move()
    assert stepped.ended() == [(1, "done"), (2, "done")]
    assert stepped.ended() == []


def test_what_the_loop_has_not_begun_can_be_withdrawn_and_never_runs(stepped: Stepped) -> None:
    stepped.host.begin([order(1)])
    stepped.host.begin([order(2)])
    assert [withdrawn.token for withdrawn in stepped.host.withdraw()] == [1, 2]
    stepped.move(1)
    assert (stepped.ended(), stepped.woken) == ([], 0)


def test_what_has_begun_can_not_be_withdrawn(stepped: Stepped) -> None:
    stepped.host.begin([order(1, "second")])
    stepped.move()
    assert stepped.host.withdraw() == []


def test_only_the_named_runs_are_cut(stepped: Stepped) -> None:
    stepped.host.begin([order(token, "second") for token in (1, 2, 3)])
    stepped.move()
    stepped.host.interrupt([2, 99])
    stepped.move()
    assert stepped.ended() == [(2, "interrupted")]
    stepped.move(1)
    assert stepped.ended() == [(1, "done"), (3, "done")]


def test_all_runs_are_cut(stepped: Stepped) -> None:
    stepped.host.begin([order(1, "second"), order(2, "second")])
    stepped.move()
    stepped.host.interrupt()
    stepped.move()
    assert stepped.ended() == [(1, "interrupted"), (2, "interrupted")]


# Waking the thread that has the messages


def test_runs_that_take_a_while_are_confirmed_shortly_after_they_began(stepped: Stepped) -> None:
    stepped.host.begin([order(1, "second")])
    stepped.move()
    assert stepped.woken == 0
    stepped.move(GATHER_S)
    assert stepped.woken == 1
    stepped.move(0.5)
    assert stepped.woken == 1


def test_runs_that_end_at_once_are_confirmed_with_their_results(stepped: Stepped) -> None:
    stepped.host.begin([order(1), order(2), order(3)])
    stepped.move()
    assert stepped.woken == 1
    stepped.move(1)
    assert stepped.woken == 1


def test_the_first_of_several_results_waits_for_company(stepped: Stepped) -> None:
    stepped.host.begin([order(1, "second")])
    stepped.move(GATHER_S)
    stepped.move(0.5)
    stepped.host.begin([order(2)])
    stepped.move()
    before = stepped.woken
    stepped.move(GATHER_S / 2)
    assert stepped.woken == before
    stepped.move(GATHER_S / 2)
    assert stepped.woken == before + 1


def test_the_last_result_is_told_at_once(stepped: Stepped) -> None:
    stepped.host.begin([order(1, "second")])
    stepped.move()
    stepped.move(GATHER_S)
    before = stepped.woken
    stepped.move(1 - GATHER_S)
    assert stepped.woken == before + 1
    assert stepped.ended() == [(1, "done")]


def test_a_result_that_comes_while_more_is_about_to_begin_is_told_with_it(stepped: Stepped) -> None:
    async def relay(ctx: Context, payload: object) -> None:
        stepped.host.begin([order(2)])

    stepped.environment.registry.add("relay", relay)
    stepped.host.begin([order(1, "relay")])
    stepped.move()
    assert stepped.woken == 1
    assert stepped.ended() == [(1, "done"), (2, "done")]


# Does the loop move?


def test_a_loop_that_moves_counts_a_beat(stepped: Stepped) -> None:
    before = stepped.host.ask_for_a_beat()
    assert stepped.host.beats == before
    stepped.move()
    assert stepped.host.beats == before + 1


def test_a_blocked_loop_counts_no_beat_and_says_whose_handler_blocks_it(threaded: Threaded) -> None:
    assert threaded.host.current_token() is None
    threaded.host.begin([order(1, "block")])
    assert threaded.entered.wait(PATIENCE_S)
    before = threaded.host.ask_for_a_beat()
    assert threaded.host.current_token() == 1
    assert threaded.host.beats == before
    threaded.go_on.set()
    assert threaded.results(1) == [(1, "done")]
    threaded.let_move()
    assert threaded.host.beats == before + 1
    assert threaded.inside == [(1, threaded.host.thread_id)]


def test_nothing_begins_any_more_on_a_loop_that_was_abandoned(threaded: Threaded) -> None:
    threaded.host.begin([order(1, "block"), order(2), order(3)])
    assert threaded.entered.wait(PATIENCE_S)
    assert threaded.host.abandon() == [2, 3]
    threaded.go_on.set()
    assert threaded.results(1) == [(1, "done")]
    threaded.let_move()
    assert threaded.host.finished() == []


def test_what_a_blocked_loop_has_not_begun_is_withdrawn(threaded: Threaded) -> None:
    threaded.host.begin([order(1, "block")])
    assert threaded.entered.wait(PATIENCE_S)
    threaded.host.begin([order(2), order(3)])
    assert [withdrawn.token for withdrawn in threaded.host.withdraw()] == [2, 3]
    threaded.go_on.set()
    assert threaded.results(1) == [(1, "done")]


# Closing


def test_closing_ends_the_thread_of_its_own_loop(threaded: Threaded) -> None:
    thread = threaded.thread
    assert thread is not None
    assert thread.daemon
    threaded.host.close(PATIENCE_S)
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert threaded.host.loop.is_closed()


def test_closing_lets_a_loop_run_on_that_belongs_to_the_bot() -> None:
    async def bot() -> bool:
        closed = asyncio.Event()

        class Transport:
            async def close(self) -> None:
                closed.set()

        environment = Environment(ManualClock(), registry=Registry(), transport=Transport())  # type: ignore[arg-type]
        host = HostLoop(environment, lambda: None, asyncio.get_running_loop())
        assert host.thread_id is None
        await asyncio.to_thread(host.close, PATIENCE_S)
        return closed.is_set()

    assert asyncio.run(bot())
