"""Work that is done in a process of its own, which then ends as a kill would end it."""

import os
import pickle
import sys
import traceback
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

KILLED = 9


def in_child(work: Callable[[], Result]) -> Result:
    """What `work` returned in a forked child. The child closes nothing and ends at once."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reader)
            os.write(writer, pickle.dumps(work()))
            status = 0
        except BaseException:  # noqa: BLE001  (nothing may get out of the child into the test run)
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        told = answer.read()
    _, code = os.waitpid(pid, 0)
    assert code == 0, "the child failed"
    result: Result = pickle.loads(told)
    return result


def killed_child(work: Callable[[int], object]) -> bytes:
    """What `work` wrote to the file descriptor it is given until it ended, or killed its own process."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reader)
            work(writer)
            status = 0
        except BaseException:  # noqa: BLE001  (nothing may get out of the child into the test run)
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        told = answer.read()
    _, code = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(code) in (0, KILLED), "the child failed"
    return told


def without_root_rights(work: Callable[[], Result]) -> Result:
    """What `work` returned in a child whose user is bound by the rights of files, as root is not."""

    def bound() -> Result:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        return work()

    return in_child(bound)
