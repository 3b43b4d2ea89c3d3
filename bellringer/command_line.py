import click

from .actors.guardian import serve as run_guardian
from .actors.messages import Settings


@click.group()
def main() -> None: ...


@main.command()
@click.option("--database", default="bot.db", envvar="BELLRINGER_DATABASE")
@click.option("--name", default="bellringer")
@click.option("--handlers", multiple=True)
@click.option("--handler-actors", default=2)
@click.option("--places", default=100)
@click.option("--keep-days", default=30.0)
@click.option("--keep-occurrences", default=1_000_000)
@click.option("--restarts", default=10)
@click.option("--grace", default=10.0)
@click.option("--log-level", default="INFO")
@click.option("--host-memory", default=4096)
@click.option("--transport", default=None)
@click.option("--lifeline", type=int, default=None, hidden=True)
@click.option("--announce", type=int, default=None, hidden=True)
def serve(database, name, handlers, handler_actors, places, keep_days, keep_occurrences, restarts, grace, log_level, host_memory, transport, lifeline, announce):
    raise SystemExit(run_guardian(Settings(database=database, name=name, handlers=tuple(handlers), handler_actors=handler_actors, places=places, keep_days=keep_days, keep_occurrences=keep_occurrences, restarts=restarts, grace_us=int(grace*1e6), log_level=log_level, host_memory_mib=host_memory, transport=transport), lifeline=lifeline, announce=announce))
