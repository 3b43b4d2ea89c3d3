"""What operators and telemetry are told of a settled run, and how it looks in the log."""

import json
import logging

import pytest

from bellringer.actors import events
from bellringer.actors.messages import Event
from bellringer.storage.values import Ending, Settlement
from tests.actors.rows import NOON, SECOND


def told(event: str, *, applied: bool = True, ending: Ending | None = None, **changes: object) -> list[Event]:
    """The events of one settlement of the second attempt of job:1."""
    settlement = Settlement(1, 11, event, ending)._replace(**changes)  # type: ignore[arg-type]
    found: list[Event] = []
    events.after_settling(found, settlement, "job:1", "work", 2, 42, NOON + 9 * SECOND, applied=applied)
    return found


def kinds(*arguments: str, **changes: object) -> list[str]:
    return [event.kind for event in told(*arguments, **changes)]  # type: ignore[arg-type]


def test_a_run_that_ended_well_is_told_with_its_ids_and_lateness() -> None:
    ending = Ending("done", NOON, NOON + 3 * SECOND, NOON + 2 * SECOND)
    assert told("done", ending=ending) == [
        Event(
            kind="job.run",
            at=NOON + 9 * SECOND,
            job_id="job:1",
            handler="work",
            attempt=2,
            late_by_us=2 * SECOND,
            due_at=NOON,
            chat_id=42,
        )
    ]


def test_a_retry_is_told_with_its_reason() -> None:
    (event,) = told("retry", reason="rate limit")
    assert (event.kind, event.reason, event.attempt) == ("job.retry", "rate limit", 2)


def test_a_context_that_cannot_be_built_is_told_as_a_retry() -> None:
    assert kinds("context_failed", reason="bad session") == ["job.retry"]


@pytest.mark.parametrize("event", ["fail", "interrupt"])
def test_a_job_that_ended_badly_is_told_as_an_error_and_as_parked(event: str) -> None:
    ending = Ending("failed", NOON, NOON + SECOND)
    error, parked = told(event, ending=ending, reason="boom")
    assert (error.kind, error.reason, error.due_at) == ("job.error", "boom", NOON)
    assert (parked.kind, parked.reason) == ("job.parked", "boom")


def test_a_job_that_its_handler_parks_is_no_error() -> None:
    assert kinds("park", ending=Ending("failed", NOON, NOON + SECOND), reason="no such chat") == ["job.parked"]


def test_a_series_whose_handler_parks_one_occurrence_goes_on_and_that_is_told_as_an_error() -> None:
    assert kinds("park", ending=Ending("failed", NOON, NOON + SECOND), next_due_at=NOON) == ["job.error"]


def test_a_series_that_goes_on_after_an_error_is_not_told_as_parked() -> None:
    ending = Ending("failed", NOON, NOON + SECOND)
    assert kinds("fail", ending=ending, reason="boom", next_due_at=NOON + SECOND) == ["job.error"]


def test_nothing_is_told_of_a_result_that_came_too_late_to_count() -> None:
    assert kinds("fail", applied=False, reason="boom") == []


def test_nothing_is_told_of_a_job_that_goes_back_to_its_place() -> None:
    assert kinds("release") == []


def test_an_event_is_a_log_record_with_its_name_and_one_json_object(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "bellringer.events"):
        events.write(
            Event(kind="job.error", at=NOON, job_id="é", handler="work", attempt=1, reason="boom\n", chat_id=7)
        )
    (record,) = caplog.records
    name, _, text = record.getMessage().partition(" ")
    assert (name, record.levelname) == ("job.error", "WARNING")
    assert json.loads(text) == {"job_id": "é", "handler": "work", "attempt": 1, "reason": "boom\n", "chat_id": 7}
    assert "\n" not in text


@pytest.mark.parametrize(("kind", "level"), sorted(events.LEVELS.items()))
def test_each_kind_has_its_level(kind: str, level: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "bellringer.events"):
        events.write(Event(kind=kind, at=NOON))
    assert caplog.records[0].levelno == level


def test_what_is_below_the_level_of_the_log_is_not_written(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "bellringer.events"):
        events.write(Event(kind="job.run", at=NOON))
    assert not caplog.records
