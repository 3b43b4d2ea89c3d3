"""The store of a drive, and the places at which a test can break it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import cast

from ..storage.contract import Store
from ..storage.errors import StorageError

WRITES = frozenset(
    {"put", "cancel", "run_now", "redrive", "wait", "release", "claim", "skip", "park", "settle", "trim"}
    | {"remember_replies", "set_meta", "spawn", "pause", "unpause", "snooze", "note_outage", "patch_session"}
    | {"set_zone", "move", "rezone", "record"}
)


class SchedulerCrash(BaseException):
    """Ends the scheduler in the middle of what it does."""


class DriveStore:
    """Passes every call on to the real store, `inner`, unless the test has said otherwise.

    Each call is two steps, one before it and one after it; a transaction has two at its begin and two at its commit.
    """

    def __init__(self, open_inner: Callable[[], Store]) -> None:
        self._open_inner = open_inner
        self._abandoned: list[Store] = []
        self._failing: StorageError | None = None
        self._failing_reads = False
        self._crashes: list[int] = []
        self.inner = open_inner()
        self.steps = 0
        """How many steps there were since the last `count_steps` or `crash_at`."""

    def as_store(self) -> Store:
        return cast(Store, self)

    def fail(self, error: StorageError, *, reads: bool = False) -> None:
        """Have everything that writes raise this error, until `mend`; with `reads`, everything that reads too."""
        self._failing, self._failing_reads = error, reads

    def mend(self) -> None:
        self._failing = None

    def count_steps(self) -> None:
        """Begin to count at zero, and crash nowhere."""
        self.crash_at()

    def crash_at(self, *steps: int) -> None:
        """Kill the scheduler at each of these steps from now, the first being 1."""
        self.steps, self._crashes = 0, sorted(steps, reverse=True)

    def reopen(self, *, cleanly: bool = False) -> None:
        """Open the data anew, as a new process does. Unless `cleanly`, what was open is left as a kill leaves it."""
        if cleanly:
            self.inner.close()
        else:
            self._abandoned.append(self.inner)
        self.inner = self._open_inner()

    def close(self) -> None:
        """Closed by `dispose`: the drive looks into the store after its scheduler has ended."""

    def dispose(self) -> None:
        for store in (*self._abandoned, self.inner):
            store.close()

    def transaction(self) -> AbstractContextManager[None]:
        return _Transaction(self)

    def before(self, *, writes: bool = True) -> None:
        self.after()
        if self._failing is not None and (writes or self._failing_reads):
            raise self._failing

    def after(self) -> None:
        self.steps += 1
        if self._crashes and self.steps == self._crashes[-1]:
            self._crashes.pop()
            raise SchedulerCrash

    def __getattr__(self, name: str) -> Callable[..., object]:
        method = getattr(self.inner, name)

        def watched(*arguments: object, **options: object) -> object:
            self.before(writes=name in WRITES)
            answer: object = method(*arguments, **options)
            self.after()
            return answer

        return watched


class _Transaction:
    def __init__(self, store: DriveStore) -> None:
        self._store = store
        self._inner = store.inner.transaction()

    def __enter__(self) -> None:
        self._store.before()
        self._inner.__enter__()
        try:
            self._store.after()
        except BaseException as error:
            self._inner.__exit__(type(error), error, None)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            try:
                self._store.before()
            except BaseException as crash:
                self._inner.__exit__(type(crash), crash, None)
                raise
        self._inner.__exit__(kind, error, traceback)
        if error is None:
            self._store.after()
