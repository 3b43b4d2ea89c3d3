"""What the end of a handler means. Pure functions of what it returned or raised."""

import inspect
import traceback
from typing import NamedTuple

from . import text
from .errors import ContextError
from .outcomes import HandlerOutcome, Park, Retry


class Verdict(NamedTuple):
    """The part of a `RunResult` that the handler's end decides."""

    name: str
    after_us: int | None = None
    reason: str | None = None
    traceback: str | None = None

    @property
    def keeps_session(self) -> bool:
        return self.name in ("done", "retry", "park")


DONE = Verdict("done")


def of_value(value: object) -> Verdict:
    """None is done, `Retry` and `Park` mean themselves, and anything else is a mistake worth telling."""
    if value is None:
        return DONE
    if isinstance(value, Retry):
        return Verdict("retry", value.after_us, text.beginning(value.reason) or None)
    if isinstance(value, Park):
        return Verdict("park", reason=text.beginning(value.reason))
    if inspect.iscoroutine(value):
        value.close()
        advice = "put await before the call that made it, or make the handler async def"
    elif isinstance(value, type) and issubclass(value, HandlerOutcome):
        advice = f"return {value.__name__}(…) with its parentheses"
    else:
        advice = "return nothing, Retry(…) or Park(…), and keep values in ctx.session"
    return failed(f"the handler returned {_type_name(value)}: {advice}")


def of_error(error: BaseException) -> Verdict:
    """A raised outcome means itself; an error of the context is nobody's failure; everything else is the handler's."""
    if isinstance(error, HandlerOutcome):
        return of_value(error)
    if isinstance(error, ContextError):
        return Verdict("context_failed", reason=reason(error), traceback=trace(error))
    return failed(reason(error), trace(error))


def failed(reason: str, trace: str | None = None) -> Verdict:
    return Verdict("failed", reason=text.beginning(reason), traceback=trace)


def reason(error: BaseException) -> str:
    """The error's kind and message on one short piece of storable text."""
    try:
        message = str(error)
    # A border: the message is made by code of the bot's author, which may fail in any way.
    except BaseException as broken:  # noqa: BLE001
        message = f"(its message could not be made: {type(broken).__name__})"
    return text.beginning(f"{type(error).__name__}: {message}" if message else type(error).__name__)


def trace(error: BaseException) -> str:
    """The traceback as storable text, its end kept, without the frames of the machinery at its start."""
    inner = error.__traceback__
    while inner is not None and inner.tb_frame.f_globals.get("__package__") == __package__:
        inner = inner.tb_next
    lines = traceback.format_exception(type(error), error, inner or error.__traceback__)
    return text.end("".join(lines))


def _type_name(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a value of type {type(value).__name__}"
