"""A real system on a temporary database, and files that are filled before one starts."""

import os
import shutil
import sqlite3
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import bellringer
from bellringer import SchedulerHandle, StartOptions
from bellringer.storage.models import SCHEMA_VERSION
from bellringer.storage.sqlite_store import open_store
from bellringer.storage.values import JobSpec

from . import processes

FAR = 4_102_444_800_000_000
"""An instant of the year 2100: what is due then stays pending."""
PAYLOAD = '{"text":"stand up"}'
NOOP = "benchmarks.noop"
CACHE = Path(__file__).resolve().parent.parent / "build" / "benchmarks"
AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class System:
    """A running system. The benchmark's own process is its client."""

    handle: SchedulerHandle
    database: Path

    def processes(self) -> list[int]:
        """All of the system's processes, without this one."""
        return processes.tree(os.getpid())[1:]

    @property
    def scheduler(self) -> int:
        return self.named("bell-scheduler")[0]

    @property
    def hosts(self) -> list[int]:
        return self.named("bell-handlers")

    def named(self, beginning: str) -> list[int]:
        return processes.named(self.processes(), beginning)


Watcher = Callable[[System], AbstractContextManager[None]]
watchers: list[Watcher] = []
"""Entered for each system that is started, and left before it stops: where a profiler is put on."""


@contextmanager
def running(database: Path, **options: Unpack[StartOptions]) -> Iterator[System]:
    """A system on a database, stopped at the end."""
    with bellringer.start(database, **options) as handle, ExitStack() as stack:
        system = System(handle, database)
        for watcher in watchers:
            stack.enter_context(watcher(system))
        yield system


def spec(number: int, due_at: int) -> JobSpec:
    return JobSpec(f"job:{number}", "noop", due_at, PAYLOAD, chat_id=number, user_id=number)


def add(database: Path, specs: Iterator[JobSpec]) -> None:
    """Write jobs into the file of a system that does not run."""
    store = open_store(database)
    with closing(store):
        now = time.time_ns() // 1000
        batch: list[JobSpec] = []
        for job in specs:
            batch.append(job)
            if len(batch) == AT_ONCE:
                store.put(batch, now)
                batch.clear()
        store.put(batch, now)


def filled(database: Path, count: int) -> Path:
    """A database with jobs due far in the future. Built once and then copied, as a million takes its time."""
    CACHE.mkdir(parents=True, exist_ok=True)
    kept = CACHE / f"pending-{count}-schema-{SCHEMA_VERSION}-{_structure()}.db"
    if not kept.exists():
        building = kept.with_suffix(".building")
        for ending in ("", "-wal", "-shm"):
            Path(f"{building}{ending}").unlink(missing_ok=True)
        add(building, (spec(number, FAR + number) for number in range(count)))
        building.rename(kept)
    shutil.copyfile(kept, database)
    # Else the kernel writes the copy out while the system is being measured, and every commit waits behind it.
    with open(database, "rb+") as copy:
        os.fsync(copy.fileno())
    return database


def _structure() -> str:
    """What tells one layout of the tables from another while the schema's version is still the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "empty.db")
        open_store(path).close()
        with closing(sqlite3.connect(path)) as database:
            layout = database.execute("SELECT group_concat(sql) FROM (SELECT sql FROM sqlite_master ORDER BY name)")
            return f"{zlib.crc32(layout.fetchone()[0].encode()):08x}"


def ended(count: int) -> str:
    """Whether so many occurrences of a new file are settled: cheap enough to be asked all the time."""
    return f"SELECT ifnull(max(number), 0) >= {count} FROM occurrence"


@contextmanager
def looking(database: Path) -> Iterator[sqlite3.Connection]:
    """A connection that only reads, beside the system's."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, isolation_level=None, timeout=10.0)
    with closing(connection):
        yield connection


def wait_until(connection: sqlite3.Connection, question: str, within_s: float, every_s: float = 0.01) -> float:
    """Ask until the answer is 1; the wall clock's time at that moment. Raises `TimeoutError`."""
    until = time.monotonic() + within_s
    while connection.execute(question).fetchone()[0] != 1:
        if time.monotonic() > until:
            raise TimeoutError(f"still not so after {within_s:g} s: {question}")
        time.sleep(every_s)
    return time.time()
