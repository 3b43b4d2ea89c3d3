"""The options that every command takes, and the border at which errors become sentences and exit codes."""

import errno
import json
import math
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

import click

from ..actors.core import TIMEOUT_S
from ..actors.errors import RequestRefusedError, SchedulerUnavailableError
from ..actors.views import Json
from ..storage import door
from ..storage.errors import BellringerError, InvalidJobError
from ..storage.values import ChatId
from . import records
from .phrases import safe

DONE, REFUSED, USAGE, NOT_RUNNING, INTERRUPTED = 0, 1, 2, 3, 130
DEFAULT_DATABASE = "bot.db"
UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
TRACEBACK = "BELLRINGER_TRACEBACK"

Function = TypeVar("Function", bound=Callable[..., object])


@dataclass(slots=True)
class Common:
    """What was said before or after the command's name; what comes later stands."""

    database: str = field(default_factory=lambda: os.environ.get("BELLRINGER_DATABASE") or DEFAULT_DATABASE)
    name: str | None = None
    json: bool = False
    timeout: float = TIMEOUT_S
    offline: bool = False


class NoSchedulerError(BellringerError):
    """No scheduler runs."""


class NoDatabaseError(NoSchedulerError):
    """No scheduler runs, and there is not even a database."""


class OutputError(BellringerError):
    """What was to be told can't be written."""


class NotFoundError(BellringerError):
    """No job has this id."""


class Number(click.FloatRange):
    """A number in a range. NaN, which no comparison refuses, is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


class CommandLine(click.Group):
    """The group of all commands. Calling it ends the process, with 0 done, 1 refused, 2 usage or 3 not running."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: object,
    ) -> NoReturn:
        given = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in (given[: given.index("--")] if "--" in given else given)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        if sys.stdout is None:
            _tell_error("output", "standard output is closed: send it somewhere, such as to /dev/null", as_json)
            sys.exit(REFUSED)
        _keep_places_of_closed_streams()
        try:
            code = super().main(given, prog_name, complete_var, standalone_mode=False, **extra)
            sys.exit(code if isinstance(code, int) else DONE)
        except click.ClickException as error:
            if as_json:
                _tell_error(
                    "usage" if isinstance(error, click.UsageError) else "failed", error.format_message(), as_json
                )
            else:
                error.show()
            sys.exit(error.exit_code)
        except click.Abort:
            sys.exit(INTERRUPTED)
        except BellringerError as error:
            _tell_error(code_of(error), str(error), as_json)
            sys.exit(NOT_RUNNING if isinstance(error, (NoSchedulerError, SchedulerUnavailableError)) else REFUSED)
        except OSError as error:
            if error.errno in UNWRITABLE and error.filename is None:  # the help, say, which click itself writes
                _throw_output_away()
                _tell_error("output", str(_unwritable(error)), as_json)
            else:
                _tell_unexpected(error, as_json)
            sys.exit(REFUSED)
        except Exception as error:  # noqa: BLE001  the border to the person, who is told no traceback unasked
            _tell_unexpected(error, as_json)
            sys.exit(REFUSED)


def common_options(function: Function) -> Function:
    """`--database`, `--name`, `--json` and `--timeout`, kept in the context's `Common`."""
    seconds = Number(0.01, 3_600)
    for option in (
        _kept("--timeout", "How long to wait for an answer; 10 without it.", metavar="SECONDS", kind=seconds),
        _kept("--json", "Print JSON: instants in RFC 3339 UTC, durations in seconds."),
        _kept("--name", "The scheduler's name; another one is refused.", metavar="NAME", kind=click.STRING),
        _kept(
            "--database", "The database; BELLRINGER_DATABASE or bot.db without it.", metavar="FILE", kind=click.STRING
        ),
    ):
        function = option(function)
    return function


def offline_option(function: Function) -> Function:
    return _kept("--offline", "Use the file itself, not the scheduler.")(function)


def _kept(
    name: str, text: str, *, metavar: str | None = None, kind: "click.ParamType[Any] | None" = None
) -> Callable[[Function], Function]:
    """An option whose value goes to the context's `Common`; a flag where it has no kind."""
    return click.option(
        name,
        metavar=metavar,
        type=kind,
        help=text,
        is_flag=kind is None,
        default=None,
        expose_value=False,
        callback=_keep,
    )


def chat_id(context: click.Context, parameter: click.Parameter, value: str | None) -> ChatId | None:
    """`42` and `-100` are numbers; anything else, and whatever follows `text:`, is text."""
    if value is None:
        return None
    number = re.fullmatch(r"-?[0-9]{1,40}", value)
    try:
        return door.chat_key(int(value) if number else value.removeprefix("text:"), "the chat")
    except InvalidJobError as error:
        raise click.BadParameter(safe(str(error)), context, parameter) from None


def code_of(error: BellringerError) -> str:
    """A name for programs, such as `not_found` or `storage_corrupt`."""
    if isinstance(error, RequestRefusedError):
        return error.code
    name = type(error).__name__.removesuffix("Error")
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _keep(context: click.Context, parameter: click.Parameter, value: object) -> None:
    common = context.ensure_object(Common)
    if value == "":
        raise click.BadParameter("must not be empty", context, parameter)
    if value is not None and parameter.name is not None:
        setattr(common, parameter.name, value)


def _tell_error(code: str, sentence: str, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"error": {"code": code, "message": sentence}}), err=True)
    else:
        click.echo(f"bellringer: {safe(sentence)}", err=True)


def _tell_unexpected(error: Exception, as_json: bool) -> None:
    if os.environ.get(TRACEBACK):
        traceback.print_exc()
    sentence = f"failed unexpectedly: {type(error).__name__}: {error} (set {TRACEBACK}=1 to see where)"
    _tell_error("unexpected", sentence, as_json)


def _throw_output_away() -> None:
    """What is left in the buffer must not fail once more at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unwritable(error: OSError) -> OutputError:
    return OutputError(f"standard output can't be written ({error.strerror}): give it another")


def _keep_places_of_closed_streams() -> None:
    """A file that took the place of standard input or error would be written to, or closed, by mistake."""
    for descriptor in (0, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def tell(common: Common, lines: Sequence[str], record: Json) -> None:
    """Print the lines for a person, or with `--json` the record."""
    if not common.json and not lines:
        return
    try:
        click.echo(records.text(record) if common.json else "\n".join(lines))
    except BrokenPipeError:
        _throw_output_away()  # whoever read has seen enough
    except OSError as error:
        _throw_output_away()
        raise _unwritable(error) from error


def footer(common: Common) -> list[str]:
    return ["", f"Read from the file {safe(common.database)}, not from a scheduler."] if common.offline else []


def not_found(job_id: str) -> NotFoundError:
    return NotFoundError(f"job {job_id!r} is not there: see `bellringer pending` and `bellringer history`")
