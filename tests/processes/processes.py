"""The processes of one test, found by the folder in which they were started: also those that nobody owns any more."""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tests.processes.waiting import until

GUARDIAN = "guardian"
BOT = "bot"
SYSTEM = ("bell-admin", "bell-logger", "bell-supervisor", "bell-scheduler", "bell-handlers", GUARDIAN)


def running(folder: Path) -> dict[int, str]:
    """Everything alive that the test has started, directly or not: what each pid is."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):  # it has ended meanwhile, or belongs to somebody else
                if (entry / "cwd").readlink() == folder:
                    found[int(entry.name)] = _kind(entry)
    return found


def _kind(entry: Path) -> str:
    comm = (entry / "comm").read_text().strip()
    if comm.startswith("bell-"):
        return comm
    if comm.startswith("logger"):  # the actor library names it anew
        return "bell-logger"
    return GUARDIAN if b"serve" in (entry / "cmdline").read_bytes().split(b"\0") else BOT


def named(folder: Path, kind: str) -> list[int]:
    """The pids of one kind; of the whole system for "all"."""
    return [pid for pid, name in running(folder).items() if name.startswith(SYSTEM if kind == "all" else kind)]


def kill(pids: Iterable[int]) -> None:
    """As by `kill -9`, and as near to one instant as can be."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def all_end(folder: Path, *, within_s: float = 20.0) -> bool:
    """Wait until nothing of the test runs any more."""
    return until(lambda: not running(folder), f"every process has ended, of {running(folder)}", within_s=within_s)


def parent(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat[stat.rindex(")") + 2 :].split()[1])
