"""What the handlers sent."""

from typing import NamedTuple

import pendulum

from ..actors.views import moment
from ..handlers.environment import Clock
from ..handlers.transports import MessageId
from ..handlers.transports.recorded import RecordedTransport
from ..storage.values import ChatId


class SentMessage(NamedTuple):
    """A message that the recorded platform accepted, and when."""

    chat_id: ChatId
    text: str
    at: pendulum.DateTime
    message_id: MessageId
    thread_id: ChatId | None
    reply_to: MessageId | None
    options: dict[str, object]


class DriveTransport(RecordedTransport):
    """A `RecordedTransport` that also notes the time. Shared by all hosts of a drive."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self.messages: list[SentMessage] = []

    async def send(
        self,
        chat_id: ChatId,
        text: str,
        *,
        thread_id: ChatId | None = None,
        reply_to: MessageId | None = None,
        **options: object,
    ) -> MessageId | None:
        sent = await super().send(chat_id, text, thread_id=thread_id, reply_to=reply_to, **options)
        if sent is not None:
            at = moment(self._clock.wall())
            self.messages.append(SentMessage(chat_id, text, at, sent, thread_id, reply_to, options))
        return sent

    async def close(self) -> None:
        """It outlives each host."""
