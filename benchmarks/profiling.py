"""Where the time goes, by function, in the scheduler, the handler actors and this client. Needs py-spy."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import systems
from .measuring import Benchmark, Plan
from .systems import System

RATE = 200
SHOWN = 25
LOOPS = {"ActorManager.run", "HostLoop._serve", "Thread.run", "Benchmark.measure", "profile"}


def profile(benchmark: Benchmark) -> None:
    """One round with a sampling profiler on each process that does the work. Prints the busiest functions."""
    if not _py_spy():
        raise SystemExit("profile needs py-spy: install it with `pip install py-spy` into this environment")
    systems.watchers.append(_watched)
    try:
        with tempfile.TemporaryDirectory(prefix="bellringer-bench-") as folder:
            for key, figure in benchmark.measure(Plan(Path(folder))).items():
                print(f"{benchmark.name}.{key}: {figure.value:,.1f} while being profiled")
    finally:
        systems.watchers.remove(_watched)


def _py_spy() -> str | None:
    return shutil.which("py-spy", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


@contextmanager
def _watched(system: System) -> Iterator[None]:
    targets = {"scheduler": system.scheduler, "client": os.getpid()}
    targets |= {f"handler actor {place}": pid for place, pid in enumerate(system.hosts[:1], start=1)}
    with tempfile.TemporaryDirectory() as folder:
        recorders = {
            name: _record(pid, Path(folder, f"{place}.txt")) for place, (name, pid) in enumerate(targets.items())
        }
        try:
            yield
        finally:
            for name, (recorder, path) in recorders.items():
                recorder.send_signal(signal.SIGINT)
                recorder.wait(20.0)
                if path.exists():
                    _print(name, path)


def _record(pid: int, path: Path) -> tuple[subprocess.Popen[bytes], Path]:
    command = [str(_py_spy()), "record", "--pid", str(pid), "--rate", str(RATE), "--format", "raw", "--nonblocking"]
    recorder = subprocess.Popen(
        [*command, "--output", str(path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    return recorder, path


def _print(name: str, path: Path) -> None:
    itself: Counter[str] = Counter()
    within: Counter[str] = Counter()
    for line in path.read_text(errors="replace").splitlines():
        stack, _, count = line.rpartition(" ")
        frames = _inner([_short(frame) for frame in stack.split(";")])
        itself[frames[-1]] += int(count)
        for frame in set(frames):
            within[frame] += int(count)
    total = itself.total() or 1
    print(f"\n{name}: {total / RATE:.2f} s busy\n  itself  with what it calls")
    busiest = {frame for frame, _ in within.most_common(SHOWN * 2)} | {frame for frame, _ in itself.most_common(SHOWN)}
    for frame in sorted(busiest, key=lambda frame: (-within[frame], -itself[frame])):
        print(f"  {itself[frame] / total:6.1%}  {within[frame] / total:6.1%}  {frame}")


def _inner(frames: list[str]) -> list[str]:
    """Without the frames that tell how the process came to run at all."""
    loops = [place for place, frame in enumerate(frames) if frame.partition(" ")[0] in LOOPS]
    return frames[loops[-1] + 1 :] or frames if loops else frames


def _short(frame: str) -> str:
    """`function (folder/module.py)`, without the line, so that lines of one function count together."""
    function, _, place = frame.partition(" (")
    parts = place.rpartition(":")[0].rstrip(")").split("/")
    return f"{function} ({'/'.join(parts[-2:])})"
