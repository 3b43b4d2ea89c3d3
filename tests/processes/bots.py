"""Bots that schedule as fast as they can, and remember what was acknowledged."""

import random
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import bellringer
from tests.processes.ledger import Acknowledged
from tests.processes.waiting import until

DELAYS_S = (0.0, 0.0, 0.05, 0.3)
CHATS = 50


class Bot(threading.Thread):
    def __init__(self, database: Path, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.acknowledged: list[Acknowledged] = []
        self.failure: BaseException | None = None
        self.ending = threading.Event()
        self._database = database

    def run(self) -> None:
        try:
            self._schedule_on_and_on()
        except BaseException as error:
            self.failure = error
            raise

    def _schedule_on_and_on(self) -> None:
        chance = random.Random(self.name)
        with bellringer.connect(self._database) as scheduler:
            number = 0
            while not self.ending.wait(0.002):
                number += 1
                job = Acknowledged(f"{self.name}:{number}", chance.choice(["at_most_once", "at_least_once"]))
                scheduler.schedule(
                    chance.choice(["quick", "slow", "plain"]),
                    id=job.job_id,
                    after=chance.choice(DELAYS_S),
                    chat_id=chance.randrange(CHATS),
                    delivery=job.delivery,
                    timeout=20.0,
                )
                self.acknowledged.append(job)


class Bots:
    """Several of them, each in a thread and with a handle of its own, until the block is left."""

    def __init__(self, database: Path, count: int = 2) -> None:
        self._bots = [Bot(database, f"bot {number}") for number in range(count)]

    @property
    def acknowledged(self) -> Sequence[Acknowledged]:
        return [job for bot in self._bots for job in bot.acknowledged]

    def go_on(self, jobs: int) -> None:
        """Wait until so many more are acknowledged."""
        enough = len(self.acknowledged) + jobs
        until(lambda: len(self.acknowledged) >= enough, f"{jobs} more jobs are scheduled")

    def __enter__(self) -> Self:
        for bot in self._bots:
            bot.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for bot in self._bots:
            bot.ending.set()
        for bot in self._bots:
            bot.join(30.0)
            if error is None:
                assert bot.failure is None
                assert not bot.is_alive()
