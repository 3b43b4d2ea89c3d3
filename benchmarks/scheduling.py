"""How fast jobs are accepted, cancelled and listed. Every answer comes after its commit, from another process."""

import asyncio
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime

from bellringer import SchedulerHandle, aio

from . import raw
from .measuring import Benchmark, Figure, Goal, Plan, Row
from .systems import filled, running

DUE = datetime(2100, 1, 1, tzinfo=UTC)
PAYLOAD = {"text": "stand up"}
TASKS = 64
PER_CALL = 1_000
CHUNK = 100


def _ids(beginning: str, count: int) -> list[str]:
    return [f"{beginning}:{number}" for number in range(count)]


def schedule_each(handle: SchedulerHandle, ids: Sequence[str]) -> float:
    """Jobs a second."""
    began = time.perf_counter()
    for number, job_id in enumerate(ids):
        handle.persisted(job_id, "noop", at=DUE, chat_id=number, user_id=number, payload=PAYLOAD)
    return len(ids) / (time.perf_counter() - began)


def one_at_a_time(plan: Plan) -> Mapping[str, Figure]:
    count = 1_000 if plan.quick else 3_000
    with running(plan.folder / "a.db") as system:
        schedule_each(system.handle, _ids("warm", 100))
        rate = schedule_each(system.handle, _ids("job", count))
    with raw.opened(plan.folder / "raw.db") as alone:
        return {"one": Figure(rate, alone.insert(range(1, count + 1), 1))}


def many_tasks(plan: Plan) -> Mapping[str, Figure]:
    count = 10_000 if plan.quick else 30_000

    async def schedule_all(handle: aio.AsyncSchedulerHandle, ids: list[str]) -> float:
        async def schedule_share(mine: list[str]) -> None:
            for number, job_id in enumerate(mine):
                await handle.persisted(job_id, "noop", at=DUE, chat_id=number, user_id=number, payload=PAYLOAD)

        began = time.perf_counter()
        await asyncio.gather(*(schedule_share(ids[task::TASKS]) for task in range(TASKS)))
        return len(ids) / (time.perf_counter() - began)

    async def measure() -> float:
        async with aio.connect(plan.folder / "a.db") as handle:
            await schedule_all(handle, _ids("warm", TASKS * 10))
            return await schedule_all(handle, _ids("job", count))

    with running(plan.folder / "a.db"):
        rate = asyncio.run(measure())
    with raw.opened(plan.folder / "raw.db") as alone:
        return {"tasks": Figure(rate, alone.insert(range(1, count + 1), TASKS))}


def thousand_a_call(plan: Plan) -> Mapping[str, Figure]:
    calls = 20 if plan.quick else 60
    batches: list[list[dict[str, object]]] = [
        [
            {"id": job_id, "handler": "noop", "at": DUE, "chat_id": number, "user_id": number, "payload": PAYLOAD}
            for number, job_id in enumerate(_ids(f"job:{call}", PER_CALL))
        ]
        for call in range(calls)
    ]
    with running(plan.folder / "a.db") as system:
        system.handle.schedule_many(batches[0])
        began = time.perf_counter()
        for batch in batches[1:]:
            system.handle.schedule_many(batch)
        rate = (calls - 1) * PER_CALL / (time.perf_counter() - began)
    with raw.opened(plan.folder / "raw.db") as alone:
        return {"many": Figure(rate, alone.insert(range(1, calls * PER_CALL + 1), PER_CALL))}


def beside_many_pending(plan: Plan) -> Mapping[str, Figure]:
    """Two systems take turns, so that whatever else the machine does meets both."""
    chunks = 10 if plan.quick else 30
    rates: dict[str, list[float]] = {"few": [], "many": []}
    with ExitStack() as stack:
        handles = {
            name: stack.enter_context(running(filled(plan.folder / f"{name}.db", count))).handle
            for name, count in (("few", 1_000), ("many", 100_000))
        }
        for chunk in range(-1, chunks):
            for name, handle in sorted(handles.items(), reverse=chunk % 2 == 0):
                ids = _ids(f"new:{chunk}", CHUNK)
                rate = schedule_each(handle, ids)
                handle.cancel(*ids)
                if chunk >= 0:
                    rates[name].append(rate)
    share = statistics.median(rates["many"]) / statistics.median(rates["few"])
    return {"pending": Figure((1 - share) * 100)}


def cancel_and_list(plan: Plan) -> Mapping[str, Figure]:
    count = 1_000 if plan.quick else 3_000
    pages = 5 if plan.quick else 15
    times: list[float] = []
    raw_times: list[float] = []
    with running(filled(plan.folder / "a.db", 100_000)) as system:
        handle = system.handle
        handle.health()
        began = time.perf_counter()
        for number in range(count):
            handle.cancel(f"job:{number * 31}")
        rate = count / (time.perf_counter() - began)
        for _ in range(pages):
            began = time.perf_counter()
            page = handle.pending(limit=10_000)
            times.append(time.perf_counter() - began)
            assert len(page) == 10_000
    with raw.opened(filled(plan.folder / "raw.db", 100_000)) as alone:
        raw_rate = alone.cancel(range(0, count * 31, 31))
        raw_times += [alone.listing() for _ in range(pages)]
    return {
        "cancel": Figure(rate, raw_rate),
        "list": Figure(statistics.median(times) * 1e3, statistics.median(raw_times) * 1e3),
    }


BENCHMARKS = (
    Benchmark(
        "one",
        [Row("one", "schedule one at a time", Goal(1_000, "/s", at_least=True))],
        one_at_a_time,
    ),
    Benchmark(
        "tasks",
        [Row("tasks", f"{TASKS} tasks scheduling at once through `bellringer.aio`", Goal(8_000, "/s", at_least=True))],
        many_tasks,
    ),
    Benchmark(
        "many",
        [Row("many", "`schedule_many`, 1,000 a call", Goal(30_000, "/s", at_least=True))],
        thousand_a_call,
    ),
    Benchmark(
        "pending",
        [Row("pending", "one at a time with 100,000 pending: slower than with 1,000 by", Goal(10, "%"))],
        beside_many_pending,
    ),
    Benchmark(
        "cancel",
        [
            Row("cancel", "cancel by id with 100,000 pending, one at a time", Goal(1_000, "/s", at_least=True)),
            Row("list", "list 10,000 of 100,000 pending", Goal(100, "ms")),
        ],
        cancel_and_list,
    ),
)
