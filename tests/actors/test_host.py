"""What a host was given, what it holds, and what it tells until the scheduler has made it durable."""

from collections.abc import Iterable

import pytest

from bellringer.actors import processes
from bellringer.actors.host import SIGN_OF_LIFE_US, START_WITHIN_US, TELL_AGAIN_US, RunningHost
from bellringer.actors.messages import Event, HostReported, RunBatch
from bellringer.handlers.environment import Environment
from bellringer.storage.values import RunOrder, RunResult
from bellringer.testing.clock import ManualClock
from tests.actors.floor import result_of
from tests.actors.rows import NOON, SECOND

SCHEDULER = "1-1"
START = 1_000 * SECOND
"""On the monotonic clock."""


class ByHand:
    """A runner whose runs begin and end when a test says so."""

    def __init__(self) -> None:
        self.environment = Environment(ManualClock())
        self.begun: list[int] = []
        self.not_begun: list[RunOrder] = []
        self.ended: list[RunResult] = []
        self.interrupted: list[int] | None = []

    def begin(self, orders: Iterable[RunOrder]) -> None:
        self.not_begun += orders
        self.begun += [order.token for order in self.not_begun]

    def withdraw(self) -> list[RunOrder]:
        orders, self.not_begun = self.not_begun, []
        return orders

    def finished(self) -> list[RunResult]:
        results, self.ended = self.ended, []
        return results

    def interrupt(self, tokens: Iterable[int] | None = None) -> None:
        self.interrupted = None if tokens is None else list(tokens)


@pytest.fixture
def runner() -> ByHand:
    return ByHand()


@pytest.fixture
def host(runner: ByHand) -> RunningHost:
    """A host that has joined once."""
    made = RunningHost(
        kind="attached", runner=runner, places=10, incarnation="a", handlers=lambda: ("work", "memory:h")
    )
    made.joined()
    return made


def order(token: int, handler: str = "work") -> RunOrder:
    return RunOrder(token + 500, token, f"job:{token}", handler, None, None, None, "null", None, NOON, 1, SECOND, "key")


def batch(number: int, *tokens: int, joining: int = 1, **fields: object) -> RunBatch:
    orders = tuple(order(token) for token in tokens)
    return RunBatch(scheduler=SCHEDULER, number=number, orders=orders, joining=joining, **fields)  # type: ignore[arg-type]


def give(host: RunningHost, runner: ByHand, number: int, *tokens: int) -> None:
    """Have the host take orders that begin at once."""
    host.take(batch(number, *tokens), START)
    runner.not_begun.clear()


def end(runner: ByHand, *tokens: int) -> None:
    runner.ended += [result_of(order(token)) for token in tokens]


def told(report: HostReported) -> list[int]:
    return [result.token for result in report.results]


# Joining


def test_a_host_says_who_it_is_and_what_it_can_run(host: RunningHost) -> None:
    joined = host.joined()
    assert joined.host == f"{processes.identity()}/a"
    assert (joined.process, joined.kind, joined.places) == (processes.identity(), "attached", 10)
    assert joined.handlers == ("work", "memory:h")
    assert joined.wants_events is False


def test_each_offer_has_a_number_of_its_own(host: RunningHost) -> None:
    assert [host.joined().joining for _ in range(3)] == [2, 3, 4]


def test_a_host_that_joins_again_tells_what_it_holds_and_what_is_not_settled(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 1, 11, 12)
    end(runner, 12)
    joined = host.joined()
    assert joined.holding == (11,)
    assert [result.token for result in joined.results] == [12]


def test_a_host_knows_its_scheduler_once_it_is_welcome(host: RunningHost) -> None:
    assert host.scheduler is None
    host.take(batch(0, joining=0), START)
    assert host.scheduler is None
    host.take(batch(0), START)
    assert host.scheduler == SCHEDULER
    host.joined()
    assert host.scheduler is None


# Taking


def test_what_is_ordered_is_begun_and_held(host: RunningHost, runner: ByHand) -> None:
    host.take(batch(1, 11, 12), START)
    assert runner.begun == [11, 12]
    assert list(host.running) == [11, 12]
    assert not host.idle


def test_the_same_batch_again_starts_nothing(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 1, 11)
    end(runner, 11)
    host.report(START)
    host.take(batch(1, settled=(11,)), START)
    host.take(batch(1, 11), START)
    assert runner.begun == [11]
    assert host.idle


def test_an_older_batch_starts_nothing(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 2, 11)
    host.take(batch(1, 12), START)
    assert runner.begun == [11]
    assert host.report(START).received == 2


@pytest.mark.parametrize("ended", [False, True])
def test_an_order_that_is_held_already_is_not_begun_twice(host: RunningHost, runner: ByHand, ended: bool) -> None:
    give(host, runner, 1, 11)
    if ended:
        end(runner, 11)
        host.report(START)
    give(host, runner, 2, 11, 12)
    assert runner.begun == [11, 12]


def test_orders_from_before_the_latest_offer_are_void(host: RunningHost, runner: ByHand) -> None:
    host.joined()
    host.take(batch(1, 11, joining=1), START)
    assert (runner.begun, host.report(START).received) == ([], 0)
    host.take(batch(2, 11, joining=2), START)
    assert (runner.begun, host.report(START).received) == ([11], 2)


def test_tokens_settled_before_the_latest_offer_are_settled(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 1, 11)
    end(runner, 11)
    host.report(START)
    host.joined()
    host.take(batch(1, joining=1, settled=(11,)), START)
    assert host.idle


def test_a_scheduler_that_begins_to_count_anew_is_obeyed_after_joining_again(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 7, 11)
    host.joined()
    host.take(batch(1, 12, joining=2), START)
    assert runner.begun == [11, 12]


def test_events_alone_are_confirmed_too(host: RunningHost) -> None:
    host.take(batch(3, events=(Event(kind="job.run", at=NOON),)), START)
    assert host.report(START).received == 3


def test_a_batch_that_only_settles_changes_no_number(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 3, 11)
    host.take(batch(2, settled=(99,)), START)
    assert host.report(START).received == 3


def test_dropped_runs_are_interrupted_and_closures_may_finish(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 1, 11, 12)
    host.take(RunBatch(scheduler=SCHEDULER, number=2, orders=(order(13, "memory:h"),), joining=1), START)
    host.take(batch(2, dropped=(11, 13, 99)), START)
    assert runner.interrupted == [11]


def test_what_was_dropped_before_the_latest_offer_is_interrupted(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 1, 11)
    host.joined()
    host.take(batch(1, joining=1, dropped=(11,)), START)
    assert runner.interrupted == [11]


# Telling


def test_a_result_is_told_once_and_kept_until_it_is_settled(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 1, 11)
    end(runner, 11)
    assert told(host.report(START)) == [11]
    assert told(host.report(START)) == []
    assert not host.idle
    host.take(batch(1, settled=(11,)), START)
    assert host.idle


def test_a_result_is_told_again_after_two_seconds_and_not_sooner(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 1, 11)
    end(runner, 11)
    host.report(START)
    assert not host.owes_a_report(START + TELL_AGAIN_US)
    assert told(host.report(START + TELL_AGAIN_US)) == []
    host.report(START)
    assert TELL_AGAIN_US == 2 * SECOND
    assert host.owes_a_report(START + TELL_AGAIN_US + 1)
    assert told(host.report(START + TELL_AGAIN_US + 1)) == [11]
    assert not host.owes_a_report(START + TELL_AGAIN_US + 2)


def test_a_result_that_was_lost_is_told_again_however_much_else_is_told(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 1, *range(11, 20))
    end(runner, 11)
    host.report(START)
    reports = []
    for number in range(1, 5):
        end(runner, 11 + number)
        at = START + number * SECOND
        reports.append(told(host.report(at)))
        host.take(batch(1, settled=(11 + number,)), at)
    assert reports == [[12], [13], [11, 14], [15]]


def test_a_settled_result_is_not_told_again(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 1, 11, 12)
    end(runner, 11, 12)
    host.report(START)
    host.take(batch(1, settled=(11,)), START)
    assert told(host.report(START + 3 * SECOND)) == [12]
    host.take(batch(1, settled=(12,)), START)
    assert not host.owes_a_report(START + 9 * SECOND)


def test_a_result_that_was_told_while_joining_is_told_again_if_it_is_not_settled(
    host: RunningHost, runner: ByHand
) -> None:
    give(host, runner, 1, 11)
    end(runner, 11)
    host.report(START)
    host.joined()
    assert told(host.report(START + SECOND)) == []
    assert told(host.report(START + 3 * SECOND)) == [11]


def test_a_result_that_was_told_while_joining_only_is_no_news(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 1, 11)
    host.report(START)
    end(runner, 11)
    host.joined()
    assert told(host.report(START + SECOND)) == []


def test_nothing_is_kept_of_a_result_that_is_settled(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 1, 11)
    end(runner, 11)
    host.report(START)
    host.take(batch(1, settled=(11,)), START)
    assert host._told == {}


def test_a_host_that_runs_something_gives_a_sign_of_life(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 1, 11)
    host.report(START)
    assert not host.owes_a_report(START + SIGN_OF_LIFE_US)
    assert host.owes_a_report(START + SIGN_OF_LIFE_US + 1)


def test_an_idle_host_owes_nothing(host: RunningHost) -> None:
    host.report(START)
    assert not host.owes_a_report(START + 3_600 * SECOND)


def test_a_report_says_whether_the_host_takes_more(host: RunningHost) -> None:
    assert host.report(START).open
    host.open = False
    assert not host.report(START).open


def test_a_result_of_a_run_that_is_not_held_is_not_told(host: RunningHost, runner: ByHand) -> None:
    end(runner, 99)
    assert told(host.report(START)) == []
    assert host.idle


def test_a_host_that_leaves_tells_all_that_is_not_settled(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 1, 11, 12)
    end(runner, 11)
    host.report(START)
    end(runner, 12)
    left = host.left()
    assert (left.host, [result.token for result in left.results]) == (host.host, [11, 12])


# Giving back


def test_what_its_loop_does_not_begin_in_time_is_given_back(host: RunningHost, runner: ByHand) -> None:
    host.take(batch(1, 11, 12), START)
    assert START_WITHIN_US == SECOND // 10
    assert host.give_back(START + START_WITHIN_US - 1) is False
    assert host.give_back(START + START_WITHIN_US) is True
    (first, second) = host.report(START + START_WITHIN_US).results
    assert (first.token, first.seq, first.verdict, second.token) == (11, 511, "not_started", 12)
    assert first.reason == "the host's loop is blocked"
    assert first.started_at == first.finished_at == runner.environment.clock.wall()
    assert dict(host.running) == {}


def test_nothing_is_given_back_of_what_was_begun(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 1, 11)
    assert host.give_back(START + START_WITHIN_US) is False
    assert list(host.running) == [11]


def test_new_orders_begin_the_time_anew(host: RunningHost) -> None:
    host.take(batch(1, 11), START)
    host.take(batch(2, 12), START + START_WITHIN_US)
    assert host.give_back(START + START_WITHIN_US) is False


def test_a_repeated_batch_does_not_begin_the_time_anew(host: RunningHost) -> None:
    host.take(batch(1, 11), START)
    host.take(batch(2, 11), START + START_WITHIN_US)
    assert host.give_back(START + START_WITHIN_US) is True


def test_what_was_begun_without_its_handler_being_called_is_given_up(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 1, 11, 12)
    host.give_up([12, 99])
    (result,) = host.report(START).results
    assert (result.token, result.seq, result.verdict) == (12, 512, "not_started")
    assert result.reason == "its host could not go on"
    assert list(host.running) == [11]


def test_a_run_that_never_ends_is_told_as_failed(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 1, 11)
    host.fail(11, "it hangs")
    host.fail(99, "it is not here")
    (result,) = host.report(START).results
    assert (result.token, result.seq, result.verdict, result.reason) == (11, 511, "failed", "it hangs")


def test_what_was_given_up_may_still_end_and_is_not_told_twice(host: RunningHost, runner: ByHand) -> None:
    give(host, runner, 1, 11)
    host.fail(11, "it hangs")
    end(runner, 11)
    (result,) = host.report(START).results
    assert result.verdict == "failed"
