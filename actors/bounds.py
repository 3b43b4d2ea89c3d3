"""What keeps a handler to its own run, in a process that belongs to the system."""

import ctypes
import os
import resource
import sys
import threading
from typing import NoReturn

_really_exit = os._exit


class HandlerExitError(BaseException):
    """A handler called `os._exit`; it costs its own run only."""


class HandlerBlockedError(BaseException):
    """Raised inside a handler that has blocked its host's loop past its time limit."""

    def __init__(self) -> None:
        super().__init__("time limit: the handler blocked the event loop; await, or make it a plain def")


def keep_in(memory_mib: int) -> None:
    """Limit this process's memory, and let `os._exit` in a thread other than this one end the run that calls it."""
    # A thread that computes gives others a turn after this long; the default of 5 ms would be felt as lateness.
    sys.setswitchinterval(0.0005)
    mine = threading.get_ident()

    def exit_run(status: int) -> NoReturn:
        if threading.get_ident() == mine:
            _really_exit(status)
        raise HandlerExitError(f"the handler called os._exit({status})")

    os._exit = exit_run
    most = memory_mib << 20
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def break_off(thread_id: int | None) -> None:
    """Raise `HandlerBlockedError` in a thread, as soon as it executes Python again."""
    if thread_id is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), ctypes.py_object(HandlerBlockedError))


def end_process(status: int) -> NoReturn:
    """End this process at once, from any thread."""
    _really_exit(status)
