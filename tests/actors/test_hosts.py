"""The hosts as the scheduler sees them."""

import pytest

from bellringer.actors.hosts import Host, Hosts
from bellringer.actors.messages import Event
from tests.actors.rows import NOON


def host(name: str, *handlers: str, places: int = 4, running: int = 0, **fields: object) -> Host:
    made = Host(
        host=name,
        kind="handler actor",
        process=name,
        address=name,
        handlers=frozenset(handlers or ("work",)),
        places=places,
        heard_at=0,
    )
    made.running.update(range(running))
    for field, value in fields.items():
        setattr(made, field, value)
    return made


def hosts(*all_of_them: Host) -> Hosts:
    made = Hosts()
    for one in all_of_them:
        made.add(one)
    return made


def name(found: Host | None) -> str | None:
    return None if found is None else found.host


@pytest.mark.parametrize(
    ("state", "free"),
    [({}, 3), ({"ready": False}, 0), ({"open": False}, 0), ({"alone": True}, 0)],
    ids=["ready", "not confirmed", "closed", "alone"],
)
def test_a_host_has_free_places_while_it_takes_more(state: dict[str, bool], free: int) -> None:
    assert host("a", running=1, **state).free == free


def test_the_free_places_are_those_of_all_hosts() -> None:
    assert hosts(host("a", running=1), host("b"), host("c", ready=False)).free_places() == 7


def test_a_host_that_comes_again_takes_the_place_of_what_was_known_of_it() -> None:
    known = hosts(host("a", "old"), host("a", "new", places=2))
    assert (known.knows("old"), known.knows("new")) == (False, True)
    assert [one.places for one in known] == [2]


def test_a_handler_is_known_as_long_as_one_host_knows_it() -> None:
    known = hosts(host("a", "x", "y"), host("b", "x"))
    assert name(known.remove("a")) == "a"
    assert (known.knows("x"), known.knows("y")) == (True, False)
    known.remove("b")
    assert not known.knows("x")
    assert known.remove("b") is None


def test_the_roomiest_host_is_one_that_knows_the_handler_and_has_most_places() -> None:
    known = hosts(host("a", running=2), host("b", running=1), host("c", "other"))
    assert name(known.roomiest("work")) == "b"
    assert known.roomiest("nothing") is None


def test_there_is_no_roomiest_host_when_all_are_full() -> None:
    assert hosts(host("a", running=4), host("b", alone=True)).roomiest("work") is None


def test_b77_a_suspect_gets_a_host_with_nothing_running() -> None:
    known = hosts(host("a", running=1), host("b"))
    assert name(known.empty_one("work")) == "b"
    assert not any(one.alone for one in known)


@pytest.mark.parametrize("state", ["ready", "open"])
def test_b77_an_empty_host_that_takes_nothing_now_is_not_given_to_a_suspect(state: str) -> None:
    known = hosts(host("a", **{state: False}))
    assert known.empty_one("work") is None
    assert not any(one.alone for one in known)


def test_b77_where_no_host_is_empty_the_emptiest_takes_no_more() -> None:
    known = hosts(host("a", running=3), host("b", running=1), host("c", running=2))
    assert known.empty_one("work") is None
    assert [one.host for one in known if one.alone] == ["b"]


def test_b77_only_one_host_empties_itself_at_a_time() -> None:
    known = hosts(host("a", running=2, alone=True), host("b", running=1))
    assert known.empty_one("work") is None
    assert [one.host for one in known if one.alone] == ["a"]


def test_b77_a_host_that_is_alone_and_has_not_confirmed_its_suspect_is_the_one_that_empties() -> None:
    known = hosts(host("a", running=2, alone=True, ready=False), host("b", running=1))
    assert known.empty_one("work") is None
    assert [one.host for one in known if one.alone] == ["a"]


def test_b77_a_closed_host_does_not_keep_another_from_emptying_itself() -> None:
    known = hosts(host("a", running=1, alone=True, open=False), host("b", running=1))
    assert known.empty_one("work") is None
    assert [one.host for one in known if one.alone] == ["a", "b"]


def test_b77_a_host_that_does_not_know_the_handler_is_left_alone() -> None:
    known = hosts(host("a", "other"), host("b", "other", running=1))
    assert known.empty_one("work") is None
    assert not any(one.alone for one in known)


def test_events_are_kept_for_the_hosts_that_listen() -> None:
    known = hosts(host("a", wants_events=True), host("b"), host("c", wants_events=True))
    event = Event(kind="job.run", at=NOON)
    known.tell([event])
    assert [list(one.events) for one in known] == [[event], [], [event]]


def test_in_memory_handlers_are_not_shown() -> None:
    assert host("a", "b", "memory:7-1/a", "a").seen().handlers == ("a", "b")
