"""A person at a terminal, or a pipe, as the chat: lines in, messages out."""

import importlib
import io
import os
import sys
from collections.abc import Iterator
from contextlib import suppress

from ...storage.errors import BellringerError
from .console import ConsoleTransport

PROMPT = "> "
_CLEAR_LINE = "\r\x1b[K"


class TerminalError(BellringerError):
    """There is nothing to read from, or to write to."""


class Terminal(ConsoleTransport):
    """Messages that come while somebody types are written above the line that is being typed.

    Raises `TerminalError` where standard input or output is closed, or can't be written. Once a reader of the output
    has gone, every message fails, and the input ends.
    """

    def __init__(self) -> None:
        for stream, name in ((sys.stdin, "input"), (sys.stdout, "output")):
            if stream is None:
                raise TerminalError(
                    f"standard {name} is closed: start this without {'<&-' if name == 'input' else '>&-'}"
                )
        super().__init__()
        self._failure: OSError | None = None
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")
        self.is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        self._typing = False

    def lines(self) -> Iterator[str]:
        """What is typed or piped, line by line, until the input ends."""
        if not self.is_terminal:
            while not self._failure and (line := sys.stdin.readline()):
                yield line
            return
        with suppress(ImportError):
            importlib.import_module("readline")  # lets input() edit and recall lines
        while not self._failure:
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
        """Write a line now. Quiet where the reader has gone, as at the end of `| head`."""
        with self._lock:
            try:
                self._write(text)
            except BrokenPipeError:
                return
            except OSError as error:
                raise TerminalError(f"standard output can't be written ({error.strerror}): give it another") from error

    def _put(self, text: str) -> None:
        if self._failure is not None:
            raise self._failure
        try:
            super()._put(f"{_CLEAR_LINE}{text}{PROMPT}{_typed_so_far()}" if self._typing else text)
        except OSError as error:
            self._failure = error
            # What is left in the buffer must not fail once more at the exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise


def _typed_so_far() -> str:
    readline = sys.modules.get("readline")
    return readline.get_line_buffer() if readline is not None else ""
