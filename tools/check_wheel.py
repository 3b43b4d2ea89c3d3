"""Check that the wheel holds every module under its installed name, and nothing else, and that each can be imported."""

import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from tools import layout

_IMPORT_EVERYTHING = """
import importlib, importlib.metadata, importlib.util, pathlib, sys
home = pathlib.Path(sys.argv[1])
for name in sys.argv[2:]:
    if name.endswith(".__main__"):
        found = importlib.util.find_spec(name).origin
    else:
        found = importlib.import_module(name).__file__
    if home not in pathlib.Path(found).parents:
        sys.exit(f"{name} was imported from {found} and not from the wheel")
for entry in importlib.metadata.distribution("bellringer").entry_points:
    entry.load()
"""


def differences(root: Path, names: Iterable[str]) -> list[str]:
    """What a wheel with these file names lacks, and what it holds without need."""
    inside = [path.relative_to(root) for top in layout.PACKAGES for path in layout.files(root / top)]
    allowed = {layout.installed_path(path).as_posix() for path in inside}
    needed = {name for name in allowed if name.endswith((".py", "/py.typed"))} | {f"{layout.DOOR}/py.typed"}
    held = {name for name in names if ".dist-info/" not in name}
    return [
        *(f"missing from the wheel: {name}" for name in sorted(needed - held)),
        *(f"in the wheel without need: {name}" for name in sorted(held - allowed)),
    ]


def build(root: Path, into: Path) -> Path:
    """Build a wheel from a copy, because setuptools packs whatever earlier builds left in the checkout."""
    copy = into / "source"
    for path in layout.files(root):
        target = copy / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    run = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(into / "wheel"), str(copy)],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        sys.exit(f"the wheel can't be built:\n{run.stdout}{run.stderr}")
    return next((into / "wheel").glob("*.whl"))


def failed_import(wheel: Path, scratch: Path) -> str:
    """Unpack the wheel into a new environment and import all of it from elsewhere; what went wrong, if anything.

    The dependencies are borrowed from this environment. Its own editable install stays out of sight, because
    `.pth` files count only in a true site folder.
    """
    environment = scratch / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    scheme = {"base": str(environment), "platbase": str(environment)}
    site = Path(sysconfig.get_path("purelib", scheme="venv", vars=scheme)).resolve()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
        modules = [layout.module_name(Path(name)) for name in archive.namelist() if name.endswith(".py")]
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    elsewhere = scratch / "elsewhere"
    elsewhere.mkdir()
    run = subprocess.run(
        [str(environment / "bin" / "python"), "-c", _IMPORT_EVERYTHING, str(site), *modules],
        cwd=elsewhere,
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stderr if run.returncode else ""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        wheel = build(layout.ROOT, scratch)
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
        problems = differences(scratch / "source", names)
        if failure := failed_import(wheel, scratch):
            problems.append(f"the installed wheel can't be imported:\n{failure}")
    for problem in problems:
        print(problem)
    print(f"{wheel.name}: {len(names)} files, {len(problems)} problems")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
