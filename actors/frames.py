"""What travels on a socket: a signature, then the pickle. Nothing is unpickled that was not signed.

Every database has a key of its own, so a process that talks to two systems holds two. A frame is signed
with the key of the system that it is sent to, and read with whichever of the held keys signed it.
"""

import hmac
import logging
import pickle
from typing import NoReturn

SIGNATURE_LENGTH = 32

log = logging.getLogger("bellringer.frames")


class ForeignFrameError(ValueError):
    """A frame came that none of this process's keys has signed. It was dropped unread."""


class KeyRing:
    """The keys that this process holds, by the port of the system that each belongs to."""

    def __init__(self) -> None:
        self._keys: dict[int, bytes] = {}
        self._acknowledgements: dict[bytes, object] = {}
        self._refused = 0

    def hold(self, port: int, key: bytes) -> None:
        self._keys[port] = key

    def drop(self, port: int) -> None:
        self._keys.pop(port, None)

    def accept_unsigned(self, constant: object) -> None:
        """Take one fixed frame unsigned. The transport's acknowledgements are made before any key is known."""
        self._acknowledgements[pickle.dumps(constant)] = constant

    def seal(self, port: int, message: object) -> bytes:
        key = self._keys.get(port)
        if key is None:
            raise ForeignFrameError(f"this process holds no key for the system on port {port}")
        body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
        return hmac.digest(key, body, "sha256") + body

    def open(self, frame: bytes) -> object:
        constant = self._acknowledgements.get(frame)
        if constant is not None:
            return constant
        signature, body = frame[:SIGNATURE_LENGTH], frame[SIGNATURE_LENGTH:]
        for key in self._keys.values():
            if hmac.compare_digest(hmac.digest(key, body, "sha256"), signature):
                return pickle.loads(body)  # only what a holder of the key has written
        return self.refuse(f"an unsigned or foreign frame of {len(frame)} bytes")

    def refuse(self, what: str) -> NoReturn:
        """Count it, and tell the log of this process's first one. Raises `ForeignFrameError`."""
        self._refused += 1
        if self._refused == 1:
            log.warning("refused %s; later ones are only counted", what)
        raise ForeignFrameError(f"refused {what}: it is not signed with this system's key")

    @property
    def refused(self) -> int:
        return self._refused


KEYS = KeyRing()
