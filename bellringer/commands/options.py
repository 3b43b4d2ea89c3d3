"""The options that every command takes, and the border at which errors become sentences and exit codes."""

import json
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
from ..storage import door
from ..storage.errors import BellringerError, InvalidJobError
from ..storage.values import ChatId
from . import records
from .phrases import safe
from .records import Record

DONE, REFUSED, USAGE, NOT_RUNNING, INTERRUPTED = 0, 1, 2, 3, 130
DEFAULT_DATABASE = "bot.db"
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


class NotFoundError(BellringerError):
    """No job has this id."""


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
        except Exception as error:  # noqa: BLE001  the border to the person, who is told no traceback unasked
            if os.environ.get(TRACEBACK):
                traceback.print_exc()
            sentence = f"failed unexpectedly: {type(error).__name__}: {error} (set {TRACEBACK}=1 to see where)"
            _tell_error("unexpected", sentence, as_json)
            sys.exit(REFUSED)

    def invoke(self, ctx: click.Context) -> object:
        try:
            told: object = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # Whoever read has seen enough. What is left in the buffer must not fail again at the exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return DONE
        return told


def common_options(function: Function) -> Function:
    """`--database`, `--name`, `--json` and `--timeout`, kept in the context's `Common`."""
    seconds = click.FloatRange(0.01, 3_600)
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


def tell(common: Common, lines: Sequence[str], record: Record) -> None:
    """Print the lines for a person, or with `--json` the record."""
    if common.json:
        click.echo(records.text(record))
    elif lines:
        click.echo("\n".join(lines))


def footer(common: Common) -> list[str]:
    return ["", f"Read from the file {safe(common.database)}, not from a scheduler."] if common.offline else []


def not_found(job_id: str) -> NotFoundError:
    return NotFoundError(f"job {job_id!r} is not there: see `bellringer pending` and `bellringer history`")
