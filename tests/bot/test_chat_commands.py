"""The bot's answers, line by line, on a scheduler that runs for real. Nothing rings: no host is attached."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import bellringer
from bellringer import SchedulerHandle
from bellringer.actors.clock import SYSTEM_CLOCK
from bellringer.handlers import reminders
from bellringer.handlers.chat_commands import LISTED, MAXIMUM_TEXT, Chat

ZONE = "Europe/Berlin"
_chats = count(1)


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchedulerHandle]:
    database: Path = tmp_path_factory.mktemp("bot") / "bot.db"
    with bellringer.start(database) as running:
        yield running


class Talk:
    """One chat of its own."""

    def __init__(self, scheduler: SchedulerHandle) -> None:
        self.scheduler = scheduler
        self.chat_id = next(_chats)
        self.begin_anew()

    def begin_anew(self) -> None:
        """As after a restart of the bot."""
        self._chat = Chat(self.scheduler, ZONE, chat_id=self.chat_id)

    def __call__(self, line: str) -> str:
        return self._chat.answer(line, SYSTEM_CLOCK.wall())

    def numbers(self) -> set[int]:
        return {int(line.split()[0]) for line in self("/list").splitlines()}


@pytest.fixture
def say(scheduler: SchedulerHandle) -> Talk:
    return Talk(scheduler)


def test_a_reminder_is_answered_with_its_local_time(say: Talk) -> None:
    answer = say("/remind 2030-12-25 08:00 presents 🎁")

    assert answer.startswith("⏰ at 08:00:00 on Wed 25 Dec 2030, once, by local time in Europe/Berlin (in ")
    assert answer.endswith("): presents 🎁")


def test_a_reminder_is_stored_to_ring_at_least_once(say: Talk) -> None:
    say("/remind 2030-12-25 08:00 presents")

    job = say.scheduler.get(reminders.job_id(say.chat_id, 1))
    assert job is not None
    assert (job.payload, job.delivery, job.chat_id) == ({"text": "presents"}, "at_least_once", say.chat_id)
    assert job.due_at.isoformat() == "2030-12-25T07:00:00+00:00"


def test_what_repeats_says_how_often_and_when_first(say: Talk) -> None:
    answer = say("/every 1h30m stretch")

    assert answer.startswith("🔁 every 1 h 30 min, by elapsed time in Europe/Berlin, first at ")
    assert " (in 1 h 30 min), then " in answer
    assert answer.endswith(": stretch")


def test_a_phrase_that_repeats_is_stored_with_its_rule_and_its_zone(say: Talk) -> None:
    answer = say("/remind every monday 9:00 water the plants")

    assert answer.startswith("🔁 every Monday at 09:00, by local time in Europe/Berlin, first at 09:00:00 ")
    job = say.scheduler.get(reminders.job_id(say.chat_id, 1))
    assert job is not None
    assert str(job.rule) == "weekly mon 09:00, in Europe/Berlin"
    assert job.due_at.in_timezone("Europe/Berlin").format("dddd HH:mm") == "Monday 09:00"
    assert say("/list").endswith(", every Monday at 09:00: water the plants")


def test_b10_a_local_time_is_stored_as_such_with_its_zone_and_a_span_is_not(say: Talk) -> None:
    say("/remind 2030-12-25 08:00 presents")
    say("/remind 2h tea")

    local, span = (say.scheduler.get(reminders.job_id(say.chat_id, number)) for number in (1, 2))
    assert local is not None
    assert span is not None
    assert (str(local.local_at), local.zone) == ("2030-12-25 08:00:00", "Europe/Berlin")
    assert (span.local_at, span.zone) == (None, None)


def test_the_text_may_stand_in_front_of_the_time(say: Talk) -> None:
    assert say("/remind me to call mum in 2h").endswith("(in 2 h): call mum")


def test_the_zone_of_a_chat_is_told_and_can_be_changed(say: Talk) -> None:
    assert say("/zone").startswith("Times here are those of Europe/Berlin.")
    assert say("/zone Asia/Tokyo").startswith("Times here are those of Asia/Tokyo now, where it is ")
    assert say("/zone").startswith("Times here are those of Asia/Tokyo.")

    say("/remind 2030-12-25 08:00 presents")
    job = say.scheduler.get(reminders.job_id(say.chat_id, 1))
    assert job is not None
    assert job.due_at.isoformat() == "2030-12-24T23:00:00+00:00"


def test_the_zone_is_remembered_across_a_restart_of_the_bot(say: Talk) -> None:
    say("/zone Asia/Tokyo")
    say.begin_anew()

    assert say("/zone").startswith("Times here are those of Asia/Tokyo.")


def test_reminders_keep_their_local_time_in_a_new_zone(say: Talk) -> None:
    say("/remind 2030-12-25 08:00 presents")
    say("/remind every day at 9 pills")
    say("/remind 2h tea")

    assert say("/zone Asia/Tokyo").endswith("2 of your reminders keep their local time there.")
    job = say.scheduler.get(reminders.job_id(say.chat_id, 1))
    assert job is not None
    assert job.due_at.isoformat() == "2030-12-24T23:00:00+00:00"


def test_b14_a_zone_that_does_not_exist_is_refused_with_one_that_is_meant(say: Talk) -> None:
    assert say("/zone Europe/Berln") == (
        "There is no time zone 'Europe/Berln': give a name of the time zone database, did you mean Europe/Berlin?"
    )


def test_a_paused_reminder_is_shown_as_such_until_it_is_resumed(say: Talk) -> None:
    say("/remind every day at 9 pills")

    assert say("/pause 1") == "Paused, until /resume 1: pills"
    assert [pause.key for pause in say.scheduler.pauses()] == [reminders.job_id(say.chat_id, 1)]
    assert say("/list").endswith("every day at 09:00, paused: pills")
    assert say("/resume 1") == "Goes on: pills"
    assert say("/list").endswith("every day at 09:00: pills")


def test_the_next_time_can_be_left_out(say: Talk) -> None:
    say("/remind every 2h stretch")
    say("/remind 2h tea")

    assert say("/skip 1").startswith("Skipped once, next at ")
    assert "(in 4 h)" in say("/list") or "(in 3 h 59 min)" in say("/list")
    assert say("/skip 2") == "Number 2 comes once only. Drop it with: /cancel 2"


def test_the_list_shows_number_time_distance_and_text_in_due_order(say: Talk) -> None:
    say("/every 2d water the plants")
    say("/remind 1h tea")

    first, second = say("/list").splitlines()
    assert first.startswith("  2  ")
    assert first.endswith(("(in 1 h): tea", "(in 59 min 59 s): tea"))
    assert second.startswith("  1  ")
    assert second.endswith(", every 2 d: water the plants")


def test_the_list_of_nothing_says_so(say: Talk) -> None:
    assert say("/list") == "Nothing is to come. Change that with: /remind 10s stand up"


def test_a_long_list_is_cut_and_says_how_much_is_left_out(say: Talk) -> None:
    for _ in range(LISTED + 3):
        say("/remind 1h x")

    lines = say("/list").splitlines()
    assert len(lines) == LISTED + 1
    assert lines[-1] == "… and 3 more"


def test_cancel_drops_the_one_with_that_number(say: Talk) -> None:
    say("/remind 1h tea")
    say("/remind 2h coffee")

    assert say("/cancel 1") == "Cancelled: tea"
    assert say.numbers() == {2}
    assert say("/cancel 1") == "There is no reminder 1. /list shows those that there are."


def test_a_number_is_not_given_twice_after_a_cancel(say: Talk) -> None:
    say("/remind 1h tea")
    say("/cancel 1")
    say("/remind 1h coffee")

    assert say.numbers() == {2}


def test_numbers_go_on_after_a_restart_of_the_bot(say: Talk) -> None:
    for text in ("tea", "coffee", "juice"):
        say(f"/remind 1h {text}")
    say("/cancel 3")

    say.begin_anew()
    say("/remind 1h milk")

    assert say.numbers() == {1, 2, 4}


def test_two_bots_on_one_chat_never_take_each_others_numbers(say: Talk) -> None:
    other = Chat(say.scheduler, ZONE, chat_id=say.chat_id)
    say("/remind 1h tea")
    other.answer("/remind 1h coffee", SYSTEM_CLOCK.wall())
    say("/remind 1h juice")
    other.answer("/remind 1h milk", SYSTEM_CLOCK.wall())

    assert say.numbers() == {1, 2, 3, 4}


class Meeting:
    """A handle whose first `schedule` waits until as many others are about to."""

    def __init__(self, scheduler: SchedulerHandle, barrier: threading.Barrier) -> None:
        self._scheduler = scheduler
        self._barrier: threading.Barrier | None = barrier

    def schedule(self, *arguments: Any, **options: Any) -> object:
        barrier, self._barrier = self._barrier, None
        if barrier is not None:
            barrier.wait(20)
        return self._scheduler.schedule(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scheduler, name)


def test_two_bots_that_take_a_number_at_the_same_instant_get_two(say: Talk) -> None:
    say("/remind 3h juice")
    barrier = threading.Barrier(2)
    bots = [Chat(Meeting(say.scheduler, barrier), ZONE, chat_id=say.chat_id) for _ in range(2)]
    with ThreadPoolExecutor() as pool:
        asked = [
            pool.submit(bot.answer, f"/remind 1h {text}", SYSTEM_CLOCK.wall())
            for bot, text in zip(bots, ("tea", "coffee"), strict=True)
        ]
        assert {answer.result().rpartition(": ")[2] for answer in asked} == {"tea", "coffee"}

    assert say.numbers() == {1, 2, 3}


@pytest.mark.parametrize("gap", [" ", "\t", "\u00a0", "\u3000", "  \t "])
def test_any_white_space_separates_the_command_from_the_rest(say: Talk, gap: str) -> None:
    assert say(f"/remind{gap}1h{gap}tea").endswith("(in 1 h): tea")


def test_b59_what_steers_a_terminal_is_shown_as_escapes_and_stored_as_it_came(say: Talk) -> None:
    text = "a\x1b[31mb\u202ec\x07"

    assert say(f"/remind 1h {text}").endswith(": a\\x1b[31mb\\u202ec\\x07")
    assert say("/list").endswith(": a\\x1b[31mb\\u202ec\\x07")
    job = say.scheduler.get(reminders.job_id(say.chat_id, 1))
    assert job is not None
    assert job.payload == {"text": text}


def test_jobs_of_another_kind_in_the_chat_are_left_alone(say: Talk) -> None:
    say.scheduler.persisted("remind:digest", "digest", after=3_600, chat_id=say.chat_id)

    assert say("/list").startswith("Nothing is to come.")


def test_snooze_without_anything_that_rang_says_so(say: Talk) -> None:
    assert say("/snooze 10m") == "Nothing has rung yet that could be snoozed."


def test_help_names_every_command(say: Talk) -> None:
    words = {line.split()[0] for line in say("/help").splitlines()}

    assert words == {
        *("/remind", "/every", "/list", "/cancel", "/snooze"),
        *("/pause", "/resume", "/skip", "/zone"),
    }


def test_an_empty_line_gets_no_answer(say: Talk) -> None:
    assert say("  ") == ""


def test_a_text_that_fits_into_no_message_is_refused_and_not_stored(say: Talk) -> None:
    assert say("/remind 10s " + "x" * 4_097) == (
        f"That text has 4097 characters, and {MAXIMUM_TEXT} fit into one message. Make it shorter."
    )
    assert say("/list").startswith("Nothing is to come.")


def test_a_long_text_is_stored_whole_and_shown_short(say: Talk) -> None:
    text = "x" * MAXIMUM_TEXT

    assert len(say(f"/remind 1h {text}")) < 200
    job = say.scheduler.get(reminders.job_id(say.chat_id, 1))
    assert job is not None
    assert job.payload == {"text": text}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("hello", "I understand commands only"),
        ("/", "I understand commands only"),
        ("🎂", "I understand commands only"),
        ("remind 10s tea", "Did you mean /remind?"),
        ("/remnd 10s tea", "Did you mean /remind?"),
        ("/remind", "Remind you when, and of what?"),
        ("/remind 10s", "Remind you of what? Write it behind the time: /remind 10s stand up"),
        ("/remind 90 tea", "90 of what? Say 90s, 90m, 90h or 90d."),
        ("/remind 1h30 tea", "I can't read 1h30: give each part its unit, the largest first, as in 1h30m"),
        ("/every 30m1h tea", "I can't read 30m1h: give each part its unit"),
        ("/remind 0.00001s tea", "That is no time at all. Give at least a second"),
        ("/remind 13pm tea", "13pm is no time of day"),
        ("/remind 25:00 tea", "25:00 is no time of day"),
        ("/remind -5m tea", "That lies in the past"),
        ("/every", "How often, and what?"),
        ("/every 1d", "Remind you of what?"),
        ("/every 0.5s x", "That is too often for me"),
        ("/every 18:30 x", "I don't understand how often"),
        ("/cancel", "Cancel which one?"),
        ("/cancel x", "Cancel which one?"),
        ("/cancel -1", "Cancel which one?"),
        ("/cancel ³", "Cancel which one?"),
        ("/pause", "Pause which one?"),
        ("/resume x", "Resume which one?"),
        ("/skip", "Skip which one?"),
        ("/pause 99", "There is no reminder 99."),
        ("/remind every day", "Remind you of what?"),
        ("/remind every 0.5s x", "That is too often for me"),
        ("/snooze every 10m", "Nothing has rung yet"),
        ("/cancel 99", "There is no reminder 99."),
        ("/cancel " + "9" * 6_000, "There is no reminder"),
        ("/HELP", "/remind 10s stand up"),
    ],
)
def test_what_is_not_understood_gets_a_sentence_that_helps(say: Talk, line: str, says: str) -> None:
    assert say(line).startswith(says)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/every 1d at 9 water the plants", "every day at 09:00"),
        ("/every 2 weeks on monday 9:00 water the plants", "every 2 weeks on Monday at 09:00"),
        ("/every weekday 18:00 water the plants", "every weekday at 18:00"),
        ("/every 1d water the plants", "every 1 d, by elapsed time"),
    ],
)
def test_every_understands_what_remind_does(say: Talk, line: str, told: str) -> None:
    answer = say(line)
    assert told in answer
    assert answer.endswith(": water the plants")
