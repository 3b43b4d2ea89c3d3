"""Wait for what must come about, and fail where it does not."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 20.0
"""Far more than is needed: a test machine may be busy with others."""


def until(condition: Callable[[], T | None], what: str, *, within_s: float = PATIENCE_S, every_s: float = 0.01) -> T:
    """What the condition gives, once that is true. Fails with `what` where it does not become so in time."""
    pause = threading.Event()
    end = time.monotonic() + within_s
    while not (given := condition()):
        assert time.monotonic() < end, f"not within {within_s:g} s: {what}"
        pause.wait(every_s)
    return given


class Stopwatch:
    def __init__(self) -> None:
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started
