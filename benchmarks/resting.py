"""What a system costs when it starts, when nothing is due, and after very many runs."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from . import processes
from .measuring import Benchmark, Figure, Goal, Plan, Row, slope
from .running import in_s, job
from .systems import FAR, NOOP, System, add, filled, looking, running, spec, wait_until

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
    guardian = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
    try:
        yield guardian, started_at
    finally:
        guardian.terminate()
        guardian.wait(30.0)


def _start(path: Path, pending: int) -> tuple[float, processes.Memory]:
    """Seconds until ten due jobs have run, and then the scheduler's memory."""
    filled(path, pending)
    now = time.time_ns() // 1000
    add(path, (spec(number, due_at=now - FAR) for number in range(FAR, FAR + DUE)))
    with looking(path) as view, _served(path) as (guardian, started_at):
        ended_at = wait_until(view, f"SELECT count(*) >= {DUE} FROM occurrence", 30.0)
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
    assert bot.stdout is not None and bot.stdin is not None
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


def memory(plan: Plan) -> Mapping[str, Figure]:
    """Runs without an end in sight; the first fifth is the warm-up."""
    runs = 200_000 if plan.quick else 1_000_000
    with running(plan.folder / "a.db", handlers=[NOOP], keep_occurrences=KEPT) as system:
        points, files = _sampled(system, runs)
    growth = {
        kind: max(
            slope([(done / 10_000, sizes[pid] / 1024) for done, sizes in points if done > runs / 5]) for pid in pids
        )
        for kind, pids in (("scheduler", [system_pid(points, 0)]), ("hosts", list(points[-1][1])[1:]))
    }
    half = next(size for done, size in files if done > runs / 2)
    return {
        "memory-scheduler": Figure(growth["scheduler"]),
        "memory-hosts": Figure(growth["hosts"]),
        "memory-file": Figure((files[-1][1] / half - 1) * 100),
    }


def system_pid(points: list[tuple[int, dict[int, int]]], place: int) -> int:
    return list(points[0][1])[place]


def _sampled(system: System, runs: int) -> tuple[list[tuple[int, dict[int, int]]], list[tuple[int, int]]]:
    """Resident bytes of the scheduler and then the hosts, and the file's size, each by the number of runs done."""
    pids = [system.scheduler, *system.hosts]
    points: list[tuple[int, dict[int, int]]] = []
    files: list[tuple[int, int]] = []
    given, sample_at = 0, 0.0
    done = 0
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
                points.append((done, {pid: processes.resident(pid) for pid in pids}))
                size = sum(path.stat().st_size for path in _files(system.database) if path.exists())
                files.append((done, size))
    return points, files


def _files(database: Path) -> Iterator[Path]:
    return chain([database], (Path(f"{database}{ending}") for ending in ("-wal",)))


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
            Row("memory-scheduler", "1,000,000 runs: the scheduler grows per 10,000 runs by", Goal(1, "KiB")),
            Row("memory-hosts", "1,000,000 runs: a handler actor grows per 10,000 runs by", Goal(1, "KiB")),
            Row("memory-file", "1,000,000 runs, 20,000 kept: the file grows in the second half by", Goal(5, "%")),
        ],
        memory,
        rounds=1,
    ),
)
