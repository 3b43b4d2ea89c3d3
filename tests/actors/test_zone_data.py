"""New data for a time zone moves what is still to come, and never repeats what has been."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bellringer import Context
from bellringer.actors import zone_data as module
from bellringer.actors.messages import ChangeZone, Schedule, SkipNext, SnoozeJob
from bellringer.actors.zone_data import ZoneData
from bellringer.storage import door, planning, rules
from bellringer.storage.contract import Store
from bellringer.storage.errors import StorageBusyError
from bellringer.storage.memory_store import MemoryStore
from bellringer.storage.planning import When
from bellringer.storage.sqlite_store import open_store
from bellringer.storage.values import JobSpec, Scope
from bellringer.testing import Drive
from tests.actors.floor import BusyOnce, spec
from tests.actors.office import Office
from tests.actors.rows import NOON, SECOND
from tests.actors.towns import TOWN, Town, town

__all__ = ["town"]

HOUR = 3_600 * SECOND
DAY = 24 * HOUR
OTHER = "Europe/Berlin"
NINE = datetime(2026, 12, 25, 9)  # noqa: DTZ001  a local time
DAILY: When = {"rule": "daily 09:00", "zone": TOWN}


@pytest.fixture(params=["memory", "sqlite"])
def office(request: pytest.FixtureRequest, tmp_path: Path, town: Town) -> Iterator[Office]:
    """It is noon in UTC, and 13:00 in the town."""
    store: Store = MemoryStore() if request.param == "memory" else open_store(tmp_path / "bot.db")
    made = Office(store)
    made.host()
    yield made
    store.close()


def us(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


def planned(job_id: str, when: When, now: int = NOON, **fields: object) -> JobSpec:
    plan = planning.plan(now, when, job_id)
    made = door.job_spec(job_id, "work", due_at=plan.due_at, rule=plan.rule, zone=plan.zone, local_at=plan.local_at)
    return made._replace(**fields)  # type: ignore[arg-type]


def schedule(office: Office, *jobs: JobSpec) -> None:
    office.asked(Schedule(jobs=jobs))


def start_anew(office: Office, *, moved: bool = True) -> None:
    """Start the scheduler again, and have it move what has to be moved."""
    office.restart()
    office.host()
    while moved and office.zone_data.is_moving:
        office.zone_data.move_some(office.now)
    office.dispatch.claiming = not office.zone_data.is_moving


# What moves


def test_a_series_keeps_its_local_time_when_the_data_of_its_zone_changes(office: Office, town: Town) -> None:
    schedule(office, planned("a", DAILY))
    assert office.row("a").due_at == us("2026-07-02T08:00")
    town.ahead(3)
    start_anew(office)
    assert office.row("a").due_at == us("2026-07-02T06:00")
    assert office.row("a").next_attempt_at == us("2026-07-02T06:00")
    office.now = us("2026-07-02T06:00")
    assert office.go_on() == ["a"]
    assert office.row("a").next_due_at == us("2026-07-03T06:00")


def test_b10_a_one_shot_at_a_local_time_keeps_it(office: Office, town: Town) -> None:
    schedule(office, planned("a", {"at": NINE, "zone": TOWN}))
    assert office.row("a").due_at == us("2026-12-25T08:00")
    town.ahead(1, then=2, from_s=us("2026-10-01T00:00") // SECOND)
    start_anew(office)
    assert office.row("a").due_at == us("2026-12-25T07:00")


def test_only_what_lies_behind_the_change_moves(office: Office, town: Town) -> None:
    schedule(office, planned("soon", DAILY), planned("later", {"at": NINE, "zone": TOWN}))
    town.ahead(1, then=2, from_s=us("2026-10-01T00:00") // SECOND)
    start_anew(office)
    assert office.row("soon").due_at == us("2026-07-02T08:00")
    assert office.row("later").due_at == us("2026-12-25T07:00")


def test_what_has_no_local_time_stays(office: Office, town: Town) -> None:
    jobs = [
        planned("interval", {"every": 3_600.0}),
        planned("instant", {"at": datetime(2026, 7, 2, 8, tzinfo=UTC)}),
        planned("elsewhere", {"rule": "daily 09:00", "zone": OTHER}),
    ]
    schedule(office, planned("a", DAILY), *jobs)
    before = [office.row(job.id).due_at for job in jobs]
    town.ahead(3)
    start_anew(office)
    assert [office.row(job.id).due_at for job in jobs] == before


def test_what_is_due_already_stays_and_runs_once_for_its_local_date(office: Office, town: Town) -> None:
    schedule(office, planned("a", DAILY))
    office.now = us("2026-07-02T08:00")
    town.ahead(-1)
    start_anew(office)
    assert office.row("a").due_at == us("2026-07-02T08:00")
    assert office.go_on() == ["a"]


def test_a_past_due_time_never_comes_again(office: Office, town: Town) -> None:
    schedule(office, planned("a", DAILY))
    office.now = us("2026-07-02T08:00")
    office.go_on()
    office.end("a")
    office.go_on()
    town.ahead(-1)  # 09:00 of that day would come once more
    start_anew(office)
    assert office.row("a").due_at == us("2026-07-03T10:00")


@pytest.mark.parametrize("verdict", ["done", "failed"])
def test_what_follows_a_run_that_was_out_moves(office: Office, town: Town, verdict: str) -> None:
    schedule(office, planned("a", DAILY))
    office.now = us("2026-07-02T08:00")
    office.go_on()
    town.ahead(3)
    start_anew(office, moved=False)
    (row,) = office.store.claimed()
    office.dispatch.inherit(row)
    office.zone_data.move_some(office.now)
    office.end("a", verdict)
    office.go_on()
    assert office.row("a").due_at == us("2026-07-03T06:00")


def test_a_retry_stays_and_what_follows_it_moves(office: Office, town: Town) -> None:
    schedule(office, planned("a", DAILY, max_attempts=3))
    office.now = us("2026-07-02T08:00")
    office.go_on()
    office.end("a", "retry", after_us=HOUR)
    office.go_on()
    town.ahead(3)
    start_anew(office)
    row = office.row("a")
    assert (row.due_at, row.next_attempt_at) == (us("2026-07-02T08:00"), us("2026-07-02T09:00"))
    assert row.next_due_at == us("2026-07-03T06:00")


def test_a_snooze_stays_where_it_was_put(office: Office, town: Town) -> None:
    schedule(office, planned("a", DAILY))
    office.asked(SnoozeJob(job_id="a", until=us("2026-07-02T10:00")))
    town.ahead(3)
    start_anew(office)
    assert (office.row("a").due_at, office.row("a").next_attempt_at) == (
        us("2026-07-02T06:00"),
        us("2026-07-02T10:00"),
    )


def test_a_local_time_that_can_not_be_read_moves_by_its_instant(office: Office, town: Town) -> None:
    office.put(spec("a", us("2026-07-02T08:00"), zone=TOWN, local_at="nine o'clock"))
    office.zone_data.note(TOWN, NOON)
    town.ahead(3)
    start_anew(office)
    assert office.row("a").due_at == us("2026-07-02T06:00")


def test_a_zone_that_nobody_knows_any_more_holds_up_nothing(office: Office) -> None:
    office.put(spec("a", NOON + HOUR, zone="Mars/Sea", rule='{"rule":"daily 09:00","zone":"Mars/Sea"}'))
    start_anew(office)
    assert not office.zone_data.is_moving
    office.now += HOUR
    office.go_on()
    assert office.status("a") == "parked"


# When


def test_the_offsets_of_a_zone_are_kept_with_its_first_job(office: Office) -> None:
    schedule(office, planned("a", {"every": 60.0}))
    assert office.store.zones() == {}
    schedule(office, planned("b", DAILY))
    assert list(office.store.zones()) == [TOWN]


def test_the_offsets_of_a_zone_are_kept_with_what_a_handler_schedules(office: Office, town: Town) -> None:
    office.put(spec("a"))
    office.go_on()
    office.end("a", scheduled=(planned("b", DAILY),))
    office.go_on()
    assert list(office.store.zones()) == [TOWN]
    town.ahead(3)
    start_anew(office)
    assert office.row("b").due_at == us("2026-07-02T06:00")


def test_what_a_handler_schedules_without_a_zone_holds_where_its_chat_is(office: Office) -> None:
    office.asked(ChangeZone(zone=TOWN, chat_id=42))
    office.put(spec("a"))
    office.go_on()
    office.end("a", scheduled=(planned("b", {"rule": "daily 09:00", "count": 2}, chat_id=42),))
    office.go_on()
    assert (office.row("b").zone, office.row("b").due_at) == (TOWN, us("2026-07-02T08:00"))


def test_a_job_of_a_handler_that_has_no_due_time_where_its_chat_is_harms_no_other(office: Office) -> None:
    office.asked(ChangeZone(zone="Asia/Tokyo", chat_id=42))
    until = datetime(2026, 7, 1, 18)  # noqa: DTZ001  a local time, past in Tokyo
    office.put(spec("a"))
    office.go_on()
    office.end("a", scheduled=(planned("b", {"rule": "daily 17:00", "until": until}, chat_id=42), spec("c")))
    assert office.go_on() == ["c"]
    assert office.outcomes("a") == ["done"]


def test_a_zone_of_which_no_offsets_were_kept_is_taken_as_it_is(office: Office, town: Town) -> None:
    office.put(spec("a", us("2026-07-02T08:00"), zone=TOWN, rule=rules.dump(rules.daily("09:00", zone=TOWN))))
    office.restart()
    assert not office.zone_data.is_moving
    office.zone_data.keep(NOON)
    assert list(office.store.zones()) == [TOWN]


@pytest.mark.parametrize(
    "told", ["no JSON", "[]", '{"until":1}', '{"until":1,"changes":[]}', '{"until":1,"changes":[7]}']
)
def test_offsets_that_can_not_be_read_are_kept_anew(office: Office, told: str) -> None:
    schedule(office, planned("a", DAILY))
    kept = office.store.zones()
    office.store.set_zone(TOWN, told)
    office.restart()
    assert not office.zone_data.is_moving
    office.zone_data.keep(NOON)
    assert office.store.zones() == kept


def test_offsets_are_kept_further_ahead_when_half_of_their_time_has_passed(office: Office) -> None:
    schedule(office, planned("a", DAILY))
    kept = office.store.zones()
    for years, is_renewed in ((9, False), (11, True)):
        office.now = NOON + years * 366 * DAY
        office.restart()
        office.zone_data.keep(office.now)
        assert (office.store.zones() != kept) == is_renewed


def test_the_same_data_moves_nothing_and_writes_nothing(office: Office) -> None:
    schedule(office, planned("a", DAILY))
    kept = office.store.zones()
    start_anew(office)
    office.zone_data.keep(NOON)
    assert (office.zone_data.is_moving, office.store.zones(), office.store.meta(module.PROGRESS)) == (False, kept, None)


def test_a_second_start_with_the_new_data_moves_nothing_more(office: Office, town: Town) -> None:
    schedule(office, planned("a", DAILY))
    town.ahead(3)
    start_anew(office)
    due_at = office.row("a").due_at
    start_anew(office, moved=False)
    assert (office.zone_data.is_moving, office.row("a").due_at) == (False, due_at)


def test_each_version_of_the_data_moves_from_where_the_one_before_has_left(office: Office, town: Town) -> None:
    schedule(office, planned("a", DAILY))
    for hours in (3, -5, 1):
        town.ahead(hours)
        start_anew(office)
        local = (office.row("a").due_at + hours * HOUR) % DAY
        assert local == 9 * HOUR


def test_two_zones_are_moved_one_after_the_other(office: Office, town: Town) -> None:
    schedule(office, planned("a", DAILY), planned("b", {"rule": "daily 09:00", "zone": OTHER}))
    kept = office.store.zones()[OTHER]
    due_at = office.row("b").due_at
    office.store.set_zone(OTHER, kept.replace("7200000000", "3600000000"))
    town.ahead(3)
    start_anew(office)
    assert office.row("a").due_at == us("2026-07-02T06:00")
    assert office.row("b").due_at == due_at - HOUR


def test_the_offsets_of_a_zone_are_not_written_again_with_each_job(office: Office) -> None:
    schedule(office, planned("a", DAILY))
    kept = office.store.zones()
    office.now += DAY
    schedule(office, planned("b", DAILY, office.now))
    assert office.store.zones() == kept


def test_a_change_that_is_found_after_many_years_is_not_forgotten_for_the_renewal(office: Office, town: Town) -> None:
    at = datetime(2040, 1, 1, 9)  # noqa: DTZ001  a local time
    schedule(office, planned("a", {"at": at, "zone": TOWN}))
    town.ahead(3)
    office.now = NOON + 11 * 366 * DAY
    office.restart()
    office.zone_data.keep(office.now)
    office.zone_data.finish(office.now)
    assert office.row("a").due_at == us("2040-01-01T06:00")


def test_a_local_time_that_is_not_skipped_any_more_comes_at_its_own_time(office: Office, town: Town) -> None:
    town.ahead(1, then=2, from_s=us("2026-12-25T08:00") // SECOND)
    half_past = NINE.replace(minute=30)
    schedule(office, planned("a", {"at": half_past, "zone": TOWN}))
    assert office.row("a").due_at == us("2026-12-25T08:30")
    town.ahead(2)
    start_anew(office)
    assert office.row("a").due_at == us("2026-12-25T07:30")


# In pages, and over crashes


@pytest.fixture
def pages_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.PAGE == 1_000
    monkeypatch.setattr(module, "PAGE", 2)


def due_times(office: Office) -> set[int]:
    return {row.due_at for row in office.store.jobs()}


@pytest.mark.usefixtures("pages_of_two")
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_a_crash_between_two_pages_moves_nothing_twice_and_forgets_nothing(
    office: Office, town: Town, number: int
) -> None:
    schedule(office, *(planned(f"j{place}", DAILY) for place in range(number)))
    town.ahead(3)
    for _ in range(10):
        office.restart()
        if not office.zone_data.is_moving:
            break
        office.zone_data.move_some(office.now)
    assert not office.zone_data.is_moving
    assert due_times(office) == {us("2026-07-02T06:00")}
    town.ahead(4)
    start_anew(office)
    assert due_times(office) == {us("2026-07-02T05:00")}


def test_how_far_another_zone_has_come_does_not_count(office: Office, town: Town) -> None:
    schedule(office, planned("a", DAILY))
    office.store.set_meta(module.PROGRESS, f"{OTHER} 999")
    town.ahead(3)
    start_anew(office)
    assert office.row("a").due_at == us("2026-07-02T06:00")


@pytest.mark.usefixtures("pages_of_two")
def test_b69_a_page_that_could_not_be_written_is_moved_again_as_a_whole(town: Town) -> None:
    store = BusyOnce()
    office = Office(store)
    schedule(office, *(planned(f"j{place}", DAILY) for place in range(3)))
    town.ahead(3)
    office.restart()
    for _ in range(2):
        store.failing = "commit"
        with pytest.raises(StorageBusyError):
            office.zone_data.move_some(NOON)
        office.zone_data.move_some(NOON)
    assert not office.zone_data.is_moving
    assert due_times(office) == {us("2026-07-02T06:00")}


@pytest.mark.usefixtures("pages_of_two")
def test_what_is_scheduled_while_others_are_being_moved_is_not_moved_itself(office: Office, town: Town) -> None:
    schedule(office, *(planned(f"j{place}", DAILY) for place in range(5)))
    town.ahead(3)
    start_anew(office, moved=False)
    office.zone_data.move_some(NOON)
    schedule(office, planned("new", DAILY))
    assert not office.zone_data.is_moving
    assert due_times(office) == {us("2026-07-02T06:00")}


@pytest.mark.usefixtures("pages_of_two")
def test_what_a_handler_schedules_while_others_are_being_moved_is_not_moved_itself(office: Office, town: Town) -> None:
    schedule(office, *(planned(f"j{place}", DAILY) for place in range(5)))
    office.put(spec("a"))
    office.go_on()
    town.ahead(3)
    (row,) = office.store.claimed()
    start_anew(office, moved=False)
    office.dispatch.inherit(row)
    office.end("a", scheduled=(planned("new", DAILY),))
    office.go_on()
    assert due_times(office) == {us("2026-07-02T06:00")}


@pytest.mark.usefixtures("pages_of_two")
def test_a_due_time_that_is_left_out_while_others_are_being_moved_is_the_one_that_was_meant(
    office: Office, town: Town
) -> None:
    schedule(office, *(planned(f"j{place}", DAILY) for place in range(3)))
    town.ahead(3)
    start_anew(office, moved=False)
    office.asked(SkipNext(scope=Scope.ALL))
    assert [row.due_at for row in office.store.history()] == [us("2026-07-02T06:00")] * 3
    assert due_times(office) == {us("2026-07-03T06:00")}


@pytest.mark.usefixtures("pages_of_two")
def test_a_change_of_zone_while_others_are_being_moved_keeps_local_times(office: Office, town: Town) -> None:
    schedule(office, *(planned(f"j{place}", DAILY, chat_id=42) for place in range(3)))
    town.ahead(3)
    start_anew(office, moved=False)
    office.asked(ChangeZone(zone=OTHER, chat_id=42))
    assert due_times(office) == {us("2026-07-02T07:00")}


@pytest.mark.usefixtures("pages_of_two")
def test_b69_what_was_moved_for_a_request_that_failed_is_moved_again(town: Town) -> None:
    store = BusyOnce()
    office = Office(store)
    schedule(office, *(planned(f"j{place}", DAILY) for place in range(3)))
    town.ahead(3)
    start_anew(office, moved=False)
    store.failing = "commit"
    schedule(office, planned("new", DAILY))
    assert office.zone_data.is_moving
    schedule(office, planned("new", DAILY))
    assert not office.zone_data.is_moving
    assert due_times(office) == {us("2026-07-02T06:00")}


def test_b69_offsets_that_could_not_be_kept_are_kept_with_the_next_job(town: Town) -> None:
    store = BusyOnce()
    office = Office(store)
    store.failing = "commit"
    schedule(office, planned("a", DAILY))
    assert store.zones() == {}
    schedule(office, planned("a", DAILY))
    assert list(store.zones()) == [TOWN]


def test_many_pages_are_quick_to_move(town: Town) -> None:
    store = MemoryStore()
    office = Office(store)
    schedule(office, *(planned(f"j{place}", DAILY) for place in range(2_500)))
    town.ahead(3)
    zone_data = ZoneData(store, NOON)
    for left in (True, True, False):
        zone_data.move_some(NOON)
        assert zone_data.is_moving == left


# The whole way


@pytest.mark.usefixtures("pages_of_two")
def test_nothing_runs_until_everything_has_been_moved(drive: Drive, town: Town) -> None:
    ran: list[str] = []

    @drive.handler("work")
    async def work(ctx: Context, payload: object) -> None:
        ran.append(f"{ctx.job.id} {drive.clock.now:HH:mm}")

    for place in range(5):
        drive.persisted(f"j{place}", "work", rule="daily 09:00", zone=TOWN)
    drive.persisted("due", "work", after=60)
    drive.crash()
    town.ahead(3)
    drive.ticking = False
    drive.clock.advance(minutes=2)
    drive.start()
    assert ran == []
    drive.advance(seconds=0.01)
    assert ran == ["due 00:02"]
    drive.advance(hours=6)
    assert ran[1:] == [f"j{place} 06:00" for place in range(5)]
    assert {row.late_by.total_seconds() for row in drive.history() if row.job_id != "due"} == {0}


def test_a_scheduler_that_crashes_while_it_moves_goes_on_where_it_was(
    drive: Drive, town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE", 1)
    for place in range(4):
        drive.persisted(f"j{place}", "work", rule="daily 09:00", zone=TOWN)
    drive.crash()
    town.ahead(3)
    for step in range(20, 60, 5):
        drive.store.crash_at(step)
        drive.start()
        drive.advance(seconds=0.01)
        drive.crash()
    drive.store.count_steps()
    drive.start()
    drive.advance(seconds=1)
    assert {job.due_at.hour for job in drive.pending()} == {6}
