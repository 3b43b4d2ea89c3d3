"""A system started by a bot: a guardian as its child, which ends when the bot does."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Sequence

from . import processes
from .clock import SYSTEM_CLOCK, sleep
from .folder import NotRunningError, PrivateFolder
from .forking import call_in_child
from .guardian import GuardianError
from .messages import Settings

log = logging.getLogger("bellringer.hosting")

START_WITHIN_S = 30.0
PAUSE_US = 500_000
OTHER_WITHIN_US = 1_000_000


class _OtherStartsError(GuardianError):
    """Another process is just starting a system on the database, or ending one."""


class Hosting:
    """Keeps a system running on a database: joins the one that is there, or starts one, also when that has ended."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._folder = PrivateFolder(settings.database)
        self._mutex = threading.Lock()
        self._guardian: subprocess.Popen[bytes] | None = None
        self._lifeline: int | None = None
        self._stopped = False
        self._tried_at = 0
        self._must_exist: tuple[str, ...] = ()
        self._keeper: threading.Thread | None = None
        call_in_child(self._forget)

    def _forget(self) -> None:
        """A forked child must not keep its parent's system alive."""
        if self._lifeline is not None:
            os.close(self._lifeline)
        self._mutex = threading.Lock()
        self._guardian, self._lifeline, self._stopped = None, None, True

    def start(self) -> None:
        """Have a system running. Raises `GuardianError` with the reason where none can be had."""
        with self._mutex:
            self._start_or_join()
            self._must_exist = ("--must-exist",)
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, name="bellringer-standby", daemon=True)
                self._keeper.start()

    def _start_or_join(self) -> None:
        until = SYSTEM_CLOCK.monotonic() + int(START_WITHIN_S * 1e6)
        while not self._is_running():
            try:
                self._start()
            except _OtherStartsError:
                now = SYSTEM_CLOCK.monotonic()
                if now > until:
                    raise
                while not self._is_running() and SYSTEM_CLOCK.monotonic() < now + OTHER_WITHIN_US:
                    sleep(0.01)

    def _keep(self) -> None:
        """Stand by: when the guardian that serves the database ends, whoever's child it was, start another."""
        while not self._stopped:
            try:
                guardian = processes.open_pidfd(self._folder.read_way().guardian)
            except NotRunningError:
                guardian = None
            if guardian is not None:
                try:
                    processes.wait_for_end(guardian, None)
                finally:
                    os.close(guardian)
            try:
                self.ensure()
            except GuardianError as error:
                log.warning("standing by, and could not start a scheduler: %s", error)
            if not self._stopped:
                sleep(PAUSE_US / 5e6)

    def ensure(self) -> None:
        """Called when nobody answers. Quiet about what is still starting, or tried a moment ago."""
        with self._mutex:
            now = SYSTEM_CLOCK.monotonic()
            if self._stopped or self._is_running() or now - self._tried_at < PAUSE_US:
                return
            self._tried_at = now
            try:
                self._start()
            except _OtherStartsError:
                return
            except GuardianError:
                if not self._is_running():
                    raise

    def _is_running(self) -> bool:
        if self._guardian is not None and self._guardian.poll() is None:
            return True
        try:
            self._folder.read_way()
        except NotRunningError:
            return False
        return True

    def _start(self) -> None:
        self._end_lifeline()
        alive_read, alive_write = os.pipe()
        told_read, told_write = os.pipe()
        try:
            self._guardian = subprocess.Popen(
                [
                    *_command(self.settings),
                    *self._must_exist,
                    *("--lifeline", str(alive_read), "--announce", str(told_write)),
                ],
                pass_fds=(alive_read, told_write),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(_import_paths())},
            )
        finally:
            os.close(alive_read)
            os.close(told_write)
        self._lifeline = alive_write
        with os.fdopen(told_read, "rb") as told:
            line = told.readline().decode(errors="replace").strip()
        assert self._guardian.stderr is not None
        with self._guardian.stderr as written:
            # It closes this before it serves: what is written there is why it could not even begin.
            line = line or f"failed {_last_line(written.read())}"
        if not line.startswith("ready"):
            self._end_lifeline()
            self._guardian.wait(START_WITHIN_S)
            self._guardian = None
            if self._is_running():
                return
            word, _, reason = line.partition(" ")
            raise (_OtherStartsError if word == "busy" else GuardianError)(
                f"no scheduler could be started on {self._folder.database}: {reason or f'see {self._folder.log_file}'}"
            )

    def stop(self) -> None:
        """End the system, if it was started here: it gets its grace, and leaves no process behind."""
        with self._mutex:
            self._stopped = True
            self._end_lifeline()
            if self._guardian is not None:
                try:
                    self._guardian.wait(self.settings.grace_us / 1e6 + 10.0)
                except subprocess.TimeoutExpired:
                    self._guardian.kill()
                    self._guardian.wait()
                self._guardian = None

    def _end_lifeline(self) -> None:
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None


def _last_line(written: bytes) -> str:
    lines = written.decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return last.removeprefix("Error: ").removeprefix("bellringer: ")


def _command(settings: Settings) -> Sequence[str]:
    command = [sys.executable, "-m", "bellringer", "serve", "--database", settings.database, "--name", settings.name]
    for module in settings.handlers:
        command += ["--handlers", module]
    command += ["--handler-actors", str(settings.handler_actors), "--places", str(settings.places)]
    command += ["--keep-days", str(settings.keep_days), "--keep-occurrences", str(settings.keep_occurrences)]
    command += ["--restarts", str(settings.restarts), "--grace", str(settings.grace_us / 1e6)]
    command += ["--log-level", settings.log_level, "--host-memory", str(settings.host_memory_mib)]
    if settings.transport is not None:
        command += ["--transport", settings.transport]
    return command


def _import_paths() -> list[str]:
    """The child imports what this process can."""
    return [os.path.abspath(path) for path in sys.path]
