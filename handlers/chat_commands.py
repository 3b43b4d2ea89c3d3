"""What the sample bot understands: one line of a chat in, one answer out."""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Final, Protocol

from ..storage import door
from ..storage.errors import BellringerError
from ..storage.values import ChatId, Delivery
from . import phrases, reminders
from .text import visible

MAXIMUM_TEXT: Final = 4_000
LISTED: Final = 50
SHOWN: Final = 80
PAGE: Final = 1_000
ATTEMPTS: Final = 10
SHORTEST_EVERY_US: Final = phrases.SECOND_US

HELP: Final = """\
/remind 10s stand up – also 1h30m, in 2h, 18:30, tomorrow 9:00, 2030-12-25 08:00
/every 1d water the plants – again and again
/list – what is to come
/cancel 3 – drop number 3 of the list
/snooze 10m – the last one that rang, once more"""


class Reminder(Protocol):
    """A job, as much of it as is looked at here."""

    @property
    def id(self) -> str: ...
    @property
    def handler(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def is_finished(self) -> bool: ...
    @property
    def due_at(self) -> datetime: ...
    @property
    def every(self) -> timedelta | None: ...
    @property
    def payload(self) -> object: ...
    @property
    def why(self) -> str | None: ...


class Remembered(Protocol):
    """A stored session."""

    @property
    def user_id(self) -> ChatId | None: ...
    @property
    def data(self) -> Mapping[str, object]: ...


class Cancelled(Protocol):
    @property
    def cancelled(self) -> tuple[str, ...]: ...


class Scheduler(Protocol):
    """A scheduler's handle, as much of it as is used here."""

    def schedule(
        self,
        handler: str,
        *,
        id: str,
        at: datetime,
        every: timedelta | None,
        chat_id: ChatId,
        user_id: ChatId,
        payload: object,
        delivery: str,
        attempts: int,
        only_new: bool,
    ) -> object: ...

    def cancel(self, id: str, /) -> Cancelled: ...

    def get(self, id: str, /) -> Reminder | None: ...

    def pending(self, *, chat_id: ChatId, limit: int, after: str | None) -> Sequence[Reminder]: ...

    def sessions(self, *, chat_id: ChatId) -> Sequence[Remembered]: ...


class Chat:
    """One person's talk with the bot. Numbers of reminders go up and are never given twice."""

    def __init__(self, scheduler: Scheduler, zone: tzinfo, chat_id: ChatId = 1, user_id: ChatId = 1) -> None:
        self._scheduler = scheduler
        self._zone = zone
        self._chat_id = chat_id
        self._user_id = user_id
        self._highest: int | None = None
        self._commands: dict[str, Callable[[str, int], str]] = {
            "/remind": self._remind,
            "/every": self._every,
            "/list": self._list,
            "/cancel": self._cancel,
            "/snooze": self._snooze,
            "/help": self._help,
        }

    def answer(self, line: str, now: int) -> str:
        """The answer to a line; empty to an empty one. Raises what the scheduler raises."""
        word, rest = [*line.split(maxsplit=1), "", ""][:2]
        if not word:
            return ""
        command = self._commands.get(word.lower())
        if command is None:
            return self._not_understood(word.lower())
        try:
            return command(rest.strip(), now)
        except phrases.PhraseError as error:
            return str(error)

    def _not_understood(self, word: str) -> str:
        known = difflib.get_close_matches("/" + word.lstrip("/"), self._commands, n=1, cutoff=0.75)
        if known:
            return f"Did you mean {known[0]}? /help shows how it is used."
        return "I understand commands only, such as: /remind 10s stand up. /help shows them all."

    # Commands

    def _remind(self, rest: str, now: int) -> str:
        if not rest:
            return "Remind you when, and of what? As in: /remind 10s stand up"
        at, text = phrases.read_when(rest, now, self._zone)
        if not text:
            return f"Remind you of what? Write it behind the time: /remind {_shown(rest)} stand up"
        return self._ring_at(at, _fitting(text), now)

    def _every(self, rest: str, now: int) -> str:
        if not rest:
            return "How often, and what? As in: /every 1d water the plants"
        every_us, text = phrases.read_duration(rest)
        if not text:
            return f"Remind you of what? Write it behind the time: /every {_shown(rest)} water the plants"
        if every_us < SHORTEST_EVERY_US:
            return "That is too often for me: once a second is the most."
        at = now + every_us
        self._schedule(_fitting(text), at, timedelta(microseconds=every_us))
        return f"🔁 every {phrases.tell_duration(every_us)}, first at {self._when(at, now)}: {_shown(text)}"

    def _list(self, _rest: str, now: int) -> str:
        waiting = list(self._reminders())
        lines = [self._line(number, job, now) for number, job in waiting[:LISTED]]
        if len(waiting) > LISTED:
            lines.append(f"… and {len(waiting) - LISTED} more")
        return "\n".join(lines) or "Nothing is to come. Change that with: /remind 10s stand up"

    def _cancel(self, rest: str, _now: int) -> str:
        if not (rest.isascii() and rest.isdecimal()):
            return "Cancel which one? Give its number from /list, as in: /cancel 3"
        job = self._scheduler.get(reminders.job_id(self._chat_id, int(rest))) if len(rest) <= 18 else None
        if job is None or job.is_finished or not self._scheduler.cancel(job.id).cancelled:
            return f"There is no reminder {rest[:18]}. /list shows those that there are."
        return f"Cancelled: {_shown(_text_of(job))}"

    def _snooze(self, rest: str, now: int) -> str:
        text = self._last_rung()
        if text is None:
            return "Nothing has rung yet that could be snoozed."
        at, more = phrases.read_when(rest or "10m", now, self._zone)
        if more:
            return "Only a time, please, as in: /snooze 10m. It is for the last one that rang."
        return self._ring_at(at, text, now)

    def _help(self, _rest: str, _now: int) -> str:
        return HELP

    # Reminders

    def _ring_at(self, at: int, text: str, now: int) -> str:
        self._schedule(text, at, None)
        return f"⏰ at {self._when(at, now)}: {_shown(text)}"

    def _schedule(self, text: str, at: int, every: timedelta | None) -> None:
        # Another bot of the same chat may take a number at the same instant; the scheduler tells who was first.
        while True:
            try:
                # At least once: a reminder that rings twice is better than one that never does.
                self._scheduler.schedule(
                    reminders.RING,
                    id=reminders.job_id(self._chat_id, self._next_number()),
                    at=phrases.moment(at),
                    every=every,
                    chat_id=self._chat_id,
                    user_id=self._user_id,
                    payload={"text": text},
                    delivery=Delivery.AT_LEAST_ONCE,
                    attempts=ATTEMPTS,
                    only_new=True,
                )
            except BellringerError as error:
                if getattr(error, "code", None) != "exists":
                    raise
            else:
                return

    def _next_number(self) -> int:
        """The one after the highest of what is to come, of what rang, and of what this run tried."""
        if self._highest is None:
            rung = self._session().get(reminders.HIGHEST)
            known = [rung] if isinstance(rung, int) else []
            self._highest = max([*known, *(number for number, _ in self._reminders())], default=0)
        self._highest += 1
        return self._highest

    def _reminders(self) -> Iterator[tuple[int, Reminder]]:
        """This chat's reminders in due order, each with its number."""
        after: str | None = None
        while True:
            page = self._scheduler.pending(chat_id=self._chat_id, limit=PAGE, after=after)
            for job in page:
                number = reminders.number_of(job.id)
                if number is not None and job.handler == reminders.RING:
                    yield number, job
            if len(page) < PAGE:
                return
            after = page[-1].id

    def _last_rung(self) -> str | None:
        # One that is ringing is not noted in the session yet. Asked in this order, neither answer can miss it.
        ringing = [job for _, job in self._reminders() if job.status == "claimed"]
        last = _text_of(ringing[-1]) if ringing else self._session().get(reminders.LAST)
        return last if isinstance(last, str) else None

    def _session(self) -> Mapping[str, object]:
        sessions = self._scheduler.sessions(chat_id=self._chat_id)
        return next((stored.data for stored in sessions if stored.user_id == self._user_id), {})

    # Words

    def _line(self, number: int, job: Reminder, now: int) -> str:
        again = f", every {phrases.tell_duration(door.interval_us(job.every, 'every'))}" if job.every else ""
        if job.status == "parked":
            return f"{number:>3}  set aside ({_shown(job.why or '')}): {_shown(_text_of(job))}"
        return f"{number:>3}  {self._when(door.instant(job.due_at, 'due_at'), now)}{again}: {_shown(_text_of(job))}"

    def _when(self, at: int, now: int) -> str:
        return f"{phrases.tell_instant(at, now, self._zone)} (in {phrases.tell_duration(at - now)})"


def _fitting(text: str) -> str:
    if len(text) > MAXIMUM_TEXT:
        raise phrases.PhraseError(
            f"That text has {len(text)} characters, and {MAXIMUM_TEXT} fit into one message. Make it shorter."
        )
    return text


def _text_of(job: Reminder) -> str:
    text = job.payload.get("text") if isinstance(job.payload, dict) else None
    return str(text)


def _shown(text: str) -> str:
    text = visible(text)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
