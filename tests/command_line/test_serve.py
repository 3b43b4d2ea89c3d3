"""`bellringer serve`: a system in the foreground."""

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import bellringer
from tests.command_line.calling import Calling, Served, run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_when_it_is_ready_and_when_it_has_stopped(tmp_path: Path, number: signal.Signals) -> None:
    with Served(tmp_path, "--handler-actors", "0") as served:
        told = served.stop(number)

    assert served.first_line == "serving bot.db as 'bellringer'; press Ctrl-C to stop\n"
    assert (told.code, told.out, told.err) == (0, "stopped serving bot.db\n", "")


def test_it_is_told_in_json_as_two_lines(tmp_path: Path) -> None:
    with Served(tmp_path, "--handler-actors", "0", "--json", "--name", "mine") as served:
        told = served.stop()

    assert json.loads(served.first_line)["event"] == "serving"
    assert told.json["event"] == "stopped"
    assert told.json["name"] == "mine"


def test_nothing_runs_any_more_once_it_has_stopped(tmp_path: Path) -> None:
    bellringer = Calling(tmp_path / "bot.db")

    with Served(tmp_path, "--handler-actors", "0"):
        assert bellringer("health").code == 0
    assert bellringer("health").code == 3


def test_b50_a_file_that_is_no_database_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "bot.db").write_text("certainly no database")

    told = run("serve", folder=tmp_path)

    assert (told.code, told.out) == (1, "")
    assert "is not an SQLite database" in told.err
    assert (tmp_path / "bot.db").read_text() == "certainly no database"


def test_handlers_that_can_not_be_imported_are_named(tmp_path: Path) -> None:
    told = run("serve", "--handlers", "nowhere.to.be.found", "--json", folder=tmp_path)

    assert told.code == 1
    assert "'nowhere.to.be.found' can't be imported" in told.error["message"]


def test_a_bot_is_told_why_its_scheduler_could_not_even_begin(tmp_path: Path) -> None:
    with pytest.raises(bellringer.GuardianError, match=r"bot\.db: --transport is for the handlers of handler actors"):
        bellringer.start(tmp_path / "bot.db", transport="nope")


@pytest.mark.parametrize("make", [bellringer.start, bellringer.connect])
def test_an_empty_name_of_a_database_is_refused(make: Callable[[str], object]) -> None:
    with pytest.raises((bellringer.BellringerError, ValueError), match=r"database is .* the path of a file"):
        make("")
