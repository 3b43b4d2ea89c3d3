"""Which files make up the project, and which module each of them becomes."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

DOOR = "bellringer"
MAPPED = ("actors", "handlers", "storage")
"""Folders at the top level that are installed inside `bellringer` (the package map in setup.cfg)."""

PACKAGES = (DOOR, *MAPPED)

_MADE_HERE = {".git", ".venv", "build", "dist", "__pycache__", "uv.lock"}
_MADE_HERE_ENDINGS = ("_cache", ".egg-info", ".hypothesis", ".bellringer")


def files(root: Path) -> Iterator[Path]:
    """Every file below `root` that a person wrote."""
    for entry in sorted(root.iterdir()):
        if entry.name in _MADE_HERE or entry.name.endswith(_MADE_HERE_ENDINGS):
            continue
        if entry.is_dir():
            yield from files(entry)
        elif entry.is_file():
            yield entry


def python_files(root: Path) -> list[Path]:
    return [path for path in files(root) if path.suffix == ".py"]


def installed_path(relative: Path) -> Path:
    """Where a file of the checkout is installed: `actors/clock.py` becomes `bellringer/actors/clock.py`."""
    return DOOR / relative if relative.parts[0] in MAPPED else relative


def module_name(relative: Path) -> str:
    parts = installed_path(relative).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
