"""Requests out, replies in: each caller gets its own answers, in time, and nothing is done twice."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import bellringer
import bellringer.aio
from bellringer import SchedulerHandle, SchedulerUnavailableError
from bellringer.actors import messages, questions
from bellringer.actors.connection import Connection
from bellringer.actors.exchange import Exchange
from bellringer.actors.messages import Reply, ReplyBatch, RequestBatch, Schedule
from bellringer.storage import door
from tests.actors.systems import guardian_of, pid_of, tree
from tests.storage.children import in_child

THREADS = 16
TOLERANCE_S = 0.3


@pytest.fixture
def handle(scheduler: SchedulerHandle, database: Path) -> Iterator[SchedulerHandle]:
    with bellringer.connect(database) as connected:
        yield connected


@contextmanager
def frozen(*pids: int) -> Iterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def seconds_until_unavailable(call: Callable[[], object]) -> float:
    began = time.monotonic()
    with pytest.raises(SchedulerUnavailableError):
        call()
    return time.monotonic() - began


def at_once(work: Callable[[int], object], number: int = THREADS) -> None:
    """Do it in so many threads, which begin together."""
    together = threading.Barrier(number)

    def begin(place: int) -> None:
        together.wait()
        work(place)

    with ThreadPoolExecutor(number) as pool:
        for done in [pool.submit(begin, place) for place in range(number)]:
            done.result()


# Many callers


def test_threads_that_call_at_once_get_their_own_answers(handle: SchedulerHandle) -> None:
    def work(place: int) -> None:
        for turn in range(20):
            job_id = f"thread:{place}:{turn}"
            assert handle.persisted(job_id, "nobody", after=3_600, payload=job_id).id == job_id
            job = handle.get(job_id)
            assert job is not None
            assert (job.id, job.payload) == (job_id, job_id)
            assert handle.cancel(job_id, "nobody").cancelled == (job_id,)

    at_once(work)


def test_calls_at_once_travel_in_fewer_batches(scheduler: SchedulerHandle, database: Path) -> None:
    class Counting(Exchange):
        batches: set[int] = set()  # noqa: RUF012  one of them exists

        def _try(self, batch: RequestBatch, wait_s: float) -> Sequence[Reply] | None:
            self.batches.add(batch.number)
            return super()._try(batch, wait_s)

    exchange = Counting(Connection(database, None))
    at_once(lambda _: [exchange.call([messages.GetHealth()], 5.0) for _ in range(25)])
    exchange.close()
    assert len(exchange.batches) < THREADS * 25 / 2


def test_each_caller_gets_as_many_replies_as_it_has_asked_for_in_their_order(
    scheduler: SchedulerHandle, database: Path
) -> None:
    exchange = Exchange(Connection(database, None))

    def work(place: int) -> None:
        wanted = [messages.Cancel(ids=("nobody",) * (1 + (place + turn) % 5)) for turn in range(7)]
        replies = exchange.call(wanted, 5.0)
        assert list(replies) == [messages.Cancelled(unknown=tuple(range(len(request.ids)))) for request in wanted]

    at_once(work)
    exchange.close()


# Batches that are repeated


def test_a_batch_that_is_sent_again_is_answered_the_same_and_does_nothing_twice(
    scheduler: SchedulerHandle, database: Path
) -> None:
    spec = door.job_spec("repeated", "nobody", due_at=4_000_000_000_000_000)
    batch = RequestBatch(client="a client/1", number=1, requests=(Schedule(jobs=(spec,)),))
    connection = Connection(database, None)
    context = connection.open()
    first, second = (context.ask(batch, 5.0) for _ in range(2))
    context.close()
    connection.close()
    assert isinstance(first, ReplyBatch)
    assert first == second
    assert first.replies == (messages.Scheduled(replaced=()),)
    assert scheduler.history("repeated") == []
    scheduler.cancel("repeated")


def test_a_call_made_while_the_scheduler_ends_is_answered_by_the_next_one(handle: SchedulerHandle) -> None:
    before = handle.health()
    os.kill(pid_of(before.process), signal.SIGKILL)
    assert not handle.persisted("through", "nobody", after=3_600).replaced
    after = handle.health()
    assert after.process != before.process
    assert handle.get("through") is not None
    assert handle.history("through") == []


# In time or not at all


def test_a_call_without_an_answer_ends_at_its_timeout(handle: SchedulerHandle) -> None:
    with frozen(pid_of(handle.health().process)):
        assert 0.4 <= seconds_until_unavailable(lambda: handle.health(timeout=0.4)) < 0.4 + TOLERANCE_S
        assert seconds_until_unavailable(lambda: handle.health(timeout=0.9)) < 0.9 + TOLERANCE_S
    assert handle.health().status == "ok"


def test_a_call_ends_at_its_timeout_though_the_whole_system_stands_still(
    handle: SchedulerHandle, database: Path
) -> None:
    handle.health()
    guardian, *others = tree(guardian_of(database))
    with frozen(guardian, *others):
        assert seconds_until_unavailable(lambda: handle.health(timeout=0.4)) < 0.4 + TOLERANCE_S
        assert seconds_until_unavailable(lambda: handle.health(timeout=0.8)) < 0.8 + TOLERANCE_S
        with bellringer.connect(database) as fresh:
            assert seconds_until_unavailable(lambda: fresh.health(timeout=0.4)) < 0.4 + TOLERANCE_S
    assert handle.health().status == "ok"


def test_threads_that_wait_together_each_end_at_their_own_timeout(handle: SchedulerHandle) -> None:
    def work(place: int) -> None:
        timeout = 0.2 + 0.05 * place
        assert timeout <= seconds_until_unavailable(lambda: handle.health(timeout=timeout)) < timeout + TOLERANCE_S

    with frozen(pid_of(handle.health().process)):
        at_once(work, 8)
    assert handle.health().status == "ok"


def test_a_patient_caller_is_answered_after_an_impatient_one_gave_up(handle: SchedulerHandle) -> None:
    process = pid_of(handle.health().process)
    gave_up = threading.Event()
    answers: list[str] = []

    def work(place: int) -> None:
        if place == 0:
            seconds_until_unavailable(lambda: handle.health(timeout=0.1))
            gave_up.set()
        else:
            answers.append(handle.health(timeout=10.0).status)

    def thaw() -> None:
        gave_up.wait()
        os.kill(process, signal.SIGCONT)

    with frozen(process):
        thawing = threading.Thread(target=thaw)
        thawing.start()
        at_once(work, 4)
        thawing.join()
    assert answers == ["ok"] * 3


def test_without_a_system_a_call_ends_at_its_timeout(tmp_path: Path) -> None:
    handle = bellringer.connect(tmp_path / "bot.db")
    assert 0.2 <= seconds_until_unavailable(lambda: handle.health(timeout=0.2)) < 0.2 + TOLERANCE_S


# Other processes and threads


def test_a_forked_child_calls_with_its_parents_handle_and_so_does_the_parent(handle: SchedulerHandle) -> None:
    handle.persisted("of the parent", "nobody", after=3_600)

    def work() -> list[str]:
        handle.persisted("of the child", "nobody", after=3_600)
        return [job.id for job in handle.pending(limit=10_000) if job.id.startswith("of the")]

    assert in_child(work) == ["of the parent", "of the child"]
    assert handle.get("of the child") is not None


def test_the_child_of_a_process_that_started_a_system_does_not_end_it(
    scheduler: SchedulerHandle, database: Path
) -> None:
    def work() -> str:
        status = scheduler.health().status
        scheduler.stop()
        return status

    assert in_child(work) == "ok"
    assert scheduler.health().status == "ok"
    assert bellringer.connect(database).health().status == "ok"


# Event loops


def test_tasks_that_call_at_once_get_their_own_answers(scheduler: SchedulerHandle, database: Path) -> None:
    async def work(handle: bellringer.aio.AsyncSchedulerHandle, place: int) -> None:
        for turn in range(5):
            job_id = f"task:{place}:{turn}"
            assert (await handle.persisted(job_id, "nobody", after=3_600, payload=job_id)).id == job_id
            job = await handle.get(job_id)
            assert job is not None
            assert job.payload == job_id
            assert (await handle.cancel(job_id)).cancelled == (job_id,)

    async def main() -> None:
        async with bellringer.aio.connect(database) as handle:
            await asyncio.gather(*(work(handle, place) for place in range(64)))

    asyncio.run(main())


def test_a_cancelled_task_harms_no_other(scheduler: SchedulerHandle, database: Path) -> None:
    async def main() -> list[str | BaseException]:
        async with bellringer.aio.connect(database) as handle:
            await handle.health()
            tasks = [asyncio.create_task(handle.persisted(f"c:{n}", "nobody", after=3_600)) for n in range(64)]
            await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert (await handle.health()).status == "ok"
            return [told if isinstance(told, BaseException) else told.id for told in done]

    done = asyncio.run(main())
    assert done[1::2] == [f"c:{n}" for n in range(1, 64, 2)]
    assert all(isinstance(told, asyncio.CancelledError) for told in done[::2])


def test_a_call_does_not_block_its_loop(handle: SchedulerHandle, database: Path) -> None:
    process = pid_of(handle.health().process)

    async def main() -> int:
        turns = 0
        async with bellringer.aio.connect(database) as waiting:
            await waiting.health()
            with frozen(process):
                call = asyncio.create_task(waiting.health())
                while turns < 1_000:
                    await asyncio.sleep(0)
                    turns += 1
                assert not call.done()
            assert (await call).status == "ok"
        return turns

    assert asyncio.run(main()) == 1_000


def test_tasks_with_different_timeouts_each_end_at_their_own(handle: SchedulerHandle, database: Path) -> None:
    process = pid_of(handle.health().process)

    async def work(waiting: bellringer.aio.AsyncSchedulerHandle, timeout: float) -> float:
        began = time.monotonic()
        with pytest.raises(SchedulerUnavailableError):
            await waiting.health(timeout=timeout)
        return time.monotonic() - began - timeout

    async def main() -> list[float]:
        async with bellringer.aio.connect(database) as waiting:
            await waiting.health()
            with frozen(process):
                return await asyncio.gather(*(work(waiting, 0.2 + 0.1 * place) for place in range(6)))

    late = asyncio.run(main())
    assert min(late) >= 0
    assert max(late) < TOLERANCE_S


def test_two_loops_share_one_handle(scheduler: SchedulerHandle, database: Path) -> None:
    handle = bellringer.aio.connect(database)
    answered: list[str] = []

    def work(place: int) -> None:
        async def main() -> None:
            for turn in range(20):
                job_id = f"loop:{place}:{turn}"
                await handle.persisted(job_id, "nobody", after=3_600)
                job = await handle.get(job_id)
                answered.append(job.id if job is not None else "nothing")

        asyncio.run(main())

    at_once(work, 2)
    assert sorted(answered) == sorted(f"loop:{place}:{turn}" for place in range(2) for turn in range(20))
    asyncio.run(handle.stop())


def test_a_loop_that_was_closed_while_it_waited_harms_no_other(handle: SchedulerHandle, database: Path) -> None:
    shared = bellringer.aio.connect(database)
    process = pid_of(handle.health().process)

    async def leave() -> None:
        asyncio.get_running_loop().create_task(shared.health())
        await asyncio.sleep(0.01)

    with frozen(process):
        asyncio.run(leave())

    async def main() -> str:
        return (await shared.health()).status

    assert asyncio.run(main()) == "ok"
    asyncio.run(shared.stop())


def test_what_is_asked_is_checked_before_it_is_sent() -> None:
    with pytest.raises(bellringer.InvalidJobError):
        questions.cancel(["\0"])
