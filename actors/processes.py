"""Processes as the kernel knows them: who a process is, when it ends, and what ends with it. Linux."""

import ctypes
import os
import select
import signal
from pathlib import Path
from typing import Protocol

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NAME = 15
_PR_SET_TIMERSLACK = 29


class Kernel(Protocol):
    """Who tells which processes live. This module does; where all actors share one process, somebody else must."""

    def is_alive(self, process: str) -> bool: ...

    def open_pidfd(self, process: str) -> int | None: ...


def _prctl(option: int, argument: int | bytes) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, argument, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def end_with_parent(number: signal.Signals) -> None:
    """Ask the kernel for a signal when the process that forked this one ends."""
    _prctl(_PR_SET_PDEATHSIG, int(number))


def wait_for_parent(pid: int) -> None:
    """Return when this process's parent is the given one; after a second at the latest."""
    for _ in range(10_000):
        if os.getppid() == pid:
            return
        select.select([], [], [], 0.0001)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def name_this(name: str) -> None:
    """The name in process lists, at most 15 bytes."""
    _prctl(_PR_SET_NAME, name.encode()[:15] + b"\0")


def started_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot: with the pid it names a process for good. None: gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()
    if fields[0] == b"Z":
        return None
    return int(fields[19])


def identity(pid: int | None = None) -> str:
    """`PID-STARTED`: never the same for two processes of one boot."""
    pid = os.getpid() if pid is None else pid
    return f"{pid}-{started_ticks(pid) or 0}"


def is_alive(process: str) -> bool:
    """Whether the process with this `identity` still runs."""
    pid, _, started = process.partition("-")
    return started_ticks(int(pid)) == int(started)


def open_pidfd(process: str) -> int | None:
    """A descriptor that becomes readable when the process ends; None if it has ended already."""
    pid = int(process.partition("-")[0])
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    if not is_alive(process):
        os.close(descriptor)
        return None
    return descriptor


def die_of_faults() -> None:
    """Let a fault end the process: with a Python handler, which the actor library sets for every signal, it loops."""
    for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL):
        signal.signal(number, signal.SIG_DFL)


def time_exactly() -> None:
    """Ask the kernel to end waits on time, and not to gather them within 50 microseconds."""
    _prctl(_PR_SET_TIMERSLACK, 1_000)


def wait_for_end(pidfd: int, timeout_s: float | None) -> bool:
    """Wait until the process of this descriptor ends, or the time is over: whether it has."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(None if timeout_s is None else timeout_s * 1_000))


def resident_bytes(pid: int | None = None) -> int:
    """Memory that the process holds, shared pages included."""
    pages = int(Path(f"/proc/{pid or os.getpid()}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def children(pid: int | None = None) -> list[int]:
    """The processes whose parent is this one; zombies are left out."""
    parent = str(pid or os.getpid()).encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_bytes()
            except OSError:
                continue
            fields = stat[stat.rindex(b")") + 2 :].split()
            if fields[1] == parent and fields[0] != b"Z":
                found.append(int(entry.name))
    return found


def reap() -> None:
    """Take leave of children that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
