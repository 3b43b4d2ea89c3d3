"""What is remembered for a chat and user, and which of it a handler changed."""

import json
from collections.abc import Iterator, MutableMapping
from typing import Any

from .errors import SessionUnreadableError, SessionValueError

# Only the bot's author knows what was stored under which key; any narrower type would make them cast every read.
JsonValue = Any

MAXIMUM_PATCH_BYTES = 1024 * 1024


class Session(MutableMapping[str, JsonValue]):
    """A dict of JSON values that knows what was changed since it was loaded.

    Values may be changed in place, nested ones too. `SessionValueError` is raised when something is assigned
    that JSON can't hold exactly (a tuple, NaN, bytes, a key that is no text, an object of one's own); what
    was made so in place fails the run at its end.
    """

    __slots__ = ("_stored", "_touched", "_values")

    def __init__(self, stored: str | None = None) -> None:
        """Raises `SessionUnreadableError` when `stored` is no JSON object."""
        self._stored = stored
        self._values = {} if stored is None else _loaded(stored)
        self._touched = False

    def patch(self) -> tuple[str | None, tuple[str, ...]]:
        """The keys to write as a JSON object text (None: none), and the keys to drop.

        Two sessions that began alike merge key by key, so only what really changed is told.
        """
        if not self._touched:
            return None, ()
        before = {} if self._stored is None else _loaded(self._stored)
        changed = {
            key: value
            for key, value in self._values.items()
            if _canonical(key, value) != (_canonical(key, before[key]) if key in before else None)
        }
        removed = tuple(key for key in before if key not in self._values)
        if not changed:
            return None, removed
        text = json.dumps(changed, ensure_ascii=False, separators=(",", ":"))
        if (size := len(text.encode())) > MAXIMUM_PATCH_BYTES:
            raise SessionValueError(
                f"the session's changes take {size} bytes, and at most {MAXIMUM_PATCH_BYTES} fit; keep less in it"
            )
        return text, removed

    def __getitem__(self, key: str) -> JsonValue:
        self._touched = True
        return self._values[key]

    def __setitem__(self, key: str, value: JsonValue) -> None:
        self._touched = True
        _canonical(key, value)
        self._values[key] = value

    def __delitem__(self, key: str) -> None:
        self._touched = True
        del self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __repr__(self) -> str:
        return f"Session({self._values!r})"


def _loaded(stored: str) -> dict[str, JsonValue]:
    try:
        values = json.loads(stored)
    except (ValueError, RecursionError) as error:
        raise SessionUnreadableError(f"the stored session is not JSON ({error}); mend or remove its row") from error
    if not isinstance(values, dict):
        raise SessionUnreadableError(f"the stored session is not a JSON object but {stored[:80]!r}; mend its row")
    return values


def _canonical(key: str, value: JsonValue) -> str:
    """One text for equal values: True and 1 differ, the order of keys does not."""
    if not isinstance(key, str):
        raise SessionValueError(f"a session's keys are text, not {key!r}")
    try:
        key.encode()
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        text.encode()
        exact = json.loads(text) == value
    except (TypeError, ValueError, RecursionError) as error:
        raise SessionValueError(f"session[{key!r}] can't be stored as JSON: {error}") from error
    if not exact:
        raise SessionValueError(
            f"session[{key!r}] would come back from JSON as something else; "
            "use None, bool, int, float, str, lists, and dicts with text keys"
        )
    return text
