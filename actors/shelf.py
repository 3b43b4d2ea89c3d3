"""What a pass works on: a store with what is due in it, the claims that are out, rows in due order."""

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from ..storage.contract import Store
from ..storage.values import ChatId, DueRow, RunResult, Settlement
from .backlog import Backlog

LANE = "lane:"
HANDLER = "handler:"


class Run(NamedTuple):
    """A claim that is out, as much of it as settling a good end takes."""

    shelf: "Shelf"
    host: str
    seq: int
    lane: ChatId | None
    due_at: int
    next_due_at: int | None
    rule: str | None
    handler: str
    job_id: str
    attempt: int
    suspect: bool
    held_by: str | None = None


@dataclass(slots=True)
class Shelf:
    """A store, what is due in it, and what is to be settled in it."""

    store: Store
    backlog: Backlog
    results: dict[int, RunResult] = field(default_factory=dict)
    settlements: dict[int, Settlement] = field(default_factory=dict)
    long_lanes: set[ChatId] = field(default_factory=set)


class RowsInOrder:
    """Rows of all handlers that have room, merged in due order. Handlers may be declared full on the way."""

    def __init__(self, backlog: Backlog, full: set[str]) -> None:
        self._backlog = backlog
        self._full = full
        self._heads = [head for head in backlog.heads() if head[2] not in full]
        heapify(self._heads)

    def __iter__(self) -> "RowsInOrder":
        return self

    def __next__(self) -> DueRow:
        while self._heads:
            handler = heappop(self._heads)[2]
            if handler in self._full:
                continue
            row = self._backlog.pop(handler)
            if row is None:
                continue
            head = self._backlog.head(handler)
            if head is not None:
                heappush(self._heads, head)
            return row
        raise StopIteration


def lane_reason(lane: ChatId) -> str:
    return LANE + lane_key(lane)


def lane_key(lane: ChatId) -> str:
    """A chat as text in which the number 42 and the text "42" differ."""
    return f"{'s' if isinstance(lane, str) else 'i'}:{lane}"


def lane_of(reason: str) -> ChatId:
    kind, _, text = reason.removeprefix(LANE).partition(":")
    return int(text) if kind == "i" else text
