"""The scheduler: sole owner of the timers and sole writer of storage.

It takes one message after another, so two claims cannot race; it runs no handler; no receiver of it takes longer
than a second. What it knows beyond the database it can lose at any moment.
"""

import logging
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

from thespian.actors import Actor, ActorExitRequest, ThespianWatch, WakeupMessage, WatchMessage

from ..storage.contract import Store
from ..storage.errors import BellringerError, DatabaseInUseError, StorageError, StorageLostError
from ..storage.lock import DatabaseLock
from ..storage.memory_store import MemoryStore
from ..storage.sqlite_store import open_store
from ..storage.values import Counts
from . import events, logs, processes
from .alarm import Alarm
from .clock import SYSTEM_CLOCK, Clock
from .desk import Desk
from .dispatch import Dispatch
from .folder import PrivateFolder
from .frames import KEYS
from .hosts import Host
from .messages import (
    DatabaseOpened,
    Event,
    HealthTold,
    HostJoined,
    HostLeft,
    HostReported,
    OpenDatabase,
    OpeningFailed,
    RequestBatch,
    StopClaiming,
    Stopped,
    StopRunning,
    Tick,
    Ticked,
)
from .reception import Reception
from .shelf import LANE, lane_of
from .upkeep import Upkeep
from .version import VERSION
from .watch import Watch
from .zone_data import ZoneData

log = logging.getLogger("bellringer.scheduler")

STORAGE_PAUSE_US = 200_000
STORAGE_WAIT_MS = 50
"""How long one attempt waits for another's lock. Nobody is answered meanwhile, and each attempt is made again."""
SOON_US = 1_000
STOPPING_LOOK_US = 200_000
HOSTS_COMPLETE_AFTER_US = 1_000_000
TRIM_PAUSE_US = 20_000


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
        self._upkeep: Upkeep
        self._storage = "ok"
        self._started_at = 0
        self._watch = Watch()
        self._alarm = Alarm(self, SYSTEM_CLOCK)
        self._reception: Reception
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
        watched = self._watch.descriptors
        return ThespianWatch(watched) if watched else None

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
        self._started_at = now
        zone_data = ZoneData(durable, now)
        self._dispatch = Dispatch(
            durable,
            MemoryStore(),
            zone_data,
            first_token=secrets.randbits(62),
            chance=Random(secrets.randbits(64)),
        )
        self._dispatch.wait_for_hosts(now + HOSTS_COMPLETE_AFTER_US)
        self._dispatch.durable.long_lanes.update(lane_of(reason) for reason in durable.waiting(LANE))
        self._dispatch.claiming = not zone_data.is_moving
        self._desk = Desk(self._dispatch, zone_data, self._health)
        self._upkeep = Upkeep(durable, self._dispatch, zone_data, self._clock, settings)
        self._upkeep.begin(now, restarted=bool(message.restarts))
        self._alarm = Alarm(self, self._clock)
        self._reception = Reception(
            self._dispatch,
            clock=self._clock,
            kernel=self._kernel,
            watch=self._watch,
            send=self.send,
            process=self._process,
            supervisor=sender,
        )
        if message.supervisor:
            self._watch.add(message.supervisor, self._kernel)
        for row in durable.claimed():
            self._dispatch.inherit(row)
        self._reception.release_orphans()
        self._dispatch.go_on_with_long_lanes()
        if message.restarts:
            self._to_tell.append(Event(kind="scheduler.restarted", at=now, reason=f"restart {message.restarts}"))
        self.send(sender, DatabaseOpened(process=self._process))
        self._keep_up(self._upkeep.note_time, now)
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
            if settings.must_exist and not folder.database.exists():
                raise StorageLostError(f"the database {folder.database} is gone: put it back, and start anew")
            return open_store(folder.database, busy_timeout_ms=STORAGE_WAIT_MS)
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
            # An alarm that is about to ring must not be armed for later.
            if earliest <= now or self._alarm.is_due(now):
                self._go_on(now)
            else:
                self._alarm.arm(earliest, now)

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
            armed_wakeups=self._alarm.armed,
            restarts=self._opened.restarts,
            frames_refused=KEYS.refused,
            version=VERSION,
        )

    # Hosts

    def receive_host_joined(self, message: HostJoined, sender: Any) -> None:
        self._forget_closures(self._reception.receive_host_joined(message, sender))
        self._go_on(self._clock.wall())

    def receive_host_reported(self, message: HostReported, sender: Any) -> None:
        self._reception.receive_host_reported(message, sender)
        self._go_on(self._clock.wall())

    def receive_host_left(self, message: HostLeft, sender: Any) -> None:
        self._forget_closures(self._reception.receive_host_left(message, sender))

    def receive_watch(self, message: WatchMessage, _sender: Any) -> None:
        for process in self._watch.ended(message.ready):
            if self._opened is not None and process == self._opened.supervisor:
                log.warning("the supervisor has ended, and so does its scheduler")
                os._exit(1)
            self._forget_closures(self._reception.process_ended(process))
        self._reception.release_orphans()
        self._go_on(self._clock.wall())

    def _forget_closures(self, ended: list[Host]) -> None:
        now = self._clock.wall()
        for host in ended:
            self._desk.forget_keeper(host.host, now)
        if ended:
            self._go_on(now)

    # Time

    def receive_wakeup(self, message: WakeupMessage, _sender: Any) -> None:
        if self._alarm.rings(message.payload):
            now = self._clock.wall()
            self._keep_up(self._upkeep.go_on, now)
            self._go_on(now)

    def receive_tick(self, message: Tick, sender: Any) -> None:
        now = self._clock.wall()
        if message.answer:
            self.send(sender, Ticked())
        self._keep_up(self._upkeep.note_time, now)
        self._forget_closures(self._reception.end_silent_hosts())
        if self._dispatch.orphans:
            self._reception.release_orphans()
        # Whatever is due earlier than the alarm would have armed it for an earlier instant.
        if self._alarm.is_due(now) or self._dispatch.has_work:
            self._go_on(now)
        if self._upkeep.sweep_is_due(now):
            self._keep_up(self._upkeep.sweep, now)
            self._go_on(now)

    def _keep_up(self, step: Callable[[int], None], now: int) -> None:
        try:
            step(now)
        except StorageError as error:
            self._blocked(error)
        self._dispatch.claiming = not self._upkeep.is_moving_zones and self._stopping is None

    # The pass

    def _go_on(self, now: int) -> None:
        """Settle and claim what can be, send what came of it, and arm the alarm for what comes next."""
        try:
            more = self._reception.put_back(now)
            orders, told = self._dispatch.pass_over(now)
        except StorageError as error:
            self._blocked(error)
            # The attempt has waited for the lock. Without a pause from here on nobody else would get a turn.
            now = self._clock.wall()
            self._alarm.arm(now + STORAGE_PAUSE_US, now)
            return
        if self._storage != "ok":
            log.warning("storage works again")
            self._storage = "ok"
        self._tell(told)
        self._reception.send_batches(orders)
        if self._stopping is not None:
            if not self._stop_if_done(now):
                self._alarm.arm(now + STOPPING_LOOK_US, now)
        elif more or self._dispatch.more_is_due or self._upkeep.is_moving_zones:
            self._alarm.arm(now + SOON_US, now)
        else:
            if self._upkeep.has_to_trim():
                self._alarm.arm(now + TRIM_PAUSE_US, now)
            self._alarm.arm(self._dispatch.next_attempt_at(now), now)

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
        with suppress(StorageError):
            self._upkeep.end(self._clock.wall())
        for shelf in self._dispatch.shelves:
            shelf.store.close()
        if self._lock is not None:
            self._lock.release()
        self._watch.close()
