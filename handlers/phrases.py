"""Times as people type them, and the text beside them: "in 2h call mum", "every weekday 18:00", "call mum at 9".

The time stands in front of the text or, where a word such as `in`, `at`, `on` or `every` tells it, behind it; the one
in front counts. What could be read in two ways is refused with a sentence that says what to write.
"""

import re
from typing import Final, NamedTuple

from ..storage import rules
from ..storage.errors import InvalidJobError
from ..storage.rules import Rule
from . import grammar, languages, repeating, telling, wording
from .telling import moment, tell_duration, tell_instant, tell_rule
from .wording import (
    AFTER,
    AT,
    DAY_US,
    END,
    HOUR_US,
    MINUTE_US,
    REPEAT,
    SECOND_US,
    WEEK_US,
    Found,
    PhraseError,
    UnclearError,
    pattern,
)

__all__ = [
    "AFTER",
    "AT",
    "DAY_US",
    "HOUR_US",
    "MINUTE_US",
    "REPEAT",
    "SECOND_US",
    "WEEK_US",
    "Phrase",
    "PhraseError",
    "moment",
    "read",
    "tell",
    "tell_duration",
    "tell_instant",
    "tell_rule",
]

# The patterns know the white space of ASCII only, so that they know its letters only.
_SPACES: Final = dict.fromkeys(map(ord, filter(str.isspace, map(chr, range(0x80, 0x3001)))), " ")
_IN: Final = pattern(r"in\s+")
_NOTATION: Final = pattern(
    r"rrule:|dtstart|freq=|@[a-z]|(?:daily|weekly|monthly|yearly)[\s/]|[0-9*]\S*(?:\s+\S+){4,5}\s*$"
)
_ONLY_NOTATION: Final = pattern(r"rrule:|dtstart|freq=|@[a-z]")
_CRON: Final = pattern(r"(?=[^a-z]*\*)([0-9*/,-]+(?:\s+[0-9*/,-]+){4})\s+(?![0-9*/,-]+(?:\s|$))")
_ALIAS: Final = pattern(r"(@[a-z]+)\s+")
_ME: Final = pattern(r"(?:remind\s+)?me\s+(?=to\s|that\s|about\s|in\s|at\s|on\s|every\s|each\s|tomorrow\s|[0-9])")
_CONNECTING: Final = pattern(r"(?:to|that|about)(?:\s+|$)")
_MARK: Final = re.compile("[,;.!?\u2013\u2014-]+(?:\\s+|$)")
_COLON: Final = re.compile(r"\s*:(?:\s+|$)")
_CLOCK_LIKE: Final = rf"(?:[0-9]{{1,2}}(?:[:.][0-9]{{2}}|\s*[ap]\.?m\b)|[0-9]{{1,2}}{END}|noon\b|midday\b|midnight\b)"
_DAY_LIKE: Final = (
    rf"(?:(?:today|tonight|tomorrow|{wording.WEEKDAY}s?){END}|{wording.MONTH}\.?\s+[0-9]|[0-9]{{4}}-[0-9]"
    rf"|[0-9]{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{wording.MONTH}{END}|the\s+[0-9]+(?:st|nd|rd|th){END})"
)
_PART_OF_DAY: Final = rf"(?:morning|afternoon|evening|night|lunchtime){END}"
_NUMBER_WORD: Final = "|".join(word for word in wording.NUMBER_WORDS if len(word) > 2)
_MORE: Final = pattern(
    rf"(?:in\s+the\s+|this\s+|at\s+)?{_PART_OF_DAY}"
    rf"|(?:on|at|by|from|until|till?|between|before|after|starting|beginning|except|and|or|&|-|to|\u2013)"
    rf"\s+(?:on\s+|at\s+|from\s+|next\s+)?(?:{_CLOCK_LIKE}|{_DAY_LIKE})"
    rf"|(?:at\s+)?(?:half|quarter)\s+(?:past|to){END}|at\s+(?:{_NUMBER_WORD}){END}|at\s+:[0-9]|on\s+the\s+(?:hour|half)"
    rf"|(?:the\s+)?[0-9]{{1,2}}(?:st|nd|rd|th){END}|(?:{_NUMBER_WORD})\s*(?:[ap]\.?m|o['\u2019]?\s*clock)\b"
    rf"|(?:in|for|until|except)\s+(?:[0-9]+|an?|two|three)\s*{wording.UNIT}{END}"
    rf"|(?:today|tonight|tomorrow|every|each|except|hourly|daily|weekly|monthly|yearly|ago|earlier|later|sharp){END}"
    rf"|(?:this|next|last)\s+(?:week|month|year|weekend|{wording.WEEKDAY}){END}"
    rf"|(?:weekdays|weekends|(?:mon|tues|wednes|thurs|fri|satur|sun)days){END}"
)
_CLOCK_FIRST: Final = pattern(
    rf"(?:(?:around|circa|ca\.?|at|@|~)\s*)?(?!(?:2[4-9]|[3-9][0-9]|[1-9][0-9]{{2}}|[0-9]{{5,}}){END})[0-9]"
)
_AROUND: Final = pattern(rf"(?:before|after|until){END}")
_OTHER_ZONE: Final = re.compile(
    r"(?:UTC|GMT|Z|CES?T|EE?S?T|WES?T|[ECMP][SD]T|BST|IST|JST|MSK|A[EC][SD]T|NZ[SD]T)\b|(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc|US)/[A-Z]|[+-][0-9]{2}:?[0-9]{2}\b"
)
_INTRODUCED: Final = pattern(
    rf"(?:in|at|on|every|each|next|this|today|tonight|tomorrow|day|the|[0-9]{{1,4}}\S*|{wording.MONTH}|{wording.WEEKDAY}s?"
    rf"|weekdays|weekends){END}"
)
_SELF_TOLD: Final = pattern(
    r"(?:in|on|every|each|next|this|tomorrow|today|tonight|day\s+after|the\s+day|[0-9]{4}-[0-9])|at\s+|[0-9]{1,2}(?:[:.][0-9]{2})?\s*[ap]\.?m"
)
_NUMBER: Final = re.compile(r"([0-9]+(?:[.,][0-9]+)?)(?=\s|$)")
_SLASHED: Final = pattern(rf"(?:on\s+)?([0-9]{{1,4}}/[0-9]{{1,2}}(?:/[0-9]{{2,4}})?){END}")
_WORD: Final = re.compile(r"\S+")
_LAST_WORDS: Final = 14
_LAST_CHARACTERS: Final = 200
_SHOWN: Final = 40


class Phrase(NamedTuple):
    """A time that lies ahead, and the text beside it."""

    kind: str
    """`after` a span of elapsed time, `at` a local time or an instant, or `repeat`."""
    rule: Rule
    """With what hangs on when it is scheduled fixed. Local times are of the zone that was given."""
    text: str
    assumed_time: bool = False
    """No time of day was given: 09:00 was taken, and 20:00 for `tonight`."""
    zone: str = "UTC"


def read(words: str, now: int, zone: str, *, text_follows: bool = True) -> Phrase:
    """The time that the words name. `text_follows=False`: they are the time, and nothing else. Raises `PhraseError`."""
    words = words.strip()
    plain = words.translate(_SPACES)
    found, text = _found(plain, now, zone, text_follows=text_follows)
    begin = len(words) - len(text) if plain.endswith(text) else plain.find(text)
    text = words[begin : begin + len(text)]
    try:
        rule = found.rule.starting(now)
    except InvalidJobError as error:
        raise repeating.refused(error) from None
    return Phrase(found.kind, rule, text, found.assumed_time, zone)


def tell(phrase: Phrase, now: int) -> str:
    """Its kind, its zone and its next three instants, in words; one line."""
    is_span = phrase.kind == AFTER
    return telling.tell_next(phrase.rule, now, phrase.zone, assumed_time=phrase.assumed_time, is_span=is_span)


def _found(words: str, now: int, zone: str, *, text_follows: bool) -> tuple[Found, str]:
    if noted := _noted(words, zone, text_follows=text_follows):
        return noted
    me = _ME.match(words)
    begin = me.end() if me and text_follows else 0
    found = grammar.find(words, begin, now, zone)
    if found is not None:
        return found, _rest(words, begin, found, now, zone, text_follows=text_follows)
    if text_follows:
        behind = _behind(words, now, zone)
        if behind is not None:
            start, found = behind
            text = words[begin:start].rstrip(" \t\n,;:-\u2013\u2014")
            if connecting := _CONNECTING.match(text):
                text = text[connecting.end() :]
            if _behind(text, now, zone) is not None:
                raise PhraseError("I see two times there. Write the one that is meant first, and the text behind it.")
            return found, text
    foreign = languages.find(words, now, zone, text_follows=text_follows)
    if foreign is not None:
        return foreign, _text_behind(words, foreign.end)
    raise _not_understood(words)


def _noted(words: str, zone: str, *, text_follows: bool) -> tuple[Found, str] | None:
    """A rule in its own notation, which needs no time of day to be assumed."""
    if _NOTATION.match(words) is not None:
        try:
            return _of_rule(rules.parse(words, zone=zone), len(words)), ""
        except InvalidJobError as error:
            if _ONLY_NOTATION.match(words) and not (text_follows and _ALIAS.match(words)):
                raise repeating.refused(error) from None
    if text_follows and (begun := _CRON.match(words) or _ALIAS.match(words)):
        try:
            return _of_rule(rules.parse(begun[1], zone=zone), begun.end(1)), words[begun.end() :].strip()
        except InvalidJobError as error:
            raise repeating.refused(error) from None
    return None


def _of_rule(rule: Rule, end: int) -> Found:
    return Found(REPEAT, rule, end)


def _rest(words: str, begin: int, found: Found, now: int, zone: str, *, text_follows: bool) -> str:
    """The text behind the time, which must not go on about time."""
    time = _shown(words[begin : found.end])
    rest = words[found.end :].strip()
    if not text_follows:
        if rest.strip(" .!"):
            raise PhraseError(f"I read {time!r} as the time, and don't understand {_shown(rest)!r} behind it.")
        return ""
    if _COLON.match(words, found.end):
        return _text_behind(words, found.end)
    following = rest.lstrip(" ,;")
    if _OTHER_ZONE.match(following):
        raise PhraseError(f"I read times in {zone}. Leave {following.split()[0][:_SHOWN]} out, or change the zone.")
    text = _text_behind(words, found.end)
    if (
        _MORE.match(following)
        or (found.kind != AT and _AROUND.match(following))
        or (not found.has_clock and (_CLOCK_FIRST.match(following) or _CLOCK_FIRST.match(text)))
    ):
        raise PhraseError(
            f"I read {time!r} as the time, but {_shown(following)!r} could belong to it. "
            f"Put a colon between time and text, as in {time}: {_shown(following)}"
        )
    if not (found.has_clock and found.has_date) and (behind := _behind(text, now, zone)) is not None:
        more = behind[1]
        if (more.has_clock and not found.has_clock) or (more.has_date and not found.has_date):
            raise PhraseError(
                f"I read {time!r} as the time, but {_shown(text[behind[0] :])!r} could belong to it. "
                "Write both together, in front of the text, as in tomorrow at 9:00 call mum."
            )
    return text


def _text_behind(words: str, end: int) -> str:
    rest = _COLON.sub("", words[end:], count=1) if _COLON.match(words, end) else words[end:]
    rest = rest.strip()
    if mark := _MARK.match(rest):
        rest = rest[mark.end() :]
    connecting = _CONNECTING.match(rest)
    return rest[connecting.end() :].strip() if connecting else rest


def _behind(words: str, now: int, zone: str) -> tuple[int, Found] | None:
    """Where the time begins with which the words end, if a word tells that it is one."""
    near = max(0, len(words) - _LAST_CHARACTERS)
    starts = [word.start() for word in _WORD.finditer(words, near)][-_LAST_WORDS:]
    refusal: PhraseError | None = None
    for start in starts:
        if start == 0 or not words[start - 1].isspace() or not _INTRODUCED.match(words, start):
            continue
        try:
            found = grammar.find(words, start, now, zone)
        except UnclearError:
            continue
        except PhraseError as error:
            refusal = refusal or error
            continue
        if found is None or words[found.end :].strip(" .!"):
            continue
        if _SELF_TOLD.match(words, start) or (found.has_clock and found.has_date and found.kind != AFTER):
            return start, found
    if refusal is not None:
        raise refusal
    return None


def _shown(words: str) -> str:
    words = " ".join(words[: 2 * _SHOWN].split())
    return words if len(words) <= _SHOWN else words[: _SHOWN - 1] + "\u2026"


def _not_understood(words: str) -> PhraseError:
    if slashed := _SLASHED.match(words):
        return PhraseError(
            f"I can't tell day and month apart in {slashed[1]}. Write the date as in 31 dec 23:59 or 2030-12-31 23:59."
        )
    number = _NUMBER.match(words) or _NUMBER.match(words, _in_end(words))
    if number:
        given = number[1][:_SHOWN]
        return PhraseError(f"{given} of what? Say {given}s, {given}m, {given}h or {given}d.")
    return PhraseError(
        "I don't see a time there. Write it first, as 10s, 1h30m, in 2h, 18:30, tomorrow 9:00, friday 18:00, "
        "31 dec 23:59, 2030-12-25 08:00, every 30m or every weekday 18:00."
    )


def _in_end(words: str) -> int:
    begun = _IN.match(words)
    return begun.end() if begun else 0
