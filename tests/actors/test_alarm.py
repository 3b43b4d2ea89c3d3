"""One wake-up for the earliest instant: armed anew only for an earlier one, and told from those armed before."""

from collections.abc import Iterator
from typing import Any

import pytest
from thespian.actors import Actor, WakeupMessage

from bellringer.actors.alarm import LONGEST_US, Alarm
from bellringer.actors.synchronous import SynchronousSystem
from bellringer.testing.clock import ManualClock
from tests.actors.rows import SECOND


class Sleeper(Actor):
    """Keeps what rings."""

    made: "Sleeper"

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        Sleeper.made = self
        self.rung: list[object] = []

    def receiveMessage(self, message: Any, sender: Any) -> None:
        if isinstance(message, WakeupMessage):
            self.rung.append(message.payload)


class Bedside:
    """An actor of a real system under a manual clock, with its alarm."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.system = SynchronousSystem(self.clock)
        self.system.make(Sleeper)
        self.system.run()
        self.alarm = Alarm(Sleeper.made, self.clock)
        self.start = self.clock.wall()

    def arm(self, after_us: int | None) -> None:
        now = self.clock.wall()
        self.alarm.arm(None if after_us is None else now + after_us, now)

    def rings_in(self) -> list[int]:
        """How long each wake-up is armed for."""
        return [waiting.duration_us for waiting in self.system.wakeups]

    def pass_time(self, us: int) -> list[object]:
        """What has rung meanwhile."""
        self.clock.advance(us / 1e6)
        self.system.run()
        rung, Sleeper.made.rung = Sleeper.made.rung, []
        return rung


@pytest.fixture
def bedside() -> Iterator[Bedside]:
    made = Bedside()
    yield made
    made.system.shutdown()  # type: ignore[no-untyped-call]


def test_it_rings_at_the_instant_it_is_armed_for(bedside: Bedside) -> None:
    bedside.arm(5 * SECOND)
    assert bedside.alarm.until == bedside.start + 5 * SECOND
    assert bedside.pass_time(5 * SECOND - 1) == []
    (payload,) = bedside.pass_time(1)
    assert bedside.alarm.rings(payload)
    assert bedside.alarm.until is None


def test_an_earlier_instant_takes_the_place_of_the_one_before(bedside: Bedside) -> None:
    bedside.arm(5 * SECOND)
    bedside.arm(2 * SECOND)
    assert bedside.rings_in() == [2 * SECOND]
    assert bedside.alarm.armed == 1


@pytest.mark.parametrize("later", [5 * SECOND, 7 * SECOND, None])
def test_a_later_instant_leaves_it_as_it_is(bedside: Bedside, later: int | None) -> None:
    bedside.arm(5 * SECOND)
    before = bedside.system.wakeups
    bedside.arm(later)
    assert bedside.system.wakeups == before


def test_one_that_should_have_rung_is_armed_anew(bedside: Bedside) -> None:
    bedside.arm(5 * SECOND)
    bedside.clock.jump(wall=5)
    bedside.arm(7 * SECOND)
    assert bedside.rings_in() == [7 * SECOND]


@pytest.mark.parametrize("at", [None, 61 * SECOND, 10**15])
def test_it_rings_within_a_minute_at_the_latest(bedside: Bedside, at: int | None) -> None:
    bedside.arm(at)
    assert bedside.rings_in() == [LONGEST_US] == [60 * SECOND]
    assert bedside.alarm.until == bedside.start + 60 * SECOND


def test_an_instant_that_has_passed_rings_at_once(bedside: Bedside) -> None:
    bedside.arm(-SECOND)
    assert bedside.rings_in() == [1]


def test_the_time_that_a_pass_has_taken_is_no_lateness(bedside: Bedside) -> None:
    now = bedside.clock.wall()
    bedside.clock.advance(2)
    bedside.alarm.arm(now + 5 * SECOND, now)
    assert bedside.rings_in() == [3 * SECOND]


def test_a_wake_up_of_an_earlier_arming_means_nothing(bedside: Bedside) -> None:
    bedside.arm(2 * SECOND)
    (early,) = bedside.pass_time(2 * SECOND)
    bedside.arm(-1)
    assert not bedside.alarm.rings(early)
    assert bedside.alarm.until is not None
    (payload,) = bedside.pass_time(1)
    assert bedside.alarm.rings(payload)


def test_what_somebody_else_armed_means_nothing(bedside: Bedside) -> None:
    bedside.arm(SECOND)
    assert not bedside.alarm.rings(None)
    assert bedside.alarm.until == bedside.start + SECOND


def test_it_is_due_when_it_should_have_rung_by_now(bedside: Bedside) -> None:
    assert bedside.alarm.is_due(bedside.start)
    bedside.arm(SECOND)
    assert not bedside.alarm.is_due(bedside.start + SECOND - 1)
    assert bedside.alarm.is_due(bedside.start + SECOND)


def test_nothing_is_armed_before_it_is_asked_for(bedside: Bedside) -> None:
    assert (bedside.alarm.armed, bedside.alarm.until) == (0, None)
