"""The answers to changing requests as text, so that a repeated batch gets what the first one got."""

import json
from collections.abc import Sequence

from .messages import Accepted, Adjusted, Cancelled, Refused, Reply, Scheduled


def to_text(replies: Sequence[Reply]) -> str:
    """Replies to questions are left out: they are asked anew."""
    told: list[object] = []
    for reply in replies:
        match reply:
            case Scheduled():
                told.append(["scheduled", list(reply.replaced), [list(known) for known in reply.due_at]])
            case Cancelled():
                told.append(["cancelled", list(reply.unknown)])
            case Accepted():
                told.append(["accepted"])
            case Adjusted():
                told.append(["adjusted", reply.count, reply.after])
            case Refused():
                told.append(["refused", reply.code, reply.sentence])
            case _:
                told.append(None)
    return json.dumps(told, separators=(",", ":"))


def from_text(text: str) -> list[Reply | None]:
    return [_reply(told) for told in json.loads(text)]


def _reply(told: list[object] | None) -> Reply | None:
    match told:
        case ["scheduled", [*replaced], *rest]:
            known = rest[0] if rest and isinstance(rest[0], list) else []
            return Scheduled(
                replaced=tuple(place for place in replaced if isinstance(place, int)),
                due_at=tuple((int(place), int(at)) for place, at in known),
            )
        case ["adjusted", int(count), after]:
            return Adjusted(count=count, after=after if isinstance(after, int) else None)
        case ["cancelled", [*unknown]]:
            return Cancelled(unknown=tuple(place for place in unknown if isinstance(place, int)))
        case ["accepted"]:
            return Accepted()
        case ["refused", str(code), str(sentence)]:
            return Refused(code=code, sentence=sentence)
        case _:
            return None
