"""Jobs that gather what comes in: scheduled again with each event, and run when it is quiet, or at a limit."""

from itertools import pairwise

from bellringer import Context
from bellringer.testing import Drive
from tests.scenarios.steps import seconds


def gather(drive: Drive) -> list[tuple[float, object]]:
    ran: list[tuple[float, object]] = []

    @drive.handler("gather")
    async def gather(ctx: Context, payload: object) -> None:
        ran.append((seconds(drive), payload))

    return ran


def test_b61_a_job_that_is_put_off_again_and_again_runs_at_its_limit_with_the_latest_payload(drive: Drive) -> None:
    ran = gather(drive)
    for event in range(120):
        drive.schedule("gather", id="gather:42", after=10, within=60, payload=event)
        drive.advance(seconds=5)

    assert [at for at, _ in ran][:3] == [60, 120, 180]
    assert [payload for _, payload in ran][:3] == [11, 23, 35]
    assert max(later - earlier for (earlier, _), (later, _) in pairwise(ran)) <= 60


def test_b61_after_a_quiet_while_it_runs_once_and_the_limit_begins_anew(drive: Drive) -> None:
    ran = gather(drive)
    drive.schedule("gather", id="gather:42", after=10, within=60, payload="first")
    drive.advance(seconds=30)
    drive.schedule("gather", id="gather:42", after=50, within=60, payload="second")
    drive.advance(minutes=5)
    assert ran == [(10, "first"), (80, "second")]


def test_without_a_limit_each_new_time_simply_replaces_the_one_before(drive: Drive) -> None:
    ran = gather(drive)
    for event in range(30):
        drive.schedule("gather", id="gather:42", after=10, payload=event)
        drive.advance(seconds=5)
    assert ran == []
    drive.advance(seconds=10)
    assert [payload for _, payload in ran] == [29]
