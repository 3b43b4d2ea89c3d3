"""The type check sees every file of the project, and fails when it does not."""

from pathlib import Path

import pytest

from tools import check_types


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout with one file in each place that is checked."""
    for path in ("bellringer/__init__.py", "actors/__init__.py", "handlers/__init__.py", "storage/__init__.py"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).touch()
    (tmp_path / "storage" / "values.py").write_text("ANSWER: int = 42\n", encoding="utf-8")
    (tmp_path / "run_bot.py").write_text("from bellringer.storage.values import ANSWER\n", encoding="utf-8")
    return tmp_path


def test_a_sound_project_passes_and_every_file_is_counted(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_types.check(project)
    assert "mypy checked 6 of 6 files" in capsys.readouterr().out


@pytest.mark.parametrize("path", ["storage/a.py", "actors/a.py", "handlers/a.py", "bellringer/a.py", "tests/test_a.py"])
def test_an_error_in_any_folder_fails_the_check(project: Path, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = project / path
    file.parent.mkdir(exist_ok=True)
    file.write_text("def untyped(a):\n    return a\n", encoding="utf-8")

    assert not check_types.check(project)
    assert capsys.readouterr().out.startswith(f"{path}:1: error:")


def test_a_file_that_mypy_did_not_see_fails_the_check(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lay_all_but_storage(root: Path, tree: Path) -> None:
        lay_tree(root, tree)
        (tree / "bellringer" / "storage").unlink()
        (tree / "run_bot.py").unlink()
        (tree / "run_bot.py").touch()

    lay_tree = check_types.lay_tree
    monkeypatch.setattr(check_types, "lay_tree", lay_all_but_storage)

    assert not check_types.check(project)
    assert "mypy checked 4 of 6 files" in capsys.readouterr().out


def test_a_file_that_was_removed_leaves_no_link_behind(project: Path) -> None:
    extra = project / "bellringer" / "extra.py"
    extra.touch()
    tree = project / "build" / "types"
    check_types.lay_tree(project, tree)
    extra.unlink()
    check_types.lay_tree(project, tree)

    assert not (tree / "bellringer" / "extra.py").is_symlink()


@pytest.mark.parametrize(
    ("report", "count"),
    [
        ("Success: no issues found in 12 source files", 12),
        ("Success: no issues found in 1 source file", 1),
        ("Found 3 errors in 2 files (checked 57 source files)", 57),
        ("Found 1 error in 1 file (errors prevented further checking)", 0),
    ],
)
def test_the_count_is_read_off_the_report(report: str, count: int) -> None:
    assert check_types.counted(report) == count
