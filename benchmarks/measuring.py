"""A benchmark: rows of the table, each with a goal, and a function that measures one round of them."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound in a unit. Without `at_least` it is the most that is allowed."""

    bound: float
    unit: str
    at_least: bool = False

    def is_reached(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {shown(self.bound, self.unit)}"


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table. `key` is what its figures are known by."""

    key: str
    what: str
    goal: Goal


class Figure(NamedTuple):
    """What one round measured, and what SQLite alone did with the same rows, where that can be compared."""

    value: float
    raw: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured. Every round gets a folder of its own."""

    folder: Path
    quick: bool = False


Measure = Callable[[Plan], Mapping[str, Figure]]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """`measure` is one round. `rounds` is how many there are when nothing else is asked for."""

    name: str
    rows: Sequence[Row]
    measure: Measure
    rounds: int = 3


@dataclass(frozen=True, slots=True)
class Line:
    """A measured line of the table: the median of the rounds, the least and the most, and the raw limit's median."""

    what: str
    goal: str
    unit: str
    reached: bool
    values: tuple[float, ...]
    raw: float | None

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def ratio(self) -> float | None:
        return None if not self.raw else self.median / self.raw


def line(row: Row, figures: Sequence[Figure]) -> Line:
    values = tuple(figure.value for figure in figures)
    raws = [figure.raw for figure in figures if figure.raw is not None]
    raw = statistics.median(raws) if raws else None
    reached = row.goal.is_reached(statistics.median(values))
    return Line(row.what, str(row.goal), row.goal.unit, reached, values, raw)


def shown(value: float, unit: str) -> str:
    """A figure for people: three digits that count, and its unit."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 else 3
    number = f"{value:,.{digits}f}"
    number = number.rstrip("0").rstrip(".") if "." in number else number
    return f"{number}{unit}" if unit.startswith("/") else f"{number} {unit}"


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def slope(points: Sequence[tuple[float, float]]) -> float:
    """How much the second coordinate grows with the first, by least squares."""
    mean_x = statistics.fmean(x for x, _ in points)
    mean_y = statistics.fmean(y for _, y in points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0
