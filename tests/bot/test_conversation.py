"""Conversations of days and weeks with the sample bot, under a clock that is moved by hand."""

import pytest

from bellringer.handlers import reminders
from bellringer.handlers.chat_commands import Chat
from bellringer.testing.drive import Drive


class Talk:
    def __init__(self, drive: Drive, zone: str) -> None:
        self.drive = drive
        self._chat = Chat(drive, zone)
        drive.registry.add(reminders.RING, reminders.ring)
        drive.attach(registry=drive.registry)

    def __call__(self, line: str) -> str:
        return self._chat.answer(line, self.drive.clock.wall())

    @property
    def rung(self) -> list[str]:
        return [message.text for message in self.drive.sent]


@pytest.fixture
def say(drive: Drive) -> Talk:
    return Talk(drive, "Europe/Berlin")


def test_what_is_asked_for_tomorrow_rings_tomorrow(say: Talk) -> None:
    say("/remind tomorrow 9:00 dentist")
    say.drive.advance(days=2)

    assert say.rung == ["⏰ dentist"]
    assert say("/list").startswith("Nothing is to come.")


def test_what_repeats_rings_until_it_is_cancelled(say: Talk) -> None:
    say("/every 1d water the plants")
    say.drive.advance(days=3, hours=1)
    assert say.rung == ["⏰ water the plants"] * 3

    assert say("/cancel 1") == "Cancelled: water the plants"
    say.drive.advance(days=3)
    assert len(say.rung) == 3


def test_the_list_tells_a_repeating_one_by_its_next_time(say: Talk) -> None:
    say("/every 1d water the plants")
    say.drive.advance(days=3, hours=1)

    assert say("/list").endswith(" tomorrow (in 23 h), every 1 d: water the plants")


def test_snooze_is_for_the_last_one_that_rang_also_a_repeating_one(say: Talk) -> None:
    say("/remind 1m tea")
    say("/every 2m stretch")
    say.drive.advance(minutes=2)
    assert say.rung == ["⏰ tea", "⏰ stretch"]

    assert say("/snooze 30s").endswith("(in 30 s): stretch")
    say.drive.advance(seconds=30)
    assert say.rung == ["⏰ tea", "⏰ stretch", "⏰ stretch"]
    say.drive.advance(seconds=90)
    assert len(say.rung) == 4


def test_snooze_alone_means_ten_minutes_and_takes_nothing_but_a_time(say: Talk) -> None:
    say("/remind 1m tea")
    say.drive.advance(minutes=1)

    assert say("/snooze").endswith("(in 10 min): tea")
    assert say("/snooze 10m coffee").startswith("Only a time, please")
    assert say("/snooze soon").startswith("I don't see a time there")


def test_everything_is_killed_and_the_reminder_rings_late(say: Talk) -> None:
    say("/remind 1h tea")
    say.drive.crash()
    say.drive.advance(hours=4)
    say.drive.start()
    say.drive.advance(1)

    assert say.rung == ["⏰ tea (3 h late)"]


def test_b48_a_terminal_that_is_gone_for_a_while_costs_no_reminder(say: Talk) -> None:
    say.drive.transport.fail_next(BrokenPipeError(), times=3)
    say("/remind 1m tea")
    say.drive.advance(minutes=2)

    assert [text.partition(" (")[0] for text in say.rung] == ["⏰ tea"]


def test_the_session_counts_what_rang(say: Talk) -> None:
    for _ in range(3):
        say("/remind 1m tea")
    say.drive.advance(minutes=1)

    (session,) = say.drive.sessions(chat_id=1)
    assert session.data == {reminders.RUNG: 3, reminders.LAST: "tea", reminders.HIGHEST: 3}


def test_numbers_of_what_rang_long_ago_are_not_given_again(say: Talk) -> None:
    say("/remind 1m tea")
    say.drive.advance(days=40)
    later = Talk(say.drive, "Europe/Berlin")
    later("/remind 1m coffee")

    assert later("/list").startswith("  2  ")
