"""What a client can be told."""

from ..storage.errors import BellringerError


class SchedulerUnavailableError(BellringerError):
    """No scheduler has answered in time. Whether a change was made is unknown; the same id again is harmless."""


class RequestRefusedError(BellringerError):
    """The scheduler has refused; nothing was done. `code` is for programs."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class WrongSchedulerError(BellringerError):
    """The scheduler that runs on this database has another name than the one asked for."""
