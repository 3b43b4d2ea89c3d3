"""The table of results, for a terminal and for README.md, and what is kept of it as JSON."""

import json
import os
import platform
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from .measuring import Line, shown

README = Path(__file__).with_name("README.md")
BEGIN = "<!-- results: written by `python -m benchmarks --readme` -->"
END = "<!-- end of results -->"
HEAD = ("what", "to reach", "measured: median (least to most)", "SQLite alone", "ratio", "reached")


def machine() -> str:
    """What was measured on, without its name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.machine()
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )


def cells(line: Line) -> tuple[str, ...]:
    median, least, most = line.median, min(line.values), max(line.values)
    measured = shown(median, line.unit)
    if len(line.values) > 1:
        number = "(" + " to ".join(shown(value, line.unit).removesuffix(line.unit).strip() for value in (least, most))
        measured += f" {number})"
    raw = "" if line.raw is None else shown(line.raw, line.unit)
    ratio = "" if line.ratio is None else f"{line.ratio:.2f}"
    return line.what, line.goal, measured, raw, ratio, "yes" if line.reached else "**no**"


def plain(lines: Iterable[Line]) -> str:
    rows = [HEAD, *(cells(line) for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def markdown(lines: Iterable[Line]) -> str:
    rows = [HEAD, ("---",) * len(HEAD), *(cells(line) for line in lines)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{BEGIN}\nMeasured on: {machine()}.\n\n{table}\n{END}"


def write_readme(lines: Iterable[Line]) -> None:
    """Replace what lies between the markers."""
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{markdown(lines)}{after}", encoding="utf-8")


def read(path: Path) -> dict[str, Line]:
    """Lines of an earlier run, by key."""
    if not path.exists():
        return {}
    kept = json.loads(path.read_text(encoding="utf-8"))["lines"]
    return {key: Line(**entry | {"values": tuple(entry["values"])}) for key, entry in kept.items()}


def write(path: Path, lines: Mapping[str, Line]) -> None:
    kept = {key: asdict(line) for key, line in lines.items()}
    path.write_text(json.dumps({"machine": machine(), "lines": kept}, indent=2) + "\n", encoding="utf-8")
