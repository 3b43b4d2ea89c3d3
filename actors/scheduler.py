"""The scheduler: sole owner of the timers and sole writer of storage.

It takes one message after another, so two claims cannot race; it runs no handler; no receiver of it takes longer
than a second. What it knows beyond the database it can lose at any moment.
"""

import logging
import os
import secrets
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

from thespian.actors import Actor, ActorExitRequest, ThespianWatch, WakeupMessage, WatchMessage

from ..storage.contract import Store
from ..storage.errors import BellringerError, DatabaseInUseError, StorageError
from ..storage.lock import DatabaseLock
from ..storage.memory_store import MemoryStore
from ..storage.sqlite_store import open_store
from ..storage.values import Counts, RunOrder
from . import corrections, events, logs, processes
from .clock import SYSTEM_CLOCK, Clock
from .desk import Desk
from .dispatch import LANE, LEASE_US, Dispatch, lane_of
from .folder import PrivateFolder
from .frames import KEYS
from .hosts import Host
from .messages import (
    DatabaseOpened,
    EndHost,
    Event,
    HealthTold,
    HostJoined,
    HostLeft,
    HostReported,
    JoinAgain,
    OpenDatabase,
    OpeningFailed,
    RequestBatch,
    RunBatch,
    StopClaiming,
    Stopped,
    StopRunning,
    Tick,
    Ticked,
)
from .version import VERSION

log = logging.getLogger("bellringer.scheduler")

LONGEST_ARM_US = 60_000_000
SWEEP_EVERY_US = 120_000_000
STORAGE_PAUSE_US = 200_000
SOON_US = 1_000
STOPPING_LOOK_US = 200_000
HOSTS_COMPLETE_AFTER_US = 1_000_000
TRIMMED_AT_ONCE = 500
DAY_US = 86_400_000_000


class Scheduler(Actor):
    """Send it `OpenDatabase` first. Receivers are named after the messages."""

    def __init__(self) -> None:
        super().__init__()
        self._clock: Clock = SYSTEM_CLOCK
        self._kernel: processes.Kernel = processes
        self._opened: OpenDatabase | None = None
        self._lock: DatabaseLock | None = None
        self._supervisor: Any = None
        self._dispatch: Dispatch
        self._desk: Desk
        self._storage = "ok"
        self._started_at = 0
        self._armed_until: int | None = None
        self._arming = 0
        self._swept_at = 0
        self._trimming = False
        self._watched: dict[int, str] = {}
        self._releasing: set[str] = set()
        self._stopping: tuple[Any, int] | None = None
        self._to_tell: list[Event] = []
        self._process = processes.identity()
        self._receivers: dict[type, Callable[[Any, Any], None]] = {
            OpenDatabase: self.receive_open_database,
            RequestBatch: self.receive_request_batch,
            HostReported: self.receive_host_reported,
            HostJoined: self.receive_host_joined,
            HostLeft: self.receive_host_left,
            WakeupMessage: self.receive_wakeup,
            WatchMessage: self.receive_watch,
            Tick: self.receive_tick,
            StopClaiming: self.receive_stop_claiming,
            ActorExitRequest: self.receive_exit,
        }

    def receiveMessage(self, message: Any, sender: Any) -> Any:
        receiver = self._receivers.get(type(message))
        if receiver is not None and (self._opened is not None or type(message) in (OpenDatabase, ActorExitRequest)):
            try:
                receiver(message, sender)
            except Exception:  # a receiver that raises is called again with the same message
                log.exception("%s was not handled", type(message).__name__)
        if self._watched:
            return ThespianWatch(list(self._watched))
        return None

    # Opening

    def receive_open_database(self, message: OpenDatabase, sender: Any) -> None:
        if self._opened is not None:
            self.send(sender, DatabaseOpened(process=self._process))
            return
        self._clock = message.clock or SYSTEM_CLOCK
        self._kernel = message.kernel or processes
        settings = message.settings
        try:
            durable = message.store or self._open_store(message)
        except BellringerError as error:
            # An earlier scheduler of this system may not be quite gone yet; the guardian's lock keeps others away.
            fatal = isinstance(error, StorageError) and error.fatal and not isinstance(error, DatabaseInUseError)
            self.send(sender, OpeningFailed(process=self._process, reason=str(error), fatal=fatal))
            return
        except Exception as error:  # the supervisor decides what a start is worth that failed
            log.exception("the database can't be opened")
            self.send(sender, OpeningFailed(process=self._process, reason=repr(error), fatal=False))
            return
        self._opened, self._supervisor = message, sender
        now = self._clock.wall()
        self._started_at = self._swept_at = now
        self._dispatch = Dispatch(
            durable, MemoryStore(), first_token=secrets.randbits(62), chance=Random(secrets.randbits(64))
        )
        self._dispatch.hosts_complete_at = now + HOSTS_COMPLETE_AFTER_US
        self._dispatch.durable.long_lanes.update(lane_of(reason) for reason in durable.waiting(LANE))
        self._desk = Desk(self._dispatch, self._health)
        if message.supervisor:
            self._watch(message.supervisor)
        for row in durable.claimed():
            self._dispatch.inherit(row)
        self._release_orphans(now)
        for lane in list(self._dispatch.durable.long_lanes):
            if lane not in self._dispatch.busy_lanes:
                self._dispatch.release_lane(lane)
        if message.restarts:
            self._to_tell.append(Event(kind="scheduler.restarted", at=now, reason=f"restart {message.restarts}"))
        self.send(sender, DatabaseOpened(process=self._process))
        self._go_on(now)
        log.info("scheduler %r is open on %s", settings.name, settings.database)

    def _open_store(self, message: OpenDatabase) -> Store:
        settings = message.settings
        folder = PrivateFolder(settings.database)
        logs.write_to(folder.log_file, settings.log_level)
        processes.name_this("bell-scheduler")
        processes.die_of_faults()
        processes.time_exactly()
        self._lock = DatabaseLock(folder.database, settings.name)
        try:
            folder.write_scheduler(self._process)
            return open_store(folder.database)
        except BaseException:
            self._lock.release()
            raise

    # Requests

    def receive_request_batch(self, batch: RequestBatch, sender: Any) -> None:
        now = self._clock.wall()
        reply = self._desk.answer(batch, now)
        if reply is not None:
            self.send(sender, replace(reply, process=self._process))
        earliest = self._desk.earliest
        if earliest is not None:
            if earliest <= now:
                self._go_on(now)
            else:
                self._arm(earliest, now)

    def _health(self, now: int) -> HealthTold:
        assert self._opened is not None
        settings, dispatch = self._opened.settings, self._dispatch
        counts, in_memory = Counts(0, 0, 0, 0, 0), 0
        next_attempt_at = None
        try:
            counts = dispatch.durable.store.counts()
            in_memory = dispatch.in_memory.store.counts().scheduled
            next_attempt_at = dispatch.next_attempt_at(now)
        except StorageError as error:
            self._storage = str(error)
        return HealthTold(
            name=settings.name,
            database=settings.database,
            process=self._process,
            started_at=self._started_at,
            now=now,
            storage=self._storage,
            counts=counts,
            in_memory=in_memory,
            hosts=tuple(host.seen() for host in dispatch.hosts),
            next_attempt_at=next_attempt_at,
            armed_wakeups=corrections.armed_wakeups(self),
            restarts=self._opened.restarts,
            frames_refused=KEYS.refused,
            version=VERSION,
        )

    # Hosts

    def receive_host_joined(self, message: HostJoined, sender: Any) -> None:
        now = self._clock.wall()
        known = self._dispatch.hosts.by_id.get(message.host)
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
            host.running = known.running
            host.batch = known.batch
        self._dispatch.hosts.add(host)
        self._watch(message.process)
        for result in message.results:
            self._dispatch.take_result(host, result)
        held = set(message.holding) | {result.token for result in message.results}
        for row in [row for row in self._dispatch.orphans.values() if row.host == host.host]:
            if row.token in held:
                self._dispatch.confirm(host, row.token)
            else:
                self._dispatch.lose(row.token, now)
        for token in [token for token in host.running if token not in held]:
            self._dispatch.lose(token, now)
        for token in message.holding:
            if token not in self._dispatch.running:
                host.dropped.append(token)
        self._releasing |= host.handlers
        self._go_on(now)

    def receive_host_reported(self, message: HostReported, sender: Any) -> None:
        host = self._dispatch.hosts.by_id.get(message.host)
        if host is None:
            self.send(sender, JoinAgain(host=message.host))
            return
        host.address = sender
        host.heard_at = self._clock.monotonic()
        host.open = message.open
        host.ready = host.ready or message.received >= host.batch
        for result in message.results:
            self._dispatch.take_result(host, result)
        self._go_on(self._clock.wall())

    def receive_host_left(self, message: HostLeft, sender: Any) -> None:
        host = self._dispatch.hosts.by_id.get(message.host)
        if host is not None:
            for result in message.results:
                self._dispatch.take_result(host, result)
            self._end_host(host, "its host was stopped", crashed=False)

    def receive_watch(self, message: WatchMessage, _sender: Any) -> None:
        for descriptor in message.ready:
            process = self._watched.pop(descriptor, None)
            if process is None:
                continue
            os.close(descriptor)
            if self._opened is not None and process == self._opened.supervisor:
                log.warning("the supervisor has ended, and so does its scheduler")
                os._exit(1)
            for host in [host for host in self._dispatch.hosts if host.process == process]:
                self._end_host(host, f"its host, process {process.partition('-')[0]}, ended", crashed=True)
        self._release_orphans(self._clock.wall())

    def _watch(self, process: str) -> None:
        if not process or process in self._watched.values():
            return
        descriptor = self._kernel.open_pidfd(process)
        if descriptor is not None:
            self._watched[descriptor] = process

    def _end_host(self, host: Host, reason: str, *, crashed: bool) -> None:
        now = self._clock.wall()
        self._desk.forget_keeper(host.host, now)
        self._dispatch.release_host(host, now, reason, crashed=crashed)
        self._go_on(now)

    def _release_orphans(self, now: int) -> None:
        """Claims of an earlier scheduler: at once where the host is gone, and after the lease where it is silent."""
        for row in list(self._dispatch.orphans.values()):
            process = row.host.rpartition("/")[0]
            if not process or not self._kernel.is_alive(process):
                self._dispatch.release_orphan(row, now, "its host has ended", crashed=True)
            elif now - self._started_at > LEASE_US:
                self._dispatch.release_orphan(row, now, "its host has not answered for the lease", crashed=False)

    def _end_silent_hosts(self) -> None:
        silent_since = self._clock.monotonic() - LEASE_US
        for host in list(self._dispatch.hosts):
            if host.running and host.heard_at < silent_since:
                self._end_host(host, "its host has given no sign of life for the lease", crashed=False)
                if host.kind == "handler actor":
                    self.send(self._supervisor, EndHost(process=host.process, reason="no sign of life"))

    # Time

    def receive_wakeup(self, message: WakeupMessage, _sender: Any) -> None:
        if message.payload == self._arming:
            self._armed_until = None
            self._go_on(self._clock.wall())

    def receive_tick(self, message: Tick, sender: Any) -> None:
        now = self._clock.wall()
        if message.answer:
            self.send(sender, Ticked())
        self._end_silent_hosts()
        if self._dispatch.orphans:
            self._release_orphans(now)
        # Whatever is due earlier than the armed wake-up would have armed an earlier one.
        if self._armed_until is None or now >= self._armed_until or self._dispatch.has_work:
            self._go_on(now)
        if self._trimming or abs(now - self._swept_at) >= SWEEP_EVERY_US:
            self._sweep(now)

    def _sweep(self, now: int) -> None:
        assert self._opened is not None
        self._swept_at = now
        settings = self._opened.settings
        try:
            trimmed = self._dispatch.durable.store.trim(
                finished_before=now - int(settings.keep_days * DAY_US),
                keep=settings.keep_occurrences,
                limit=TRIMMED_AT_ONCE,
            )
            self._dispatch.in_memory.store.trim(finished_before=now, keep=1_000, limit=1_000_000)
            self._trimming = trimmed == TRIMMED_AT_ONCE
        except StorageError as error:
            self._blocked(error)

    def _arm(self, at: int | None, now: int) -> None:
        """Have one wake-up for this instant, unless an earlier one is armed."""
        at = now + LONGEST_ARM_US if at is None else min(at, now + LONGEST_ARM_US)
        if self._armed_until is not None and now < self._armed_until <= at:
            return
        corrections.forget_wakeups(self)
        self._arming += 1
        self._armed_until = at
        # The clock is read anew: a pass has taken its time since `now`.
        self.wakeupAfter(timedelta(microseconds=max(at - self._clock.wall(), 1)), self._arming)

    # The pass

    def _go_on(self, now: int) -> None:
        """Settle and claim what can be, send what came of it, and arm the timer for what comes next."""
        try:
            if self._releasing and not self._dispatch.release_waiting(frozenset(self._releasing)):
                self._releasing.clear()
            orders, told = self._dispatch.pass_over(now)
        except StorageError as error:
            self._blocked(error)
            self._arm(now + STORAGE_PAUSE_US, now)
            return
        if self._storage != "ok":
            log.warning("storage works again")
            self._storage = "ok"
        self._tell(told)
        self._send_batches(orders)
        if self._stopping is not None and self._stop_if_done(now):
            return
        if self._stopping is not None:
            self._arm(now + STOPPING_LOOK_US, now)
            return
        more = self._dispatch.more_is_due or bool(self._releasing)
        self._armed_until = self._armed_until if not more else None
        self._arm(now + SOON_US if more else self._dispatch.next_attempt_at(now), now)

    def _blocked(self, error: StorageError) -> None:
        if self._storage != str(error):
            log.error("storage is blocked; trying again every %d ms: %s", STORAGE_PAUSE_US // 1_000, error)
            self._storage = str(error)

    def _tell(self, told: list[Event]) -> None:
        told = self._to_tell + told
        self._to_tell = []
        for event in told:
            events.write(event)
        self._dispatch.hosts.tell(told)

    def _send_batches(self, orders: dict[str, list[RunOrder]]) -> None:
        for host in self._dispatch.hosts:
            given = orders.get(host.host, ())
            news = host.events if host.ready else ()
            if not (given or host.settled or host.dropped or host.to_welcome or news):
                continue
            if given or news:
                host.batch += 1
                host.ready = False
            batch = RunBatch(
                scheduler=self._process,
                number=host.batch,
                orders=tuple(given),
                settled=tuple(host.settled),
                dropped=tuple(host.dropped),
                events=tuple(news),
                joining=host.joining,
            )
            host.settled.clear()
            host.dropped.clear()
            host.to_welcome = False
            if news:
                host.events.clear()
            self.send(host.address, batch)

    # Stopping

    def receive_stop_claiming(self, message: StopClaiming, sender: Any) -> None:
        now = self._clock.wall()
        if self._stopping is None:
            self._dispatch.claiming = False
            self._stopping = sender, self._clock.monotonic() + message.grace_us
            for host in self._dispatch.hosts:
                self.send(host.address, StopRunning(grace_us=message.grace_us))
        self._go_on(now)

    def _stop_if_done(self, now: int) -> bool:
        assert self._stopping is not None
        sender, until = self._stopping
        dispatch = self._dispatch
        if dispatch.running and self._clock.monotonic() < until + 1_000_000:
            return False
        interrupted = dispatch.interrupt_all(now, "interrupted: the system was stopped")
        if interrupted:
            dispatch.pass_over(now)
        self._stopping = None
        self._opened = None
        self._close()
        self.send(sender, Stopped(interrupted=interrupted))
        return True

    def receive_exit(self, _message: ActorExitRequest, _sender: Any) -> None:
        if self._opened is not None:
            self._opened = None
            self._close()

    def _close(self) -> None:
        for shelf in self._dispatch.shelves:
            shelf.store.close()
        if self._lock is not None:
            self._lock.release()
        for descriptor in self._watched:
            os.close(descriptor)
        self._watched.clear()
