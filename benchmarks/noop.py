"""Handlers that do nothing, for the handler actors of a benchmark."""

from bellringer import Context, handler


@handler("noop")
async def noop(_context: Context, _payload: object) -> None:
    return None
