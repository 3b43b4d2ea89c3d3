"""Corrections to Thespian 4.0.1, applied once, before its system starts. All knowledge of its inside is here.

Each has the measured fault that it mends, and a test in tests/actors/test_corrections.py that fails without it.
"""

import os
import select
import selectors
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import wraps
from typing import Any, NamedTuple

from . import processes
from .frames import KEYS, ForeignFrameError

LOOPBACK = "127.0.0.1"
FEWER_DESCRIPTORS_THAN = 1_024
LENGTH_DIGITS = 20
LONGEST_FRAME = 512 << 20
_applied = False


class NoSystemError(ConnectionError):
    """Nothing listens where the system should be, and a client never starts one."""


def apply() -> None:
    """Correct the library in this process. Harmless when repeated; forked actors inherit it."""
    global _applied  # noqa: PLW0603  the library is a process-wide thing, and so is what was done to it
    if _applied:
        return
    os.environ["THESPIAN_TRANSMIT_TIMEOUT_PERIOD"] = "0:30"
    os.environ["THESPIAN_MAX_PENDING_TRANSMITS"] = "60"
    os.environ["THESPIAN_BASE_IPADDR"] = LOOPBACK
    os.environ.setdefault("THESPLOG_FILE", os.devnull)
    with _no_name_service():
        from thespian.system.transport import IPBase
    _bind_to_loopback(IPBase)
    _sign_frames()
    _turn_faster()
    _let_timers_end()
    _deliver_wakeups_in_order()
    _leave_the_time_zone_alone()
    _give_up_on_creation()
    _let_any_thread_transmit()
    _restart_the_logger()
    _never_start_an_admin()
    _end_with_the_parent()
    _applied = True


@contextmanager
def _no_name_service() -> Iterator[None]:
    """The import asks the resolver for this host's name, which takes seconds where DNS is broken."""
    real = socket.getfqdn, socket.gethostname
    socket.getfqdn = lambda name="": "localhost"  # noqa: ARG005  it is called by this name
    socket.gethostname = lambda: "localhost"
    try:
        yield
    finally:
        socket.getfqdn, socket.gethostname = real


def _bind_to_loopback(ip_base: Any) -> None:
    # By default each actor listens on all interfaces, whatever address it is told to use.
    ip_base.IPActorAddress.bindArgs = property(lambda self: ((LOOPBACK, self.sockname[1]),))


def _sign_frames() -> None:
    # By default each actor unpickles whatever reaches its port.
    from thespian.system.transport import TCPTransport as transport
    from thespian.system.transport import streamBuffer

    KEYS.accept_unsigned(streamBuffer.ackPacket)
    KEYS.accept_unsigned(streamBuffer.ackDataErrPacket)

    class Sealed:
        @staticmethod
        def loads(frame: bytes | bytearray) -> object:
            return KEYS.open(bytes(frame))

    def seal(self: Any, intent: Any) -> bytes:
        port = self._adminAddr.addressDetails.sockname[1]
        frame = KEYS.seal(port, (self.myAddress, intent.message))
        return b"%d>%b" % (len(frame), frame)

    transport.serializer = Sealed
    transport.TCPTransport.serializer = seal
    add = streamBuffer.ReceiveBuffer.addMore

    def add_frame(self: Any, received: bytes) -> None:
        # What does not begin with a length would be kept for as long as it comes, and a length below zero ends the
        # process: anybody on this machine could do that.
        try:
            add(self, received)
            fits = 0 <= self._size <= LONGEST_FRAME if self._size is not None else self._buf.isdigit() or not self._buf
            if self._size is not None and self._blen < self._size and isinstance(self._buf, bytes):
                self._buf = bytearray(self._buf)  # bytes would be copied whole for each piece that is added
        except ValueError:
            fits = False
        if not fits or (self._size is None and len(self._buf) > LENGTH_DIGITS):
            KEYS.refuse("what is no frame")

    streamBuffer.ReceiveBuffer.addMore = add_frame
    check = transport.TCPTransport._check_XMIT_4_done

    def check_acknowledgement(self: Any, intent: Any, received: bytes) -> Any:
        # Whoever has taken the port of a process that ended may answer in its place. The error would be caught
        # further up, but with the message still counted as under way, of which there are only so many.
        try:
            return check(self, intent, received)
        except ForeignFrameError:
            intent.backoffPause(True)
            intent.stage = self._XMITStepRetry
            return self._nextTransmitStep(intent)

    transport.TCPTransport._check_XMIT_4_done = check_acknowledgement


class _Ready(NamedTuple):
    fd: int


class _Turn:
    """What the transport needs of a selector, at one system call a turn: it makes a new one for every turn.

    `select` keeps microseconds where `epoll` and `poll` round up to the millisecond, which timers would feel.
    """

    __slots__ = ("_readers", "_writers")

    def __init__(self) -> None:
        self._readers: set[int] = set()
        self._writers: set[int] = set()

    def register(self, descriptor: int, events: int) -> None:
        if descriptor < 0:
            raise ValueError("a closed descriptor")
        (self._readers if events == selectors.EVENT_READ else self._writers).add(descriptor)

    def select(self, timeout: float | None = None) -> list[tuple[_Ready, int]]:
        if max(self._readers | self._writers, default=0) >= FEWER_DESCRIPTORS_THAN:
            return self._poll(timeout)
        readable, writable, _ = select.select(self._readers, self._writers, (), timeout)
        return [
            *((_Ready(descriptor), selectors.EVENT_READ) for descriptor in readable),
            *((_Ready(descriptor), selectors.EVENT_WRITE) for descriptor in writable),
        ]

    def _poll(self, timeout: float | None) -> list[tuple[_Ready, int]]:
        with selectors.PollSelector() as poll:
            for descriptor in self._readers | self._writers:
                read = selectors.EVENT_READ if descriptor in self._readers else 0
                write = selectors.EVENT_WRITE if descriptor in self._writers else 0
                poll.register(descriptor, read | write)
            return [(_Ready(key.fd), events) for key, events in poll.select(timeout)]

    def close(self) -> None:
        pass


def _turn_faster() -> None:
    # Of the 0.45 ms that a question and its answer take, a third goes into building an epoll set for every turn,
    # reading the length of a frame on its own, and describing messages for a log that is not written.
    from thespian.system import transport as base
    from thespian.system.transport import TCPTransport as transport
    from thespian.system.transport import streamBuffer

    class Selectors:
        DefaultSelector = _Turn
        EVENT_READ = selectors.EVENT_READ
        EVENT_WRITE = selectors.EVENT_WRITE

    setattr(transport, "selectors", Selectors)  # noqa: B010  the type checker takes it for a module
    base.TransmitIntent.identify = lambda _self: "a message"
    base.ReceiveEnvelope.identify = lambda _self: "a message"
    left = streamBuffer.ReceiveBuffer.remainingAmount
    streamBuffer.ReceiveBuffer.remainingAmount = lambda self: 65_536 if self._size is None else left(self)


def _let_timers_end() -> None:
    # A remaining time that rounds to zero is dropped from the list of delays, and the actor sleeps on for up to 2 s.
    from thespian.system import timing

    def remaining(self: Any, forever: Any = None) -> Any:
        if self._time_to_quit is None:
            return forever
        left = self._time_to_quit - self._current_time
        if left <= 0:
            return timedelta(0)
        return max(timedelta(seconds=left), timedelta(microseconds=1))

    timing.ExpirationTimerView.remaining = remaining


def _deliver_wakeups_in_order() -> None:
    # Wake-ups that expire together are delivered newest first.
    from thespian.system.transport import wakeupTransportBase as base

    deliver = base.wakeupTransportBase._deliver_wakeups

    @wraps(deliver)
    def in_order(self: Any, handler: Any) -> Any:
        self._activeWakeups.reverse()
        return deliver(self, handler)

    base.wakeupTransportBase._deliver_wakeups = in_order


def _leave_the_time_zone_alone() -> None:
    # A connecting process would find TZ set in its environment, and its own local times changed.
    from thespian.system import systemBase

    systemBase.ensure_TZ_set = lambda: None


def _give_up_on_creation() -> None:
    # With an admin that has ended the guardian would wait 50 s for an actor.
    from thespian.system import systemBase

    systemBase.MAX_CHILD_ACTOR_CREATE_DELAY = timedelta(seconds=2)
    systemBase.MAX_ADMIN_STATUS_REQ_DELAY = timedelta(milliseconds=500)


def _let_any_thread_transmit() -> None:
    # Threads other than the main one wake the transport through a connection to itself, 1 ms a message.
    # Here a context is used by one thread at a time, so its user is its main thread.
    from thespian.system.transport import asyncTransportBase

    asyncTransportBase.is_main_thread = lambda: True


def _restart_the_logger() -> None:
    # The death of the logger kills the admin: it reads an attribute that is spelled otherwise.
    from thespian.system import multiprocCommon

    setattr(multiprocCommon.MultiProcAdmin, "logDefs", property(lambda self: self.logdefs))  # noqa: B010


def _never_start_an_admin() -> None:
    # A client that looks for a system which is gone would start an empty one, and own it.
    from thespian.system import multiprocTCPBase

    start = multiprocTCPBase.ActorSystemBase._startAdmin

    def refuse(self: Any, admin: Any, *rest: Any) -> None:
        if not _may_start_admin:
            raise NoSystemError(f"no system answers on port {admin.addressDetails.sockname[1]}")
        start(self, admin, *rest)

    multiprocTCPBase.ActorSystemBase._startAdmin = refuse
    verify = multiprocTCPBase.ActorSystemBase._verifyAdminRunning

    def verify_once(self: Any) -> bool:
        # It would ask again for 11 s, though the system may be a new one with another key by then.
        if not verify(self) and not _may_start_admin:
            raise NoSystemError(f"no system answers on port {self.adminAddr.addressDetails.sockname[1]}")
        return True

    multiprocTCPBase.ActorSystemBase._verifyAdminRunning = verify_once


_may_start_admin = False
_guardian = 0


@contextmanager
def starting_a_system() -> Iterator[None]:
    """Only the guardian, in here, starts an admin. It has to be a sub-reaper already (`processes.adopt_orphans`)."""
    global _may_start_admin, _guardian  # noqa: PLW0603  read by the corrected library
    _may_start_admin = True
    _guardian = os.getpid()
    try:
        yield
    finally:
        _may_start_admin = False


def _end_with_the_parent() -> None:
    # The admin and the actors daemonise, and outlive whoever started them.
    from thespian.system import multiprocCommon

    def ended_with_parent(target: Callable[..., None]) -> Callable[..., None]:
        @wraps(target)
        def run(*args: Any, **kwargs: Any) -> None:
            processes.end_with_parent(signal.SIGKILL)
            target(*args, **kwargs)

        return run

    multiprocCommon.startChild = ended_with_parent(multiprocCommon.startChild)
    multiprocCommon.startupASLogger = ended_with_parent(multiprocCommon.startupASLogger)
    start_logger = multiprocCommon.startupASLogger

    def run_logger(*args: Any, **kwargs: Any) -> None:
        processes.name_this("bell-logger")
        start_logger(*args, **kwargs)

    multiprocCommon.startupASLogger = run_logger
    start_admin = multiprocCommon.startAdmin

    def start(*args: Any, **kwargs: Any) -> None:
        # A signal would write its number into whatever has the descriptor by then: into the middle of a frame.
        signal.set_wakeup_fd(-1)
        # What the starter has open would stay open for as long as any actor lives, its locks and its terminal too.
        for descriptor in _kept_from_actors:
            os.close(descriptor)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        start_admin(*args, **kwargs)

    multiprocCommon.startAdmin = start
    run_admin = multiprocCommon.MultiProcAdmin.run

    def run(self: Any) -> Any:
        # The admin forks once more to leave its starter. Until the process between has ended, that one is its
        # parent, and its end would be taken for the guardian's.
        processes.name_this("bell-admin")
        processes.wait_for_parent(_guardian)
        processes.end_with_parent(signal.SIGKILL)
        return run_admin(self)

    multiprocCommon.MultiProcAdmin.run = run


_kept_from_actors: set[int] = set()


def keep_from_actors(descriptor: int) -> None:
    """Close this descriptor in every actor that is started from now on, until `close_kept`."""
    _kept_from_actors.add(descriptor)


def close_kept(descriptor: int) -> None:
    """Close it here: its number may soon belong to something that actors need."""
    _kept_from_actors.discard(descriptor)
    os.close(descriptor)


def forget_wakeups(actor: Any) -> None:
    """Drop the armed wake-ups of this actor: the library has no way to cancel one."""
    transport = getattr(actor._myRef, "transport", None)
    if transport is not None:
        with transport._wakeup_lock:
            transport._pendingWakeups.clear()
        return
    system = getattr(actor._myRef, "_system", None)
    if system is not None:
        base = system._systemBase
        base._wakeUps = [waiting for waiting in base._wakeUps if waiting[0] != actor.myAddress]


def armed_wakeups(actor: Any) -> int:
    transport = getattr(actor._myRef, "transport", None)
    if transport is not None:
        return len(transport._pendingWakeups)
    base = actor._myRef._system._systemBase
    return sum(1 for waiting in base._wakeUps if waiting[0] == actor.myAddress)
