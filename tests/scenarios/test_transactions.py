"""Where a transaction may be open: never while a handler runs, and never while a message is sent."""

import pytest

from bellringer import Context
from bellringer.actors.scheduler import Scheduler
from bellringer.testing import Drive
from tests.scenarios.steps import outcomes


def in_transaction(drive: Drive) -> bool:
    """Whether SQLite itself has one open on the scheduler's connection."""
    return bool(drive.store.inner._connection._raw.in_transaction)  # type: ignore[attr-defined]


@pytest.fixture
def sent_in_transaction(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the scheduler sends while a transaction is open."""
    caught: list[object] = []
    send = Scheduler.send

    def watch(self: Scheduler, address: object, message: object) -> None:
        if in_transaction(drive):
            caught.append(message)
        send(self, address, message)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(Scheduler, "send", watch)
    return caught


def test_b74_no_transaction_is_open_while_a_handler_schedules_cancels_and_lists(
    drive: Drive, sent_in_transaction: list[object]
) -> None:
    found: list[bool] = []

    @drive.handler("busy")
    async def busy(ctx: Context, payload: object) -> None:
        ctx.schedule("busy", id="next", after=3_600)
        ctx.cancel("other")
        found.append(in_transaction(drive))
        ctx.session["seen"] = 1
        await ctx.reply("done")
        found.append(in_transaction(drive))

    drive.persisted("other", "busy", after=7_200)
    for number in range(10):
        drive.persisted(f"job:{number}", "busy", chat_id=number % 3, after=number)
    drive.advance(minutes=1)

    assert found == [False] * 20
    assert sent_in_transaction == []
    assert outcomes(drive).count("done") == 10


def test_the_watch_for_sends_in_a_transaction_would_see_one(drive: Drive, sent_in_transaction: list[object]) -> None:
    drive.persisted("a", "nobody", after=60)
    with drive.store.transaction():
        assert in_transaction(drive)
