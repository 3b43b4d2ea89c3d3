"""Where messages go: the one thing a host needs to know about a chat platform."""

from typing import Protocol

from ...storage.values import ChatId

MessageId = int | str


class Transport(Protocol):
    """A way to a chat platform. Used on its host's event loop.

    An implementation raises when the platform refuses or nobody knows what happened. It may raise `Retry`
    where the platform says when to come back: unless the handler catches it, the run is then tried again.
    """

    async def send(
        self,
        chat_id: ChatId,
        text: str,
        *,
        thread_id: ChatId | None = None,
        reply_to: MessageId | None = None,
        **options: object,
    ) -> MessageId | None:
        """Send, and return the id that the platform gave. None means that it gave none: not delivered."""
        ...

    async def edit(self, chat_id: ChatId, message_id: MessageId, text: str, **options: object) -> None: ...

    async def delete(self, chat_id: ChatId, message_id: MessageId) -> None: ...

    async def close(self) -> None: ...
