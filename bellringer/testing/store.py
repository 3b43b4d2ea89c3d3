"""The store of a drive, and the places at which a test can break it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import cast

from ..storage.contract import Store
from ..storage.errors import StorageError


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
        self._crash_at: int | None = None
        self.inner = open_inner()
        self.steps = 0
        """How many steps there were since the last `count_steps` or `crash_at`."""

    def as_store(self) -> Store:
        return cast(Store, self)

    def fail(self, error: StorageError) -> None:
        """Have every call raise this error, until `mend`."""
        self._failing = error

    def mend(self) -> None:
        self._failing = None

    def count_steps(self) -> None:
        """Begin to count at zero, and crash nowhere."""
        self.steps, self._crash_at = 0, None

    def crash_at(self, step: int) -> None:
        """Kill the scheduler at this step from now, the first being 1."""
        self.steps, self._crash_at = 0, step

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

    def before(self) -> None:
        self.after()
        if self._failing is not None:
            raise self._failing

    def after(self) -> None:
        self.steps += 1
        if self.steps == self._crash_at:
            self._crash_at = None
            raise SchedulerCrash

    def __getattr__(self, name: str) -> Callable[..., object]:
        method = getattr(self.inner, name)

        def watched(*arguments: object, **options: object) -> object:
            self.before()
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
