"""Handlers that every host has once this module is imported."""

from .context import Context
from .outcomes import Park
from .registry import handler

SEND = "bellringer.send"


@handler(SEND)
async def send(ctx: Context, payload: object) -> Park | None:
    """Send `{"text": …}` to the job's chat and thread; `options`, a dict, go to the transport as they are."""
    text = payload.get("text") if isinstance(payload, dict) else None
    options = payload.get("options", {}) if isinstance(payload, dict) else None
    if not isinstance(text, str) or not isinstance(options, dict):
        return Park(f'{SEND} needs the payload {{"text": "…"}}, if need be with "options": {{…}}')
    await ctx.reply(text, **options)
    return None
