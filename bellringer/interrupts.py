"""Ctrl-C while the command line is still importing.

Python can swallow the exception there: it is raised in a callback of the import system, and ignored. Until there is
something to stop in order, the signal simply ends the process. A bot that imports this package keeps its own handling.
"""

import os
import signal
import sys


def is_command(arguments: list[str]) -> bool:
    """Whether this process was started as `bellringer …` or `python -m bellringer …`."""
    for place, argument in enumerate(arguments[1:], start=1):
        if argument == "-m":
            return arguments[place + 1 : place + 2] == ["bellringer"]
        if not argument.startswith("-"):
            return os.path.basename(argument) == "bellringer"
    return False


def end_at_once() -> None:
    if is_command(sys.orig_argv):
        signal.signal(signal.SIGINT, signal.SIG_DFL)


end_at_once()
