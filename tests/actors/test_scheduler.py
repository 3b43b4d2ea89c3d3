"""What only the scheduler itself decides, seen through a drive."""

from collections.abc import Callable

import pytest

from bellringer import Context
from bellringer.actors import alarm
from bellringer.storage.errors import StorageBusyError, StorageCorruptError
from bellringer.testing import Drive

MakeDrive = Callable[..., Drive]


def note_runs(drive: Drive, name: str = "work") -> list[str]:
    ran: list[str] = []

    @drive.handler(name)
    async def work(ctx: Context, payload: object) -> None:
        ran.append(ctx.job.id)

    return ran


def test_b50_health_says_why_storage_can_not_be_read(drive: Drive) -> None:
    drive.ticking = False
    assert drive.health().storage == "ok"
    drive.store.fail(StorageCorruptError("not a healthy database"), reads=True)
    health = drive.health()
    assert (health.status, health.storage) == ("storage blocked", "not a healthy database")
    drive.store.mend()
    drive.ticking = True
    drive.run_due()
    drive.persisted("a", "work", after=1)
    assert drive.health().storage == "ok"


def test_b69_a_pass_that_fails_is_made_again_shortly(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.ticking = False
    drive.persisted("a", "work", after=1)
    drive.store.fail(StorageBusyError("the database is busy"))
    drive.advance(seconds=1)
    drive.store.mend()
    assert ran == []
    drive.advance(seconds=0.2)
    assert ran == ["a"]


def test_a_chat_whose_missed_jobs_are_skipped_goes_on_at_once(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.ticking = False
    for number in range(30):
        drive.persisted(f"missed {number}", "work", chat_id=7, after=1, misfire="skip", grace=0)
    drive.persisted("due", "work", chat_id=7, after=2)
    drive.jump(wall=60)
    drive.ring_wakeups()
    drive.advance(seconds=0.1)
    assert ran == ["due"]
    assert len(drive.history(limit=100)) == 31


def test_a_handler_whose_hosts_are_full_does_not_keep_the_scheduler_busy(
    make_drive: MakeDrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = make_drive(places=1)
    ran = note_runs(drive, "quick")
    note_runs(drive, "work")
    drive.hold_results()
    drive.ticking = False
    for number in range(300):
        drive.persisted(f"a{number}", "work", chat_id=number, after=1)
    drive.advance(seconds=1)
    (armed,) = [waiting for waiting in drive.wakeups if waiting.duration_us == alarm.LONGEST_US]
    assert armed.at > drive.clock.monotonic()
    assert ran == []


def test_b69_a_scheduler_that_starts_while_storage_is_busy_opens_as_soon_as_it_can(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted("a", "work", after=1, chat_id=7)
    drive.crash()
    drive.clock.advance(minutes=10)
    drive.store.fail(StorageBusyError("the database is busy"))
    drive.start()
    drive.advance(seconds=1)
    drive.store.mend()
    drive.advance(seconds=5)
    assert ran == ["a"]
    assert drive.health().storage == "ok"
