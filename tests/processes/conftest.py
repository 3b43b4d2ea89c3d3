"""Systems of real processes, and the proof after each test that none of them is left."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Unpack

import pytest

import bellringer
from bellringer import SchedulerHandle, StartOptions
from tests.processes import processes, record
from tests.processes.record import Record

ROOT = Path(__file__).resolve().parents[2]
MEASURED = "measured: "

StartSystem = Callable[[Unpack[StartOptions]], SchedulerHandle]
Figure = Callable[[str, float], None]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where all processes of this test are started. None may be left when it is over."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *sys.path]))
    yield tmp_path
    try:
        processes.all_end(tmp_path, within_s=5.0)
    finally:
        processes.kill(processes.running(tmp_path))


@pytest.fixture
def database(folder: Path) -> Path:
    return folder / "bot.db"


@pytest.fixture
def noted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    """What handlers note."""
    path = folder / "record"
    monkeypatch.setenv(record.VARIABLE, str(path))
    return Record(path)


@pytest.fixture
def start(database: Path, noted: Record) -> Iterator[StartSystem]:
    """Starts a system with the handlers of `jobs_recorded`, which is stopped after the test."""
    with ExitStack() as stack:

        def start_one(**options: Unpack[StartOptions]) -> SchedulerHandle:
            defaults: StartOptions = {"handlers": ["tests.processes.jobs_recorded"], "restarts": 100_000, "grace": 1.0}
            return stack.enter_context(bellringer.start(database, **(defaults | options)))

        yield start_one


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Figure:
    """Tells, after the run, what was measured."""

    def tell(what: str, seconds: float) -> None:
        record_property(MEASURED + what, seconds)

    return tell


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was measured, gathered from all tests, wherever they ran."""
    measured: dict[str, list[float]] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, value in report.user_properties if report.when == "call" else ():
                if name.startswith(MEASURED):
                    measured.setdefault(name.removeprefix(MEASURED), []).append(float(str(value)))
    if measured:
        terminalreporter.section("measured on real processes, in milliseconds")
        for what, values in measured.items():
            middle, most = sorted(values)[len(values) // 2] * 1_000, max(values) * 1_000
            terminalreporter.write_line(f"{what}: at most {most:.0f}, median {middle:.0f}, of {len(values)}")
