"""How a handler's changes to a session are merged onto the row as it is then."""

import json
from collections.abc import Sequence


def patched(stored: str | None, changes: str | None, removed: Sequence[str]) -> str | None:
    """The session with a JSON object of `changes` written and the keys of `removed` dropped.

    None where what is stored can't be read: then it must stay as it is. Non-ASCII text is escaped, so that a
    lone surrogate that a handler wrote can be stored.
    """
    data: object = {}
    if stored is not None:
        try:
            data = json.loads(stored)
        except ValueError:
            return None
    if not isinstance(data, dict):
        return None
    for key in removed:
        data.pop(key, None)
    if changes is not None:
        data.update(json.loads(changes))
    return json.dumps(data, separators=(",", ":"))
