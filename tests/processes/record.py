"""What handlers did, written by themselves to an append-only file: a witness apart from the ledger."""

import os
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from bellringer import Context, SyncContext

VARIABLE = "BELLRINGER_TESTS_RECORD"


class Note(NamedTuple):
    word: str
    job_id: str
    run_key: str


def note(word: str, context: Context | SyncContext) -> None:
    """Called by handlers, in whatever process they run."""
    descriptor = os.open(os.environ[VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, f"{word}\t{context.job.id}\t{context.job.run_key}\n".encode())
    finally:
        os.close(descriptor)


class Record:
    def __init__(self, path: Path) -> None:
        self.path = path

    def notes(self) -> list[Note]:
        if not self.path.exists():
            return []
        return [Note(*line.split("\t")) for line in self.path.read_text().splitlines()]

    def starts(self) -> Counter[str]:
        """How often the handler of each job was called."""
        return Counter(note.job_id for note in self.notes() if note.word == "start")
