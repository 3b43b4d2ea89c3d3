"""The errors of handlers and of what they are given."""

from ..storage.errors import BellringerError


class HandlerRegistrationError(BellringerError, ValueError):
    """A handler or dependency was refused when it was registered."""


class HandlerImportError(BellringerError, ImportError):
    """A module that should register handlers could not be imported."""


class ContextError(BellringerError):
    """What a handler needs could not be built. The run is tried again later; the handler is not to blame."""


class SessionUnreadableError(ContextError):
    """The stored session is not a JSON object."""


class DependencyError(ContextError):
    """A dependency is not registered, or could not be built."""


class UndeclaredDependencyError(BellringerError, LookupError):
    """A handler reached for a dependency that it does not declare."""


class SessionValueError(BellringerError, ValueError):
    """A session was given something that JSON can't hold exactly."""


class NoConversationError(BellringerError):
    """A scheduled handler tried to wait for somebody's answer."""


class NoTransportError(BellringerError):
    """A handler tried to send, and its host has no transport."""


class NoChatError(BellringerError):
    """A handler tried to reply, and its job belongs to no chat."""


class NotDeliveredError(BellringerError):
    """The transport gave no message id, so nobody knows that the message arrived."""


class RunEndedError(BellringerError):
    """A handler that was given up went on using its context."""
