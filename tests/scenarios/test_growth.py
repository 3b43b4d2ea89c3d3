"""That nothing grows with the number of runs."""

import gc
import logging
import tracemalloc

import pytest

from bellringer import Context
from bellringer.testing import Drive

ROUND = 10_000


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_b82_a_hundred_thousand_runs_of_which_a_tenth_fail_leave_nothing_in_memory(make_drive) -> None:  # type: ignore[no-untyped-def]
    drive: Drive = make_drive(keep_occurrences=1_000)

    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        if payload == 0:
            raise ConnectionError("one in ten")

    def run_round(number: int) -> None:
        for begun in range(0, ROUND, 1_000):
            drive.schedule_many(
                {"handler": "work", "id": f"{number}:{begun + n}", "after": 0, "chat_id": n, "payload": n % 10}
                for n in range(1_000)
            )
            drive.advance(seconds=1)
            drive.cancel(*(f"{number}:{begun + n}" for n in range(0, 1_000, 10)))
            drive.events.clear()

    logging.disable(logging.CRITICAL)  # the test runner keeps all that is logged
    tracemalloc.start()
    try:
        sizes = []
        for number in range(10):
            run_round(number)
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
        logging.disable(logging.NOTSET)
    growth = (sizes[-1] - sizes[4]) / 5
    assert growth < 1_024, f"{growth:.0f} bytes more for each 10,000 runs: {sizes}"
