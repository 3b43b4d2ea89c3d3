"""The wheel check finds what is missing from a wheel, what is in it without need, and what can't be imported."""

import zipfile
from pathlib import Path

import pytest

from tools import check_wheel

WHOLE = ["bellringer/__init__.py", "bellringer/py.typed", "bellringer/storage/values.py", "b-1.dist-info/METADATA"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for path in ("bellringer/__init__.py", "bellringer/py.typed", "storage/values.py", "actors/a", "handlers/a"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).touch()
    return tmp_path


def test_a_whole_wheel_has_no_problems(project: Path) -> None:
    assert check_wheel.differences(project, WHOLE) == []


@pytest.mark.parametrize("name", ["bellringer/storage/values.py", "bellringer/py.typed"])
def test_a_missing_module_or_type_marker_is_found(project: Path, name: str) -> None:
    names = [kept for kept in WHOLE if kept != name]

    assert check_wheel.differences(project, names) == [f"missing from the wheel: {name}"]


@pytest.mark.parametrize("name", ["tests/test_a.py", "storage/values.py", "handlers/__init__.py", "bellringer/gone.py"])
def test_whatever_else_is_in_the_wheel_is_found(project: Path, name: str) -> None:
    assert check_wheel.differences(project, [*WHOLE, name]) == [f"in the wheel without need: {name}"]


def a_wheel(folder: Path, *, module: str, entry_points: str = "") -> Path:
    info = "bellringer-1.dist-info"
    wheel = folder / "bellringer-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("bellringer/__init__.py", module)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: bellringer\nVersion: 1\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", entry_points)
        archive.writestr(f"{info}/RECORD", "")
    return wheel


def test_a_sound_wheel_can_be_imported(tmp_path: Path) -> None:
    assert check_wheel.failed_import(a_wheel(tmp_path, module="import click\n"), tmp_path) == ""


def test_a_module_that_needs_the_checkout_can_not_be_imported(tmp_path: Path) -> None:
    failure = check_wheel.failed_import(a_wheel(tmp_path, module="import bellringer.storage\n"), tmp_path)

    assert "No module named 'bellringer.storage'" in failure


def test_an_entry_point_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    wheel = a_wheel(tmp_path, module="", entry_points="[console_scripts]\nbellringer = bellringer.gone:main\n")

    assert "No module named 'bellringer.gone'" in check_wheel.failed_import(wheel, tmp_path)
