"""The sample bot as a newcomer meets it: a process that is talked to through a pipe."""

import signal
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pendulum
import pytest

import bellringer
from bellringer import SchedulerUnavailableError
from bellringer.handlers import reminders
from tests.bot.process import BOT, BotProcess


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "b.db"


def test_a_reminder_rings(database: Path) -> None:
    with BotProcess(database) as bot:
        answer = bot.ask("/remind 1s tea")
        assert answer.startswith("⏰ at ")
        assert answer.endswith("(in 1 s): tea")
        assert bot.heard() == "⏰ tea"


def test_what_repeats_rings_again(database: Path) -> None:
    with BotProcess(database) as bot:
        bot.ask("/every 1s stretch")
        assert [bot.heard(), bot.heard()] == ["⏰ stretch", "⏰ stretch"]


def test_the_last_that_rang_can_be_snoozed(database: Path) -> None:
    with BotProcess(database) as bot:
        bot.ask("/remind 1s tea")
        bot.heard()
        assert bot.ask("/snooze 1s").endswith("(in 1 s): tea")
        assert bot.heard() == "⏰ tea"


def test_a_snooze_is_remembered_across_a_restart(database: Path) -> None:
    with BotProcess(database) as bot:
        bot.ask("/remind 1s tea")
        bot.heard()
    with BotProcess(database) as bot:
        assert bot.ask("/snooze 10m").endswith("(in 10 min): tea")


def test_numbers_of_what_rang_are_not_given_again_after_a_restart(database: Path) -> None:
    with BotProcess(database) as bot:
        bot.ask("/remind 1s tea")
        bot.heard()
    with BotProcess(database) as bot:
        bot.ask("/remind 1h coffee")
        assert bot.ask("/list").startswith("  2  ")


def test_what_is_pending_at_the_end_is_still_there_at_the_next_start(database: Path) -> None:
    with BotProcess(database) as bot:
        bot.ask("/remind 1h tea")
        assert bot.end() == []
    with BotProcess(database) as bot:
        assert bot.ask("/list").endswith(": tea")
        assert bot.ask("/cancel 1") == "Cancelled: tea"


def test_b27_what_came_due_meanwhile_rings_at_the_next_start_marked_late(database: Path) -> None:
    with bellringer.start(database) as scheduler:
        due_at = pendulum.now() - timedelta(minutes=3, seconds=20)
        scheduler.persisted(reminders.job_id(1, 7), reminders.RING, at=due_at, chat_id=1, payload={"text": "tea"})

    with BotProcess(database) as bot:
        assert bot.heard() == "⏰ tea (3 min late)"
    with BotProcess(database) as bot:
        assert bot.ask("/list").startswith("Nothing is to come.")


def test_b27_what_repeats_rings_once_for_all_that_it_missed(database: Path) -> None:
    with bellringer.start(database) as scheduler:
        scheduler.persisted_every(
            reminders.job_id(1, 7),
            reminders.RING,
            every=timedelta(days=1),
            at=pendulum.now() - timedelta(days=3, hours=5),
            chat_id=1,
            payload={"text": "water"},
        )

    with BotProcess(database) as bot:
        assert bot.heard() == "⏰ water (5 h late)"
        only = bot.ask("/list")
        assert only.startswith("  7  ")
        assert "every 1 d: water" in only
        assert bot.end() == []


def test_bad_bytes_do_no_harm(database: Path) -> None:
    with BotProcess(database) as bot:
        bot.say(b"/remind 1h caf\xe9")
        assert ": caf" in bot.heard()
        assert bot.ask("/help").startswith("/remind")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_b93_a_signal_ends_it_cleanly_with_everything_that_it_started(database: Path, number: signal.Signals) -> None:
    with BotProcess(database) as bot:
        bot.ask("/remind 1h tea")
        bot.process.send_signal(number)
        assert bot.rest() == []
    with pytest.raises(SchedulerUnavailableError):
        bellringer.connect(database).health(timeout=0.1)
    assert not [line for line in _command_lines() if str(database) in line]


def test_the_database_can_be_named_in_the_environment(database: Path) -> None:
    with BotProcess(database, named=False, BELLRINGER_DATABASE=str(database)) as bot:
        bot.ask("/remind 1h tea")
    assert database.exists()


def test_a_database_that_cannot_be_opened_is_told_in_one_sentence(database: Path) -> None:
    database.write_text("this is no database")
    with BotProcess(database) as bot:
        assert bot.process.wait(20) == 1
        assert bot.process.stderr is not None
        told = bot.process.stderr.read()
    assert told.startswith("run_bot: no scheduler could be started")
    assert "is not an SQLite database" in told


def _command_lines() -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(entry.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found


@pytest.mark.parametrize(
    ("ending", "told"),
    [
        (">/dev/full", "run_bot: standard output can't be written (No space left on device): give it another\n"),
        (">&-", "run_bot: standard output is closed: start this without >&-\n"),
        ("<&-", "run_bot: standard input is closed: start this without <&-\n"),
    ],
)
def test_without_input_or_output_it_says_so_and_ends(database: Path, ending: str, told: str) -> None:
    ended = _shell(f'"$@" {ending}', database)

    assert (ended.returncode, ended.stderr) == (1, told)


def test_a_reader_that_goes_away_ends_it_quietly(database: Path) -> None:
    ended = _shell('"$@" | head -1', database, asked="/help\n" * 200)

    assert (ended.returncode, ended.stdout.count("\n"), ended.stderr) == (0, 1, "")


def test_an_empty_name_of_a_database_is_told_in_one_sentence(database: Path) -> None:
    ended = _shell('"$@" --database ""', database)

    assert (ended.returncode, ended.stderr) == (
        1, "run_bot: the database is '', but must be the path of a file\n"
    )  # fmt: skip


def test_an_interrupt_while_it_is_being_imported_leaves_no_traceback(tmp_path: Path) -> None:
    slow = tmp_path / "pendulum"
    slow.mkdir()
    (slow / "__init__.py").write_text("print('importing', flush=True)\nimport signal\nsignal.pause()\n")
    with BotProcess(tmp_path / "b.db", PYTHONPATH=str(tmp_path)) as bot:
        assert bot.heard() == "importing"
        bot.process.send_signal(signal.SIGINT)
        assert bot.process.wait(20) == -signal.SIGINT
        assert bot.process.stderr is not None
        assert bot.process.stderr.read() == ""


def _shell(line: str, database: Path, asked: str = "/help\n") -> "subprocess.CompletedProcess[str]":
    """The bot as a shell starts it: `$@` stands for its command."""
    command = ["sh", "-c", line, "sh", sys.executable, str(BOT), "--database", str(database)]
    return subprocess.run(command, input=asked, capture_output=True, text=True, timeout=60, check=False)
