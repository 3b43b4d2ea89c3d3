"""What begins anew in a forked child."""

import gc

from bellringer.actors import forking
from bellringer.actors.forking import call_in_child
from tests.storage.children import in_child


class Notes:
    """Notes each time that it is told of a fork."""

    def __init__(self) -> None:
        self.forks = 0
        call_in_child(self.note)

    def note(self) -> None:
        self.forks += 1


def test_a_child_begins_anew_and_its_parent_goes_on_as_before() -> None:
    notes = Notes()
    assert in_child(lambda: notes.forks) == 1
    assert notes.forks == 0


def test_a_child_of_a_child_begins_anew_once_more() -> None:
    notes = Notes()
    assert in_child(lambda: in_child(lambda: notes.forks)) == 2


def test_each_object_that_lives_is_told() -> None:
    first, second = Notes(), Notes()
    assert in_child(lambda: (first.forks, second.forks)) == (1, 1)


def test_an_object_is_not_kept_alive_by_having_asked() -> None:
    kept = Notes()
    before = len(forking._methods)
    for _ in range(20):
        Notes()
        gc.collect()
    assert len(forking._methods) <= before + 1
    assert in_child(lambda: kept.forks) == 1
