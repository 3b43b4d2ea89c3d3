"""A chat platform for tests: it keeps what it was sent, and fails when told to."""

from collections import deque
from itertools import count
from typing import NamedTuple

from ...storage.values import ChatId
from . import MessageId


class Sent(NamedTuple):
    """A message that was accepted."""

    chat_id: ChatId
    text: str
    message_id: MessageId
    thread_id: ChatId | None
    reply_to: MessageId | None
    options: dict[str, object]


class RecordedTransport:
    """Delivers to lists: `sent`, `edited` (chat, message, text) and `deleted` (chat, message)."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.edited: list[tuple[ChatId, MessageId, str]] = []
        self.deleted: list[tuple[ChatId, MessageId]] = []
        self.closed = False
        self._ids = count(1)
        self._failures: deque[BaseException | None] = deque()

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.sent]

    def fail_next(self, error: BaseException, times: int = 1) -> None:
        """Refuse the next sends with this error."""
        self._failures.extend([error] * times)

    def lose_next(self, times: int = 1) -> None:
        """Give no message id for the next sends."""
        self._failures.extend([None] * times)

    async def send(
        self,
        chat_id: ChatId,
        text: str,
        *,
        thread_id: ChatId | None = None,
        reply_to: MessageId | None = None,
        **options: object,
    ) -> MessageId | None:
        if self._failures:
            error = self._failures.popleft()
            if error is None:
                return None
            raise error
        message = Sent(chat_id, text, next(self._ids), thread_id, reply_to, options)
        self.sent.append(message)
        return message.message_id

    async def edit(self, chat_id: ChatId, message_id: MessageId, text: str, **options: object) -> None:
        self.edited.append((chat_id, message_id, text))

    async def delete(self, chat_id: ChatId, message_id: MessageId) -> None:
        self.deleted.append((chat_id, message_id))

    async def close(self) -> None:
        self.closed = True
