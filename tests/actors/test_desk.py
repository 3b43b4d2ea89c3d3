"""Where requests are answered: one batch, one transaction, and a repeated batch does nothing twice."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import cast
from zoneinfo import ZoneInfo

import pytest

from bellringer.actors import questions
from bellringer.actors.messages import (
    Accepted,
    Cancel,
    Cancelled,
    ChangeZone,
    GetHealth,
    GetJob,
    JobsListed,
    ListHistory,
    ListJobs,
    PauseJobs,
    Redrive,
    Refused,
    Request,
    ResumeJobs,
    RunNow,
    Schedule,
    Scheduled,
    SkipNext,
    SnoozeJob,
)
from bellringer.actors.views import Job
from bellringer.storage import door, rules
from bellringer.storage.contract import Store
from bellringer.storage.errors import StorageBusyError, StorageCorruptError
from bellringer.storage.memory_store import MemoryStore
from bellringer.storage.sqlite_store import open_store
from bellringer.storage.values import JobSpec, Pause, Placed, Scope
from tests.actors.floor import BusyOnce
from tests.actors.office import TOLD, Office
from tests.actors.rows import NOON, SECOND

HOUR = 3_600 * SECOND


def spec(job_id: str, at: int = NOON + HOUR, handler: str = "work") -> JobSpec:
    return door.job_spec(job_id, handler, due_at=at)


def put(*ids: str) -> Schedule:
    return Schedule(jobs=tuple(spec(job_id) for job_id in ids))


@pytest.fixture(params=["memory", "sqlite"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    store: Store = MemoryStore() if request.param == "memory" else open_store(tmp_path / "bot.db")
    yield Office(store)
    store.close()


# Once and only once


def test_b39_a_repeated_batch_gets_the_same_answer_and_does_nothing_twice(office: Office) -> None:
    first = office.send(1, put("a", "b"), Cancel(ids=("a", "nobody")))
    seq = office.seq("b")
    assert first is not None
    assert first.replies == (Scheduled(), Cancelled(unknown=(1,)))
    assert office.send(1, put("a", "b"), Cancel(ids=("a", "nobody"))) == first
    assert office.seq("b") == seq
    assert office.ids() == ["b"]


def test_b39_the_next_scheduler_answers_a_repeated_batch_as_the_one_before(office: Office) -> None:
    first = office.ask(1, put("a"), put("a"), RunNow(job_id="nobody"))
    seq = office.seq("a")
    office.restart()
    again = office.ask(1, put("a"), put("a"), RunNow(job_id="nobody"))
    assert list(again) == list(first)
    assert first[1] == Scheduled(replaced=(0,))
    assert office.seq("a") == seq


def test_the_questions_of_a_repeated_batch_are_asked_anew_by_the_next_scheduler(office: Office) -> None:
    requests = put("a"), GetJob(job_id="a"), GetHealth()
    office.ask(1, *requests)
    office.store.cancel(["a"], NOON)
    office.restart()
    again = office.ask(1, *requests)
    assert again[0] == Scheduled()
    assert isinstance(again[1], JobsListed)
    assert [row.status for row in again[1].jobs] == ["cancelled"]
    assert again[2] is TOLD


@pytest.mark.parametrize("restarted", [False, True])
def test_a_batch_that_its_client_has_given_up_is_not_answered(office: Office, restarted: bool) -> None:
    office.ask(2, put("a"))
    if restarted:
        office.restart()
    assert office.send(1, put("b")) is None
    assert office.ids() == ["a"]


def test_two_clients_may_use_the_same_number(office: Office) -> None:
    office.ask(1, put("a"), client="one")
    assert office.ask(1, put("b"), client="two") == (Scheduled(),)
    assert office.ids() == ["a", "b"]


def test_a_batch_that_only_asks_stores_no_reply(office: Office) -> None:
    office.ask(1, GetJob(job_id="a"), ListJobs(), ListHistory(), GetHealth())
    assert office.store.recall_replies("a") is None


def test_a_client_that_was_long_silent_is_answered_from_the_store(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bellringer.actors.desk.CLIENTS_REMEMBERED", 2)
    first = office.send(1, put("a"), client="client 0")
    office.store.cancel(["a"], NOON)
    for number in range(1, 4):
        office.ask(1, Cancel(ids=()), client=f"client {number}")
    assert office.send(1, put("a"), client="client 0") == first
    assert office.ids() == []


# Answers


def test_scheduling_an_id_again_says_which_were_replaced(office: Office) -> None:
    office.ask(1, put("b"))
    assert office.ask(2, put("a", "b", "c")) == (Scheduled(replaced=(1,)),)


def test_cancel_says_which_were_not_there(office: Office) -> None:
    office.ask(1, put("a"))
    assert office.ask(2, Cancel(ids=("x", "a", "y"))) == (Cancelled(unknown=(0, 2)),)


def test_cancel_finds_jobs_in_memory_too(office: Office) -> None:
    office.ask(1, Schedule(jobs=(spec("m"),), in_memory=True, keeper="h"))
    assert office.ask(2, Cancel(ids=("m",))) == (Cancelled(),)
    assert office.memory.jobs() == []


def test_run_now_and_redrive_say_why_they_are_refused(office: Office) -> None:
    office.ask(1, put("a"))
    gone, wrong, redriven = office.ask(2, RunNow(job_id="x"), Redrive(job_id="a"), RunNow(job_id="a"))
    assert gone == Refused(code="not_found", sentence="job 'x' is not there")
    assert isinstance(wrong, Refused)
    assert wrong.code == "wrong_state"
    assert redriven == Accepted()


def test_a_list_shows_stored_and_in_memory_jobs_in_due_order(office: Office) -> None:
    office.ask(1, Schedule(jobs=(spec("late", NOON + HOUR), spec("early", NOON))))
    office.ask(2, Schedule(jobs=(spec("middle", NOON + SECOND),), in_memory=True, keeper="h"))
    (listed,) = office.ask(3, ListJobs())
    assert isinstance(listed, JobsListed)
    assert [row.id for row in listed.jobs] == ["early", "middle", "late"]


def test_the_timer_is_told_the_earliest_due_time_that_a_batch_made(office: Office) -> None:
    office.ask(1, Schedule(jobs=(spec("a", NOON + HOUR), spec("b", NOON + SECOND))))
    assert office.desk.earliest == NOON + SECOND
    office.ask(2, GetHealth())
    assert office.desk.earliest is None


def test_a_process_that_is_gone_takes_its_closures_with_it_and_no_others(office: Office) -> None:
    for keeper in ("h1", "h2"):
        office.ask(1, Schedule(jobs=(spec(keeper),), in_memory=True, keeper=keeper), client=keeper)
    office.desk.forget_keeper("h1", NOON)
    office.desk.forget_keeper("h1", NOON)
    assert [row.id for row in office.memory.jobs()] == ["h2"]


# What goes wrong


class Failing(MemoryStore):
    """A store whose next `put` raises this."""

    error: Exception | None = None

    def put(self, specs: Sequence[JobSpec], now: int) -> list[Placed]:
        error, self.error = self.error, None
        if error is not None:
            raise error
        return super().put(specs, now)


def test_b69_while_storage_is_busy_all_of_a_batch_is_refused_and_can_be_sent_again() -> None:
    store = Failing()
    office = Office(store)
    store.error = StorageBusyError("the database is busy")
    refused = office.ask(1, Cancel(ids=("x",)), put("a"))
    assert refused == (Refused(code="storage_busy", sentence="the database is busy", again=True),) * 2
    assert office.ask(1, Cancel(ids=("x",)), put("a")) == (Cancelled(unknown=(0,)), Scheduled())


def test_b50_a_corrupt_database_is_refused_without_hope() -> None:
    store = Failing()
    store.error = StorageCorruptError("not a database")
    (refused,) = Office(store).ask(1, put("a"))
    assert isinstance(refused, Refused)
    assert (refused.code, refused.again) == ("storage_corrupt", False)


def test_a_request_that_fails_inside_costs_itself_only() -> None:
    office = Office(MemoryStore())
    broken = Schedule(jobs=(cast(JobSpec, ("no job",)),))
    first, failed, last = office.ask(1, put("a"), broken, put("b"))
    assert (first, last) == (Scheduled(), Scheduled())
    assert isinstance(failed, Refused)
    assert failed.code == "failed"
    assert failed.sentence.startswith("Schedule failed inside the scheduler")
    assert office.ids() == ["a", "b"]


def test_a_batch_with_a_failed_request_does_nothing_twice_either() -> None:
    office = Office(MemoryStore())
    broken = Schedule(jobs=(cast(JobSpec, ("no job",)),))
    first = office.ask(1, put("a"), broken)
    seq = office.seq("a")
    office.restart()
    assert list(office.ask(1, put("a"), broken)) == list(first)
    assert office.seq("a") == seq


@pytest.mark.parametrize("in_memory", [False, True])
def test_a_list_goes_on_behind_a_job_that_is_there(office: Office, in_memory: bool) -> None:
    office.ask(1, Schedule(jobs=(spec("a"),), in_memory=in_memory, keeper="h"))
    known, unknown = office.ask(2, ListJobs(after="a"), ListJobs(after="b"))

    assert known == JobsListed(jobs=())
    assert isinstance(unknown, Refused)
    assert (unknown.code, unknown.sentence) == ("not_found", "job 'b', to go on behind, is not there")


def test_a_list_goes_on_behind_a_job_that_has_ended_meanwhile(office: Office) -> None:
    office.ask(1, put("a", "b", "c"))
    office.ask(2, Cancel(ids=("b",)))
    (listed,) = office.ask(3, ListJobs(after="b"))

    assert isinstance(listed, JobsListed)
    assert [row.id for row in listed.jobs] == ["c"]


def test_a_list_leaves_out_a_long_payload_that_get_tells(office: Office) -> None:
    long = door.job_spec("long", "work", due_at=NOON + HOUR, payload="x" * 5_000)
    office.ask(1, Schedule(jobs=(long, door.job_spec("short", "work", due_at=NOON + 2 * HOUR, payload="x"))))
    listed, got = office.ask(2, ListJobs(), GetJob(job_id="long"))
    assert isinstance(listed, JobsListed)
    assert isinstance(got, JobsListed)
    assert [(Job(row).payload, Job(row).payload_is_left_out) for row in listed.jobs] == [(None, True), ("x", False)]
    assert Job(got.jobs[0]).payload == "x" * 5_000


def test_an_id_that_exists_or_has_existed_is_refused_where_only_new_ones_are_wanted(office: Office) -> None:
    office.ask(1, put("waiting", "ended"), Cancel(ids=("ended",)))
    answers = office.ask(2, *(Schedule(jobs=(spec(job_id),), only_new=True) for job_id in ("waiting", "ended", "new")))
    assert [getattr(answer, "code", "done") for answer in answers] == ["exists", "exists", "done"]
    assert office.ids() == ["waiting", "new"]


# What changes when jobs run


CHANGES: list[Request] = [
    PauseJobs(scope=Scope.JOB, key="a"),
    ResumeJobs(scope=Scope.CHAT, key=42),
    SkipNext(scope=Scope.JOB, key="a"),
    SnoozeJob(job_id="a", by_us=HOUR),
    ChangeZone(zone="America/New_York", chat_id=42),
]


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: type(change).__name__)
def test_b39_a_repeated_change_is_answered_alike_and_done_once(
    office: Office, change: Request, restarted: bool
) -> None:
    rule = rules.daily("09:00", zone="Europe/Berlin")
    due_at = rule.next(NOON)
    assert due_at is not None
    job = door.job_spec("a", "work", due_at=due_at, rule=rules.dump(rule), zone=rule.zone, chat_id=42)
    office.ask(1, Schedule(jobs=(job,)), PauseJobs(scope=Scope.CHAT, key=42), client="before")
    first = office.send(1, change)
    assert first is not None
    assert not any(isinstance(reply, Refused) for reply in first.replies)
    before = office.row("a"), office.store.pauses(), office.store.history(), office.store.sessions()
    if restarted:
        office.restart()
    office.now += SECOND
    assert office.send(1, change) == first
    assert (office.row("a"), office.store.pauses(), office.store.history(), office.store.sessions()) == before


def test_a_job_in_the_zone_of_its_chat_is_told_its_due_time_again(office: Office) -> None:
    office.ask(1, ChangeZone(zone="Asia/Tokyo", chat_id=42), client="before")
    job = questions.spec("work", NOON, id="a", options={"rule": "daily 09:00", "chat_id": 42})
    question = questions.schedule(job)
    (first,) = office.ask(1, question.request)
    office.restart()
    (again,) = office.ask(1, question.request)
    nine = datetime(2026, 7, 2, 9, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert question.answer(first).due_at == question.answer(again).due_at == nine
    assert question.answer(first).due_at_us == office.row("a").due_at


def test_a_job_that_names_its_zone_is_told_the_due_time_that_was_planned(office: Office) -> None:
    job = questions.spec("work", NOON, id="a", options={"rule": "daily 09:00", "zone": "Asia/Tokyo"})
    question = questions.schedule(job)
    (told,) = office.ask(1, question.request)
    assert told == Scheduled()
    assert question.answer(told).due_at_us == job.due_at == office.row("a").due_at


def test_of_many_jobs_each_tells_its_own_due_time(office: Office) -> None:
    office.ask(1, ChangeZone(zone="Asia/Tokyo", chat_id=42), client="before")
    jobs = [
        questions.spec("work", NOON, id=str(number), options={"rule": rule, "chat_id": 42})
        for number, rule in enumerate(["every 90s", "daily 09:00", "daily 10:00"])
    ]
    (told,) = office.ask(1, Schedule(jobs=tuple(jobs)))
    assert isinstance(told, Scheduled)
    assert told.due_at == ((1, office.row("1").due_at), (2, office.row("2").due_at))


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: type(change).__name__)
def test_b69_a_change_that_could_not_be_committed_is_refused_and_nothing_of_it_happens(change: Request) -> None:
    store = BusyOnce()
    office = Office(store)
    job = questions.spec("work", NOON, id="a", options={"rule": "daily 09:00", "zone": "Europe/Berlin", "chat_id": 42})
    office.ask(1, Schedule(jobs=(job,)), PauseJobs(scope=Scope.CHAT, key=42), client="before")
    before = office.row("a"), store.pauses(), store.history(), store.sessions(), office.dispatch.pauses.standing(NOON)
    store.failing = "commit"
    (refused,) = office.ask(1, change)
    assert isinstance(refused, Refused)
    assert refused.again
    after = office.row("a"), store.pauses(), store.history(), store.sessions(), office.dispatch.pauses.standing(NOON)
    assert after == before


def test_b69_a_change_that_fails_when_it_is_tried_alone_leaves_nothing_behind() -> None:
    class FailingAlone(BusyOnce):
        """Has the commit of every pause fail."""

        def pause(self, pause: Pause) -> None:
            self.failing = "commit"
            super().pause(pause)

    store = FailingAlone()
    office = Office(store)
    broken = Schedule(jobs=(cast(JobSpec, ("no job",)),))
    failed, refused = office.ask(1, broken, PauseJobs(scope=Scope.ALL))
    assert isinstance(failed, Refused)
    assert isinstance(refused, Refused)
    assert (refused.code, store.pauses()) == ("storage_busy", [])
    assert office.dispatch.pauses.standing(NOON) == []


def test_b50_while_nothing_can_be_read_a_change_is_refused_with_the_reason() -> None:
    class Unreadable(Failing):
        """Can't tell its pauses either, once a `put` has failed."""

        broken = False

        def pauses(self) -> list[Pause]:
            if self.broken:
                raise StorageCorruptError("not a database")
            return super().pauses()

        def put(self, specs: Sequence[JobSpec], now: int) -> list[Placed]:
            self.broken = self.error is not None
            return super().put(specs, now)

    store = Unreadable()
    office = Office(store)
    store.error = StorageCorruptError("not a database")
    (refused,) = office.ask(1, put("a"))
    assert isinstance(refused, Refused)
    assert refused.code == "storage_corrupt"
