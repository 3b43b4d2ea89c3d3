"""What a system costs when it starts, when nothing is due, and after very many runs."""

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from . import processes
from .due import in_s, job
from .measuring import Benchmark, Figure, Goal, Plan, Row, slope
from .systems import NOOP, System, add, ended, filled, looking, running, spec, wait_until

MIB = 1 << 20
DUE = 10
IDLE_S = 20.0
BATCH = 1_000
MOST_PENDING = 6_000
KEPT = 20_000

_BOT = """
import sys, time, bellringer
handle = bellringer.connect(sys.argv[1]).attach(["benchmarks.noop"])
print("ready", flush=True)
sys.stdin.read()
handle.stop()
"""


@contextmanager
def _served(path: Path) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """`bellringer serve` as a process of its own, and when it was started."""
    command = [sys.executable, "-m", "bellringer", "serve", "--database", str(path), "--handlers", NOOP]
    started_at = time.time()
    guardian = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    try:
        yield guardian, started_at
    finally:
        guardian.terminate()
        guardian.wait(30.0)


def _start(path: Path, pending: int) -> tuple[float, processes.Memory]:
    """Seconds until ten due jobs have run, and then the scheduler's memory."""
    filled(path, pending)
    now = time.time_ns() // 1000
    add(path, (spec(pending + number, now) for number in range(DUE)))
    with looking(path) as view, _served(path) as (guardian, started_at):
        ended_at = wait_until(view, ended(DUE), 30.0, every_s=0.005)
        time.sleep(1.5)
        scheduler = processes.named(processes.tree(guardian.pid), "bell-scheduler")[0]
        return ended_at - started_at, processes.memory(scheduler)


def start(plan: Plan) -> Mapping[str, Figure]:
    _, few = _start(plan.folder / "few.db", 10)
    seconds, many = _start(plan.folder / "many.db", 1_000_000)
    return {
        "start": Figure(seconds),
        "rss": Figure(many.rss / MIB),
        "pss": Figure(many.pss / MIB),
        "growth": Figure((many.rss / few.rss - 1) * 100),
    }


@contextmanager
def _bot(database: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A bot that is attached and has nothing to do."""
    bot = subprocess.Popen(
        [sys.executable, "-c", _BOT, str(database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert bot.stdout is not None
    assert bot.stdin is not None
    try:
        assert bot.stdout.readline() == b"ready\n"
        yield bot
    finally:
        bot.stdin.close()
        bot.wait(20.0)


def idle(plan: Plan) -> Mapping[str, Figure]:
    with running(filled(plan.folder / "a.db", 100_000), handlers=[NOOP]) as system, _bot(system.database):
        time.sleep(3.0)
        pids = system.processes()
        before, began = processes.processor_s(pids), time.monotonic()
        time.sleep(5.0 if plan.quick else IDLE_S)
        used = processes.processor_s(pids) - before
        return {"idle": Figure(used / (time.monotonic() - began) * 100)}


class Sample(NamedTuple):
    """Bytes after so many runs: the scheduler's memory, the larger handler actor's, and the file with its log."""

    runs: int
    scheduler: int
    host: int
    file: int


def memory(plan: Plan) -> Mapping[str, Figure]:
    """Ten thousand runs a second or so; what is measured is the second half."""
    runs = 200_000 if plan.quick else 1_000_000
    with running(plan.folder / "a.db", handlers=[NOOP], keep_occurrences=KEPT) as system:
        samples = [sample for sample in _sampled(system, runs) if sample.runs >= runs / 2]

    def growth(sizes: Iterable[int]) -> Figure:
        points = [(sample.runs / 10_000, size / 1024) for sample, size in zip(samples, sizes, strict=True)]
        return Figure(slope(points))

    return {
        "scheduler": growth(sample.scheduler for sample in samples),
        "host": growth(sample.host for sample in samples),
        "file": Figure((samples[-1].file / samples[0].file - 1) * 100),
    }


def _sampled(system: System, runs: int) -> Iterator[Sample]:
    """Keep some thousand jobs due, until so many have run."""
    scheduler, hosts = system.scheduler, system.hosts
    given = done = 0
    sample_at = 0.0
    with looking(system.database) as view:
        while done < runs:
            pending = view.execute("SELECT count(*) FROM job_state").fetchone()[0]
            done = given - pending
            if given < runs and pending < MOST_PENDING:
                due_at = in_s(0.0)
                system.handle.schedule_many([job(given + number, due_at) for number in range(BATCH)])
                given += BATCH
            else:
                time.sleep(0.02)
            if time.monotonic() >= sample_at:
                sample_at = time.monotonic() + 0.5
                yield Sample(
                    done,
                    processes.resident(scheduler),
                    max(map(processes.resident, hosts)),
                    sum(os.path.getsize(f"{system.database}{ending}") for ending in ("", "-wal")),
                )


BENCHMARKS = (
    Benchmark(
        "start",
        [
            Row("start", "start with 1,000,000 pending: until 10 that are due have run", Goal(0.6, "s")),
            Row("rss", "the scheduler's resident memory then", Goal(60, "MiB")),
            Row("pss", "the same with its share only of what processes share", Goal(60, "MiB")),
            Row("growth", "its resident memory against 10 pending: more by", Goal(10, "%")),
        ],
        start,
    ),
    Benchmark(
        "idle",
        [Row("idle", "idle with 100,000 pending: all processes and an attached bot, of one core", Goal(0.2, "%"))],
        idle,
    ),
    Benchmark(
        "memory",
        [
            Row("scheduler", "1,000,000 runs: the scheduler grows per 10,000 runs by", Goal(1, "KiB")),
            Row("host", "1,000,000 runs: a handler actor grows per 10,000 runs by", Goal(1, "KiB")),
            Row("file", "1,000,000 runs, 20,000 kept: the file grows in the second half by", Goal(5, "%")),
        ],
        memory,
        rounds=1,
    ),
)
