"""Processes whose end is to be noticed at once, by descriptors that become readable then."""

import os
from collections.abc import Iterable

from .processes import Kernel


class Watch:
    """A set of processes. `descriptors` go into the library's watch list, without one that is closed."""

    def __init__(self) -> None:
        self._watched: dict[int, str] = {}

    @property
    def descriptors(self) -> list[int]:
        return list(self._watched)

    def __contains__(self, process: str) -> bool:
        return process in self._watched.values()

    def add(self, process: str, kernel: Kernel) -> bool:
        """Watch a process, by its identity. False: it has ended already."""
        if process in self:
            return True
        descriptor = kernel.open_pidfd(process)
        if descriptor is None:
            return False
        self._watched[descriptor] = process
        return True

    def ended(self, ready: Iterable[int]) -> list[str]:
        """The processes of these descriptors, which are watched no longer."""
        processes = []
        for descriptor in ready:
            process = self._watched.pop(descriptor, None)
            if process is not None:
                os.close(descriptor)
                processes.append(process)
        return processes

    def close(self) -> None:
        self.ended(self.descriptors)
