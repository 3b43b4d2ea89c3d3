"""Handlers that behave, and leave a note of each call."""

import asyncio
from pathlib import Path

from bellringer import Context, SyncContext, handler
from tests.processes.record import note


@handler("quick")
async def quick(ctx: Context, payload: object) -> None:
    note("start", ctx)


@handler("slow")
async def slow(ctx: Context, payload: object) -> None:
    note("start", ctx)
    await asyncio.sleep(0.05)


@handler("half_a_second")
async def half_a_second(ctx: Context, payload: object) -> None:
    note("start", ctx)
    await asyncio.sleep(0.5)


@handler("endless")
async def endless(ctx: Context, payload: object) -> None:
    note("start", ctx)
    await asyncio.Event().wait()


@handler("gated")
async def gated(ctx: Context, payload: object) -> None:
    """Runs until the file exists that the payload names."""
    note("start", ctx)
    gate = Path(str(payload))
    while not gate.exists():
        await asyncio.sleep(0.01)


@handler("plain")
def plain(ctx: SyncContext, payload: object) -> None:
    note("start", ctx)
