"""`run_bot.py` as a process, talked to through a pipe."""

import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

BOT = Path(__file__).resolve().parents[2] / "run_bot.py"
PATIENCE_S = 20.0


class BotProcess:
    """A running bot. Leaving the block ends its input, and waits until it has stopped."""

    def __init__(self, database: Path, *, named: bool = True, **environment: str) -> None:
        """`named`: the database is told as an argument."""
        self.process = subprocess.Popen(
            [sys.executable, str(BOT), *(("--database", str(database)) if named else ())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=os.environ | {"TZ": "Europe/Berlin", "PYTHONUTF8": "1"} | environment,
            cwd=database.parent,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def say(self, line: str | bytes) -> None:
        assert self.process.stdin is not None
        os.write(self.process.stdin.fileno(), (line if isinstance(line, bytes) else line.encode()) + b"\n")

    def heard(self) -> str:
        """The next line that the bot writes."""
        line = self._lines.get(timeout=PATIENCE_S)
        assert line is not None, f"the bot has stopped: {self.process.stderr.read() if self.process.stderr else ''}"
        return line

    def ask(self, line: str) -> str:
        self.say(line)
        return self.heard()

    def end(self) -> list[str]:
        """End its input; what it wrote from here on."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.rest()

    def rest(self) -> list[str]:
        """What it wrote until it stopped, which it must do well."""
        written = list(iter(lambda: self._lines.get(timeout=PATIENCE_S), None))
        assert self.process.wait(PATIENCE_S) == 0
        assert self.process.stderr is not None
        assert self.process.stderr.read() == ""
        return written

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()
            for stream in (self.process.stdout, self.process.stderr):
                if stream is not None:
                    stream.close()
