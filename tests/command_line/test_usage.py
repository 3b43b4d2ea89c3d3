"""Options, exit codes and errors, the same for every command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line.calling import Calling, call, run

COMMANDS = (
    *(["pending"], ["show", "a"], ["history"], ["cancel", "a"], ["run-now", "a"], ["redrive", "a"]),
    *(["health"], ["sessions"], ["explain", "a"]),
)
ONLY_SERVED = (
    *(["pause", "a"], ["resume", "--all"], ["skip-next", "--chat", "1"], ["snooze", "a", "--by", "1m"]),
    ["zone", "Europe/Berlin", "--chat", "1"],
)


@pytest.mark.parametrize("command", [*COMMANDS, *ONLY_SERVED])
def test_without_a_scheduler_the_code_is_3_and_the_sentence_helps(bellringer: Calling, command: list[str]) -> None:
    told = bellringer(*command)

    assert (told.code, told.out, told.err.count("\n")) == (3, "", 1)
    assert told.err.startswith(f"bellringer: no scheduler runs on {bellringer.database}: start one with")
    assert "--offline" in told.err


@pytest.mark.parametrize("command", [*COMMANDS, ["check"]])
@pytest.mark.parametrize("offline", [False, True])
def test_a_database_that_is_not_there_is_not_made(tmp_path: Path, command: list[str], offline: bool) -> None:
    flags = ["--offline"] if offline and command != ["check"] else []
    told = Calling(tmp_path / "new.db")(*command, *flags, "--json")

    assert (told.code, told.out, told.error["code"]) == (3, "", "no_database")
    assert list(tmp_path.iterdir()) == []


def test_options_may_stand_before_and_after_the_command(database: Path) -> None:
    before = call("--database", str(database), "--json", "check")
    after = call("check", "--database", str(database), "--json")

    assert before.json == after.json == {"faults": [], "absent": []}


def test_what_is_said_later_stands(database: Path) -> None:
    assert call("--database", "nowhere.db", "check", "--database", str(database)).code == 0


def test_the_environment_names_the_database(database: Path) -> None:
    environment = {"BELLRINGER_DATABASE": str(database)}

    assert call("check", environment=environment).code == 0
    assert call("check", "--database", "nowhere.db", environment=environment).code == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["show"],
        ["cancel"],
        ["redrive"],
        ["redrive", "a", "--all-parked"],
        ["pending", "--status", "lost"],
        ["pending", "--limit", "0"],
        ["pending", "--chat", "9" * 30],
        ["pending", "--timeout", "0"],
        ["pending", "--timeout", "nan"],
        ["serve", "--grace", "nan"],
        ["serve", "--transport", "nope"],
        ["pending", "--database", ""],
        ["serve", "--places", "0"],
    ],
)
def test_a_mistake_in_the_command_is_code_2(arguments: list[str]) -> None:
    told = call(*arguments, "--json")

    assert (told.code, told.out, told.error["code"]) == (2, "", "usage")


def test_an_id_after_two_dashes_may_look_like_an_option(bellringer: Calling) -> None:
    told = bellringer("show", "--offline", "--", "--json")

    assert (told.code, told.err) == (
        1,
        "bellringer: job '--json' is not there: see `bellringer pending` and `bellringer history`\n",
    )


def test_b59_an_id_that_steers_a_terminal_is_told_escaped(bellringer: Calling) -> None:
    told = bellringer("cancel", "--offline", "a\x1b[2J\nb")

    assert told.err == "bellringer: job a\\x1b[2J\\nb is not there\n"


def test_b59_an_id_that_can_not_be_one_is_refused(bellringer: Calling) -> None:
    told = bellringer("show", "--offline", "--json", "x" * 600)

    assert (told.code, told.error["code"]) == (1, "invalid_job")


def test_what_nobody_expected_is_told_without_a_traceback() -> None:
    told = call("--database", "a\0b", "health")

    assert told.code == 1
    assert told.err.startswith("bellringer: failed unexpectedly: ValueError:")
    assert "Traceback" not in told.err


@pytest.mark.parametrize("command", [*COMMANDS, ["check"]])
@pytest.mark.parametrize("offline", [False, True])
@pytest.mark.parametrize(
    ("content", "reason"),
    [("", "the file is empty"), ("certainly no database", "is not an SQLite database"), (None, "is a folder")],
)
def test_what_is_no_database_is_refused_by_every_command_with_the_reason(
    tmp_path: Path, command: list[str], offline: bool, content: str | None, reason: str
) -> None:
    path = tmp_path / "bad.db"
    if content is None:
        path.mkdir()
    else:
        path.write_text(content)
    asked = [*command, "--all-parked"] if command == ["redrive"] else command
    told = Calling(path)(*asked, *(["--offline"] if offline else []))

    assert told.code == 1
    assert reason in told.out + told.err
    assert "serve" not in told.err


@pytest.mark.parametrize("command", [["health"], ["pending", "--offline"], ["check"]])
def test_a_pipe_as_the_database_is_refused_and_not_waited_for(tmp_path: Path, command: list[str]) -> None:
    os.mkfifo(tmp_path / "bot.db")
    told = Calling(tmp_path / "bot.db")(*command)

    assert told.code == 1
    assert "is a pipe, and no database: name a file" in told.out + told.err


@pytest.mark.parametrize("command", [["health"], ["pending", "--offline"], ["check"], ["serve"]])
def test_a_name_that_is_too_long_is_refused_in_a_sentence(tmp_path: Path, command: list[str]) -> None:
    told = Calling(tmp_path / ("x" * 300))(*command)

    assert (told.code, told.out) == (1, "")
    assert "File name too long" in told.err
    assert "unexpectedly" not in told.err


@pytest.mark.parametrize("command", [["pending", "--offline"], ["--help"]])
def test_an_output_that_can_not_be_written_is_told_in_a_sentence(database: Path, command: list[str]) -> None:
    with open("/dev/full", "w") as output:
        told = run(*command, folder=database.parent, output=output)

    assert told.code == 1
    assert told.err == "bellringer: standard output can't be written (No space left on device): give it another\n"


def test_a_closed_output_is_told_in_a_sentence(database: Path) -> None:
    command = [sys.executable, "-m", "bellringer", "pending", "--offline"]
    closing = ["sh", "-c", '"$@" >&-', "sh", *command]
    told = subprocess.run(closing, cwd=database.parent, stderr=subprocess.PIPE, text=True, check=False)

    assert told.returncode == 1
    assert told.stderr == "bellringer: standard output is closed: send it somewhere, such as to /dev/null\n"


def test_a_reader_that_goes_away_is_no_error(database: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as output:
        told = run("pending", "--offline", folder=database.parent, output=output)

    assert (told.code, told.err) == (0, "")


def test_the_help_names_every_command() -> None:
    told = call("--help")

    assert told.code == 0
    for command in (*(command[0] for command in COMMANDS), "serve", "check"):
        assert f"  {command} " in told.out
