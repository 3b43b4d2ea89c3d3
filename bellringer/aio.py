"""The same as `bellringer`, awaitable: `await bellringer.aio.connect("bot.db").persisted(...)`."""

import asyncio
import os
from typing import Unpack

from . import DEFAULT_DATABASE, StartOptions, settings_for, started
from .actors.async_client import AsyncSchedulerHandle
from .actors.core import Core


def connect(database: str | os.PathLike[str] = DEFAULT_DATABASE, *, name: str | None = None) -> AsyncSchedulerHandle:
    """A handle on the scheduler that runs on this database. Nothing is checked before its first use."""
    return AsyncSchedulerHandle(Core(database, name))


async def start(
    database: str | os.PathLike[str] = DEFAULT_DATABASE, **options: Unpack[StartOptions]
) -> AsyncSchedulerHandle:
    """Have a scheduler running on this database, as `bellringer.start`, and give a handle on it."""
    return AsyncSchedulerHandle(await asyncio.to_thread(started, settings_for(database, options)))


__all__ = ["AsyncSchedulerHandle", "connect", "start"]
