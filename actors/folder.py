"""The private folder beside a database: the key, the way to the running system, and what it logs."""

import errno
import json
import os
import secrets
import socket
from pathlib import Path
from typing import NamedTuple

from ..storage.errors import BellringerError
from . import processes

KEY_BYTES = 32
_PARENT = "its parent folder must exist and be writable"


class NotRunningError(BellringerError):
    """No system runs on this database."""


class Way(NamedTuple):
    """How to reach the running system."""

    port: int
    name: str
    guardian: str


class PrivateFolder:
    """`FILE.bellringer` beside the database FILE: only its owner can read it, so only its owner has the key."""

    def __init__(self, database: str | os.PathLike[str]) -> None:
        if not os.fspath(database):
            raise BellringerError("the name of the database is empty: give the path of a file")
        self.database = Path(os.path.realpath(os.fspath(database)))
        self.path = self.database.with_name(self.database.name + ".bellringer")

    def create(self) -> None:
        """Make the folder, or close it to others. Raises `BellringerError` if it belongs to someone else."""
        if os.path.isdir(self.database):
            raise BellringerError(f"{self.database} is a folder; give the path of a file in it")
        try:
            self.path.mkdir(mode=0o700, parents=False, exist_ok=True)
        except OSError as error:
            raise BellringerError(
                f"can't make the private folder {self.path}: {error.strerror}; "
                + ("take a shorter one" if error.errno == errno.ENAMETOOLONG else _PARENT)
            ) from error
        if self.path.stat().st_uid != os.geteuid():
            raise BellringerError(f"the folder {self.path} belongs to another user; move the database or the folder")
        try:
            self.path.chmod(0o700)
        except OSError as error:
            raise BellringerError(
                f"can't write to the private folder {self.path}: {error.strerror}; it must be writable"
            ) from error

    @property
    def log_file(self) -> Path:
        return self.path / "bellringer.log"

    @property
    def guardian_lock(self) -> Path:
        return self.path / "guardian.lock"

    def make_key(self) -> bytes:
        """A fresh key: frames of an earlier system are foreign to this one."""
        key = secrets.token_bytes(KEY_BYTES)
        self._write("key", key.hex())
        return key

    def read_key(self) -> bytes:
        try:
            key = bytes.fromhex((self.path / "key").read_text())
            if len(key) != KEY_BYTES:
                raise ValueError("not a key")
            return key
        except (OSError, ValueError) as error:
            raise NotRunningError(f"no scheduler runs on {self.database}: {self.path} holds no key") from error

    def write_way(self, way: Way) -> None:
        self._write("way.json", json.dumps(way._asdict()))

    def read_way(self) -> Way:
        """Raises `NotRunningError` also where the process that wrote it has ended."""
        try:
            told = json.loads((self.path / "way.json").read_text())
            way = Way(int(told["port"]), str(told["name"]), str(told["guardian"]))
            alive = processes.is_alive(way.guardian)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise NotRunningError(f"no scheduler runs on {self.database}") from error
        if not alive:
            raise NotRunningError(f"no scheduler runs on {self.database}: the one that did has ended")
        return way

    def write_scheduler(self, process: str) -> None:
        """Tell which process is the scheduler: clients watch it, to know at once when it ends."""
        self._write("scheduler", process)

    def read_scheduler(self) -> str | None:
        try:
            return (self.path / "scheduler").read_text()
        except OSError:
            return None

    def forget_way(self) -> None:
        (self.path / "way.json").unlink(missing_ok=True)

    def _write(self, name: str, text: str) -> None:
        temporary = self.path / f".{name}.{os.getpid()}"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        temporary.replace(self.path / name)


def free_port() -> int:
    """A port of the loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
