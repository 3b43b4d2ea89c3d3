"""The faults of the actor library, each shown in a process of its own, with its correction or without.

`python -c "from tests.actors.faults import main; main()" CHECK OUTCOME [WITHOUT]` writes what CHECK has seen to the
file OUTCOME, as JSON; WITHOUT names the function of `corrections` that does nothing this time.
"""

import json
import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

KEY = b"k" * 32


def wait_for(condition: Callable[[], object], patience_s: float = 2.0) -> bool:
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        if condition():
            return True
        threading.Event().wait(0.005)
    return False


def started() -> tuple[Any, int]:
    """A system of which this process is the guardian, and its port."""
    from bellringer.actors import processes
    from bellringer.actors.folder import free_port
    from bellringer.actors.system import start_system

    processes.adopt_orphans()
    port = free_port()
    return start_system(port, KEY), port


def children() -> dict[str, int]:
    """The processes below this one, by what they are called in the list of processes."""
    from tests.actors.systems import command, tree

    found = {}
    for pid in tree(os.getpid())[1:]:
        with suppress(FileNotFoundError, ProcessLookupError):
            found[command(pid).split()[0]] = pid
    return found


def said(port: int, data: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=1.0) as connection:
        connection.sendall(data)
        with suppress(TimeoutError, ConnectionResetError):
            connection.recv(100)


def names_asked() -> object:
    """Which names the resolver is asked for while the library is imported."""
    asked: list[object] = []
    real = socket.getaddrinfo

    def getaddrinfo(name: Any, *rest: Any, **options: Any) -> Any:
        asked.append(name)
        return real("localhost" if name == "this.machine.example" else name, *rest, **options)

    def getfqdn(name: str = "") -> str:
        asked.append(f"the full name of {name or 'this machine'}")
        return "this.machine.example"

    setattr(socket, "getaddrinfo", getaddrinfo)  # noqa: B010  the type checker knows no such assignment
    socket.getfqdn = getfqdn
    socket.gethostname = lambda: "this.machine.example"
    apply()
    return sorted({str(name) for name in asked if name not in (None, "localhost")})


def addresses() -> object:
    """The addresses at which the processes of a system listen."""
    from tests.actors.systems import listening

    system, _ = started()
    found = {address for pid in (os.getpid(), *children().values()) for address, _ in listening(pid)}
    assert system is not None
    return sorted(found)


class Opens:
    def __init__(self, path: str) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, ...]:
        return open, (self._path, "w")


def executed() -> object:
    """Whether a stranger's pickle is executed by the admin."""
    _, port = started()
    evil = f"{sys.argv[2]}.evil"
    body = pickle.dumps(Opens(evil))
    said(port, b"%d>%b" % (len(body), body))
    return os.path.exists(evil)


def admin_survives(data: bytes) -> bool:
    from bellringer.actors import processes

    _, port = started()
    admin = processes.identity(children()["bell-admin"])
    said(port, data)
    try:
        said(port, b"")
    except ConnectionRefusedError:
        return False
    return not wait_for(lambda: not processes.is_alive(admin), 0.2)


def survives_a_length_below_zero() -> object:
    return admin_survives(b"-5>abcdef")


def adds_to_one_buffer() -> object:
    """Whether a frame that comes in pieces is kept in one place, and not copied whole for each of them."""
    apply()
    from thespian.system.transport.streamBuffer import ReceiveBuffer

    buffer: Any = ReceiveBuffer
    buffer = buffer(len)
    buffer.addMore(b"30100>" + b"x" * 100)
    kept = buffer._buf
    for _ in range(30):
        buffer.addMore(b"x" * 1_000)
    assert buffer.completed() == (30_100, b"")
    return buffer._buf is kept


def sends_again_what_a_stranger_acknowledged() -> object:
    """Whether a message is sent once more that somebody has taken who is not of the system."""
    from thespian.actors import ActorAddress
    from thespian.system.transport.IPBase import TCPv4ActorAddress

    system, _ = started()
    base: Any = system._systemBase
    name: Any = ActorAddress
    address: Any = TCPv4ActorAddress
    again = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as stranger:

        def answer() -> None:
            connection, _ = stranger.accept()
            connection.recv(100_000)
            connection.sendall(b"4>junk")
            stranger.accept()
            again.set()

        threading.Thread(target=answer, daemon=True).start()
        base._tx_to_actor(name(address("127.0.0.1", stranger.getsockname()[1])), "hello")
        wait_for(lambda: system.listen(0.05) or again.is_set(), 1.0)
    return again.is_set()


def time_left_of_a_tenth_of_a_microsecond() -> object:
    """What is left of a timer that has not ended, but will in less than a microsecond; in microseconds."""
    apply()
    from thespian.system.timing import ExpirationTimerView

    view: Any = ExpirationTimerView
    view = view(timedelta(seconds=1), 100.0 + 1e-7, 100.0)
    return {"ended": view.expired(), "left": view.remaining() / timedelta(microseconds=1)}


def order_of_wakeups() -> object:
    """The order in which three wake-ups arrive that have expired while their actor was busy."""
    from tests.actors.ringing import Rang, Ringing, RingThrice

    system, _ = started()
    address = system.createActor(Ringing)
    system.tell(address, RingThrice())
    rang: list[int] = []

    def all_rang() -> bool:
        nonlocal rang
        rang = system.ask(address, Rang(), 1.0)
        return len(rang) == 3

    wait_for(all_rang)
    return rang


def time_zone_set() -> object:
    """Whether TZ is set after a process has begun to use the library."""
    os.environ.pop("TZ", None)
    started()
    return "TZ" in os.environ


def interruptions() -> object:
    """Whether a thread that asks has its process connect to itself."""
    from thespian.system.messages.status import Thespian_StatusReq

    system, _ = started()
    base = system._systemBase
    count = 0
    interrupt = base.transport.interrupt_wait

    def counted(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        return interrupt(*arguments)

    base.transport.interrupt_wait = counted

    def ask() -> None:
        for _ in range(5):
            assert system.ask(base.adminAddr, Thespian_StatusReq(), 2.0) is not None

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return count > 0


def admin_survives_its_logger() -> object:
    from bellringer.actors import processes

    def loggers() -> list[int]:
        return [pid for name, pid in children().items() if "logger" in name]

    started()
    wait_for(loggers)
    (logger,), first = loggers(), processes.identity(admin())
    os.kill(logger, signal.SIGKILL)
    wait_for(lambda: not processes.is_alive(first) or loggers() not in ([], [logger]))
    return processes.is_alive(first)


def joining_where_nothing_runs() -> object:
    """What becomes of a client that looks for a system where there is none."""
    from bellringer.actors import corrections, processes
    from bellringer.actors.folder import free_port
    from bellringer.actors.system import join_system

    apply()
    processes.adopt_orphans()
    corrections._guardian = os.getpid()
    try:
        join_system(free_port(), KEY)
    except corrections.NoSystemError:
        return "refused"
    return "started one"


def creating_ends_soon() -> object:
    """Whether the creation of an actor by an admin that does not move is given up within three seconds."""
    from tests.actors.ringing import Ringing

    system, _ = started()
    os.kill(admin(), signal.SIGSTOP)
    given_up = threading.Event()

    def create() -> None:
        with suppress(Exception):
            system.createActor(Ringing)
        given_up.set()

    threading.Thread(target=create, daemon=True).start()
    return given_up.wait(2.6)


def admin() -> int:
    from bellringer.actors import processes

    wait_for(processes.children)
    return processes.children()[0]


def what_actors_keep() -> object:
    """What the admin has of its starter, and which processes there are to outlive it."""
    from bellringer.actors import corrections
    from tests.actors.systems import tree

    mine = os.open(sys.argv[2] + ".mine", os.O_CREAT | os.O_RDWR)
    corrections.keep_from_actors(mine)
    started()
    wait_for(lambda: len(tree(admin())) >= 2)
    held = {os.readlink(link) for link in Path(f"/proc/{admin()}/fd").iterdir() if os.path.lexists(link)}
    return {
        "processes": tree(admin()),
        "output": os.readlink(f"/proc/{admin()}/fd/1"),
        "holds": any(link.endswith(".mine") for link in held),
    }


def signals_of_the_admin_seen_here() -> object:
    """Whether a signal that the admin gets is written into what its starter has for its own."""
    reader, writer = os.pipe2(os.O_NONBLOCK)
    signal.set_wakeup_fd(writer)
    started()
    wait_for(lambda: len(children()) >= 2)
    with suppress(BlockingIOError):
        os.read(reader, 100)
    os.kill(admin(), signal.SIGCHLD)
    return bool(wait_for(lambda: _has(reader), 0.3))


def _has(descriptor: int) -> bool:
    with suppress(BlockingIOError):
        return bool(os.read(descriptor, 1))
    return False


def selectors_made() -> object:
    """Whether the transport makes a set of descriptors in the kernel for each turn."""
    import selectors

    made = 0

    class Counting(selectors.DefaultSelector):
        def __init__(self) -> None:
            nonlocal made
            made += 1
            super().__init__()

    setattr(selectors, "DefaultSelector", Counting)  # noqa: B010  the type checker takes it for a type
    from thespian.system.messages.status import Thespian_StatusReq

    system, _ = started()
    for _ in range(5):
        assert system.ask(system._systemBase.adminAddr, Thespian_StatusReq(), 2.0) is not None
    return made > 0


CHECKS: dict[str, Callable[[], object]] = {
    check.__name__: check
    for check in (
        addresses,
        adds_to_one_buffer,
        admin_survives_its_logger,
        creating_ends_soon,
        executed,
        interruptions,
        joining_where_nothing_runs,
        names_asked,
        order_of_wakeups,
        selectors_made,
        sends_again_what_a_stranger_acknowledged,
        signals_of_the_admin_seen_here,
        survives_a_length_below_zero,
        time_left_of_a_tenth_of_a_microsecond,
        time_zone_set,
        what_actors_keep,
    )
}


def apply() -> None:
    from bellringer.actors import corrections

    corrections.apply()


def end_children() -> None:
    """End what the check has started: where a correction is left out, it may outlive this process."""
    from bellringer.actors import processes

    processes.adopt_orphans()
    for _ in range(200):
        left = processes.children()
        if not left:
            return
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        processes.reap()
        time.sleep(0.005)


def main() -> None:
    name, outcome, *without = sys.argv[1:]
    check = CHECKS[name]
    if without:
        from bellringer.actors import corrections

        nothing = nullcontext if without == ["_no_name_service"] else lambda *_: None
        assert hasattr(corrections, without[0])
        setattr(corrections, without[0], nothing)
    seen = check()
    Path(outcome + ".part").write_text(json.dumps(seen))
    os.replace(outcome + ".part", outcome)
    sys.stdout.flush()
    if check is not what_actors_keep:
        end_children()
    os._exit(0)
