"""A person at a terminal, or a pipe, as the chat: lines in, messages out."""

import importlib
import io
import sys
from collections.abc import Iterator
from contextlib import suppress

from .console import ConsoleTransport

PROMPT = "> "
_CLEAR_LINE = "\r\x1b[K"


class Terminal(ConsoleTransport):
    """Messages that come while somebody types are written above the line that is being typed."""

    def __init__(self) -> None:
        super().__init__()
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")
        self.is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        self._typing = False

    def lines(self) -> Iterator[str]:
        """What is typed or piped, line by line, until the input ends."""
        if not self.is_terminal:
            yield from iter(sys.stdin.readline, "")
            return
        with suppress(ImportError):
            importlib.import_module("readline")  # lets input() edit and recall lines
        while True:
            self._typing = True
            try:
                line = input(PROMPT)
            except EOFError:
                self._typing = False
                self.say("")
                return
            finally:
                self._typing = False
            yield line

    def say(self, text: str) -> None:
        """Write a line now."""
        with self._lock:
            self._write(text)

    def _write(self, line: str) -> None:
        if not self._typing:
            super()._write(line)
            return
        super()._write(_CLEAR_LINE + line)
        sys.stdout.write(PROMPT + _typed_so_far())
        sys.stdout.flush()


def _typed_so_far() -> str:
    readline = sys.modules.get("readline")
    return readline.get_line_buffer() if readline is not None else ""
