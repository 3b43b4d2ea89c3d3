"""Bots as processes of their own. Run as `python -m tests.processes.scripts NAME ARGUMENTS`, in the test's folder."""

import os
import random
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Self
from unittest.mock import patch

import bellringer
from bellringer import Context, Registry, SchedulerHandle, handler
from bellringer.actors import guardian
from bellringer.actors.folder import free_port
from bellringer.actors.guardian import Guardian
from bellringer.actors.messages import Settings
from tests.processes import jobs_recorded
from tests.processes.record import note

DATABASE = "bot.db"
READY = "ready"
ACKNOWLEDGED = "acknowledged"
"""The file in which bots write down the jobs whose `schedule` has returned."""


class Script:
    """One of the bots below, ready. It goes on until its input ends; leaving the block kills it where it has not."""

    def __init__(self, name: str, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.processes.scripts", name, *arguments],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_until_ready(self) -> None:
        assert self.process.stdout is not None
        if self.process.stdout.readline().strip() != READY:
            raise AssertionError(f"the bot has failed: {self.process.communicate(timeout=30)[1]}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> str:
        """End its input, and wait until it has ended. What it wrote to standard error."""
        _, error = self.process.communicate(timeout=30)
        return error

    def __enter__(self) -> Self:
        try:
            self.wait_until_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def ready_until_the_input_ends() -> None:
    _tell_ready()
    sys.stdin.read()


def _tell_ready(*_: int) -> None:
    sys.stdout.write(f"{READY}\n")
    sys.stdout.flush()


def keeps_a_function() -> None:
    """Has one job in memory."""
    scheduler = bellringer.connect(DATABASE)
    scheduler.run_every(3_600, lambda: None)
    ready_until_the_input_ends()


def lends_itself(name: str) -> None:
    """A host for the recorded handlers, and for one that only it knows."""
    registry = Registry()

    @handler(f"only {name}", registry=registry)
    async def only_here(ctx: Context, payload: object) -> None:
        note("start", ctx)

    handler("gated", registry=registry)(jobs_recorded.gated)
    scheduler = bellringer.connect(DATABASE)
    scheduler.attach(registry=registry)
    ready_until_the_input_ends()
    scheduler.stop()


def schedules_on_and_on(name: str, attached: str) -> None:
    """Schedules without a pause, and writes down what was acknowledged, until a line comes; it stays a host after that.

    Where `attached` is "attached" it is the host of the handler "own"."""
    scheduler = bellringer.connect(DATABASE)
    if attached == "attached":
        registry = Registry()
        handler("own", registry=registry)(jobs_recorded.slow)
        scheduler.attach(registry=registry)
        scheduler.run_every(0.05, lambda: None)
    chance = random.Random(name)
    written = os.open(ACKNOWLEDGED, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    _tell_ready()
    number = 0
    while not select.select([sys.stdin], [], [], 0.002)[0]:
        number += 1
        job_id, delivery = f"{name} {os.getpid()}:{number}", chance.choice(["at_most_once", "at_least_once"])
        scheduler.schedule(
            chance.choice(["quick", "slow", "plain", "own"]),
            id=job_id,
            after=chance.choice([0.0, 0.0, 0.05, 0.5, 1.5]),
            chat_id=chance.randrange(50),
            delivery=delivery,
            timeout=30.0,
        )
        os.write(written, f"{job_id}\t{delivery}\n".encode())
    sys.stdin.readline()
    ready_until_the_input_ends()
    scheduler.stop()


def serves_after_its_port_was_taken() -> None:
    """A guardian to which it happens that somebody else gets the port that it has looked up."""
    settings = Settings(database=DATABASE, name="bellringer", handlers=())
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        found = chain([other.getsockname()[1]], iter(free_port, 0))
        with patch.object(guardian, "free_port", lambda: next(found)):
            Guardian(settings, lifeline=sys.stdin.fileno(), ready=_tell_ready).run()


def starts_and_schedules(name: str, jobs: str, spread_s: str) -> None:
    """Wants a system, whoever starts it, and schedules its part."""
    with _started() as scheduler:
        scheduler.schedule_many(
            {
                "handler": "quick",
                "id": f"{name}:{number}",
                "after": float(spread_s) * number / int(jobs),
                "delivery": "at_least_once",
            }
            for number in range(int(jobs))
        )
        ready_until_the_input_ends()


def ends_without_stop(how: str) -> None:
    """Leaves everything as it is: jobs, a function in memory, and itself as a host."""
    scheduler = _started()
    scheduler.attach(registry=Registry())
    scheduler.run_every(0.05, lambda: None)
    scheduler.schedule("quick", id="last words", after=0)
    if how == "raises":
        raise RuntimeError("out of ideas")
    if how == "exits":
        sys.exit(7)


def _started() -> SchedulerHandle:
    return bellringer.start(DATABASE, handlers=["tests.processes.jobs_recorded"], restarts=1_000, grace=1.0)


SCRIPTS: dict[str, Callable[..., None]] = {
    script.__name__: script
    for script in (
        keeps_a_function,
        lends_itself,
        schedules_on_and_on,
        serves_after_its_port_was_taken,
        starts_and_schedules,
        ends_without_stop,
    )
}

if __name__ == "__main__":
    SCRIPTS[sys.argv[1]](*sys.argv[2:])
