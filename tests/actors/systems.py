"""Running systems, seen from outside: their processes, their sockets, and waiting for what they do."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

from bellringer.actors import processes
from bellringer.actors.folder import PrivateFolder

PATIENCE_S = 10.0
LISTENING = "0A"


def eventually(condition: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Wait until the condition holds; fail where it does not in time."""
    pause = threading.Event()
    for _ in range(int(patience_s / 0.005)):
        if condition():
            return
        pause.wait(0.005)
    raise AssertionError("it did not come about in time")


def guardian_of(database: Path) -> int:
    return pid_of(PrivateFolder(database).read_way().guardian)


def pid_of(process: str) -> int:
    return int(process.partition("-")[0])


def tree(pid: int) -> list[int]:
    """A process and all that have come from it."""
    return [pid, *(below for child in processes.children(pid) for below in tree(child))]


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def listening(pid: int) -> set[tuple[str, int]]:
    """The addresses, as the kernel writes them, and the ports at which a process takes connections."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(os.readlink(descriptor))
        except OSError:
            continue
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and f"socket:[{fields[9]}]" in sockets:
                address, _, port = fields[1].partition(":")
                found.add((address, int(port, 16)))
    return found
