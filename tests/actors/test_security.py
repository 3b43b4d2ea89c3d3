"""Nobody but the owner of the database's folder can send a system a message."""

import hmac
import os
import pickle
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bellringer
from bellringer import SchedulerHandle
from bellringer.actors.folder import PrivateFolder
from tests.actors.systems import command, eventually, guardian_of, listening, pid_of, tree

LOOPBACK = "0100007F"


class Opens:
    """A pickle that creates a file when it is read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, ...]:
        return open, (str(self._path), "w")


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """The file that is there once the sent pickle was read."""
    return tmp_path / "evil"


@pytest.fixture
def port(scheduler: SchedulerHandle, database: Path) -> int:
    """Where the scheduler listens itself; it also holds the socket of the guardian, whose descendant it is."""
    return own_port(scheduler, database)


def own_port(scheduler: SchedulerHandle, database: Path) -> int:
    own = listening(pid_of(scheduler.health().process)) - listening(guardian_of(database))
    ((_, found),) = own
    return found


def framed(body: bytes) -> bytes:
    return b"%d>%b" % (len(body), body)


def signed(key: bytes, message: object) -> bytes:
    body = pickle.dumps(message)
    return hmac.digest(key, body, "sha256") + body


def said_to(port: int, data: bytes) -> bytes:
    """What a listener answers to a connection that says this, until it closes it or has acknowledged."""
    with socket.create_connection(("127.0.0.1", port), timeout=2.0) as connection:
        connection.sendall(data)
        try:
            return connection.recv(100)
        except ConnectionResetError:
            return b""


def refused(answer: bytes) -> bool:
    return answer == b"" or b"DATAERR" in answer


def test_all_processes_of_a_system_listen_on_the_loopback_only(scheduler: SchedulerHandle, database: Path) -> None:
    pids = tree(guardian_of(database))
    assert {command(pid) for pid in pids} >= {"bell-admin", "bell-supervisor", "bell-scheduler"}
    found = {pid: listening(pid) for pid in pids}
    assert all(found.values())
    assert {address for addresses in found.values() for address, _ in addresses} == {LOOPBACK}


FOREIGN: dict[str, Callable[[object], bytes]] = {
    "an unsigned pickle": lambda message: framed(pickle.dumps(message)),
    "a pickle signed with another key": lambda message: framed(signed(b"x" * 32, message)),
    "a pickle signed with an empty key": lambda message: framed(signed(b"", message)),
    "a frame shorter than a signature": lambda message: framed(pickle.dumps(message)[:20]),
    "a frame without contents": lambda _: b"0>",
    "a length below zero": lambda message: b"-5>" + pickle.dumps(message),
    "a length that is no number": lambda message: b"all>" + pickle.dumps(message),
    "a web browser's request": lambda _: b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a length that does not end": lambda _: b"1" * 1_000,
}


@pytest.mark.parametrize("frame", FOREIGN.values(), ids=FOREIGN.keys())
def test_what_is_not_signed_is_refused_and_counted_and_not_executed(
    frame: Callable[[object], bytes], scheduler: SchedulerHandle, port: int, evil: Path
) -> None:
    before = scheduler.health()
    assert refused(said_to(port, frame(Opens(evil))))
    after = scheduler.health()
    assert after.frames_refused == before.frames_refused + 1
    assert after.process == before.process
    assert not evil.exists()


def test_a_frame_of_an_absurd_length_is_refused_before_it_is_kept(port: int) -> None:
    assert refused(said_to(port, b"99999999999999>" + b"x" * 1_000))


def test_a_frame_that_ends_early_is_dropped_and_not_executed(
    scheduler: SchedulerHandle, database: Path, port: int, evil: Path
) -> None:
    whole = framed(signed(PrivateFolder(database).read_key(), Opens(evil)))
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(whole[:-1])
    scheduler.health()
    assert not evil.exists()


def test_the_same_pickle_signed_with_the_right_key_is_read(
    scheduler: SchedulerHandle, database: Path, port: int, evil: Path
) -> None:
    said_to(port, framed(signed(PrivateFolder(database).read_key(), Opens(evil))))
    scheduler.health()
    assert evil.exists()


def test_a_frame_of_one_systems_key_is_refused_by_another_system(
    scheduler: SchedulerHandle, port: int, evil: Path, tmp_path: Path
) -> None:
    with bellringer.start(tmp_path / "other.db", grace=1.0) as other:
        other.health()
        key = PrivateFolder(tmp_path / "other.db").read_key()
        before = scheduler.health().frames_refused
        assert refused(said_to(port, framed(signed(key, Opens(evil)))))
        assert scheduler.health().frames_refused == before + 1
        assert not evil.exists()


def test_each_process_logs_its_first_refusal_and_no_other(tmp_path: Path) -> None:
    database = tmp_path / "bot.db"
    with bellringer.start(database, grace=1.0) as scheduler:
        guardian, *pids = tree(guardian_of(database))
        ports = {port for pid in pids for _, port in listening(pid) - listening(guardian)}
        for _ in range(3):
            for port in ports:
                assert refused(said_to(port, framed(b"x" * 64)))
        log = PrivateFolder(database).log_file
        scheduler.health()
        eventually(lambda: log.read_text().count("refused") >= len(ports))
        lines = [line for line in log.read_text().splitlines() if "refused" in line]
        assert sorted(pid for pid in pids for line in lines if f"[{pid}]" in line) == sorted(pids)
        assert all(line.endswith("later ones are only counted") for line in lines)


def test_the_private_folder_and_all_in_it_are_for_its_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with bellringer.start(tmp_path / "bot.db", grace=1.0) as scheduler:
            scheduler.health()
            folder = PrivateFolder(tmp_path / "bot.db").path
            assert folder.stat().st_mode & 0o777 == 0o700
            modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    finally:
        os.umask(before)
    assert modes.keys() >= {"key", "way.json", "bellringer.log"}
    assert set(modes.values()) == {0o600}


@pytest.fixture
def traces(scheduler: SchedulerHandle, database: Path, port: int) -> Iterator[dict[str, bytes]]:
    """All places, beyond the key's own file, where a system that has worked and refused leaves something."""
    scheduler.persisted("trace", "nobody", after=3_600)
    said_to(port, framed(b"x" * 64))
    found = {}
    for pid in [*tree(guardian_of(database)), os.getpid()]:
        for name in ("cmdline", "environ"):
            found[f"{name} of {command(pid)}"] = Path(f"/proc/{pid}/{name}").read_bytes()
    folder = PrivateFolder(database).path
    for path in [*database.parent.glob("bot.db*"), *folder.iterdir()]:
        if path.is_file() and path.name != "key":
            found[path.name] = path.read_bytes()
    yield found
    scheduler.cancel("trace")


def test_the_key_is_in_no_log_no_table_no_command_line_and_no_environment(
    traces: dict[str, bytes], database: Path
) -> None:
    key = PrivateFolder(database).read_key()
    assert traces.keys() >= {"bellringer.log", "bot.db", "way.json", "cmdline of bell-scheduler"}
    for told in (key, key.hex().encode(), repr(key).encode()):
        assert [place for place, trace in traces.items() if told in trace] == []


def test_the_log_of_the_actor_library_is_not_written_to_the_temporary_folder(scheduler: SchedulerHandle) -> None:
    assert os.environ["THESPLOG_FILE"] == os.devnull
