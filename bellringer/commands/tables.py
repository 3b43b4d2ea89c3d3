"""Aligned columns that fit the terminal. Where the output is no terminal, nothing is cut and nothing is coloured."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

from .phrases import cells, clipped, safe

GAP = 2
NOTE_INDENT = 4
NOTE_LINES = 3
NOTE_ROOM = 24
LAST_RESORT = 3


@dataclass(frozen=True, slots=True)
class Screen:
    """Where text goes. `width` is None where it is no terminal."""

    width: int | None = None
    colours: bool = False

    @classmethod
    def of_output(cls) -> "Screen":
        if not sys.stdout.isatty():
            return cls()
        return cls(max(20, shutil.get_terminal_size().columns), "NO_COLOR" not in os.environ)

    def painted(self, text: str, colour: str | None = None, *, bold: bool = False, dim: bool = False) -> str:
        if not self.colours or not (colour or bold or dim):
            return text
        return click.style(text, fg=colour, bold=bold or None, dim=dim or None)


@dataclass(frozen=True, slots=True)
class Column:
    """`least` is the width below which it is not cut; without it, it is never cut. `colours` are by the cell's text.

    Where the screen is too narrow for all, those with a place in `leave_out` are left out in that order.
    """

    title: str
    least: int | None = None
    right: bool = False
    leave_out: int | None = None
    colours: Mapping[str, str] | None = None


def table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], screen: Screen, *, note: str | None = None
) -> list[str]:
    """The lines of a table. With `note`, each row ends with a text that is not part of any column.

    Such notes make a last column where they fit, and stand below their rows where they don't.
    """
    shown = [[safe(cell) for cell in row] for row in rows]
    notes = [row.pop() for row in shown] if note is not None else []
    columns = list(columns)
    if screen.width is not None:
        _leave_out(columns, shown, screen.width)
    if note is not None and any(notes):
        needed = max(map(cells, notes))
        taken = sum(_widths(columns, shown)) + GAP * len(columns)
        if screen.width is None or taken + min(needed, NOTE_ROOM * 2) <= screen.width:
            columns.append(Column(note, least=NOTE_ROOM))
            shown = [[*row, text] for row, text in zip(shown, notes, strict=True)]
            notes = []
    widths = _fitted(columns, _widths(columns, shown), screen.width)
    lines = [screen.painted(_line([column.title for column in columns], columns, widths, Screen()), bold=True)]
    for place, row in enumerate(shown):
        lines.append(_line(row, columns, widths, screen))
        if notes and notes[place]:
            lines += [screen.painted(line, dim=True) for line in _note(notes[place], screen.width or 80)]
    return lines


def listing(pairs: Sequence[tuple[str, str | None]], screen: Screen) -> list[str]:
    """Names and values, one pair a line; those without a value are left out."""
    told = [(name, safe(value)) for name, value in pairs if value is not None]
    indent = max((cells(name) for name, _ in told), default=0) + GAP
    lines: list[str] = []
    for name, value in told:
        first, *others = _wrapped(value, screen.width - indent) if screen.width is not None else [value]
        lines.append(screen.painted(name.ljust(indent), bold=True) + first)
        lines += [" " * indent + line for line in others]
    return lines


def paragraph(text: str, screen: Screen) -> list[str]:
    """A sentence as lines, of which all but the first are indented."""
    told = safe(text)
    if screen.width is None:
        return [told]
    first, *others = _wrapped(told, screen.width - GAP)
    return [first, *(" " * GAP + line for line in others)]


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max([cells(column.title), *(cells(row[place]) for row in rows)]) for place, column in enumerate(columns)]


def _leave_out(columns: list[Column], rows: list[list[str]], room: int) -> None:
    while _least(columns, rows) > room:
        places = [place for place, column in enumerate(columns) if column.leave_out is not None]
        if not places:
            break
        gone = min(places, key=lambda place: columns[place].leave_out or 0)
        del columns[gone]
        for row in rows:
            del row[gone]


def _least(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> int:
    """The width of a line when every column is cut as far as it may be."""
    needed = GAP * (len(columns) - 1)
    for column, width in zip(columns, _widths(columns, rows), strict=True):
        needed += width if column.least is None else min(width, max(column.least, cells(column.title)))
    return needed


def _fitted(columns: Sequence[Column], widths: list[int], room: int | None) -> list[int]:
    """Take from whichever is widest, until the line fits or nothing more can be taken."""
    if room is None:
        return widths
    least = [width if column.least is None else column.least for column, width in zip(columns, widths, strict=True)]
    last_resort = [min(LAST_RESORT, width) for width in least]
    for limits in (least, last_resort):
        while sum(widths) + GAP * (len(widths) - 1) > room:
            places = [
                place
                for place, column in enumerate(columns)
                if column.least is not None and widths[place] > limits[place]
            ]
            if not places:
                break
            widths[max(places, key=widths.__getitem__)] -= 1
    return widths


def _line(row: Sequence[str], columns: Sequence[Column], widths: Sequence[int], screen: Screen) -> str:
    parts = []
    for cell, column, width in zip(row, columns, widths, strict=True):
        text = clipped(cell, width)
        padding = " " * (width - cells(text))
        told = screen.painted(text, (column.colours or {}).get(cell))
        parts.append(padding + told if column.right else told + padding)
    return (" " * GAP).join(parts).rstrip()


def _note(text: str, width: int) -> list[str]:
    room = max(10, width - NOTE_INDENT)
    lines = _wrapped(text, room)
    if len(lines) > NOTE_LINES:
        lines = [*lines[: NOTE_LINES - 1], " ".join(lines[NOTE_LINES - 1 :])]
    return [" " * NOTE_INDENT + clipped(line, room) for line in lines]


def _wrapped(text: str, room: int) -> list[str]:
    """Lines broken at spaces; a word that is too long for a line stays whole."""
    lines: list[str] = []
    line: str | None = None
    for word in text.split(" "):
        if line is None:
            line = word
        elif cells(line) + 1 + cells(word) > room:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}"
    return [*lines, line or ""]
