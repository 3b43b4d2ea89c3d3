"""A store that can't be written for a while."""

import logging

import pendulum
import pytest

from bellringer import RequestRefusedError
from bellringer.storage.errors import StorageBusyError, StorageError, StorageFullError
from bellringer.testing import Drive
from tests.scenarios.steps import ids, note_runs, outcomes

TROUBLES = [StorageBusyError("the database is locked by another process"), StorageFullError("the disk is full")]


@pytest.mark.parametrize("seconds", [1, 10, 60])
def test_b69_a_locked_database_delays_a_job_and_does_not_double_it(drive: Drive, seconds: int) -> None:
    ran = note_runs(drive)
    drive.persisted("a", "work", after=5)
    drive.advance(seconds=4)
    drive.store.fail(TROUBLES[0])
    drive.advance(seconds=1 + seconds)
    assert ran == []
    drive.store.mend()
    drive.advance(seconds=1)
    assert ids(ran) == ["a"]
    assert outcomes(drive) == ["done"]
    assert pendulum.duration(seconds=seconds) <= drive.history("a")[0].late_by <= pendulum.duration(seconds=seconds + 1)


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: type(trouble).__name__)
def test_b69_health_says_that_storage_is_blocked_and_that_it_works_again(drive: Drive, trouble: StorageError) -> None:
    note_runs(drive)
    drive.persisted("a", "work", after=1)
    drive.store.fail(trouble)
    drive.advance(seconds=2)
    health = drive.health()
    assert (health.status, health.storage) == ("storage blocked", str(trouble))
    drive.store.mend()
    drive.advance(seconds=1)
    assert drive.health().status == "ok"


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: type(trouble).__name__)
@pytest.mark.parametrize("reads", [False, True])
def test_b69_what_can_not_be_stored_is_refused_and_not_half_done(
    drive: Drive, trouble: StorageError, reads: bool
) -> None:
    drive.store.fail(trouble, reads=reads)
    with pytest.raises(RequestRefusedError, match=str(trouble)):
        drive.persisted("a", "work", after=10)
    drive.store.mend()
    assert drive.get("a") is None
    drive.persisted("a", "work", after=10)
    assert [job.id for job in drive.pending()] == ["a"]


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: type(trouble).__name__)
def test_b71_a_run_whose_end_can_not_be_stored_is_settled_later_and_not_repeated(
    drive: Drive, trouble: StorageError
) -> None:
    ran = note_runs(drive)
    drive.hold_results()
    drive.persisted("a", "work", after=1)
    drive.advance(seconds=1)
    drive.store.fail(trouble)
    drive.release_results()
    drive.advance(minutes=10)
    assert ids(ran) == ["a"]
    drive.store.mend()
    drive.advance(seconds=1)
    assert (ids(ran), outcomes(drive)) == (["a"], ["done"])


def test_b71_ten_minutes_without_room_fill_no_log(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    note_runs(drive)
    drive.persisted_every("a", "work", every=1)
    with caplog.at_level(logging.INFO, "bellringer"):
        drive.store.fail(TROUBLES[1])
        drive.advance(minutes=10)
        drive.store.mend()
        drive.advance(seconds=1)
    blocked = [record for record in caplog.records if record.name == "bellringer.scheduler"]
    assert 2 <= len(blocked) <= 10


def test_b71_a_repeating_job_goes_on_along_its_grid_once_there_is_room(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.persisted_every("a", "work", every=60)
    drive.store.fail(TROUBLES[1])
    drive.advance(minutes=10, seconds=30)
    drive.store.mend()
    drive.advance(seconds=90)
    assert [round(at) for _, at in ran] in ([630, 660, 720], [631, 660, 720])
    assert sum(row.times for row in drive.history("a", limit=1_000)) == 12


def test_b69_a_claim_that_fails_and_leaves_nothing_readable_costs_no_host_and_no_more_time(
    drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = note_runs(drive)
    drive.persisted("a", "work", after=10)
    store = drive.store.inner

    def claim(claims: object, now: int) -> None:
        monkeypatch.undo()
        drive.store.fail(TROUBLES[1], reads=True)
        raise TROUBLES[1]

    monkeypatch.setattr(store, "claim", claim)
    drive.advance(seconds=30)
    assert ran == []
    drive.store.mend()
    drive.advance(seconds=1)
    assert ids(ran) == ["a"]
    assert drive.restarts == 0
