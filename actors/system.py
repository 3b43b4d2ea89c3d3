"""One actor system as seen from outside: joining it, finding an actor by name, asking with an answer of one's own."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from thespian.actors import ActorAddress, ActorSystem, WatchMessage

from . import corrections
from .corrections import NoSystemError
from .frames import KEYS

BASE = "multiprocTCPBase"
Answer = TypeVar("Answer")


def start_system(port: int, key: bytes) -> ActorSystem:
    """Start an admin on this port, as the guardian does."""
    corrections.apply()
    KEYS.hold(port, key)
    with corrections.starting_a_system():
        return ActorSystem(BASE, {"Admin Port": port}, _log_nothing(), transientUnique=True)


def join_system(port: int, key: bytes) -> ActorSystem:
    """Join a running system. Raises `NoSystemError`; never starts one."""
    corrections.apply()
    KEYS.hold(port, key)
    try:
        return ActorSystem(BASE, {"Admin Port": port}, None, transientUnique=True)
    except NoSystemError:
        raise
    except Exception as error:  # the library raises bare errors of several kinds from here
        raise NoSystemError(f"the system on port {port} does not answer: {error}") from error


def find_actor(context: Any, admin: ActorAddress, name: str, timeout_s: float) -> ActorAddress | None:
    """The address of a named actor. Asking for it by creating would create one."""
    from thespian.system.messages.status import Thespian_StatusReq

    status = context.ask(admin, Thespian_StatusReq(), timeout_s)
    for known, address in getattr(status, "globalActors", {}).items():
        if known == name:
            found: ActorAddress = address
            return found
    return None


def ask(
    context: Any, address: ActorAddress, message: object, kind: type[Answer], timeout_s: float, clock: Callable[[], int]
) -> Answer | None:
    """Ask, and wait for an answer of this kind; whatever else arrives is a late answer to somebody else."""
    until = clock() + int(timeout_s * 1e6)
    answer = context.ask(address, message, timeout_s)
    while answer is not None and not isinstance(answer, kind):
        left = (until - clock()) / 1e6
        answer = context.listen(left) if left > 0 else None
    return answer


def tell(base: Any, address: ActorAddress, message: object) -> Any:
    """Begin to send from a context; its `listen` does the rest. The result's `failed` says that nobody was there."""
    return base._tx_to_actor(address, message)


def listen(base: Any, timeout_s: float, clock: Callable[[], int]) -> object:
    """The next message to a context; None after the timeout, or at once when a watched descriptor is readable."""
    from thespian.system import isInternalActorSystemMessage
    from thespian.system.transport import ReceiveEnvelope

    until = clock() + int(timeout_s * 1e6)
    while True:
        received = base._run_transport(timedelta(microseconds=max(0, until - clock())))
        if not isinstance(received, ReceiveEnvelope) or isinstance(received.message, WatchMessage):
            return None
        if not isInternalActorSystemMessage(received.message):
            message: object = received.message
            return message


def _log_nothing() -> dict[str, Any]:
    return {"version": 1, "root": {"level": "CRITICAL", "handlers": []}, "disable_existing_loggers": False}
