"""Every message crosses a process border, so each must arrive as it was sent, and stay as it is."""

import dataclasses
import inspect
import pickle

import pytest

from bellringer.actors import messages
from bellringer.actors.messages import Cancel, Refused, RequestBatch, Schedule, Tick
from bellringer.storage.values import JobSpec

ALL = [
    kind
    for _, kind in inspect.getmembers(messages, inspect.isclass)
    if kind.__module__ == messages.__name__ and dataclasses.is_dataclass(kind)
]


def filled(kind: type) -> object:
    """A message with something of its own in each field."""
    return kind(**{field.name: (field.name, number) for number, field in enumerate(dataclasses.fields(kind))})


def test_there_are_messages_to_look_at() -> None:
    assert len(ALL) > 30


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_it_arrives_as_it_was_sent(kind: type) -> None:
    assert pickle.loads(pickle.dumps(filled(kind), pickle.HIGHEST_PROTOCOL)) == filled(kind)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_it_is_frozen_slotted_and_takes_keywords_only(kind: type) -> None:
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert "__slots__" in vars(kind)
    assert not hasattr(filled(kind), "__dict__")
    if dataclasses.fields(kind):
        with pytest.raises(TypeError):
            kind(1)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_its_pickle_holds_values_and_no_field_names(kind: type) -> None:
    made = kind(**{field.name: None for field in dataclasses.fields(kind)})
    text = pickle.dumps(made, pickle.HIGHEST_PROTOCOL)
    assert not [field.name for field in dataclasses.fields(kind) if field.name.encode() in text and len(field.name) > 4]


def test_a_message_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Refused(code="a", sentence="b").code = "c"  # type: ignore[misc]


def test_a_message_with_one_field_that_is_a_tuple_arrives_whole() -> None:
    for ids in ((), ("a",), ("a", "b")):
        assert pickle.loads(pickle.dumps(Cancel(ids=ids))) == Cancel(ids=ids)


def test_a_message_without_fields_arrives() -> None:
    assert pickle.loads(pickle.dumps(Tick())) == Tick()


def test_a_batch_arrives_with_all_that_is_inside() -> None:
    batch = RequestBatch(
        client="1-1/a", number=7, requests=(Schedule(jobs=(JobSpec("a", "work", 5, payload='"🎂"'),), keeper="h"),)
    )
    assert pickle.loads(pickle.dumps(batch)) == batch
