"""Which due rows are claimed: each once in a pass, whatever the others get."""

import pytest

from bellringer.actors import claiming as module
from bellringer.storage import rules
from tests.actors.floor import Floor, spec
from tests.actors.rows import NOON, SECOND

MINUTE = 60 * SECOND
MINUTELY = rules.grid(MINUTE)


@pytest.fixture
def floor() -> Floor:
    made = Floor()
    made.host()
    return made


def test_b39_nothing_is_handed_out_twice_in_a_pass_that_sets_a_run_beside_others(floor: Floor) -> None:
    floor.put(spec("p", NOON - 10, rule=MINUTELY, overlap="parallel", overlap_limit=3), spec("a", NOON - 5))
    assert sorted(floor.begun()) == ["a", "p"]
    assert floor.out() == ["a", "p"]


def test_b39_nothing_is_handed_out_twice_in_a_pass_that_goes_back_for_what_comes_next(floor: Floor) -> None:
    stale = {"rule": MINUTELY, "stale_after_us": 90 * SECOND, "max_attempts": 5}
    floor.put(spec("a", NOON, **stale))
    floor.begun()
    floor.end("a", "retry", after_us=2 * MINUTE)
    floor.begun()
    floor.now += 2 * MINUTE + SECOND
    floor.put(*(spec(f"b{number}", NOON + 90 * SECOND) for number in range(3)))
    assert sorted(floor.begun()) == ["a", "b0", "b1", "b2"]


def test_a_series_goes_on_at_once_when_a_retry_of_it_has_become_stale(floor: Floor) -> None:
    floor.put(spec("a", rule=MINUTELY, stale_after_us=90 * SECOND, max_attempts=5))
    floor.begun()
    floor.end("a", "retry", after_us=2 * MINUTE)
    floor.begun()
    floor.now += 2 * MINUTE + SECOND
    assert floor.begun() == ["a"]
    assert floor.orders["a"].due_at == NOON + 2 * MINUTE
    reasons = [row.reason for row in reversed(floor.store.history(job_id="a"))]
    assert reasons == ["stale: found 121.000 s late, after 1 attempts", "missed: a later one runs"]


def test_up_to_so_many_runs_of_a_job_go_side_by_side(floor: Floor) -> None:
    floor.put(spec("a", rule=MINUTELY, overlap="parallel", overlap_limit=2))
    for _ in range(3):
        floor.begun()
        floor.now += MINUTE
    assert floor.out() == ["a", "a"]
    (skipped,) = floor.store.history(job_id="a")
    assert (skipped.due_at, skipped.reason) == (NOON + 2 * MINUTE, "overlap: 2 runs of it go on already")


def test_a_run_beside_others_that_has_ended_leaves_its_place_to_the_next(floor: Floor) -> None:
    floor.put(spec("a", rule=MINUTELY, overlap="parallel", overlap_limit=1))
    assert floor.begun() == ["a"]
    floor.end("a")
    floor.now += MINUTE
    assert floor.begun() == ["a"]
    assert floor.orders["a"].due_at == NOON + MINUTE
    assert floor.outcomes("a") == ["done"]


def test_a_run_beside_others_that_fails_is_recorded_and_the_series_goes_on(floor: Floor) -> None:
    floor.put(spec("a", rule=MINUTELY, overlap="parallel", overlap_limit=2))
    floor.begun()
    floor.end("a", "failed", reason="no good")
    floor.now += MINUTE
    assert floor.begun() == ["a"]
    assert (floor.outcomes("a"), floor.store.counts().parked) == (["failed"], 0)


def test_what_has_just_become_due_gets_a_share_of_the_places_while_much_has_piled_up(floor: Floor) -> None:
    assert (module.RECENT_US, module.RECENT_SHARE) == (5 * SECOND, 4)
    floor.host("7-1/a", places=8)
    floor.put(*(spec(f"old{number}", NOON - MINUTE) for number in range(600)))
    floor.put(*(spec(f"new{number}", NOON) for number in range(9)))
    begun = floor.begun()
    assert sorted(job_id for job_id in begun if job_id.startswith("new")) == ["new0", "new1"]
    assert len(begun) == 8


def test_what_has_just_become_due_never_passes_an_earlier_job_of_its_chat(floor: Floor) -> None:
    floor.host("7-1/a", places=4)
    floor.put(
        *(spec(f"old{number}", NOON - MINUTE) for number in range(600)), spec("first", NOON - SECOND * 50, chat_id=7)
    )
    floor.put(spec("second", NOON, chat_id=7), spec("other", NOON, chat_id=8))
    assert [job_id for job_id in floor.begun() if not job_id.startswith("old")] == ["other"]


@pytest.mark.parametrize(
    ("overlap", "told"),
    [("skip", (2, "overlap: the run before had not ended")), ("queue_one", (1, "missed: a later one runs"))],
)
def test_a_job_whose_run_has_overlapped_tells_so_before_it_waits_for_its_handler(
    overlap: str, told: tuple[int, str]
) -> None:
    floor = Floor()
    host = floor.host()
    floor.put(spec("a", rule=MINUTELY, overlap=overlap))
    floor.begun()
    floor.now += 2 * MINUTE + SECOND
    floor.end("a")
    floor.dispatch.hosts.remove(host.host)
    floor.begun()
    assert floor.outcomes("a") == ["done", "skipped"]
    (skipped,) = floor.store.history(job_id="a", outcome="skipped")
    assert (skipped.count, skipped.reason) == told
    floor.now += MINUTE
    floor.begun()
    assert floor.store.waiting("handler:") == ["handler:work"]
