"""Check the types of every file, strictly, and that mypy really saw every file.

Run from the checkout itself, `mypy -p bellringer` finds only the folder of that name and reports success for a
third of the project. So the installed layout is laid out in symlinks first, and the files are counted after.
"""

import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from tools import layout

CHECKED = (layout.DOOR, "run_bot.py", "tests", "benchmarks", "tools")

_COUNT = re.compile(r"(?:checked|no issues found in) (\d+) source files?")
_MAPPED_PATH = re.compile(rf"^{layout.DOOR}/(?=(?:{'|'.join(layout.MAPPED)})/)", re.MULTILINE)


def lay_tree(root: Path, tree: Path) -> None:
    """Make `tree` a picture of the installed layout: a real `bellringer` folder, and links for everything else."""
    door = tree / layout.DOOR
    door.mkdir(parents=True, exist_ok=True)
    links = {door / path.name: path for path in (root / layout.DOOR).iterdir() if path.name != "__pycache__"}
    links |= {door / name: root / name for name in layout.MAPPED}
    links |= {tree / name: root / name for name in CHECKED if name != layout.DOOR}
    for stale in [*tree.iterdir(), *door.iterdir()]:
        if stale.is_symlink():
            stale.unlink()
    for link, target in links.items():
        if target.exists():
            link.symlink_to(target)


def existing_count(root: Path, tops: Collection[str] = (*CHECKED, *layout.MAPPED)) -> int:
    return sum(path.relative_to(root).parts[0] in tops for path in layout.python_files(root))


def counted(report: str) -> int:
    """How many files mypy says that it checked; 0 when it gave up before."""
    found = _COUNT.search(report)
    return int(found[1]) if found else 0


def check(root: Path) -> bool:
    tree = root / "build" / "types"
    existing = existing_count(root)
    lay_tree(root, tree)
    run = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file", str(layout.ROOT / "pyproject.toml")),
            *("--cache-dir", str(root / ".mypy_cache"), "--explicit-package-bases"),
            *(name for name in CHECKED if existing_count(root, {name})),
        ],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    print(_MAPPED_PATH.sub("", run.stdout), run.stderr, sep="", end="")
    seen = counted(run.stdout)
    print(f"mypy checked {seen} of {existing} files")
    return run.returncode == 0 and seen >= existing


if __name__ == "__main__":
    sys.exit(not check(layout.ROOT))
