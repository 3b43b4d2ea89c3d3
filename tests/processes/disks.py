"""File systems of a test's own. They need the right to mount."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(path: Path, mebibytes: int) -> Iterator[Path]:
    """An empty disk of this size; the test is skipped where none can be had."""
    path.mkdir()
    mounted = _run("mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(path))
    if mounted.returncode != 0:
        pytest.skip(f"no disk of its own can be mounted: {mounted.stderr.strip()}")
    try:
        yield path
    finally:
        _run("umount", "--lazy", str(path))


def make_read_only(disk: Path) -> None:
    assert _run("mount", "-o", "remount,ro", str(disk)).returncode == 0


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))
