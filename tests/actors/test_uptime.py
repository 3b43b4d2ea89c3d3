"""When nobody was there, and when the clock was set: noted, so that lateness can be explained."""

import pytest

from bellringer import Context
from bellringer.actors.uptime import ALIVE_AT, NOTED_FROM_US, SIGN_EVERY_US, Uptime
from bellringer.storage.errors import StorageBusyError
from bellringer.storage.memory_store import MemoryStore
from bellringer.storage.values import Outage
from bellringer.testing import Drive
from bellringer.testing.clock import ManualClock
from tests.actors.rows import SECOND

END = 1 << 60


class Watched:
    """An uptime on a store, under a clock that a test moves."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.clock = ManualClock()
        self.begin()

    def begin(self, *, restarted: bool = False) -> None:
        self.uptime = Uptime(self.store, self.clock)
        self.uptime.begin(self.clock.wall(), restarted=restarted)
        self.uptime.note(self.clock.wall())

    def pass_time(self, seconds: float) -> None:
        """A tick each second."""
        for _ in range(int(seconds)):
            self.clock.advance(1)
            self.uptime.note(self.clock.wall())

    @property
    def outages(self) -> list[Outage]:
        return self.store.outages(0, END)

    @property
    def sign(self) -> int:
        return int(self.store.meta(ALIVE_AT) or 0)


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_a_scheduler_that_was_never_there_before_was_missed_by_nobody(watched: Watched) -> None:
    assert watched.outages == []
    assert watched.sign == watched.clock.wall()


def test_time_that_passes_as_it_should_is_no_outage(watched: Watched) -> None:
    watched.pass_time(300)
    assert watched.outages == []


def test_a_sign_of_life_is_left_every_fifteen_seconds(watched: Watched) -> None:
    assert SIGN_EVERY_US == 15 * SECOND
    begun = watched.clock.wall()
    watched.pass_time(14)
    assert watched.sign == begun
    watched.pass_time(1)
    assert watched.sign == begun + 15 * SECOND


def test_after_an_orderly_end_the_outage_is_told_to_the_microsecond(watched: Watched) -> None:
    watched.pass_time(7)
    ended = watched.clock.wall()
    watched.uptime.end(ended)
    watched.clock.advance(hours=3)
    watched.begin()
    assert watched.outages == [Outage(ended, watched.clock.wall(), "down")]


def test_after_a_kill_the_outage_begins_with_the_last_sign_of_life(watched: Watched) -> None:
    watched.pass_time(25)
    sign = watched.sign
    watched.clock.advance(hours=3)
    watched.begin()
    assert watched.outages == [Outage(sign, watched.clock.wall(), "down")]


def test_a_scheduler_that_is_restarted_by_its_supervisor_tells_no_outage(watched: Watched) -> None:
    watched.clock.advance(10)
    watched.begin(restarted=True)
    assert watched.outages == []
    assert watched.sign == watched.clock.wall()


@pytest.mark.parametrize(("gone_us", "told"), [(NOTED_FROM_US, 0), (NOTED_FROM_US + 1, 1)])
def test_two_seconds_are_no_outage(watched: Watched, gone_us: int, told: int) -> None:
    watched.clock.advance(microseconds=gone_us)
    watched.begin()
    assert len(watched.outages) == told


def test_a_clock_that_was_set_back_meanwhile_makes_no_outage(watched: Watched) -> None:
    watched.clock.jump(wall=-3_600)
    watched.begin()
    assert watched.outages == []


@pytest.mark.parametrize("slept", [300, 10 * 365 * 86_400])
def test_b19_a_suspend_or_a_clock_set_forward_is_told_as_a_jump(watched: Watched, slept: int) -> None:
    watched.pass_time(5)
    before = watched.clock.wall()
    watched.clock.jump(wall=slept)
    watched.pass_time(5)
    assert watched.outages == [Outage(before, before + (slept + 1) * SECOND, "jump")]


def test_a_clock_that_is_set_back_is_no_outage_and_signs_on(watched: Watched) -> None:
    watched.clock.jump(wall=-3_600)
    watched.pass_time(1)
    assert watched.outages == []
    assert watched.sign == watched.clock.wall()


def test_a_small_correction_of_the_clock_is_no_jump(watched: Watched) -> None:
    watched.clock.jump(wall=2)
    watched.pass_time(1)
    assert watched.outages == []


def test_many_small_corrections_are_no_jump(watched: Watched) -> None:
    for _ in range(10):
        watched.clock.jump(wall=1)
        watched.pass_time(1)
    assert watched.outages == []


def test_a_scheduler_that_was_busy_for_long_was_there(watched: Watched) -> None:
    watched.clock.advance(60)
    watched.uptime.note(watched.clock.wall())
    assert watched.outages == []


class Busy(MemoryStore):
    """A store that can't be written while it is `busy`."""

    busy = False

    def note_outage(self, outage: Outage) -> None:
        self._check()
        super().note_outage(outage)

    def set_meta(self, key: str, value: str) -> None:
        self._check()
        super().set_meta(key, value)

    def _check(self) -> None:
        if self.busy:
            raise StorageBusyError("the database is busy")


def test_b69_an_outage_that_could_not_be_noted_at_the_start_is_noted_later() -> None:
    store, clock = Busy(), ManualClock()
    store.set_meta(ALIVE_AT, str(clock.wall()))
    clock.advance(hours=1)
    uptime = Uptime(store, clock)
    store.busy = True
    uptime.begin(clock.wall(), restarted=False)
    down = Outage(clock.wall() - 3_600 * SECOND, clock.wall(), "down")
    for _ in range(3):
        clock.advance(1)
        with pytest.raises(StorageBusyError):
            uptime.note(clock.wall())
    store.busy = False
    uptime.note(clock.wall())
    uptime.note(clock.wall())
    assert store.outages(0, END) == [down]


def test_b69_a_jump_that_could_not_be_noted_is_noted_later() -> None:
    store, clock = Busy(), ManualClock()
    uptime = Uptime(store, clock)
    uptime.begin(clock.wall(), restarted=False)
    before = clock.wall()
    clock.jump(wall=300)
    store.busy = True
    with pytest.raises(StorageBusyError):
        uptime.note(clock.wall())
    store.busy = False
    uptime.note(clock.wall())
    assert store.outages(0, END) == [Outage(before, clock.wall(), "jump")]


# The whole way


def note_nothing(drive: Drive) -> None:
    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        pass


def test_an_outage_is_told_by_who_asks_why(drive: Drive) -> None:
    note_nothing(drive)
    drive.persisted("a", "work", after=60)
    drive.advance(30)
    drive.crash()
    drive.clock.advance(hours=3)
    drive.start()
    told = drive.explain("a")
    assert told is not None
    assert "nothing was running" in str(told)


def test_a_crash_of_the_scheduler_alone_is_no_outage(drive: Drive) -> None:
    drive.persisted("a", "work", after=3_600)
    drive.advance(60)
    drive.crash_scheduler()
    drive.advance(60)
    assert drive.store.inner.outages(0, END) == []


def test_an_orderly_stop_leaves_a_sign_of_life(drive: Drive) -> None:
    drive.persisted("a", "work", after=3_600)
    drive.advance(40)
    stopped = drive.clock.wall()
    drive.stop()
    drive.clock.advance(hours=1)
    drive.start()
    (outage,) = drive.store.inner.outages(0, END)
    assert (outage.began_at, outage.kind) == (stopped, "down")
