"""The private folder: whoever can read it has the key, and nobody else."""

import json
import os
from pathlib import Path

import pytest

from bellringer.actors import processes
from bellringer.actors.folder import NotRunningError, PrivateFolder, Way, free_port
from bellringer.storage.errors import BellringerError


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture
def folder(tmp_path: Path) -> PrivateFolder:
    made = PrivateFolder(tmp_path / "bot.db")
    made.create()
    return made


def here() -> Way:
    return Way(4_711, "bellringer", processes.identity())


def test_it_lies_beside_the_database_and_is_closed_to_others(folder: PrivateFolder, tmp_path: Path) -> None:
    assert folder.path == tmp_path / "bot.db.bellringer"
    assert mode(folder.path) == 0o700


def test_a_folder_that_stands_open_is_closed(folder: PrivateFolder) -> None:
    folder.path.chmod(0o755)
    folder.create()
    assert mode(folder.path) == 0o700


def test_what_is_written_is_for_its_owner_only_whatever_the_umask(folder: PrivateFolder) -> None:
    before = os.umask(0)
    try:
        folder.make_key()
        folder.write_way(here())
    finally:
        os.umask(before)
    assert {path.name: mode(path) for path in folder.path.iterdir()} == {"key": 0o600, "way.json": 0o600}


def test_two_paths_to_one_database_lead_to_one_folder(folder: PrivateFolder, tmp_path: Path) -> None:
    (tmp_path / "bot.db").touch()
    (tmp_path / "link.db").symlink_to(tmp_path / "bot.db")
    assert PrivateFolder(tmp_path / "link.db").path == folder.path
    assert PrivateFolder(tmp_path / "." / "bot.db").path == folder.path


def test_each_start_makes_a_key_of_its_own(folder: PrivateFolder) -> None:
    first, second = folder.make_key(), folder.make_key()
    assert len(first) == len(second) == 32
    assert first != second
    assert folder.read_key() == second


def test_the_way_to_a_running_system_is_read_as_it_was_written(folder: PrivateFolder) -> None:
    folder.write_way(here())
    assert folder.read_way() == here()


def test_the_way_of_a_process_that_has_ended_leads_nowhere(folder: PrivateFolder) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    gone = processes.identity(child)
    os.waitpid(child, 0)
    folder.write_way(here()._replace(guardian=gone))
    with pytest.raises(NotRunningError, match="the one that did has ended"):
        folder.read_way()


def test_b36_a_process_that_has_got_the_number_of_an_ended_one_is_not_taken_for_it(folder: PrivateFolder) -> None:
    folder.write_way(here()._replace(guardian=f"{os.getpid()}-1"))
    with pytest.raises(NotRunningError):
        folder.read_way()


@pytest.mark.parametrize("text", ["", "no JSON", "[]", json.dumps({"port": "x", "name": "n", "guardian": "1-1"})])
def test_a_way_that_cannot_be_read_is_told_as_nothing_running(folder: PrivateFolder, text: str) -> None:
    (folder.path / "way.json").write_text(text)
    with pytest.raises(NotRunningError, match="no scheduler runs on"):
        folder.read_way()


def test_a_guardian_that_is_no_process_name_is_told_as_nothing_running(folder: PrivateFolder) -> None:
    (folder.path / "way.json").write_text(json.dumps({"port": 1, "name": "n", "guardian": "me"}))
    with pytest.raises(NotRunningError):
        folder.read_way()


@pytest.mark.parametrize("text", ["", "no hexadecimal"])
def test_a_key_that_cannot_be_read_is_told_as_nothing_running(folder: PrivateFolder, text: str) -> None:
    (folder.path / "key").write_text(text)
    with pytest.raises(NotRunningError):
        folder.read_key()


def test_a_forgotten_way_is_gone_and_may_be_forgotten_again(folder: PrivateFolder) -> None:
    folder.write_way(here())
    folder.forget_way()
    folder.forget_way()
    with pytest.raises(NotRunningError):
        folder.read_way()


def test_a_database_in_a_folder_that_is_not_there_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BellringerError, match="its parent folder must exist"):
        PrivateFolder(tmp_path / "nowhere" / "bot.db").create()


def test_a_file_in_the_place_of_the_folder_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "bot.db.bellringer").touch()
    with pytest.raises(BellringerError, match="can't make the private folder"):
        PrivateFolder(tmp_path / "bot.db").create()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bot.db.bellringer").mkdir()
    os.chown(tmp_path / "bot.db.bellringer", 65_534, 65_534)
    with pytest.raises(BellringerError, match="belongs to another user"):
        PrivateFolder(tmp_path / "bot.db").create()


def test_a_free_port_is_one_of_the_unprivileged() -> None:
    assert free_port() > 1_023
