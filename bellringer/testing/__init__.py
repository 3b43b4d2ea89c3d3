"""Tests of bots, without waiting: the `drive` fixture, and what it is made of. See `bellringer.testing.plugin`."""

from .clock import ManualClock
from .drive import Drive
from .hosts import DriveHost
from .loop import ManualLoop, StuckError
from .store import DriveStore, SchedulerCrash
from .transport import DriveTransport, SentMessage

__all__ = [
    "Drive",
    "DriveHost",
    "DriveStore",
    "DriveTransport",
    "ManualClock",
    "ManualLoop",
    "SchedulerCrash",
    "SentMessage",
    "StuckError",
]
