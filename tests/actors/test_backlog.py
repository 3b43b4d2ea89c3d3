"""Rows that have been read and wait: in due order, one of each lane at a time."""

from collections.abc import Iterable

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule

from bellringer.actors import backlog as module
from bellringer.actors.backlog import LAST_SEQ, Backlog
from bellringer.storage.values import ChatId, Cursor, DueRow
from tests.actors.rows import NOON, due_row


def row(seq: int, at: int = 0, *, lane: ChatId | None = None, handler: str = "work") -> DueRow:
    return due_row(seq=seq, next_attempt_at=NOON + at, due_at=NOON + at, chat_id=lane, handler=handler)


def backlog_of(rows: Iterable[DueRow], busy: set[ChatId] | None = None) -> Backlog:
    backlog = Backlog(set() if busy is None else busy)
    assert backlog.add(rows) == []
    return backlog


def popped(backlog: Backlog, handler: str = "work") -> list[int]:
    """The rows that are free, in the order in which they come out."""
    return [row.seq for row in iter(lambda: backlog.pop(handler), None)]


def test_rows_without_a_chat_come_out_in_due_order_all_at_once() -> None:
    assert popped(backlog_of([row(2, 20), row(1, 10), row(3, 10)])) == [1, 3, 2]


def test_only_the_first_of_a_chat_is_free() -> None:
    backlog = backlog_of([row(1, lane=7), row(2, lane=7), row(3, lane=8)])
    assert popped(backlog) == [1, 3]
    assert 2 in backlog


def test_the_next_of_a_chat_is_free_when_the_first_has_left_the_lane() -> None:
    backlog = backlog_of([row(1, lane=7), row(2, lane=7)])
    first = backlog.pop("work")
    assert first is not None
    backlog.start(first)
    assert popped(backlog) == []
    backlog.leave_lane(7)
    assert popped(backlog) == [2]


def test_nothing_of_a_busy_chat_is_free() -> None:
    backlog = backlog_of([row(1, lane=7)], busy={7})
    assert popped(backlog) == []
    assert 1 in backlog


def test_a_started_row_makes_its_lane_busy() -> None:
    busy: set[ChatId] = set()
    backlog = backlog_of([row(1, lane=7), row(2)], busy)
    for number in ("work", "work"):
        started = backlog.pop(number)
        assert started is not None
        backlog.start(started)
    assert busy == {7}


def test_chats_named_by_a_number_and_by_its_text_are_two_lanes() -> None:
    assert popped(backlog_of([row(1, lane=7), row(2, lane="7")])) == [1, 2]


def test_a_chat_waits_in_due_order_whatever_the_order_of_reading() -> None:
    backlog = backlog_of([row(1, 0, lane=7), row(2, 30, lane=7), row(3, 10, lane=7), row(4, 20, lane=7)])
    order = []
    while (free := backlog.pop("work")) is not None:
        order.append(free.seq)
        backlog.start(free)
        backlog.leave_lane(7)
    assert order == [1, 3, 4, 2]


def test_an_earlier_row_of_the_chat_goes_in_front_of_one_that_is_free_and_not_started() -> None:
    backlog = backlog_of([row(1, 30, lane=7)])
    backlog.rewind(NOON + 10)
    backlog.add([row(2, 10, lane=7)])
    assert popped(backlog) == [2]
    backlog.leave_lane(7)
    assert popped(backlog) == [1]


def test_each_handler_has_its_own_head() -> None:
    backlog = backlog_of([row(1, 10, handler="a"), row(2, 5, handler="b"), row(3, 7, handler="a")])
    assert sorted(backlog.heads()) == [(NOON + 5, 2, "b"), (NOON + 7, 3, "a")]
    assert backlog.head("c") is None
    assert backlog.pop("c") is None


def test_looking_at_a_head_takes_nothing() -> None:
    backlog = backlog_of([row(1)])
    assert backlog.head("work") == backlog.head("work") == (NOON, 1, "work")
    assert popped(backlog) == [1]


def test_a_row_put_back_comes_out_again_in_its_place() -> None:
    backlog = backlog_of([row(1, 10), row(2, 20)])
    first = backlog.pop("work")
    assert first is not None
    backlog.put_back(first)
    assert popped(backlog) == [1, 2]


def test_the_cursor_stands_at_the_last_row_that_was_read() -> None:
    assert backlog_of([row(1, 10), row(2, 20)]).cursor == Cursor(NOON + 20, 2)
    assert backlog_of([]).cursor is None


def test_a_row_that_appears_before_the_cursor_takes_it_back() -> None:
    backlog = backlog_of([row(1, 10), row(2, 20)])
    backlog.rewind(NOON + 20)
    assert backlog.cursor == Cursor(NOON + 19, LAST_SEQ)


def test_a_row_that_appears_behind_the_cursor_changes_nothing() -> None:
    backlog = backlog_of([row(1, 10)])
    backlog.rewind(NOON + 11)
    assert backlog.cursor == Cursor(NOON + 10, 1)


def test_a_row_that_is_read_again_is_held_once() -> None:
    backlog = backlog_of([row(1, 10), row(2, 20)])
    backlog.rewind(NOON)
    backlog.add([row(1, 10), row(2, 20)])
    assert popped(backlog) == [1, 2]


def test_a_discarded_row_does_not_come_out() -> None:
    backlog = backlog_of([row(1, 10), row(2, 20)])
    backlog.discard(1)
    assert 1 not in backlog
    assert backlog.head("work") == (NOON + 20, 2, "work")
    assert popped(backlog) == [2]


def test_discarding_what_is_not_there_is_harmless() -> None:
    backlog = backlog_of([row(1)])
    backlog.discard(99)
    assert popped(backlog) == [1]


def test_discarding_the_first_of_a_chat_frees_the_next() -> None:
    backlog = backlog_of([row(1, lane=7), row(2, lane=7)])
    backlog.discard(1)
    assert popped(backlog) == [2]


def test_discarding_one_in_line_leaves_the_line_in_order() -> None:
    backlog = backlog_of([row(1, lane=7), row(2, lane=7), row(3, lane=7)])
    backlog.discard(2)
    assert popped(backlog) == [1]
    assert backlog.leave_lane(7) is False
    assert popped(backlog) == [3]


def test_a_replaced_row_that_is_read_anew_comes_out_as_it_is_now() -> None:
    backlog = backlog_of([row(1, 10)])
    backlog.discard(1)
    backlog.add([row(1, 30)])
    again = backlog.pop("work")
    assert again is not None
    assert again.due_at == NOON + 30
    assert backlog.pop("work") is None


def test_a_lane_with_nobody_in_line_says_so_when_it_is_left() -> None:
    backlog = backlog_of([row(1, lane=7)])
    first = backlog.pop("work")
    assert first is not None
    backlog.start(first)
    assert backlog.leave_lane(7) is True
    assert backlog.leave_lane(None) is False


def test_what_a_long_lane_cannot_hold_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS_PER_LANE", 2)
    backlog = Backlog(set())
    overflow = backlog.add([row(seq, lane=7) for seq in range(1, 6)] + [row(6, lane=8)])
    assert [over.seq for over in overflow] == [4, 5]
    assert [seq in backlog for seq in range(1, 7)] == [True, True, True, False, False, True]
    assert backlog.cursor == Cursor(NOON, 6)


def test_room_shrinks_with_each_row_held_and_is_never_below_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS", 2)
    assert backlog_of([row(1)]).room == 1
    assert backlog_of([row(1), row(2), row(3)]).room == 0


def test_clear_forgets_all_and_reads_from_the_beginning() -> None:
    backlog = backlog_of([row(1, lane=7), row(2, lane=7), row(3)])
    backlog.clear()
    assert (len(backlog), backlog.cursor, backlog.heads(), backlog.free_rows()) == (0, None, [], 0)
    backlog.add([row(2, lane=7)])
    assert popped(backlog) == [2]


LANES: tuple[ChatId | None, ...] = (None, 1, 2, "2")
HANDLERS = ("a", "b")


class BacklogMachine(RuleBasedStateMachine):
    """The backlog beside a model that is a plain set of rows, and looks through all of them each time."""

    running = Bundle("running")

    @initialize()
    def begin(self) -> None:
        self.busy: set[ChatId] = set()
        self.backlog = Backlog(self.busy)
        self.waiting: dict[int, DueRow] = {}
        self.started: dict[int, DueRow] = {}
        self.seq = 0

    def free(self, handler: str | None = None) -> list[DueRow]:
        """What may run by the model: whose lane is idle, and nobody of that lane waits in front."""
        first: dict[ChatId, DueRow] = {}
        found = []
        taken = {row.chat_id for row in self.started.values() if row.chat_id is not None}
        for row in sorted(self.waiting.values(), key=lambda row: (row.next_attempt_at, row.seq)):
            if row.chat_id is None:
                found.append(row)
            elif row.chat_id not in taken and row.chat_id not in first:
                first[row.chat_id] = row
                found.append(row)
        return [row for row in found if handler is None or row.handler == handler]

    @rule(chosen=st.lists(st.tuples(st.integers(0, 9), st.sampled_from(LANES), st.sampled_from(HANDLERS)), max_size=6))
    def schedule_and_read(self, chosen: list[tuple[int, ChatId | None, str]]) -> None:
        rows = []
        for at, lane, handler in chosen:
            self.seq += 1
            rows.append(row(self.seq, at, lane=lane, handler=handler))
            self.backlog.rewind(NOON + at)
        assert self.backlog.add(sorted(rows, key=lambda row: (row.next_attempt_at, row.seq))) == []
        self.waiting.update((row.seq, row) for row in rows)

    @rule()
    def read_all_again(self) -> None:
        self.backlog.rewind(NOON)
        known = self.waiting | self.started
        assert self.backlog.add(sorted(self.waiting.values(), key=lambda row: row.seq)) == []
        assert known == self.waiting | self.started

    @rule(target=running, handler=st.sampled_from(HANDLERS))
    def pop(self, handler: str) -> DueRow | None:
        free, got = self.free(handler), self.backlog.pop(handler)
        assert got == (free[0] if free else None)
        if got is not None:
            del self.waiting[got.seq]
            self.backlog.start(got)
            self.started[got.seq] = got
        return got

    @rule(handler=st.sampled_from(HANDLERS))
    def pop_and_put_back(self, handler: str) -> None:
        got = self.backlog.pop(handler)
        if got is not None:
            self.backlog.put_back(got)

    @rule(ended=consumes(running))
    def end(self, ended: DueRow | None) -> None:
        if ended is None:
            return
        del self.started[ended.seq]
        if ended.chat_id is not None:
            self.busy.discard(ended.chat_id)
        alone = self.backlog.leave_lane(ended.chat_id)
        in_line = any(row.chat_id == ended.chat_id for row in self.waiting.values())
        if ended.chat_id is not None:
            assert alone is not in_line

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def discard(self, data: st.DataObject) -> None:
        seq = data.draw(st.sampled_from(sorted(self.waiting)))
        del self.waiting[seq]
        self.backlog.discard(seq)

    @invariant()
    def nothing_is_lost(self) -> None:
        assert len(self.backlog) == len(self.waiting)
        assert all(seq in self.backlog for seq in self.waiting)

    @invariant()
    def the_head_of_each_handler_is_its_earliest_free_row(self) -> None:
        for handler in HANDLERS:
            free = self.free(handler)
            head = self.backlog.head(handler)
            assert head == ((free[0].next_attempt_at, free[0].seq, handler) if free else None)


BacklogMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
TestTheBacklogAgainstAPlainList = BacklogMachine.TestCase
