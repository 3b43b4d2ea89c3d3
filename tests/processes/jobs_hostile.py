"""Handlers that do to their process what a handler can do, and one that suffers from it."""

import asyncio
import contextlib
import ctypes
import os
import sys
import time
from pathlib import Path

from bellringer import Context, SyncContext, handler
from tests.processes.record import VARIABLE, Record, note


@handler("ok")
async def ok(ctx: Context, payload: object) -> None:
    pass


@handler("os._exit")
async def exit_at_once(ctx: Context, payload: object) -> None:
    os._exit(3)


@handler("sys.exit")
async def exit_politely(ctx: Context, payload: object) -> None:
    sys.exit(4)


@handler("KeyboardInterrupt")
def interrupt(ctx: SyncContext, payload: object) -> None:
    raise KeyboardInterrupt


@handler("surrogate")
async def fail_with_a_surrogate(ctx: Context, payload: object) -> None:
    raise RuntimeError("half a cake: \ud83c")


@handler("computes")
async def compute_for_ever(ctx: Context, payload: object) -> None:
    while True:
        pass


@handler("blocks")
async def block_the_loop(ctx: Context, payload: object) -> None:
    time.sleep(1000)


@handler("sleeps")
def sleep_in_a_thread(ctx: SyncContext, payload: object) -> None:
    time.sleep(1000)


@handler("stays")
async def swallow_cancellation(ctx: Context, payload: object) -> None:
    while True:
        with contextlib.suppress(BaseException):
            await asyncio.sleep(1000)


@handler("eats")
async def eat_memory(ctx: Context, payload: object) -> None:
    eaten = []
    while True:
        eaten.append(bytearray(50_000_000))


@handler("faults")
async def read_address_zero(ctx: Context, payload: object) -> None:
    note("start", ctx)
    ctypes.string_at(0)


@handler("moody")
async def fail_in_another_way_each_time(ctx: Context, payload: object) -> object:
    note("start", ctx)
    match Record(Path(os.environ[VARIABLE])).starts()[ctx.job.id]:
        case 1:
            raise RuntimeError("a fault")
        case 2:
            raise SystemExit
        case 3:
            raise asyncio.CancelledError
        case 4:
            return asyncio.sleep
        case _:
            return None


@handler("hangs")
async def hang(ctx: Context, payload: object) -> None:
    note("start", ctx)
    try:
        await asyncio.Event().wait()
    finally:
        note("end", ctx)
