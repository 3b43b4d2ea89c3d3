"""What has to begin anew in a forked child."""

import os
from collections.abc import Callable
from weakref import WeakMethod

_methods: list["WeakMethod[Callable[[], None]]"] = []


def call_in_child(method: Callable[[], None]) -> None:
    """Call this bound method in every child that is forked while its object lives."""
    _methods[:] = [known for known in _methods if known() is not None]
    _methods.append(WeakMethod(method))


def _call() -> None:
    for known in list(_methods):
        method = known()
        if method is not None:
            method()


os.register_at_fork(after_in_child=_call)
