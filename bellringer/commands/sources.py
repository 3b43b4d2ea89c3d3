"""Where answers come from: the running scheduler, or the file itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from ..actors import views
from ..actors.client import SchedulerHandle
from ..actors.clock import SYSTEM_CLOCK
from ..actors.core import Core
from ..actors.errors import RequestRefusedError
from ..actors.explaining import SHOWN as EXPLAINED
from ..actors.explaining import explain, upcoming
from ..actors.folder import NotRunningError, PrivateFolder
from ..storage.contract import Store
from ..storage.errors import BellringerError, DatabaseInUseError
from ..storage.lock import DatabaseLock
from ..storage.opening import refuse_unsound_file
from ..storage.reading import open_for_reading
from ..storage.sqlite_store import open_store
from ..storage.values import ChatId
from .options import Common, NoDatabaseError, NoSchedulerError
from .phrases import shell_word

PAGE = 1_000

After = str | views.Job | None
"""The job that the page before ended with, or its id."""


class Source(Protocol):
    """What can be looked at, wherever it lies. The arguments are those of `SchedulerHandle`."""

    @property
    def is_served(self) -> bool:
        """Whether a scheduler runs."""
        ...

    def get(self, job_id: str) -> views.Job | None: ...

    def pending(
        self, chat_id: ChatId | None, status: str | None, limit: int, after: str | views.Job | None
    ) -> list[views.Job]: ...

    def history(
        self, job_id: str | None, chat_id: ChatId | None, outcome: str | None, limit: int, before: int | None
    ) -> list[views.Occurrence]: ...

    def sessions(self, chat_id: ChatId | None, limit: int) -> list[views.StoredSession]: ...

    def explain(self, job_id: str) -> views.Explanation | None: ...

    def pauses(self) -> list[views.Pause]: ...


class Running:
    """Asks the scheduler."""

    is_served = True

    def __init__(self, handle: SchedulerHandle, timeout: float) -> None:
        self._handle = handle
        self._timeout = timeout

    def get(self, job_id: str) -> views.Job | None:
        return self._handle.get(job_id, timeout=self._timeout)

    def pending(
        self, chat_id: ChatId | None, status: str | None, limit: int, after: str | views.Job | None
    ) -> list[views.Job]:
        return self._handle.pending(chat_id=chat_id, status=status, limit=limit, after=after, timeout=self._timeout)

    def history(
        self, job_id: str | None, chat_id: ChatId | None, outcome: str | None, limit: int, before: int | None
    ) -> list[views.Occurrence]:
        return self._handle.history(
            job_id, chat_id=chat_id, outcome=outcome, limit=limit, before=before, timeout=self._timeout
        )

    def sessions(self, chat_id: ChatId | None, limit: int) -> list[views.StoredSession]:
        return self._handle.sessions(chat_id=chat_id, limit=limit, timeout=self._timeout)

    def explain(self, job_id: str) -> views.Explanation | None:
        return self._handle.explain(job_id, timeout=self._timeout)

    def pauses(self) -> list[views.Pause]:
        return self._handle.pauses(timeout=self._timeout)


class File:
    """Reads the store. The instant of the newest commit is what it shows."""

    def __init__(self, store: Store, *, is_served: bool = False) -> None:
        self.store = store
        self.is_served = is_served

    def get(self, job_id: str) -> views.Job | None:
        row = self.store.get(job_id)
        return None if row is None else views.Job(row)

    def pending(
        self, chat_id: ChatId | None, status: str | None, limit: int, after: str | views.Job | None
    ) -> list[views.Job]:
        if isinstance(after, str) and self.store.get(after) is None:
            raise RequestRefusedError("not_found", f"job {after!r}, to go on behind, is not there")
        place = after.place if isinstance(after, views.Job) else after
        rows = self.store.jobs(chat_id=chat_id, status=status, limit=limit, after=place)
        return [views.Job(row) for row in rows]

    def history(
        self, job_id: str | None, chat_id: ChatId | None, outcome: str | None, limit: int, before: int | None
    ) -> list[views.Occurrence]:
        rows = self.store.history(job_id=job_id, chat_id=chat_id, outcome=outcome, limit=limit, before=before)
        return [views.occurrence(row) for row in rows]

    def sessions(self, chat_id: ChatId | None, limit: int) -> list[views.StoredSession]:
        return [views.session(row) for row in self.store.sessions(chat_id=chat_id, limit=limit)]

    def explain(self, job_id: str) -> views.Explanation | None:
        """What is stored says; which handlers hosts would bring is not known."""
        job = self.store.get(job_id)
        if job is None:
            return None
        at = now()
        occurrences = self.store.history(job_id=job_id, limit=EXPLAINED)
        outages = self.store.outages(min([job.due_at, *(row.due_at for row in occurrences)]), at)
        ahead = upcoming(job, at)
        told = explain(job, occurrences, outages, self.store.pauses(), True, ahead, job.zone, at)
        return views.Explanation(tuple(told), tuple(map(views.moment, ahead)))

    def pauses(self) -> list[views.Pause]:
        """Those that have not ended."""
        at = now()
        return [views.pause(one) for one in self.store.pauses() if one.until is None or one.until > at]


@contextmanager
def running(common: Common) -> Iterator[SchedulerHandle]:
    """A handle on the scheduler. Raises `NoSchedulerError` at once where none runs."""
    folder = PrivateFolder(common.database)
    try:
        folder.read_way()
    except NotRunningError:
        require_database(common)
        _refuse_foreign(folder)
        refuse_unsound_file(str(folder.database))
        raise NoSchedulerError(
            f"no scheduler runs on {common.database}: start one with `bellringer serve --database "
            f"{shell_word(common.database)}`, or use the file itself with --offline"
        ) from None
    with SchedulerHandle(Core(common.database, common.name)) as handle:
        yield handle


@contextmanager
def reading(common: Common) -> Iterator[File]:
    """The file, only to look at: safe whether or not a scheduler runs."""
    require_database(common)
    store = open_for_reading(common.database)
    try:
        yield File(store, is_served=_is_served(common))
    finally:
        store.close()


@contextmanager
def looking(common: Common) -> Iterator[Source]:
    if common.offline:
        with reading(common) as file:
            yield file
    else:
        with running(common) as handle:
            yield Running(handle, common.timeout)


@contextmanager
def changing_file(common: Common) -> Iterator[Store]:
    """The store, to change it in the scheduler's place. Raises `DatabaseInUseError` while one runs."""
    require_database(common)
    try:
        way = PrivateFolder(common.database).read_way()
    except NotRunningError:
        pass
    else:
        raise DatabaseInUseError(
            f"the scheduler {way.name!r} runs on {common.database}, and only it changes the file: leave out --offline"
        )
    with DatabaseLock(common.database):
        store = open_store(common.database)
        try:
            yield store
        finally:
            store.close()


def require_database(common: Common) -> None:
    try:
        is_there = Path(common.database).exists()
    except OSError as error:
        raise BellringerError(f"{common.database} can't be looked at ({error.strerror}): name another") from None
    if not is_there:
        raise NoDatabaseError(
            f"there is no database {common.database}, and no scheduler runs on it: name another with --database, or "
            f"start a new one with `bellringer serve --database {shell_word(common.database)}`"
        )


def _is_served(common: Common) -> bool:
    try:
        PrivateFolder(common.database).read_way()
    except NotRunningError:
        return False
    return True


def now() -> int:
    return SYSTEM_CLOCK.wall()


def pending_page(
    source: Source, chat_id: ChatId | None, status: str | None, limit: int, after: After
) -> tuple[list[views.Job], bool]:
    """Up to `limit` jobs, and whether there are more."""
    found: list[views.Job] = []
    while len(found) <= limit:
        size = min(PAGE, limit + 1 - len(found))
        page = source.pending(chat_id, status, size, after)
        found += page
        if len(page) < size:
            break
        after = page[-1]
    return found[:limit], len(found) > limit


def history_page(
    source: Source, job_id: str | None, chat_id: ChatId | None, outcome: str | None, limit: int, before: int | None
) -> tuple[list[views.Occurrence], bool]:
    """Up to `limit` occurrences, newest first, and whether there are more."""
    found: list[views.Occurrence] = []
    while len(found) <= limit:
        size = min(PAGE, limit + 1 - len(found))
        page = source.history(job_id, chat_id, outcome, size, before)
        found += page
        if len(page) < size:
            break
        before = page[-1].number
    return found[:limit], len(found) > limit


def _refuse_foreign(folder: PrivateFolder) -> None:
    try:
        (folder.path / "way.json").exists()
    except PermissionError as error:
        raise BellringerError(
            f"the private folder {folder.path} belongs to another user: run this as the user who runs the scheduler"
        ) from error
