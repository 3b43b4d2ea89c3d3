"""What the sample bot understands: one line of a chat in, one answer out."""

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Final
from zoneinfo import ZoneInfo

from ..storage import door, rules
from ..storage.errors import BellringerError, InvalidJobError
from ..storage.rules import Rule
from ..storage.values import ChatId, Delivery, Scope
from . import phrases, reminders, telling
from .chat_protocols import Reminder, Scheduler
from .repeating import refused
from .text import visible

MAXIMUM_TEXT: Final = 4_000
LISTED: Final = 50
SHOWN: Final = 80
PAGE: Final = 1_000
ATTEMPTS: Final = 10
SHORTEST_EVERY_US: Final = phrases.SECOND_US
TOO_OFTEN: Final = "That is too often for me: once a second is the most."
ZONE: Final = "zone"

HELP: Final = """\
/remind 10s stand up – also in 2h, 18:30, tomorrow at 9, friday 18:00, 31 dec 23:59, 2030-12-25 08:00
/remind every weekday 18:00 go home – also every 30m, every 2 weeks on monday 9:00, every month on the last day
/every 1d water the plants – the same as /remind every 1d …
/list – what is to come
/cancel 3 – drop number 3 of the list
/pause 3 – let number 3 rest, until /resume 3
/resume 3 – go on with number 3
/skip 3 – leave out the next time of number 3
/snooze 10m – the last one that rang, once more
/zone Europe/Berlin – the time zone of this chat"""


class Chat:
    """One person's talk with the bot. Numbers of reminders go up and are never given twice.

    `zone` is where its local times hold until the session says otherwise, under the key `zone`.
    """

    def __init__(self, scheduler: Scheduler, zone: str, chat_id: ChatId = 1, user_id: ChatId = 1) -> None:
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
            "/pause": self._pause,
            "/resume": self._resume,
            "/skip": self._skip,
            "/snooze": self._snooze,
            "/zone": self._set_zone,
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
        phrase = phrases.read(rest, now, self.zone)
        if not phrase.text:
            return f"Remind you of what? Write it behind the time: /remind {_shown(rest)} stand up"
        return self._ring(phrase, _fitting(phrase.text), now)

    def _every(self, rest: str, now: int) -> str:
        if not rest:
            return "How often, and what? As in: /every 1d water the plants"
        return self._remind(f"every {rest}", now)

    def _list(self, _rest: str, now: int) -> str:
        waiting = list(self._reminders())
        paused = {pause.key for pause in self._scheduler.pauses() if pause.scope == Scope.JOB} if waiting else set()
        zone = ZoneInfo(self.zone)
        lines = [_line(number, job, now, zone, paused=job.id in paused) for number, job in waiting[:LISTED]]
        if len(waiting) > LISTED:
            lines.append(f"… and {len(waiting) - LISTED} more")
        return "\n".join(lines) or "Nothing is to come. Change that with: /remind 10s stand up"

    def _cancel(self, rest: str, _now: int) -> str:
        job = self._numbered(rest, "/cancel")
        if not self._scheduler.cancel(job.id).cancelled:
            raise _unknown(rest)
        return f"Cancelled: {_shown(_text_of(job))}"

    def _pause(self, rest: str, _now: int) -> str:
        job = self._numbered(rest, "/pause")
        self._scheduler.pause(job.id)
        return f"Paused, until /resume {rest}: {_shown(_text_of(job))}"

    def _resume(self, rest: str, _now: int) -> str:
        job = self._numbered(rest, "/resume")
        self._scheduler.resume(job.id)
        return f"Goes on: {_shown(_text_of(job))}"

    def _skip(self, rest: str, now: int) -> str:
        job = self._numbered(rest, "/skip")
        if job.rule is None:
            return f"Number {rest} comes once only. Drop it with: /cancel {rest}"
        if not self._scheduler.skip_next(job.id):
            return f"The next time of number {rest} can't be left out now. /list shows how it stands."
        after = self._scheduler.get(job.id)
        then = (
            "" if after is None or after.is_finished else f", next at {_when(_due_at(after), now, ZoneInfo(self.zone))}"
        )
        return f"Skipped once{then}: {_shown(_text_of(job))}"

    def _snooze(self, rest: str, now: int) -> str:
        text = self._last_rung()
        if text is None:
            return "Nothing has rung yet that could be snoozed."
        phrase = phrases.read(rest or "10m", now, self.zone)
        if phrase.text:
            return "Only a time, please, as in: /snooze 10m. It is for the last one that rang."
        if phrase.kind == phrases.REPEAT:
            return "Once, please, as in: /snooze 10m. /remind takes what repeats."
        return self._ring(phrase, text, now)

    def _set_zone(self, rest: str, now: int) -> str:
        if not rest:
            return f"Times here are those of {self.zone}. Change that as in: /zone America/New_York"
        try:
            there = rules.zone_named(rest)
        except InvalidJobError as error:
            return str(refused(error))
        moved = self._scheduler.set_zone(there.name, chat_id=self._chat_id, user_id=self._user_id)
        clock = telling.tell_instant(now, now, ZoneInfo(there.name)).removesuffix(":00 today").removesuffix(" today")
        shifted = f" {moved} of your reminders keep their local time there." if moved else ""
        return f"Times here are those of {there.name} now, where it is {clock}.{shifted}"

    def _help(self, _rest: str, _now: int) -> str:
        return HELP

    # Reminders

    @property
    def zone(self) -> str:
        """Where this chat's local times hold."""
        kept = self._session().get(ZONE)
        return kept if isinstance(kept, str) and rules.is_zone(kept) else self._zone

    def _ring(self, phrase: phrases.Phrase, text: str, now: int) -> str:
        if phrase.kind == phrases.REPEAT:
            first, *later = phrase.rule.upcoming(now, 2)
            if later and later[0] - first < SHORTEST_EVERY_US:
                return TOO_OFTEN
        self._schedule(text, phrase.rule)
        return f"{'🔁' if phrase.kind == phrases.REPEAT else '⏰'} {phrases.tell(phrase, now)}: {_shown(text)}"

    def _schedule(self, text: str, rule: Rule) -> None:
        # Another bot of the same chat may take a number at the same instant; the scheduler tells who was first.
        while True:
            try:
                # At least once: a reminder that rings twice is better than one that never does.
                self._scheduler.schedule(
                    reminders.RING,
                    id=reminders.job_id(self._chat_id, self._next_number()),
                    rule=rule,
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

    def _numbered(self, rest: str, command: str) -> Reminder:
        """The reminder with that number. Raises `PhraseError` if there is none."""
        if not (rest.isascii() and rest.isdecimal()):
            verb = command[1:].capitalize()
            raise phrases.PhraseError(f"{verb} which one? Give its number from /list, as in: {command} 3")
        job = self._scheduler.get(reminders.job_id(self._chat_id, int(rest))) if len(rest) <= 18 else None
        if job is None or job.is_finished:
            raise _unknown(rest)
        return job


def _unknown(number: str) -> phrases.PhraseError:
    return phrases.PhraseError(f"There is no reminder {number[:18]}. /list shows those that there are.")


def _line(number: int, job: Reminder, now: int, zone: ZoneInfo, *, paused: bool) -> str:
    if job.status == "parked":
        return f"{number:>3}  set aside ({_shown(job.why or '')}): {_shown(_text_of(job))}"
    again = f", {telling.tell_rule(job.rule)}" if job.rule is not None else ""
    held = ", paused" if paused else ""
    return f"{number:>3}  {_when(_due_at(job), now, zone)}{again}{held}: {_shown(_text_of(job))}"


def _when(at: int, now: int, zone: ZoneInfo) -> str:
    return f"{telling.tell_instant(at, now, zone)} (in {telling.tell_duration(at - now)})"


def _due_at(job: Reminder) -> int:
    return door.instant(job.due_at, "due_at")


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
