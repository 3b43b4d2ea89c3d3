"""Where the processes of a system write what they log: one file in the private folder, one line a write."""

import logging
import os
from pathlib import Path

FORMAT = "%(asctime)s %(levelname)s %(name)s[%(process)d] %(message)s"
KEPT_BYTES = 5_000_000


class AppendingHandler(logging.Handler):
    """Appends whole lines, so that several processes can share the file. Past its size the file is set aside once."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._descriptor = self._open()
        self.setFormatter(logging.Formatter(FORMAT))

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = (self.format(record) + "\n").encode("utf-8", "backslashreplace")
            if os.lseek(self._descriptor, 0, os.SEEK_END) > KEPT_BYTES:
                self._set_aside()
            os.write(self._descriptor, line)
        except OSError:
            self.handleError(record)

    def _set_aside(self) -> None:
        if self._path.stat().st_ino == os.fstat(self._descriptor).st_ino:
            self._path.replace(self._path.with_suffix(".log.1"))
        os.close(self._descriptor)
        self._descriptor = self._open()


_BELLRINGER = logging.getLogger("bellringer")
_STANDARD = logging.root, logging.Logger.manager


def write_to(path: Path, level: str) -> None:
    """Send what this process logs to the file, and nowhere else.

    The library gives each actor a logging of its own, which sends a message to its logger for each record;
    here the standard one is put back first.
    """
    root, manager = _STANDARD
    logging.root = logging.Logger.root = root
    logging.Logger.manager = manager
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    root.addHandler(AppendingHandler(path))
    root.setLevel(logging.WARNING)
    _BELLRINGER.setLevel(level)
