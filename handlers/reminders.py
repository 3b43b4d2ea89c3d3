"""The sample bot's handler: it rings a reminder."""

from ..storage import door
from ..storage.values import ChatId
from . import telling
from .context import Context
from .outcomes import Park
from .registry import handler

RING = "bellringer.ring"

RUNG = "reminders_rung"
LAST = "last_reminder"
HIGHEST = "highest_reminder"


@handler(RING)
async def ring(ctx: Context, payload: object) -> Park | None:
    """Send `{"text": …}` to the job's chat, marked if it is late, and note it in the session."""
    text = payload.get("text") if isinstance(payload, dict) else None
    if not isinstance(text, str):
        return Park(f'{RING} needs the payload {{"text": "…"}}')
    late_by_us = door.delay_us(ctx.job.late_by, "late_by") if ctx.job.is_late else 0
    await ctx.reply(ringing(text, late_by_us))
    ctx.session[RUNG] = ctx.session.get(RUNG, 0) + 1
    ctx.session[LAST] = text
    ctx.session[HIGHEST] = max(ctx.session.get(HIGHEST, 0), number_of(ctx.job.id) or 0)
    return None


def ringing(text: str, late_by_us: int) -> str:
    return f"⏰ {text} ({telling.tell_duration(late_by_us, parts=1)} late)" if late_by_us else f"⏰ {text}"


def job_id(chat_id: ChatId, number: int) -> str:
    """The id of a chat's reminder: the number by which people know it is its last part."""
    return f"remind:{chat_id}:{number}"


def number_of(job_id: str) -> int | None:
    """The number in an id that `job_id` made; None for any other."""
    kind, _, rest = job_id.partition(":")
    number = rest.rpartition(":")[2]
    return int(number) if kind == "remind" and number.isdecimal() and len(number) <= 18 else None
