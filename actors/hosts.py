"""The hosts as the scheduler sees them: what they can run, how much more they can start, what they hold."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .messages import Event, HostSeen

EVENTS_KEPT = 1_000


@dataclass(slots=True)
class Host:
    """One host. It is sent orders only while `ready`: after it has confirmed the batch before."""

    host: str
    kind: str
    process: str
    address: Any
    handlers: frozenset[str]
    places: int
    heard_at: int
    wants_events: bool = False
    ready: bool = True
    open: bool = True
    batch: int = 0
    alone: bool = False
    """Runs one suspect only, or empties itself for one: one that was there each time when several hosts ended."""
    running: set[int] = field(default_factory=set)
    settled: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    events: deque[Event] = field(default_factory=lambda: deque(maxlen=EVENTS_KEPT))
    joining: int = 0
    to_welcome: bool = True

    @property
    def free(self) -> int:
        return self.places - len(self.running) if self.ready and self.open and not self.alone else 0

    def seen(self) -> HostSeen:
        return HostSeen(
            host=self.host,
            kind=self.kind,
            process=self.process,
            handlers=tuple(sorted(name for name in self.handlers if not name.startswith("memory:"))),
            places=self.places,
            running=len(self.running),
        )


class Hosts:
    """All hosts that are there, and who of them knows a handler."""

    def __init__(self) -> None:
        self.by_id: dict[str, Host] = {}
        self._knowing: dict[str, list[Host]] = {}

    def __iter__(self) -> Any:
        return iter(self.by_id.values())

    def add(self, host: Host) -> None:
        self.remove(host.host)
        self.by_id[host.host] = host
        for handler in host.handlers:
            self._knowing.setdefault(handler, []).append(host)

    def remove(self, host_id: str) -> Host | None:
        host = self.by_id.pop(host_id, None)
        if host is not None:
            for handler in host.handlers:
                self._knowing[handler].remove(host)
                if not self._knowing[handler]:
                    del self._knowing[handler]
        return host

    def knows(self, handler: str) -> bool:
        return handler in self._knowing

    def roomiest(self, handler: str) -> Host | None:
        """The host with the most free places that knows this handler, if one has any."""
        best, room = None, 0
        for host in self._knowing.get(handler, ()):
            if host.free > room:
                best, room = host, host.free
        return best

    def empty_one(self, handler: str) -> Host | None:
        """A host with nothing running, for a suspect. If there is none, the emptiest stops taking more."""
        knowing = [host for host in self._knowing.get(handler, ()) if host.open]
        for host in knowing:
            if host.ready and not host.running:
                return host
        busy = [host for host in knowing if host.running]
        if busy and not any(host.alone for host in busy):
            min(busy, key=lambda host: len(host.running)).alone = True
        return None

    def free_places(self) -> int:
        return sum(host.free for host in self.by_id.values())

    def tell(self, events: Iterable[Event]) -> None:
        listening = [host for host in self.by_id.values() if host.wants_events]
        for event in events:
            for host in listening:
                host.events.append(event)
