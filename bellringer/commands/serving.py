"""The command that runs a scheduler in the foreground."""

import os
import sys
from collections.abc import Sequence

import click

from ..actors.guardian import Guardian
from ..actors.guardian import serve as run_guardian
from ..actors.messages import Settings
from .options import DONE, Common, Number, common_options, tell
from .phrases import safe
from .records import Record

DEFAULT_NAME = "bellringer"


@click.command()
@click.option(
    "--handlers",
    metavar="MODULE",
    multiple=True,
    help="A module with handlers, which each handler actor imports. Repeatable.",
)
@click.option(
    "--handler-actors", default=2, show_default=True, type=click.IntRange(0, 256), help="Processes that run handlers."
)
@click.option(
    "--places",
    default=100,
    show_default=True,
    type=click.IntRange(1, 10_000),
    help="Jobs that each of them runs at once.",
)
@click.option("--transport", metavar="MODULE:NAME", help="Where handlers send their messages.")
@click.option(
    "--keep-days",
    default=30.0,
    show_default=True,
    type=Number(0, 36_500),
    help="Days for which what happened is kept.",
)
@click.option(
    "--keep-occurrences",
    default=1_000_000,
    show_default=True,
    type=click.IntRange(0),
    help="How much of it is kept at most.",
)
@click.option(
    "--restarts",
    default=10,
    show_default=True,
    type=click.IntRange(0),
    help="Restarts within a minute before giving up.",
)
@click.option(
    "--grace",
    default=10.0,
    show_default=True,
    type=Number(0, 3_600),
    help="Seconds that running handlers get at the end.",
)
@click.option(
    "--host-memory",
    metavar="MIB",
    default=4_096,
    show_default=True,
    type=click.IntRange(64),
    help="Memory beyond which a handler actor is replaced.",
)
@click.option(
    "--log-level",
    default="INFO",
    show_default=True,
    type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"], case_sensitive=False),
)
@click.option("--lifeline", type=int, hidden=True)
@click.option("--announce", type=int, hidden=True)
@click.option("--must-exist", is_flag=True, hidden=True)
@common_options
@click.pass_obj
def serve(
    common: Common,
    *,
    handlers: Sequence[str],
    handler_actors: int,
    places: int,
    transport: str | None,
    keep_days: float,
    keep_occurrences: int,
    restarts: int,
    grace: float,
    host_memory: int,
    log_level: str,
    lifeline: int | None,
    announce: int | None,
    must_exist: bool,
) -> int:
    """Run a scheduler in the foreground, until Ctrl-C or SIGTERM.

    Where no database is, it makes one. Modules of the current folder can be named with --handlers.
    """
    if transport is not None and not handlers:
        raise click.UsageError("--transport is for the handlers of handler actors: name them with --handlers")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    settings = Settings(
        database=common.database,
        name=common.name or DEFAULT_NAME,
        handlers=tuple(handlers),
        handler_actors=handler_actors,
        places=places,
        keep_days=keep_days,
        keep_occurrences=keep_occurrences,
        restarts=restarts,
        grace_us=int(grace * 1e6),
        transport=transport,
        log_level=log_level.upper(),
        host_memory_mib=host_memory,
        must_exist=must_exist,
    )
    if announce is not None:
        # Whoever started this reads standard error to its end, and from here on gets all reasons by the announcement.
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        return run_guardian(settings, lifeline=lifeline, announce=announce)
    told: Record = {"database": settings.database, "name": settings.name, "process": os.getpid()}

    def ready(port: int) -> None:
        sentence = f"serving {settings.database} as {settings.name!r}; press Ctrl-C to stop"
        tell(common, [safe(sentence)], {"event": "serving", **told, "port": port})

    Guardian(settings, lifeline=lifeline, ready=ready).run()
    tell(common, [safe(f"stopped serving {settings.database}")], {"event": "stopped", **told})
    return DONE
