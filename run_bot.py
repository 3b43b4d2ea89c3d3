"""A bot that keeps reminders, in this terminal. A template: copy it, and put your own handlers in."""

import argparse
import os
import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C also ends it quietly while the rest is imported.

from pendulum.tz import get_local_timezone  # noqa: E402

import bellringer  # noqa: E402
from bellringer.handlers.chat_commands import Chat  # noqa: E402
from bellringer.handlers.transports.terminal import Terminal  # noqa: E402
from bellringer.storage.rules import is_zone  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description="Chat with a bot that keeps reminders, in this terminal.")
    parser.add_argument(
        "--database",
        metavar="FILE",
        default=os.environ.get("BELLRINGER_DATABASE") or bellringer.DEFAULT_DATABASE,
        help="where it remembers (default: $BELLRINGER_DATABASE, or bot.db)",
    )
    database = parser.parse_args().database
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        run(database)
    except (bellringer.BellringerError, ValueError) as error:  # ValueError: of the database's name
        sys.exit(f"run_bot: {error}")
    except KeyboardInterrupt:
        pass


def run(database: str) -> None:
    terminal = Terminal()
    here = get_local_timezone().name
    zone = here if is_zone(here) else "UTC"
    with bellringer.start(database) as scheduler:
        scheduler.attach(["bellringer.handlers.reminders"], transport=terminal)
        chat = Chat(scheduler, zone)
        if terminal.is_terminal:
            terminal.say(f"I keep reminders, in the time of {chat.zone}. /help shows what I understand.")
        for line in terminal.lines():
            try:
                answer = chat.answer(line, bellringer.clock.wall())
            except bellringer.BellringerError as error:
                answer = f"That did not work: {error}"
            if answer:
                terminal.say(answer)


if __name__ == "__main__":
    main()
