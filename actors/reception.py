"""The scheduler's side of the protocol with hosts: who is there, what they hold, what they are sent."""

from collections.abc import Callable
from typing import Any

from ..storage.values import RunOrder
from .claiming import LEASE_US
from .clock import Clock
from .dispatch import Dispatch
from .hosts import Host
from .messages import EndHost, HostJoined, HostLeft, HostReported, JoinAgain, RunBatch
from .processes import Kernel
from .watch import Watch

Send = Callable[[Any, object], None]
HANDLER_ACTOR = "handler actor"


class Reception:
    """Receives hosts for the scheduler. Each receiver leaves a pass to be made."""

    def __init__(
        self,
        dispatch: Dispatch,
        *,
        clock: Clock,
        kernel: Kernel,
        watch: Watch,
        send: Send,
        process: str,
        supervisor: Any,
    ) -> None:
        self._dispatch = dispatch
        self._clock = clock
        self._kernel = kernel
        self._watch = watch
        self._send = send
        self._process = process
        self._supervisor = supervisor
        self._started_at = clock.monotonic()
        self.to_release: set[str] = set()
        """Handlers that have come: what waits for them is to be put back."""

    def receive_host_joined(self, message: HostJoined, sender: Any) -> list[Host]:
        """The hosts that have ended: this one, if its process is gone already."""
        dispatch = self._dispatch
        now = self._clock.wall()
        known = dispatch.hosts.by_id.get(message.host)
        host = Host(
            host=message.host,
            kind=message.kind,
            process=message.process,
            address=sender,
            handlers=frozenset(message.handlers),
            places=message.places,
            heard_at=self._clock.monotonic(),
            wants_events=message.wants_events,
            joining=message.joining,
        )
        if known is not None:
            host.running, host.batch, host.alone, host.events = known.running, known.batch, known.alone, known.events
        dispatch.hosts.add(host)
        for result in message.results:
            dispatch.take_result(host, result)
        held = set(message.holding) | {result.token for result in message.results}
        for row in [row for row in dispatch.orphans.values() if row.host == host.host]:
            if row.token in held:
                dispatch.confirm(host, row.token)
            else:
                dispatch.lose(row.token, now)
        for token in [token for token in host.running if token not in held]:
            dispatch.lose(token, now)
        host.dropped.extend(token for token in message.holding if token not in dispatch.running)
        self.to_release |= host.handlers
        return [] if self._watch.add(message.process, self._kernel) else self.process_ended(message.process)

    def receive_host_reported(self, message: HostReported, sender: Any) -> None:
        host = self._dispatch.hosts.by_id.get(message.host)
        if host is None:
            self._send(sender, JoinAgain(host=message.host))
            return
        host.address = sender
        host.heard_at = self._clock.monotonic()
        host.open = message.open
        host.ready = host.ready or message.received >= host.batch
        for result in message.results:
            self._dispatch.take_result(host, result)

    def receive_host_left(self, message: HostLeft, _sender: Any) -> list[Host]:
        host = self._dispatch.hosts.by_id.get(message.host)
        if host is None:
            return []
        for result in message.results:
            self._dispatch.take_result(host, result)
        self._release(host, "its host was stopped", crashed=False)
        if host.kind == HANDLER_ACTOR:
            self._send(self._supervisor, EndHost(process=host.process, reason="it has left, and is to be gone"))
        return [host]

    def process_ended(self, process: str) -> list[Host]:
        """The hosts that have ended with it."""
        ended = [host for host in self._dispatch.hosts if host.process == process]
        for host in ended:
            self._release(host, f"its host, process {process.partition('-')[0]}, ended", crashed=True)
        return ended

    def end_silent_hosts(self) -> list[Host]:
        """Hosts that run something and have given no sign of life for the lease. Their late results are refused."""
        silent_since = self._clock.monotonic() - LEASE_US
        silent = [host for host in self._dispatch.hosts if host.running and host.heard_at < silent_since]
        for host in silent:
            self._release(host, "its host has given no sign of life for the lease", crashed=False)
            if host.kind == HANDLER_ACTOR:
                self._send(self._supervisor, EndHost(process=host.process, reason="no sign of life"))
        return silent

    def release_orphans(self) -> None:
        """Claims of an earlier scheduler: at once where the host is gone, and after the lease where it is silent."""
        now = self._clock.wall()
        for row in list(self._dispatch.orphans.values()):
            process = row.host.rpartition("/")[0]
            if not process or not self._kernel.is_alive(process):
                self._dispatch.release_orphan(row, now, "its host has ended", crashed=True)
            elif self._clock.monotonic() - self._started_at > LEASE_US:
                self._dispatch.release_orphan(row, now, "its host has not answered for the lease", crashed=False)

    def _release(self, host: Host, reason: str, *, crashed: bool) -> None:
        self._dispatch.release_host(host, self._clock.wall(), reason, crashed=crashed)

    def put_back(self, now: int) -> bool:
        """Let go some of what waited for handlers that have come, or for pauses that ended. True: there is more."""
        if self.to_release and not self._dispatch.release_waiting(frozenset(self.to_release), now):
            self.to_release.clear()
        return self._dispatch.release_paused(now) or bool(self.to_release)

    def send_batches(self, orders: dict[str, list[RunOrder]]) -> None:
        """Send each host what there is for it. One that has not confirmed its last orders gets no new ones."""
        for host in self._dispatch.hosts:
            given = orders.get(host.host, ())
            news = tuple(host.events) if host.ready else ()
            if not (given or host.settled or host.dropped or host.to_welcome or news):
                continue
            if given and len(host.running) == len(given):
                host.heard_at = self._clock.monotonic()  # while it ran nothing it owed no sign of life
            if given or news:
                host.batch += 1
                host.ready = False
            batch = RunBatch(
                scheduler=self._process,
                number=host.batch,
                orders=tuple(given),
                settled=tuple(host.settled),
                dropped=tuple(host.dropped),
                events=news,
                joining=host.joining,
            )
            host.settled.clear()
            host.dropped.clear()
            host.to_welcome = False
            if news:
                host.events.clear()
            self._send(host.address, batch)
