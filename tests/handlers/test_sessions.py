"""A session is a dict that knows what was changed."""

import json
import math
from datetime import UTC, datetime

import pytest

from bellringer.handlers.context import Context
from bellringer.handlers.errors import SessionUnreadableError, SessionValueError
from bellringer.handlers.sessions import Session
from tests.handlers.world import World

STORED = '{"name": "Ada", "items": [1, {"deep": 1}], "order": {"a": 1, "b": 2}}'


def test_an_untouched_session_changes_nothing() -> None:
    assert Session(STORED).patch() == (None, ())


def test_reading_changes_nothing() -> None:
    session = Session(STORED)

    assert session["name"] == "Ada"
    assert session.get("items") == [1, {"deep": 1}]
    assert session.patch() == (None, ())


def test_only_the_keys_that_were_set_are_told() -> None:
    session = Session(STORED)

    session["count"] = 1

    assert session.patch() == ('{"count":1}', ())


def test_a_key_set_to_what_it_was_is_no_change() -> None:
    session = Session(STORED)

    session["name"] = "Ada"
    session["order"] = {"b": 2, "a": 1}

    assert session.patch() == (None, ())


def test_a_change_deep_inside_a_value_is_noticed() -> None:
    session = Session(STORED)

    session["items"][1]["deep"] = 2

    assert session.patch() == ('{"items":[1,{"deep":2}]}', ())


def test_values_that_python_calls_equal_but_json_does_not_are_changes() -> None:
    session = Session('{"flag": 1}')

    session["flag"] = True

    assert session.patch() == ('{"flag":true}', ())


def test_removed_keys_are_told() -> None:
    session = Session(STORED)

    del session["name"]
    session.pop("order")

    assert session.patch() == (None, ("name", "order"))


def test_a_key_that_came_and_went_is_no_change() -> None:
    session = Session()

    session["draft"] = "x"
    del session["draft"]

    assert session.patch() == (None, ())


def test_it_is_used_like_a_dict() -> None:
    session = Session()

    session.setdefault("seen", []).append("a")
    session.update(count=1)

    assert dict(session) == {"seen": ["a"], "count": 1}
    assert len(session) == 2
    assert "count" in session


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, b"x", (1, 2), {1: "a"}, {1, 2}, object(), datetime(2026, 1, 1, tzinfo=UTC), "\ud83c"],
)
def test_b64_b66_a_value_that_json_can_not_hold_is_refused_when_it_is_assigned(value: object) -> None:
    session = Session()

    with pytest.raises(SessionValueError, match=r"session\['k'\]"):
        session["k"] = value
    assert session.patch() == (None, ())


@pytest.mark.parametrize("key", [1, None, "\ud83c"])
def test_a_key_must_be_text(key: str) -> None:
    with pytest.raises(SessionValueError):
        Session()[key] = 1


def test_b65_emoji_and_nul_in_texts_come_back_as_they_were() -> None:
    session = Session()

    session["text"] = "🎂 a\0b \u200f"

    text, _ = session.patch()
    assert text is not None
    assert json.loads(text) == {"text": "🎂 a\0b \u200f"}
    assert "\0" not in text


def test_a_value_spoiled_in_place_fails_the_run(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        ctx.session["items"].append((1, 2))

    result = world.run(work, session=STORED)

    assert (result.verdict, result.session_set) == ("failed", None)
    assert "session['items'] would come back" in (result.reason or "")


def test_a_session_that_outgrows_its_limit_fails_the_run_and_says_the_limit(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        ctx.session["log"] = "x" * 1_100_000

    result = world.run(work)

    assert result.verdict == "failed"
    assert "at most 1048576 fit" in (result.reason or "")


@pytest.mark.parametrize("stored", ["", "{", "[]", "null", "[" * 100_000])
def test_what_is_no_json_object_can_not_be_loaded(stored: str) -> None:
    with pytest.raises(SessionUnreadableError):
        Session(stored)


def test_an_unreadable_session_is_no_failure_of_the_handler_which_is_not_called(world: World) -> None:
    calls = []

    async def work(ctx: Context, payload: object) -> None:
        calls.append(1)

    result = world.run(work, session="{broken")

    assert (result.verdict, calls) == ("context_failed", [])
    assert "the stored session is not JSON" in (result.reason or "")


def test_a_failed_run_drops_its_session_changes(world: World) -> None:
    async def work(ctx: Context, payload: object) -> None:
        ctx.session["count"] = 1
        raise ValueError

    result = world.run(work)

    assert (result.session_set, result.session_remove) == (None, ())


def test_b90_runs_of_one_chat_tell_only_their_own_keys_so_that_none_undoes_another(world: World) -> None:
    stored: dict[str, object] = {"seen": 0}

    async def work(ctx: Context, payload: int) -> None:
        ctx.session[f"run {payload}"] = True
        ctx.session["seen"] += 1

    for number in range(20):
        result = world.run(work, session=json.dumps(stored), payload=str(number))
        stored.update(json.loads(result.session_set or ""))
        assert result.session_set == f'{{"seen":{number + 1},"run {number}":true}}'

    assert stored == {"seen": 20} | {f"run {number}": True for number in range(20)}
