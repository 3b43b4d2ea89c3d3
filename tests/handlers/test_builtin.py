"""A message can be scheduled without a handler of one's own."""

import json

import pytest

from bellringer.handlers import builtin
from bellringer.handlers.registry import default_registry
from bellringer.storage.values import RunResult
from tests.handlers.world import World


def send(world: World, payload: object) -> RunResult:
    return world.run(builtin.send, payload=json.dumps(payload), thread_id=3)


def test_it_is_registered_on_import() -> None:
    known = default_registry.get("bellringer.send")

    assert known is not None
    assert known.function is builtin.send


def test_it_sends_the_text_to_the_jobs_chat_with_its_options(world: World) -> None:
    result = send(world, {"text": "good morning", "options": {"silent": True}})

    (sent,) = world.transport.sent
    assert (result.verdict, result.delivered) == ("done", ("1",))
    assert (sent.chat_id, sent.thread_id, sent.text, sent.options) == (42, 3, "good morning", {"silent": True})


@pytest.mark.parametrize("payload", [None, {}, "text", {"text": 5}, {"text": "x", "options": [1]}])
def test_a_payload_that_holds_no_message_parks_the_job(world: World, payload: object) -> None:
    result = send(world, payload)

    assert result.verdict == "park"
    assert "needs the payload" in (result.reason or "")
    assert world.transport.sent == []
