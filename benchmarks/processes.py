"""What the kernel knows of a tree of processes: names, processor time, memory. Linux."""

import os
import time
from pathlib import Path
from typing import NamedTuple

QUIET = 0.1
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Memory(NamedTuple):
    """Bytes: `rss` counts shared pages in full, `pss` the process's share of them."""

    rss: int
    pss: int


def tree(root: int) -> list[int]:
    """A process and all its descendants."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [root]
    for pid in found:
        found += parents.get(pid, ())
    return found


def _stat(pid: int) -> list[bytes]:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return []
    return stat[stat.rindex(b")") + 2 :].split()


def name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def named(pids: list[int], beginning: str) -> list[int]:
    return [pid for pid in pids if name(pid).startswith(beginning)]


def processor_s(pids: list[int]) -> float:
    """Seconds of processor time of all threads so far: to the nanosecond where the kernel tells, else to the tick."""
    total = 0.0
    for pid in pids:
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                total += int((task / "schedstat").read_text().split()[0]) / 1e9
        except OSError:
            fields = _stat(pid)
            total += sum(map(int, fields[11:13])) * TICK_S if fields else 0.0
    return total


def memory(pid: int) -> Memory:
    sizes: dict[str, int] = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        key, _, value = line.partition(":")
        sizes[key] = int(value.split()[0]) * 1024
    return Memory(sizes["Rss"], sizes["Pss"])


def resident(pid: int) -> int:
    """Bytes; as `memory`, but cheap."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def wait_for_rest(within_s: float) -> float:
    """Wait until the machine has next to nothing to do, or the time is up; the share of it that was busy at the end."""
    until = time.monotonic() + within_s
    while True:
        busy_before, all_before = _ticks()
        time.sleep(0.5)
        busy, everything = _ticks()
        share = (busy - busy_before) / max(1, everything - all_before)
        if share < QUIET or time.monotonic() > until:
            return share


def _ticks() -> tuple[int, int]:
    numbers = [int(number) for number in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(numbers) - sum(numbers[3:5]), sum(numbers)
