"""Ways to call the command line: in this process, and as a process of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from click.testing import CliRunner

from bellringer.command_line import main


@dataclass(frozen=True)
class Told:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return json.loads(self.err)["error"]


@dataclass(frozen=True)
class Calling:
    """Calls `bellringer` on one database."""

    database: Path

    def __call__(self, *arguments: str) -> Told:
        return call("--database", str(self.database), *arguments)


def call(*arguments: str, environment: dict[str, str] | None = None) -> Told:
    told = CliRunner(env=environment).invoke(main, arguments)
    assert told.exception is None or isinstance(told.exception, SystemExit)
    return Told(told.exit_code, told.stdout, told.stderr)


def start(
    *arguments: str, folder: Path, output: IO[str] | int = subprocess.PIPE, **environment: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "bellringer", *arguments],
        cwd=folder,
        env=os.environ | environment,
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(*arguments: str, folder: Path, output: IO[str] | int = subprocess.PIPE, **environment: str) -> Told:
    process = start(*arguments, folder=folder, output=output, **environment)
    out, err = process.communicate(timeout=60)
    return Told(process.returncode, out or "", err)


class Served:
    """`bellringer serve` as a process, ended with the block. Its first line has been read, so it is ready."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = start("serve", *arguments, folder=folder)
        assert self.process.stdout is not None
        self._told: Told | None = None
        self.first_line = self.process.stdout.readline()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> Told:
        """Its exit code, and what it has printed after its first line."""
        if self._told is None:
            self.process.send_signal(number)
            out, err = self.process.communicate(timeout=60)
            self._told = Told(self.process.returncode, out, err)
        return self._told

    def __enter__(self) -> "Served":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.stop()


def ids(jobs: Sequence[dict[str, Any]]) -> list[str]:
    return [job["id"] for job in jobs]
