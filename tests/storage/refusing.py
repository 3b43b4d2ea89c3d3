"""How a refusal is asked for: it is to be quick, and to say what it refuses."""

import time
from collections.abc import Callable

import pytest

from bellringer.storage.errors import InvalidJobError


def refusal(call: Callable[[], object]) -> str:
    """The sentence of the refusal, which must come within 10 ms of this thread's own time."""
    taken = []
    for _ in range(3):
        began = time.thread_time()
        with pytest.raises(InvalidJobError) as caught:
            call()
        taken.append(time.thread_time() - began)
    assert min(taken) < 0.010
    return str(caught.value)
