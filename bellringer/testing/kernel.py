"""The kernel as far as a scheduler asks it: which host's process lives, and a descriptor that tells of its end."""

import os
from collections.abc import Sequence

from .hosts import DriveHost


class DriveKernel:
    """Knows the hosts of a drive as processes. Its descriptors are real ones, since the scheduler closes them."""

    def __init__(self, hosts: Sequence[DriveHost]) -> None:
        self._hosts = hosts
        self._given: dict[int, str] = {}

    def is_alive(self, process: str) -> bool:
        return any(host.process == process and host.alive for host in self._hosts)

    def open_pidfd(self, process: str) -> int | None:
        if not self.is_alive(process):
            return None
        descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._given[descriptor] = process
        return descriptor

    def ended(self, process: str) -> list[int]:
        """The descriptors that tell of this end. Whoever is told closes them."""
        descriptors = [descriptor for descriptor, watched in self._given.items() if watched == process]
        for descriptor in descriptors:
            del self._given[descriptor]
        return descriptors

    def close(self, process: str | None = None) -> None:
        """Close what was given out, to whoever has ended now; or only what watches this process."""
        for descriptor in self.ended(process) if process is not None else list(self._given):
            self._given.pop(descriptor, None)
            os.close(descriptor)

    def forget(self) -> None:
        self._given.clear()
