"""What handlers of both kinds are given: the job, its chat and session, and the planning of other jobs."""

from collections.abc import Mapping
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NoReturn, Unpack

from ..storage import door, planning
from ..storage.durations import Duration
from ..storage.planning import Terms
from ..storage.values import ChatId, JobSpec, RunOrder
from .dependencies import NOTHING_DECLARED, Dependency
from .errors import NoChatError, NoConversationError, NotDeliveredError, NoTransportError, RunEndedError
from .jobs import CurrentJob
from .sessions import Session
from .transports import MessageId, Transport

if TYPE_CHECKING:
    from .environment import Environment


class Here:
    """Stands for the chat, user and thread of the job that is running."""


HERE: Final = Here()


class BaseContext:
    """What both kinds share."""

    __slots__ = (
        "_changes",
        "_delivered",
        "_ended",
        "_environment",
        "_given",
        "_order",
        "_session",
        "_unnamed",
        "started_at",
    )

    def __init__(
        self,
        order: RunOrder,
        environment: "Environment",
        session: Session | None = None,
        dependencies: Mapping[str, Dependency] = NOTHING_DECLARED,
    ) -> None:
        self._order = order
        self._environment = environment
        self._session = session
        self._given = dependencies
        self._changes: dict[str, JobSpec | None] | None = None
        self._delivered: list[str] | None = None
        self._unnamed = 0
        self._ended = False
        self.started_at = 0

    @property
    def chat_id(self) -> ChatId | None:
        return self._order.chat_id

    @property
    def user_id(self) -> ChatId | None:
        return self._order.user_id

    @property
    def thread_id(self) -> ChatId | None:
        return self._order.thread_id

    @property
    def session(self) -> Session:
        """What is stored for this chat and user. Changes are stored with the outcome, unless the run fails."""
        if self._session is None:
            self._session = Session()
        return self._session

    @property
    def job(self) -> CurrentJob:
        return CurrentJob(self._order, self.started_at)

    @property
    def dependencies(self) -> Mapping[str, Dependency]:
        """The dependencies that the handler declared with `needs`."""
        return self._given

    def schedule(
        self,
        handler: str,
        *,
        id: str | None = None,
        at: datetime | None = None,
        after: Duration | None = None,
        every: Duration | None = None,
        chat_id: ChatId | Here | None = HERE,
        user_id: ChatId | Here | None = HERE,
        thread_id: ChatId | Here | None = HERE,
        **terms: Unpack[Terms],
    ) -> str:
        """Plan a job, and return its id. It is stored in the same write as this run's outcome, also when the run fails.

        Without an id it gets one that a retry of this run derives again, so that it is replaced and not doubled.
        With a `chat_id` of its own, user and thread are nobody unless given too. A repeating job without `at` or
        `after` is due for the first time one interval from now. Raises `InvalidJobError`.
        """
        self._check_open()
        if id is None:
            self._unnamed += 1
            id = f"{blake2b(self._order.run_key.encode(), digest_size=12).hexdigest()}-{self._unnamed}"
        here = isinstance(chat_id, Here)
        chat = self._order.chat_id if isinstance(chat_id, Here) else chat_id
        user = (self._order.user_id if here else None) if isinstance(user_id, Here) else user_id
        thread = (self._order.thread_id if here else None) if isinstance(thread_id, Here) else thread_id
        now = self._environment.clock.wall()
        spec = planning.job(
            id,
            handler,
            now,
            at=at,
            after=after,
            every=every,
            options={**terms, "chat_id": chat, "user_id": user, "thread_id": thread},
        )
        self._change(spec.id, spec)
        return spec.id

    def cancel(self, id: str) -> None:
        """Cancel a job, this one included. It happens in the same write as this run's outcome, also when the run fails.

        This run may finish. Of `schedule` and `cancel` with one id, the last call stands.
        """
        self._check_open()
        self._change(door.job_id(id), None)

    def wait_for_message(self, *arguments: object, **options: object) -> NoReturn:
        """Refused, like `wait_for_reply` and `ask`: raises `NoConversationError`."""
        raise NoConversationError(
            f"job {self._order.id!r}: there is no conversation to suspend while a scheduled handler runs. "
            "Send the question and return; keep what you wait for in ctx.session, let the bot's message handler pick "
            "it up there, and ctx.schedule a job for the case that nobody answers"
        )

    wait_for_reply = wait_for_message
    ask = wait_for_message

    @property
    def scheduled(self) -> tuple[JobSpec, ...]:
        """The jobs that this run plans so far."""
        return tuple(spec for spec in (self._changes or {}).values() if spec is not None)

    @property
    def cancelled(self) -> tuple[str, ...]:
        """The ids that this run cancels so far."""
        return tuple(id for id, spec in list((self._changes or {}).items()) if spec is None)

    @property
    def delivered(self) -> tuple[str, ...]:
        """The ids of the messages that the platform accepted from this run so far."""
        return tuple(self._delivered or ())

    def end(self) -> None:
        """Refuse whatever comes after the outcome was told: it could not be recorded any more."""
        self._ended = True

    def _change(self, id: str, spec: JobSpec | None) -> None:
        if self._changes is None:
            self._changes = {}
        self._changes[id] = spec

    def _check_open(self) -> None:
        if self._ended:
            raise RunEndedError(
                f"this run of job {self._order.id!r} is over (it ended, ran past its time limit, or its host stopped); "
                "its context does nothing any more"
            )

    def _here(self) -> ChatId:
        if self._order.chat_id is None:
            raise NoChatError(
                f"job {self._order.id!r} belongs to no chat: schedule it with a chat_id, or send to one with ctx.send"
            )
        return self._order.chat_id

    def _transport(self) -> Transport:
        self._check_open()
        transport = self._environment.transport
        if transport is None:
            raise NoTransportError(
                f"job {self._order.id!r} can't send: its host was started without a transport. Give it one: "
                'attach(transport=…) in a bot; start(transport="module:factory") or `bellringer serve --transport '
                "module:factory` for handler actors"
            )
        return transport

    async def _deliver(
        self,
        chat_id: ChatId,
        text: str,
        thread_id: ChatId | None,
        reply_to: MessageId | None,
        options: Mapping[str, object],
    ) -> MessageId:
        sent = await self._transport().send(chat_id, text, thread_id=thread_id, reply_to=reply_to, **options)
        if not isinstance(sent, (int, str)) or isinstance(sent, bool) or sent == "":
            raise NotDeliveredError(
                f"job {self._order.id!r}: the transport gave {sent!r} as the id of a message to chat {chat_id!r}, "
                "so the message does not count as delivered"
            )
        if self._delivered is None:
            self._delivered = []
        self._delivered.append(str(sent))
        return sent
