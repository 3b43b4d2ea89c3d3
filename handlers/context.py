"""What a handler is given, in two kinds with one vocabulary: `Context` to await, `SyncContext` for plain `def`."""

import asyncio
import concurrent.futures
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ..storage.values import ChatId, RunOrder
from .base_context import BaseContext
from .dependencies import NOTHING_DECLARED, Dependency
from .sessions import Session
from .transports import MessageId

if TYPE_CHECKING:
    from .environment import Environment

T = TypeVar("T")


class Context(BaseContext):
    """What an `async def` handler is given."""

    __slots__ = ()

    async def reply(self, text: str, *, reply_to: MessageId | None = None, **options: object) -> MessageId:
        """Send to the job's chat and thread; the message's id. `options` go to the transport as they are.

        Raises `NotDeliveredError`, `NoChatError`, `NoTransportError`, or what the transport raises.
        """
        return await self._deliver(self._here(), text, self._order.thread_id, reply_to, options)

    async def send(
        self,
        chat_id: ChatId,
        text: str,
        *,
        thread_id: ChatId | None = None,
        reply_to: MessageId | None = None,
        **options: object,
    ) -> MessageId:
        """Send to any chat; the message's id."""
        return await self._deliver(chat_id, text, thread_id, reply_to, options)

    async def edit(self, message_id: MessageId, text: str, *, chat_id: ChatId | None = None, **options: object) -> None:
        """Change a message of the job's chat, or of another."""
        transport = self._transport()
        await transport.edit(self._here() if chat_id is None else chat_id, message_id, text, **options)

    async def delete(self, message_id: MessageId, *, chat_id: ChatId | None = None) -> None:
        """Delete a message of the job's chat, or of another."""
        await self._transport().delete(self._here() if chat_id is None else chat_id, message_id)

    async def dependency(self, name: str) -> Dependency:
        """A dependency that the handler does not declare, built now if this host has not built it yet."""
        return await self._environment.dependencies.get(name)


class SyncContext(BaseContext):
    """What a plain `def` handler is given in its thread. What sends, blocks until it is sent."""

    __slots__ = ("_loop", "_waiting", "_whole")

    def __init__(
        self,
        order: RunOrder,
        environment: "Environment",
        session: Session | None = None,
        dependencies: Mapping[str, Dependency] = NOTHING_DECLARED,
    ) -> None:
        super().__init__(order, environment, session, dependencies)
        self._loop = asyncio.get_running_loop()
        self._waiting: set[concurrent.futures.Future[Any]] = set()

    def reply(self, text: str, *, reply_to: MessageId | None = None, **options: object) -> MessageId:
        """Send to the job's chat and thread; the message's id. See `Context.reply`."""
        return self._wait(self._deliver(self._here(), text, self._order.thread_id, reply_to, options))

    def send(
        self,
        chat_id: ChatId,
        text: str,
        *,
        thread_id: ChatId | None = None,
        reply_to: MessageId | None = None,
        **options: object,
    ) -> MessageId:
        """Send to any chat; the message's id."""
        return self._wait(self._deliver(chat_id, text, thread_id, reply_to, options))

    def edit(self, message_id: MessageId, text: str, *, chat_id: ChatId | None = None, **options: object) -> None:
        """Change a message of the job's chat, or of another."""
        transport = self._transport()
        self._wait(transport.edit(self._here() if chat_id is None else chat_id, message_id, text, **options))

    def delete(self, message_id: MessageId, *, chat_id: ChatId | None = None) -> None:
        """Delete a message of the job's chat, or of another."""
        self._wait(self._transport().delete(self._here() if chat_id is None else chat_id, message_id))

    def dependency(self, name: str) -> Dependency:
        """A dependency that the handler does not declare, built now if this host has not built it yet."""
        return self._wait(self._environment.dependencies.get(name))

    def end(self) -> None:
        super().end()
        for waiting in list(self._waiting):
            waiting.cancel()

    def _wait(self, work: Coroutine[object, object, T]) -> T:
        waiting = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._waiting.add(waiting)
        try:
            if self._ended:
                waiting.cancel()
            return waiting.result()
        except concurrent.futures.CancelledError:
            self._check_open()
            raise
        finally:
            self._waiting.discard(waiting)
