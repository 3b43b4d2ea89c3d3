"""Text of unknown origin, made fit to be stored."""

REASON_BYTES = 1024
TRACEBACK_BYTES = 8192


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
