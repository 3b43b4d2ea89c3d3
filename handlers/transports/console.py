"""A terminal as the chat platform."""

import sys
import threading
from itertools import count
from typing import TextIO

from ...storage.values import ChatId
from ..text import visible
from . import MessageId


class ConsoleTransport:
    """Writes each message to a text stream (standard output by default), and flushes it.

    What would steer the terminal is written as escapes; the line breaks of a message stay.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._ids = count(1)
        self._lock = threading.Lock()

    async def send(
        self,
        chat_id: ChatId,
        text: str,
        *,
        thread_id: ChatId | None = None,
        reply_to: MessageId | None = None,
        **options: object,
    ) -> MessageId:
        with self._lock:
            self._write(text)
            return next(self._ids)

    async def edit(self, chat_id: ChatId, message_id: MessageId, text: str, **options: object) -> None:
        with self._lock:
            self._write(f"(message {message_id} now reads) {text}")

    async def delete(self, chat_id: ChatId, message_id: MessageId) -> None:
        with self._lock:
            self._write(f"(message {message_id} was deleted)")

    async def close(self) -> None:
        """Leaves the stream open: it is not the transport's own."""

    def _write(self, text: str) -> None:
        self._put("\n".join(map(visible, text.split("\n"))) + "\n")

    def _put(self, text: str) -> None:
        # Looked up at each write, so that whoever redirects sys.stdout meanwhile gets the lines.
        stream = sys.stdout if self._stream is None else self._stream
        encoding = stream.encoding or "utf-8"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
