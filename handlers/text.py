"""Text of unknown origin, made fit to be stored, and to be shown in a terminal."""

import re
from typing import Final

REASON_BYTES = 1024
TRACEBACK_BYTES = 8192

# Control characters, line and paragraph separators, and what turns the direction of what follows.
_STEERING: Final = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def storable(text: str) -> bytes:
    """UTF-8 without what a database refuses: lone surrogates and NUL are written as escapes."""
    return text.encode("utf-8", "backslashreplace").replace(b"\0", b"\\x00")


def beginning(text: str, limit: int = REASON_BYTES) -> str:
    """At most `limit` bytes of UTF-8 from the front."""
    raw = storable(text)
    return raw.decode() if len(raw) <= limit else raw[: limit - 3].decode(errors="ignore") + "…"


def end(text: str, limit: int = TRACEBACK_BYTES) -> str:
    """At most `limit` bytes of UTF-8 from the back."""
    raw = storable(text)
    return raw.decode() if len(raw) <= limit else "…" + raw[3 - limit :].decode(errors="ignore")


def visible(text: str) -> str:
    """The text on one line, with what would steer a terminal written as escapes."""
    return _STEERING.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
