"""Passes: what has come is settled, what is due is handed out, and a pass that fails changes nothing."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from bellringer.actors import backlog as backlog_module
from bellringer.actors import claiming as claiming_module
from bellringer.actors import dispatch as module
from bellringer.actors.policy import MAX_CRASHES
from bellringer.actors.shelf import lane_of
from bellringer.storage.errors import StorageBusyError
from bellringer.storage.memory_store import MemoryStore
from bellringer.storage.sqlite_store import open_store
from bellringer.storage.values import Claim, RunOrder, Settlement
from tests.actors.floor import BusyOnce, Floor, result_of, spec
from tests.actors.rows import NOON, SECOND, claimed_row

HOUR = 3_600 * SECOND


@pytest.fixture
def floor() -> Floor:
    """A floor with one host of a hundred places."""
    made = Floor()
    made.host()
    return made


@pytest.fixture
def short_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes of which two rows are held in memory behind the first."""
    monkeypatch.setattr(backlog_module, "ROWS_PER_LANE", 2)
    monkeypatch.setattr(claiming_module, "ROWS_PER_LANE", 2)


@pytest.fixture
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pages of two rows a pass."""
    monkeypatch.setattr(claiming_module, "PAGE", 2)
    monkeypatch.setattr(claiming_module, "PAGES_AT_ONCE", 2)


def run_all(floor: Floor, passes: int = 30) -> list[str]:
    """Pass after pass, with each run ending well at once. The ids in the order in which they were handed out."""
    ran: list[str] = []
    for _ in range(passes):
        begun = floor.begun()
        ran += begun
        for job_id in begun:
            floor.end(job_id)
    return ran


# Handing out


def test_what_is_due_is_claimed_and_handed_out_in_due_order(floor: Floor) -> None:
    floor.put(spec("b", NOON - 1), spec("c"), spec("a", NOON - 2), spec("later", NOON + 1))
    assert floor.begun() == ["a", "b", "c"]
    assert floor.out() == ["a", "b", "c"]
    assert (floor.status("a"), floor.status("later")) == ("claimed", "scheduled")


def test_an_order_names_its_attempt_and_the_token_of_its_claim(floor: Floor) -> None:
    floor.put(spec("a"), spec("b"))
    ((first, second),) = floor.given().values()
    assert (first.attempt, first.token, second.token) == (1, 101, 102)


def test_a_claim_is_leased_for_the_time_limit_and_fifteen_seconds_more(floor: Floor) -> None:
    floor.put(spec("a", time_limit_us=7 * SECOND))
    floor.begun()
    (row,) = floor.store.claimed()
    assert row.lease_until == NOON + 22 * SECOND


def test_nothing_is_handed_out_beyond_the_places(floor: Floor) -> None:
    floor.host("7-1/a", places=2)
    floor.put(spec("a"), spec("b"), spec("c"))
    assert floor.begun() == ["a", "b"]
    assert floor.begun() == []
    floor.end("b")
    assert floor.begun() == ["c"]


def test_the_host_with_the_most_room_gets_the_next(floor: Floor) -> None:
    floor.host("7-1/a", places=2)
    floor.host("8-1/b", places=3)
    floor.put(spec("a"), spec("b"), spec("c"), spec("d"))
    assert {host: [order.id for order in given] for host, given in floor.given().items()} == {
        "8-1/b": ["a", "c"],
        "7-1/a": ["b", "d"],
    }


def test_a_host_that_is_not_ready_is_given_nothing_and_its_jobs_wait(floor: Floor) -> None:
    host = floor.host()
    host.ready = False
    floor.put(spec("a"))
    assert floor.begun() == []
    assert floor.dispatch.has_work
    host.ready = True
    assert floor.begun() == ["a"]


def test_a_closed_host_is_given_nothing(floor: Floor) -> None:
    floor.host().open = False
    floor.put(spec("a"))
    assert floor.begun() == []


def test_a_handler_whose_hosts_are_full_does_not_hold_up_another() -> None:
    floor = Floor()
    floor.host("7-1/a", "slow", places=1)
    floor.host("8-1/b", "quick", places=10)
    floor.put(*(spec(f"s{number}", handler="slow") for number in range(300)), spec("q", handler="quick"))
    assert floor.begun() == ["s0", "q"]
    assert not floor.dispatch.more_is_due
    floor.put(spec("late", NOON + 1, handler="quick"))
    floor.now += 1
    assert floor.begun() == ["late"]


def test_while_claiming_is_off_results_are_settled_and_nothing_is_begun(floor: Floor) -> None:
    floor.put(spec("a"), spec("b", NOON + 1))
    floor.begun()
    floor.dispatch.claiming = False
    floor.end("a")
    floor.now += 1
    assert floor.begun() == []
    assert floor.outcomes() == ["done"]
    assert floor.status("b") == "scheduled"


def test_a_job_that_starts_more_than_a_second_late_is_told_as_late(floor: Floor) -> None:
    floor.put(spec("just in time", NOON - SECOND), spec("late", NOON - SECOND - 1, chat_id=7))
    floor.begun()
    (late,) = floor.events
    assert (late.kind, late.job_id, late.handler, late.attempt) == ("job.late", "late", "work", 1)
    assert (late.late_by_us, late.due_at, late.chat_id, late.at) == (SECOND + 1, NOON - SECOND - 1, 7, NOON)


def test_a_job_found_too_late_is_skipped_and_the_next_of_its_chat_runs(floor: Floor) -> None:
    floor.put(spec("old", NOON - HOUR, chat_id=7, misfire="skip"), spec("next", chat_id=7))
    assert floor.begun() == ["next"]
    assert floor.outcomes("old") == ["skipped"]
    assert not floor.dispatch.more_is_due


def test_a_skipped_job_lets_the_next_of_its_chat_run_whatever_its_handler(floor: Floor) -> None:
    floor.host("8-1/b", "other")
    floor.put(spec("old", NOON - HOUR, chat_id=7, misfire="skip"))
    floor.put(spec("next", chat_id=7, handler="other"), spec("a", NOON - 1))
    assert sorted(floor.begun()) == ["a", "next"]


def test_of_missed_occurrences_the_latest_runs_and_the_others_are_recorded(floor: Floor) -> None:
    floor.put(spec("a", NOON - HOUR, rule='{"every_us":600000000}'))
    assert floor.begun() == ["a"]
    (missed,) = floor.store.history(job_id="a")
    assert (missed.outcome, missed.count, missed.reason) == ("skipped", 6, "missed: a later one runs")


def test_a_rule_that_nobody_can_read_parks_its_job_and_lets_the_chat_go_on(floor: Floor) -> None:
    floor.put(spec("a", NOON - 1, chat_id=7, rule='{"lunar":1}'), spec("b", chat_id=7))
    assert floor.begun() == ["b"]
    assert floor.status("a") == "parked"
    (event,) = floor.events
    assert (event.kind, event.job_id, event.handler) == ("job.parked", "a", "work")
    assert "does not know the rule" in (event.reason or "")


def test_a_claim_whose_row_is_gone_leaves_its_place_and_its_lane() -> None:
    class Forgetful(MemoryStore):
        forgets = False

        def claim(self, claims: Sequence[Claim], now: int) -> list[RunOrder]:
            return [] if self.forgets else super().claim(claims, now)

    store = Forgetful()
    floor = Floor(store)
    host = floor.host()
    floor.suspect(spec("a", chat_id=7))
    floor.put(spec("b", chat_id=7))
    store.forgets = True
    assert floor.begun() == []
    assert (floor.out(), host.running, host.alone, floor.dispatch.busy_lanes) == ([], set(), False, set())
    store.forgets = False
    assert floor.begun() == ["b"]


# Lanes


def test_one_chat_runs_one_at_a_time_and_another_beside_it(floor: Floor) -> None:
    floor.put(spec("a", chat_id=7), spec("b", chat_id=7), spec("c", chat_id=8))
    assert floor.begun() == ["a", "c"]
    floor.end("c")
    assert floor.begun() == []
    floor.end("a")
    assert floor.begun() == ["b"]


def test_a_retry_of_a_chat_waits_for_its_time_while_the_next_goes_first(floor: Floor) -> None:
    floor.put(spec("a", chat_id=7, max_attempts=2), spec("b", chat_id=7))
    floor.begun()
    floor.end("a", "retry", after_us=SECOND)
    assert floor.begun() == ["b"]
    floor.now += 2 * SECOND
    assert floor.begun() == []
    floor.end("b")
    assert floor.begun() == ["a"]
    assert floor.orders["a"].attempt == 2


def test_stored_and_in_memory_jobs_of_a_chat_share_its_lane(floor: Floor) -> None:
    floor.put(spec("first", chat_id=7))
    floor.begun()
    floor.put(spec("stored", chat_id=7))
    floor.put(spec("in memory", chat_id=7), in_memory=True)
    assert floor.begun() == []
    floor.end("first")
    assert floor.begun() == ["stored"]
    floor.end("stored")
    assert floor.begun() == ["in memory"]
    floor.put(spec("last", chat_id=7))
    assert floor.begun() == []
    floor.end("in memory")
    assert floor.begun() + floor.begun() == ["last"]


def test_in_memory_jobs_of_a_chat_stay_in_their_order_behind_a_stored_one(floor: Floor) -> None:
    floor.put(spec("stored", chat_id=7))
    floor.put(*(spec(f"m{number}", NOON - 9 + number, chat_id=7) for number in range(3)), in_memory=True)
    assert run_all(floor, 6) == ["stored", "m0", "m1", "m2"]


def test_a_long_lane_is_held_in_part_and_runs_whole_in_due_order(floor: Floor, short_lanes: None) -> None:
    floor.put(*(spec(f"a{number}", NOON - 20 + number, chat_id=7) for number in range(12)))
    assert floor.begun() == ["a0"]
    assert floor.store.counts().waiting == 9
    assert floor.store.waiting("lane:") == ["lane:i:7"]
    floor.end("a0")
    assert run_all(floor) == [f"a{number}" for number in range(1, 12)]
    assert floor.dispatch.durable.long_lanes == set()


def test_a_long_lane_holds_up_no_other_chat(floor: Floor, short_lanes: None) -> None:
    floor.put(*(spec(f"a{number}", NOON - 20 + number, chat_id=7) for number in range(12)), spec("b", chat_id="7"))
    assert floor.begun() == ["a0", "b"]


def test_a_long_lane_goes_on_when_all_that_was_held_of_it_is_skipped(floor: Floor, short_lanes: None) -> None:
    floor.put(*(spec(f"a{number}", NOON - HOUR, chat_id=7, misfire="skip") for number in range(12)))
    floor.put(spec("b", chat_id=7))
    assert run_all(floor) == ["b"]
    assert floor.outcomes() == ["skipped"] * 12 + ["done"]


def test_a_long_lane_goes_on_when_all_that_was_held_of_it_is_cancelled(floor: Floor, short_lanes: None) -> None:
    host = floor.host()
    host.ready = False
    floor.put(*(spec(f"a{number}", chat_id=7) for number in range(5)))
    floor.begun()
    for removed in floor.store.cancel(["a2", "a1", "a0"], NOON):
        assert removed is not None
        floor.dispatch.vanished(floor.dispatch.durable, removed.seq)
    assert floor.dispatch.has_work
    host.ready = True
    assert floor.begun() == []
    assert floor.dispatch.more_is_due
    assert run_all(floor) == ["a3", "a4"]
    assert not floor.dispatch.has_work


@pytest.mark.usefixtures("short_lanes")
def test_b69_a_long_lane_loses_nobody_when_the_pass_that_lets_them_go_fails() -> None:
    store = BusyOnce()
    floor = Floor(store)
    floor.host()
    floor.put(*(spec(f"a{number}", chat_id=7) for number in range(4)))
    ran = run_all(floor, 2) + floor.begun()
    floor.end(ran[-1])
    assert ran == ["a0", "a1", "a2"]
    store.failing = "commit"
    with pytest.raises(StorageBusyError):
        floor.begun()
    assert store.counts().waiting == 1
    assert run_all(floor) == ["a3"]


@pytest.mark.parametrize("lane", [7, -7, "7", "a:b", ""])
def test_the_reason_of_a_wait_tells_its_lane(floor: Floor, short_lanes: None, lane: int | str) -> None:
    floor.put(*(spec(f"a{number}", chat_id=lane) for number in range(4)))
    floor.begun()
    (reason,) = floor.store.waiting("lane:")
    assert lane_of(reason) == lane


# Pages


def test_a_pass_reads_a_limited_number_of_pages_and_says_that_more_is_due(floor: Floor, short_pages: None) -> None:
    # The first of the lane runs, so that the rows behind it take up pages but no places.
    floor.host(places=1)
    floor.put(*(spec(f"a{number}", chat_id=7) for number in range(20)), spec("b", chat_id=8))
    floor.host("8-1/b", places=2)
    assert floor.begun() == ["a0"]
    assert floor.dispatch.more_is_due
    assert floor.begun() == []
    assert floor.begun() == ["b"]
    assert not floor.dispatch.more_is_due


def test_nothing_more_is_due_once_all_was_read(floor: Floor, short_pages: None) -> None:
    floor.host(places=2)
    floor.put(*(spec(f"a{number}", chat_id=7) for number in range(5)))
    floor.begun()
    assert not floor.dispatch.more_is_due


def test_a_pass_with_nothing_to_do_says_that_nothing_more_is_due(floor: Floor, short_pages: None) -> None:
    floor.host(places=2)
    floor.put(*(spec(f"a{number}", chat_id=7) for number in range(20)))
    floor.begun()
    assert floor.dispatch.more_is_due
    floor.store.cancel([f"a{number}" for number in range(1, 20)], NOON)
    floor.dispatch.start_over()
    floor.begun()
    assert not floor.dispatch.more_is_due


def test_in_memory_jobs_do_not_hide_that_more_of_the_stored_ones_is_due(floor: Floor, short_pages: None) -> None:
    floor.host(places=2)
    floor.put(*(spec(f"a{number}", chat_id=7) for number in range(9)))
    floor.put(spec("m"), in_memory=True)
    floor.begun()
    assert floor.dispatch.more_is_due


def test_no_more_is_read_than_could_be_started(floor: Floor) -> None:
    floor.host(places=1)
    floor.put(*(spec(f"a{number}") for number in range(1_000)))
    for left in (255, 254, 253):
        (begun,) = floor.begun()
        assert len(floor.dispatch.durable.backlog) == left
        floor.end(begun)


def test_no_more_rows_are_held_than_there_is_room_for(floor: Floor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog_module, "ROWS", 3)
    floor.put(*(spec(f"a{number}", chat_id=7) for number in range(9)))
    for _ in range(3):
        floor.begun()
        assert len(floor.dispatch.durable.backlog) <= 3
    floor.end("a0")
    assert run_all(floor) == [f"a{number}" for number in range(1, 9)]


def test_a_pass_with_nothing_to_do_writes_nothing() -> None:
    store = BusyOnce()
    floor = Floor(store)
    floor.host()
    floor.put(spec("later", NOON + 1))
    store.failing = "commit"
    assert floor.begun() == []
    assert store.failing == "commit"


# Settling


def test_a_good_end_is_recorded_and_its_token_told_off(floor: Floor) -> None:
    host = floor.host()
    floor.put(spec("a", chat_id=7))
    floor.begun()
    floor.end("a")
    assert floor.dispatch.has_work
    floor.begun()
    assert floor.outcomes() == ["done"]
    assert host.settled == [floor.orders["a"].token]
    assert (floor.out(), host.running, floor.dispatch.busy_lanes) == ([], set(), set())
    assert not floor.dispatch.has_work
    assert [event.kind for event in floor.events] == ["job.run"]


def test_a_failure_parks_and_is_told(floor: Floor) -> None:
    floor.put(spec("a"))
    floor.begun()
    floor.end("a", "failed", reason="no good")
    floor.begun()
    assert floor.status("a") == "parked"
    assert [(event.kind, event.reason) for event in floor.events] == [
        ("job.error", "no good"),
        ("job.parked", "no good"),
    ]


def test_what_a_handler_scheduled_for_now_runs_in_the_pass_that_settles_it(floor: Floor) -> None:
    floor.put(spec("a"))
    floor.begun()
    floor.end("a", scheduled=(spec("b", NOON - HOUR),))
    assert floor.begun() == ["b"]


def test_a_job_that_was_interrupted_is_run_again_in_the_same_pass(floor: Floor) -> None:
    floor.put(spec("a", delivery="at_least_once"))
    floor.begun()
    floor.end("a", "interrupted")
    assert floor.begun() == ["a"]


@pytest.mark.parametrize("verdict", ["done", "failed"])
def test_a_result_of_a_job_that_was_replaced_changes_nothing_and_frees_its_place(floor: Floor, verdict: str) -> None:
    host = floor.host()
    floor.put(spec("a", chat_id=7))
    floor.begun()
    old = floor.orders["a"]
    floor.put(spec("a", NOON + HOUR, chat_id=7), spec("b", chat_id=7))
    floor.end("a", verdict, reason="of the old one")
    assert floor.begun() == ["b"]
    row = floor.store.get("a")
    assert row is not None
    assert (row.status, row.due_at, row.reason) == ("scheduled", NOON + HOUR, None)
    assert floor.outcomes("a") == ["cancelled"]
    assert host.settled == [old.token]
    assert floor.events == []


@pytest.mark.parametrize("verdict", ["done", "failed"])
def test_a_result_with_a_token_that_is_no_longer_current_leaves_the_new_claim_alone(floor: Floor, verdict: str) -> None:
    floor.put(spec("a"))
    floor.begun()
    order = floor.orders["a"]
    floor.store.settle([Settlement(order.seq, order.token, "release", None, NOON)], NOON)
    floor.store.claim([Claim(order.seq, 999, "8-1/b", NOON, None, NOON + HOUR)], NOON)
    floor.end("a", verdict)
    floor.begun()
    assert [row.token for row in floor.store.claimed()] == [999]
    assert (floor.outcomes(), floor.events, floor.out()) == ([], [], [])


def test_a_result_that_nobody_waits_for_is_told_off_at_once(floor: Floor) -> None:
    host = floor.host()
    floor.put(spec("a"))
    floor.begun()
    floor.end("a")
    floor.begun()
    host.settled.clear()
    floor.dispatch.take_result(host, result_of(floor.orders["a"]))
    assert host.settled == [floor.orders["a"].token]
    assert not floor.dispatch.has_work


def test_a_result_from_a_host_that_was_not_given_the_job_is_refused(floor: Floor) -> None:
    floor.put(spec("a"))
    floor.begun()
    stranger = floor.host("8-1/b")
    floor.dispatch.take_result(stranger, result_of(floor.orders["a"]))
    floor.begun()
    assert stranger.settled == [floor.orders["a"].token]
    assert floor.outcomes() == []
    assert floor.status("a") == "claimed"


# A pass that fails


@pytest.mark.parametrize("at", ["settle", "claims", "claim", "due", "commit"])
def test_b69_a_pass_that_fails_changes_nothing_and_the_next_does_it_all(at: str) -> None:
    store = BusyOnce()
    floor = Floor(store)
    host = floor.host(places=2)
    floor.put(spec("a", chat_id=7), spec("b", chat_id=8))
    floor.begun()
    floor.put(spec("c", chat_id=7), spec("d", NOON - 1, chat_id=9))
    floor.end("a")
    floor.end("b", "failed", reason="no good")
    before = floor.standing()
    store.failing = at
    with pytest.raises(StorageBusyError):
        floor.begun()
    assert store.failing is None
    assert floor.standing() == before
    assert floor.dispatch.has_work
    assert (host.settled, floor.outcomes()) == ([], [])
    floor.events.clear()
    assert floor.begun() == ["d", "c"]
    assert floor.outcomes() == ["done", "failed"]
    assert sorted(host.settled) == sorted(floor.orders[job].token for job in "ab")
    assert [event.kind for event in floor.events] == ["job.run", "job.error", "job.parked"]


def test_b69_a_pass_that_fails_leaves_each_host_what_it_had() -> None:
    store = BusyOnce()
    floor = Floor(store)
    floor.host("7-1/a", places=2)
    floor.host("8-1/b", places=2)
    floor.put(*(spec(f"a{number}", chat_id=number) for number in range(3)))
    floor.begun()
    floor.put(spec("b"))
    before = floor.standing()
    store.failing = "commit"
    with pytest.raises(StorageBusyError):
        floor.begun()
    assert floor.standing() == before


def test_b69_a_pass_that_fails_on_a_real_database_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path / "bot.db")
    try:
        floor = Floor(store)
        floor.host()
        floor.put(spec("a", chat_id=7), spec("b", chat_id=7))
        floor.begun()
        floor.end("a")

        def busy(*_: object) -> list[RunOrder]:
            raise StorageBusyError("the database is busy")

        with monkeypatch.context() as broken:
            broken.setattr(type(store), "claim", busy)
            with pytest.raises(StorageBusyError):
                floor.begun()
        assert floor.outcomes() == []
        assert floor.begun() == ["b"]
        assert floor.outcomes() == ["done"]
    finally:
        store.close()


def test_b69_a_pass_that_fails_lets_no_in_memory_job_into_a_lane_that_is_busy() -> None:
    store = BusyOnce()
    floor = Floor(store)
    floor.host()
    floor.put(spec("a", chat_id=7))
    floor.begun()
    floor.put(spec("m0", chat_id=7), spec("m1", chat_id=7), in_memory=True)
    floor.begun()
    floor.end("a")
    store.failing = "commit"
    with pytest.raises(StorageBusyError):
        floor.begun()
    assert floor.begun() == ["m0"]
    assert floor.begun() == []


def test_b69_after_a_pass_that_failed_a_suspect_is_alone_as_before() -> None:
    store = BusyOnce()
    floor = Floor(store)
    floor.host("7-1/a")
    floor.suspect(spec("s"))
    assert floor.begun() == ["s"]
    floor.put(spec("a"))
    store.failing = "due"
    with pytest.raises(StorageBusyError):
        floor.begun()
    assert floor.begun() == []


def test_b69_after_a_pass_that_failed_nobody_is_kept_alone_for_nothing() -> None:
    store = BusyOnce()
    floor = Floor(store)
    host = floor.host("7-1/a")
    floor.suspect(spec("s"))
    store.failing = "claim"
    with pytest.raises(StorageBusyError):
        floor.begun()
    assert (host.alone, host.running) == (False, set())


def test_starting_over_reads_what_is_due_anew(floor: Floor) -> None:
    floor.put(spec("a"))
    floor.begun()
    floor.store.put([spec("unnoticed", NOON - HOUR)], NOON)
    assert floor.begun() == []
    floor.dispatch.start_over()
    assert floor.begun() == ["unnoticed"]
    assert floor.out() == ["a", "unnoticed"]


# Suspects


def test_b77_a_job_that_has_ended_a_host_once_runs_among_the_others(floor: Floor) -> None:
    floor.suspect(spec("s", NOON - 1), crashes=1)
    floor.put(spec("a"))
    assert floor.begun() == ["s", "a"]


def test_b77_a_suspect_waits_until_a_host_is_empty_and_others_go_on_elsewhere() -> None:
    floor = Floor()
    one, two = floor.host("7-1/a", places=3), floor.host("8-1/b", places=3)
    floor.put(*(spec(f"a{number}") for number in range(3)))
    floor.begun()
    emptiest = min(one, two, key=lambda host: len(host.running))
    floor.suspect(spec("s", NOON - 1))
    floor.put(*(spec(f"b{number}") for number in range(4)))
    given = floor.given()
    assert emptiest.host not in given
    assert [order.id for orders in given.values() for order in orders] == ["b0"]
    (last,) = [run.job_id for run in floor.dispatch.running.values() if run.host == emptiest.host]
    floor.end(last)
    assert [order.id for order in floor.given()[emptiest.host]] == ["s"]


def test_b77_a_host_that_empties_itself_takes_nothing_until_it_is_empty() -> None:
    floor = Floor()
    floor.host("7-1/a", places=3)
    floor.put(spec("a"), spec("b"))
    floor.begun()
    floor.suspect(spec("s"))
    floor.put(spec("c", NOON - 1))
    floor.dispatch.hosts.empty_one("work")
    floor.end("a")
    assert floor.begun() == []
    floor.end("b")
    assert floor.begun() == ["c"]
    floor.put(spec("d"))
    assert floor.begun() == []
    floor.end("c")
    assert floor.begun() == ["s"]


def test_b77_nothing_is_put_beside_a_suspect_until_it_has_ended() -> None:
    floor = Floor()
    floor.host("7-1/a")
    floor.suspect(spec("s", NOON - 1))
    floor.put(spec("a"), spec("b"))
    assert floor.begun() == ["s"]
    assert floor.begun() == []
    floor.end("s")
    assert floor.begun() == ["a", "b"]


def test_b77_of_two_suspects_each_runs_alone() -> None:
    floor = Floor()
    floor.host("7-1/a")
    floor.suspect(spec("s", NOON - 2))
    floor.suspect(spec("t", NOON - 1))
    assert floor.begun() == ["s"]
    floor.end("s")
    assert floor.begun() == ["t"]


def test_b77_others_of_the_same_handler_need_not_wait_behind_a_suspect() -> None:
    floor = Floor()
    floor.host("7-1/a", places=2)
    floor.host("8-1/b", places=3)
    floor.put(spec("a"), spec("b"))
    floor.begun()
    floor.suspect(spec("s", NOON - HOUR))
    floor.put(spec("c"))
    assert floor.begun() == ["c"]


def test_b77_a_suspect_inherited_from_an_earlier_scheduler_is_alone_on_its_host() -> None:
    floor = Floor()
    floor.dispatch.inherit(claimed_row(host="7-1/a", crashes=2))
    host = floor.host("7-1/a")
    floor.dispatch.inherit(claimed_row(seq=2, token=12, host="7-1/a", crashes=0))
    floor.dispatch.confirm(host, 11)
    floor.dispatch.confirm(host, 12)
    floor.put(spec("a"))
    assert floor.begun() == []
    floor.dispatch.start_over()
    assert floor.begun() == []


def test_b77_a_host_that_ended_is_counted_against_each_job_on_it() -> None:
    floor = Floor()
    host = floor.host("0-1/a")
    floor.put(spec("a", delivery="at_least_once"))
    for crash in range(1, MAX_CRASHES + 1):
        assert floor.begun() == ["a"]
        ended, host = host, floor.host(f"{crash}-1/a")
        floor.dispatch.release_host(ended, NOON, "it ended", crashed=True)
    assert floor.begun() == []
    assert floor.status("a") == "parked"
    assert f"ended its host {MAX_CRASHES} times" in (floor.store.history(job_id="a")[0].reason or "")


# Hosts that go, and what they held


def test_a_host_that_is_gone_gives_its_at_least_once_jobs_to_another_at_once() -> None:
    floor = Floor()
    host = floor.host("7-1/a")
    floor.put(spec("a", delivery="at_least_once", chat_id=7))
    floor.begun()
    floor.host("8-1/b")
    floor.dispatch.release_host(host, NOON, "it ended", crashed=False)
    assert floor.begun() == ["a"]
    assert floor.orders["a"].attempt == 1
    assert [run.host for run in floor.dispatch.running.values()] == ["8-1/b"]


def test_a_host_that_is_gone_leaves_its_at_most_once_jobs_interrupted() -> None:
    floor = Floor()
    host = floor.host()
    floor.put(spec("a"))
    floor.put(spec("m"), in_memory=True)
    floor.begun()
    floor.dispatch.release_host(host, NOON, "it ended", crashed=False)
    assert floor.dispatch.has_work
    floor.begun()
    assert (floor.outcomes(), floor.status("a")) == (["interrupted"], "parked")
    assert [row.outcome for row in floor.memory.history()] == ["cancelled", "interrupted"]
    assert floor.memory.counts().parked == 0  # nobody could redrive a function whose process is gone
    assert floor.out() == []
    assert not floor.dispatch.has_work


def test_what_a_host_had_told_before_it_went_counts() -> None:
    floor = Floor()
    host = floor.host()
    floor.put(spec("a"), spec("b"))
    floor.begun()
    floor.end("a")
    floor.dispatch.release_host(host, NOON, "it ended", crashed=True)
    floor.begun()
    assert (floor.outcomes("a"), floor.outcomes("b")) == (["done"], ["interrupted"])


def test_a_host_that_goes_takes_nothing_of_another_with_it() -> None:
    floor = Floor()
    floor.host("7-1/a", places=1)
    gone = floor.host("8-1/b", places=1)
    floor.put(spec("a"), spec("b"))
    orders = floor.given()
    floor.dispatch.release_host(gone, NOON, "it ended", crashed=True)
    floor.begun()
    assert floor.outcomes(orders["8-1/b"][0].id) == ["interrupted"]
    assert floor.out() == [orders["7-1/a"][0].id]


def test_a_claim_that_another_has_taken_over_is_not_interrupted_with_its_old_host(floor: Floor) -> None:
    host = floor.host()
    floor.put(spec("a"))
    floor.begun()
    order = floor.orders["a"]
    floor.store.settle([Settlement(order.seq, order.token, "release", None, NOON)], NOON)
    floor.store.claim([Claim(order.seq, 999, "8-1/b", NOON, None, NOON + HOUR)], NOON)
    floor.dispatch.release_host(host, NOON, "it ended", crashed=True)
    assert floor.dispatch.interrupt_all(NOON, "stopped") == 0
    assert floor.dispatch.durable.settlements == {}


def test_b69_a_host_whose_claims_cannot_be_read_is_still_there_to_be_released() -> None:
    store = BusyOnce()
    floor = Floor(store)
    host = floor.host()
    floor.put(spec("a"))
    floor.begun()
    store.failing = "claims"
    with pytest.raises(StorageBusyError):
        floor.dispatch.release_host(host, NOON, "it ended", crashed=True)
    floor.dispatch.release_host(host, NOON, "it ended", crashed=True)
    floor.begun()
    assert floor.outcomes() == ["interrupted"]
    assert host.host not in floor.dispatch.hosts.by_id


def test_b69_a_result_that_comes_before_its_interruption_could_be_recorded_is_not_recorded_twice() -> None:
    store = BusyOnce()
    floor = Floor(store)
    host = floor.host()
    floor.put(spec("a", chat_id=7), spec("b", chat_id=7))
    floor.begun()
    floor.dispatch.release_host(host, NOON, "it was silent", crashed=False)
    store.failing = "commit"
    with pytest.raises(StorageBusyError):
        floor.begun()
    again = floor.host()
    floor.end("a")
    assert floor.begun() == ["b"]
    assert floor.outcomes() == ["interrupted"]
    assert again.settled == [floor.orders["a"].token]
    assert floor.out() == ["b"]


def test_what_a_living_host_does_not_hold_never_began_and_keeps_its_attempts() -> None:
    floor = Floor()
    floor.host()
    floor.put(spec("a"))
    floor.begun()
    floor.dispatch.lose(floor.orders["a"].token, NOON)
    assert floor.begun() == ["a"]
    assert floor.orders["a"].attempt == 1
    assert floor.outcomes() == []


def test_a_result_that_has_come_is_not_lost_with_its_token(floor: Floor) -> None:
    floor.put(spec("a"))
    floor.begun()
    floor.end("a")
    floor.dispatch.lose(floor.orders["a"].token, NOON)
    floor.begun()
    assert floor.outcomes() == ["done"]


def test_losing_a_claim_that_is_no_longer_current_changes_nothing(floor: Floor) -> None:
    floor.put(spec("a"), spec("b"))
    floor.begun()
    first, second = floor.orders["a"], floor.orders["b"]
    floor.store.settle([Settlement(first.seq, first.token, "release", None, NOON)], NOON)
    floor.store.claim([Claim(first.seq, 999, "8-1/b", NOON, None, NOON + HOUR)], NOON)
    floor.store.cancel(["b"], NOON)
    floor.dispatch.lose(first.token, NOON)
    floor.dispatch.lose(second.token, NOON)
    assert floor.dispatch.durable.settlements == {}


def test_at_the_end_whatever_is_still_out_is_interrupted(floor: Floor) -> None:
    floor.put(spec("a"), spec("b"), spec("c", delivery="at_least_once"))
    floor.put(spec("m1"), spec("m2"), in_memory=True)
    floor.begun()
    floor.end("a")
    floor.dispatch.claiming = False
    assert floor.dispatch.interrupt_all(NOON, "the system was stopped") == 4
    floor.begun()
    assert [row.outcome for row in floor.memory.history()].count("interrupted") == 2
    assert floor.memory.counts().parked == 0
    assert (floor.outcomes("a"), floor.outcomes("b"), floor.status("c")) == (["done"], ["interrupted"], "scheduled")
    assert floor.store.history(job_id="b")[0].reason == "the system was stopped"
    assert floor.out() == []


# What an earlier scheduler has left


def test_an_inherited_claim_keeps_its_lane_busy_until_it_is_settled() -> None:
    floor = Floor()
    row = floor.claimed(spec("a", chat_id=7), "7-1/a", token=50)
    floor.put(spec("b", chat_id=7))
    host = floor.host("7-1/a")
    assert floor.begun() == []
    floor.dispatch.confirm(host, 50)
    assert (floor.dispatch.orphans, host.running) == ({}, {50})
    order = RunOrder(row.seq, 50, "a", "work", 7, None, None, "null", None, NOON, 1, SECOND, "key")
    floor.dispatch.take_result(host, result_of(order))
    assert floor.begun() == ["b"]
    assert floor.outcomes("a") == ["done"]


def test_a_result_for_an_inherited_claim_confirms_it() -> None:
    floor = Floor()
    row = floor.claimed(spec("a"), "7-1/a", token=50)
    host = floor.host("7-1/a", places=1)
    order = RunOrder(row.seq, 50, "a", "work", None, None, None, "null", None, NOON, 1, SECOND, "key")
    floor.dispatch.take_result(host, result_of(order))
    assert (floor.dispatch.orphans, host.running) == ({}, {50})
    floor.begun()
    assert (floor.outcomes(), host.running, host.settled) == (["done"], set(), [50])


def test_an_inherited_claim_whose_host_is_gone_goes_on_by_its_delivery() -> None:
    floor = Floor()
    row = floor.claimed(spec("a", delivery="at_least_once", chat_id=7), "gone-1/a", token=50)
    floor.host()
    floor.dispatch.release_orphan(row, NOON, "it ended", crashed=True)
    assert floor.dispatch.orphans == {}
    assert floor.begun() == ["a"]


def test_interrupting_all_forgets_what_was_inherited() -> None:
    floor = Floor()
    floor.claimed(spec("a"), "7-1/a", token=50)
    assert floor.dispatch.interrupt_all(NOON, "stopped") == 1
    assert floor.dispatch.orphans == {}


# Handlers that nobody knows


def test_a_job_whose_handler_nobody_knows_is_made_to_wait_for_it(floor: Floor) -> None:
    floor.put(spec("a", handler="other", chat_id=7), spec("b", chat_id=7))
    assert floor.begun() == ["b"]
    assert floor.store.waiting("handler:") == ["handler:other"]
    floor.host("8-1/b", "other")
    assert floor.begun() == []
    assert floor.dispatch.release_waiting(frozenset({"other"}), NOON) is False
    floor.end("b")
    assert floor.begun() == ["a"]


def test_in_the_first_second_a_handler_is_only_not_known_yet(floor: Floor) -> None:
    floor.dispatch.wait_for_hosts(NOON + SECOND)
    floor.put(spec("a", handler="other"))
    floor.now = NOON + SECOND - 1
    floor.begun()
    assert floor.store.waiting("handler:") == []
    floor.now = NOON + SECOND
    floor.begun()
    assert floor.store.waiting("handler:") == ["handler:other"]


def test_in_the_first_second_a_job_runs_as_soon_as_its_handler_comes(floor: Floor) -> None:
    floor.dispatch.wait_for_hosts(NOON + SECOND)
    floor.put(spec("a", handler="other"))
    floor.begun()
    floor.host("8-1/b", "other")
    assert floor.begun() == ["a"]


def test_what_waited_for_a_handler_is_let_go_a_part_at_a_time(floor: Floor, monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.RELEASED_AT_ONCE == 1_000
    monkeypatch.setattr(module, "RELEASED_AT_ONCE", 3)
    floor.put(*(spec(f"a{number}", handler="other") for number in range(5)))
    floor.begun()
    assert floor.dispatch.release_waiting(frozenset({"work", "other"}), NOON) is True
    assert floor.store.counts().waiting == 2
    assert floor.dispatch.release_waiting(frozenset({"other"}), NOON) is False
    assert floor.store.counts().waiting == 0
    floor.host("8-1/b", "other")
    assert floor.begun() == [f"a{number}" for number in range(5)]


def test_in_memory_jobs_wait_for_a_handler_and_are_let_go_too(floor: Floor) -> None:
    floor.put(spec("m", handler="memory:h"), in_memory=True)
    floor.begun()
    floor.host("8-1/b", "memory:h")
    floor.dispatch.release_waiting(frozenset({"memory:h"}), NOON)
    assert floor.begun() == ["m"]


# What is next


def test_the_next_attempt_is_the_earliest_still_to_come_of_both_stores(floor: Floor) -> None:
    assert floor.dispatch.next_attempt_at(NOON) is None
    floor.put(spec("due"), spec("a", NOON + 2))
    assert floor.dispatch.next_attempt_at(NOON) == NOON + 2
    floor.put(spec("m", NOON + 1), in_memory=True)
    assert floor.dispatch.next_attempt_at(NOON) == NOON + 1


def test_a_cancelled_row_is_not_handed_out(floor: Floor) -> None:
    host = floor.host()
    host.ready = False
    floor.put(spec("a", chat_id=7), spec("b", chat_id=7))
    floor.begun()
    (removed,) = floor.store.cancel(["a"], NOON)
    assert removed is not None
    floor.dispatch.vanished(floor.dispatch.durable, removed.seq)
    host.ready = True
    assert floor.begun() == ["b"]
