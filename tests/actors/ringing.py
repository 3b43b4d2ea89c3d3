"""An actor that is busy while its wake-ups expire."""

import time
from datetime import timedelta
from typing import Any

from thespian.actors import Actor, WakeupMessage


class RingThrice:
    """Arm three wake-ups, and be busy until all of them have expired."""


class Rang:
    """Tell the payloads of those that have arrived, in their order."""


class Ringing(Actor):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._rang: list[int] = []

    def receiveMessage(self, message: Any, sender: Any) -> None:
        if isinstance(message, RingThrice):
            for number in (1, 2, 3):
                self.wakeupAfter(timedelta(milliseconds=number), number)  # type: ignore[no-untyped-call]
            until = time.monotonic() + 0.03
            while time.monotonic() < until:
                pass
        elif isinstance(message, WakeupMessage):
            self._rang.append(message.payload)
        elif isinstance(message, Rang):
            self.send(sender, self._rang)  # type: ignore[no-untyped-call]
