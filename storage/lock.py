"""The lock that keeps a database to one scheduler."""

import fcntl
import json
import os
import weakref
from types import TracebackType

from .errors import DatabaseInUseError, StorageReadOnlyError


class DatabaseLock:
    """An exclusive lock, held until `release` or the death of the process; a forked child does not hold it.

    Its file is `lock` in the folder `<database>.bellringer`, and tells the holder's pid and name as JSON.
    Raises `DatabaseInUseError` at once if somebody else holds it.
    """

    def __init__(self, database: str | os.PathLike[str], name: str = "") -> None:
        self.path = lock_path(database)
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageReadOnlyError(f"the lock of {os.fspath(database)} can't be opened: {error}") from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = _read(self._fd)
            os.close(self._fd)
            raise DatabaseInUseError(
                f"{os.fspath(database)} is in use by {_told(holder)}: stop that one first, or choose another database"
            ) from None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, json.dumps({"pid": os.getpid(), "name": name}).encode(), 0)
        _held.add(self)

    def release(self) -> None:
        """Give the database free. Releasing twice does nothing."""
        if self._fd < 0:
            return
        os.ftruncate(self._fd, 0)
        self._close()

    def __enter__(self) -> "DatabaseLock":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, where: TracebackType | None
    ) -> None:
        self.release()

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def lock_path(database: str | os.PathLike[str]) -> str:
    """Where the lock lies; the same for every name by which symbolic links reach the database."""
    return os.path.join(f"{os.path.realpath(database)}.bellringer", "lock")


def _read(fd: int) -> dict[str, object]:
    try:
        found = json.loads(os.pread(fd, 4_096, 0))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _told(holder: dict[str, object]) -> str:
    if "pid" not in holder:
        return "another process"
    name = holder.get("name")
    return f"the scheduler {name!r} (process {holder['pid']})" if name else f"process {holder['pid']}"


# flock belongs to the open file, which a forked child shares: a child that outlives the holder would keep the lock.
_held: "weakref.WeakSet[DatabaseLock]" = weakref.WeakSet()


def _let_go_in_child() -> None:
    for lock in list(_held):
        lock._close()


os.register_at_fork(after_in_child=_let_go_in_child)
