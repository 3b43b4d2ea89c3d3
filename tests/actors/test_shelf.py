"""Rows of all handlers that have room, in one due order; and the lines in which they stand."""

import pytest

from bellringer.actors.backlog import Backlog, line_of
from bellringer.actors.shelf import RowsInOrder, lane_of, lane_reason
from bellringer.storage.values import ChatId, DueRow
from tests.actors.rows import NOON, due_row


def row(seq: int, at: int, handler: str = "a", *, lane: ChatId | None = None, crashes: int = 0) -> DueRow:
    return due_row(seq=seq, next_attempt_at=NOON + at, due_at=NOON + at, handler=handler, chat_id=lane, crashes=crashes)


def backlog_of(*rows: DueRow) -> Backlog:
    backlog = Backlog(set())
    backlog.add(rows)
    return backlog


def seqs(rows: RowsInOrder) -> list[int]:
    return [found.seq for found in rows]


def test_the_rows_of_all_handlers_come_in_one_due_order() -> None:
    backlog = backlog_of(row(1, 40), row(2, 10, "b"), row(3, 30, "b"), row(4, 20), row(5, 30))
    assert seqs(RowsInOrder(backlog, set())) == [2, 4, 3, 5, 1]
    assert len(backlog) == 0


def test_a_handler_that_was_full_at_the_beginning_is_left_out() -> None:
    backlog = backlog_of(row(1, 10), row(2, 20, "b"))
    assert seqs(RowsInOrder(backlog, {"a"})) == [2]
    assert 1 in backlog


def test_a_handler_that_becomes_full_on_the_way_gives_no_more() -> None:
    backlog = backlog_of(row(1, 10), row(2, 20, "b"), row(3, 30), row(4, 40, "b"))
    full: set[str] = set()
    rows = RowsInOrder(backlog, full)
    assert next(rows).seq == 1
    full.add("a")
    assert seqs(rows) == [2, 4]
    assert 3 in backlog


def test_a_row_that_was_discarded_on_the_way_does_not_come() -> None:
    backlog = backlog_of(row(1, 10), row(2, 20), row(3, 30, "b"), row(4, 40))
    rows = RowsInOrder(backlog, set())
    next(rows)
    backlog.discard(3)
    backlog.discard(2)
    assert seqs(rows) == [4]


def test_a_row_whose_lane_became_free_on_the_way_comes_in_its_place() -> None:
    backlog = backlog_of(row(1, 10, lane=7), row(2, 20, lane=7), row(3, 30))
    rows = RowsInOrder(backlog, set())
    assert next(rows).seq == 1
    backlog.leave_lane(7)
    assert seqs(rows) == [2, 3]


def test_b77_suspects_stand_in_a_line_of_their_own() -> None:
    assert [line_of(row(1, 0, crashes=crashes)) for crashes in range(4)] == ["a", "a", "a\0suspect", "a\0suspect"]


def test_b77_a_line_of_suspects_may_be_full_while_the_others_go_on() -> None:
    backlog = backlog_of(row(1, 10, crashes=2), row(2, 20), row(3, 30, crashes=1))
    full: set[str] = set()
    rows = RowsInOrder(backlog, full)
    suspect = next(rows)
    full.add(line_of(suspect))
    backlog.put_back(suspect)
    assert seqs(rows) == [2, 3]
    assert backlog.pop(line_of(suspect)) == suspect


def test_rows_in_lines_that_are_full_are_not_counted_as_free() -> None:
    backlog = backlog_of(row(1, 10), row(2, 20, crashes=2), row(3, 30, "b"), row(4, 40, "b"))
    assert backlog.free_rows() == 4
    assert backlog.free_rows({"b", "a\0suspect"}) == 1


def test_a_row_that_steps_back_is_the_next_of_its_lane() -> None:
    backlog = backlog_of(row(1, 10, lane=7), row(2, 20, lane=7))
    first = backlog.pop("a")
    assert first is not None
    backlog.step_back(first)
    assert backlog.pop("a") is None
    assert len(backlog) == 2
    backlog.leave_lane(7)
    assert backlog.pop("a") == first


def test_a_row_that_stepped_back_and_was_cancelled_lets_nobody_into_the_busy_lane() -> None:
    backlog = backlog_of(row(1, 10, lane=7), row(2, 20, lane=7))
    first = backlog.pop("a")
    assert first is not None
    backlog.step_back(first)
    assert backlog.discard(1) is None
    assert backlog.pop("a") is None
    backlog.leave_lane(7)
    assert seqs(RowsInOrder(backlog, set())) == [2]


def test_discarding_tells_the_lane_that_has_nobody_left() -> None:
    backlog = backlog_of(row(1, 10, lane=7), row(2, 20, lane=7), row(3, 30))
    assert [backlog.discard(seq) for seq in (1, 3, 99, 2)] == [None, None, None, 7]


def test_what_was_cleared_takes_up_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bellringer.actors.backlog.ROWS_PER_LANE", 2)
    lane = [row(seq, seq, lane=7) for seq in range(1, 4)]
    backlog = backlog_of(*lane)
    backlog.clear()
    assert backlog.free_rows() == 0
    assert backlog.add(lane) == []


def test_a_reason_tells_numbers_from_texts() -> None:
    assert [lane_reason(7), lane_reason("7")] == ["lane:i:7", "lane:s:7"]
    assert [lane_of(lane_reason(lane)) for lane in (-7, "7", "lane:i:7", "")] == [-7, "7", "lane:i:7", ""]
