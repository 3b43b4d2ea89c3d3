"""`bellringer`: run a scheduler on a database, and look at what it does."""

import click

from .actors.version import VERSION
from .commands import changing, holding, looking, previewing, serving
from .commands.options import CommandLine, common_options


@click.group(cls=CommandLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="bellringer")
@common_options
def main() -> None:
    """Run a scheduler on a database, and look at what it does.

    An id that begins with a dash comes after `--`, as in `bellringer cancel -- --odd`.

    Exit codes: 0 done, 1 refused or not found, 2 usage, 3 no scheduler runs.
    """


for command in (
    *(serving.serve, looking.pending, looking.show, looking.explain, looking.history, previewing.next_),
    *(changing.cancel, changing.run_now, changing.redrive),
    *(holding.pause, holding.resume, holding.skip_next, holding.snooze, holding.zone),
    *(looking.health, looking.sessions, looking.check),
):
    main.add_command(command)
