"""What is paused: a job, a chat, a handler or all; until it is resumed, or until an instant."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bellringer.actors import dispatch as module
from bellringer.actors.messages import Accepted, ListPauses, PauseJobs, PausesListed, Refused, ResumeJobs, RunNow
from bellringer.actors.pauses import KEPT_AFTER_END_US, Pauses, held_by, pause_reason
from bellringer.storage import rules
from bellringer.storage.contract import Store
from bellringer.storage.errors import StorageBusyError
from bellringer.storage.memory_store import MemoryStore
from bellringer.storage.sqlite_store import open_store
from bellringer.storage.values import ChatId, JobSpec, OnResume, Pause, Scope
from tests.actors.floor import BusyOnce, spec
from tests.actors.office import Office
from tests.actors.rows import NOON, SECOND, due_row

MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


@pytest.fixture(params=["memory", "sqlite"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    store: Store = MemoryStore() if request.param == "memory" else open_store(tmp_path / "bot.db")
    made = Office(store)
    made.host()
    yield made
    store.close()


def minutely(job_id: str, **fields: object) -> JobSpec:
    return spec(job_id, NOON, rule=rules.grid(MINUTE), **fields)


def pause(scope: str = Scope.ALL, key: ChatId | None = None, **fields: object) -> PauseJobs:
    return PauseJobs(scope=scope, key=key, **fields)  # type: ignore[arg-type]


def resume(scope: str = Scope.ALL, key: ChatId | None = None, on_resume: str | None = None) -> ResumeJobs:
    return ResumeJobs(scope=scope, key=key, on_resume=on_resume)


def listed(office: Office) -> list[Pause]:
    told = office.asked(ListPauses())
    assert isinstance(told, PausesListed)
    return list(told.pauses)


# What a pause holds


JOBS = [
    spec("a", handler="work", chat_id=42),
    spec("b", handler="work", chat_id="42"),
    spec("c", handler="other", chat_id=7),
    spec("d", handler="other"),
]


@pytest.mark.parametrize(
    ("scope", "key", "free"),
    [
        (Scope.JOB, "a", ["b", "c", "d"]),
        (Scope.JOB, "work", ["a", "b", "c", "d"]),
        (Scope.CHAT, 42, ["b", "c", "d"]),
        (Scope.CHAT, "42", ["a", "c", "d"]),
        (Scope.HANDLER, "work", ["c", "d"]),
        (Scope.HANDLER, "a", ["a", "b", "c", "d"]),
        (Scope.ALL, None, []),
    ],
)
def test_a_pause_holds_its_scope_and_nothing_else(
    office: Office, scope: str, key: ChatId | None, free: list[str]
) -> None:
    office.host("8-1/b", "other")
    assert office.asked(pause(scope, key)) == Accepted()
    office.put(*JOBS)
    assert sorted(office.go_on()) == free
    held = {job.id: office.row(job.id).waiting_for for job in JOBS if job.id not in free}
    assert len(set(held.values())) == (1 if held else 0)
    assert all((reason or "").startswith("pause:") for reason in held.values())


def test_a_paused_job_lets_the_next_of_its_chat_pass(office: Office) -> None:
    office.asked(pause(Scope.JOB, "a"))
    office.put(spec("a", NOON - 1, chat_id=7), spec("b", chat_id=7))
    assert office.go_on() == ["b"]


def test_what_is_running_goes_on_and_ends_as_it_does(office: Office) -> None:
    office.put(spec("a"))
    office.go_on()
    office.asked(pause())
    office.end("a")
    assert office.go_on() == []
    assert office.outcomes("a") == ["done"]


def test_the_next_due_time_of_what_was_running_is_held(office: Office) -> None:
    office.put(minutely("a"))
    office.go_on()
    office.asked(pause())
    office.end("a")
    office.go_on()
    office.now += MINUTE
    assert office.go_on() == []
    assert office.row("a").waiting_for == "pause:all"


def test_a_retry_is_held_too_and_goes_on_afterwards(office: Office) -> None:
    office.put(minutely("a", max_attempts=3))
    office.go_on()
    office.end("a", "retry", after_us=SECOND)
    office.go_on()
    office.asked(pause())
    office.now += 2 * SECOND
    assert office.go_on() == []
    office.now += MINUTE
    office.asked(resume())
    assert office.go_on() == ["a"]
    assert (office.orders["a"].attempt, office.orders["a"].due_at) == (2, NOON)


def test_two_pauses_over_one_job_must_both_end(office: Office) -> None:
    office.asked(pause(Scope.CHAT, 7))
    office.asked(pause(Scope.JOB, "a"))
    office.put(spec("a", chat_id=7))
    assert office.go_on() == []
    office.asked(resume(Scope.CHAT, 7))
    assert office.go_on() == []
    office.now += 1
    office.asked(resume(Scope.JOB, "a"))
    assert office.go_on() == ["a"]


# How it ends


def test_b31_nothing_fires_while_it_is_paused_and_the_slots_are_recorded_when_it_is_resumed(office: Office) -> None:
    office.put(minutely("a"))
    office.asked(pause(Scope.JOB, "a"))
    for _ in range(3):
        assert office.go_on() == []
        office.now += MINUTE
    office.now -= SECOND
    office.asked(resume(Scope.JOB, "a"))
    assert office.desk.earliest == office.now
    assert office.go_on() == []
    assert office.skipped("a") == [(3, "paused")]
    assert office.row("a").due_at == NOON + 3 * MINUTE
    office.now = NOON + 3 * MINUTE
    assert office.go_on() == ["a"]


def test_b31_a_pause_outlasts_a_restart_and_an_edit(office: Office) -> None:
    office.put(minutely("a"))
    office.asked(pause(Scope.JOB, "a", reason="holiday"))
    office.go_on()
    office.restart()
    office.host()
    office.put(minutely("a", payload='"edited"'))
    office.now += MINUTE
    assert office.go_on() == []
    assert listed(office) == [Pause(Scope.JOB, "a", NOON, None, OnResume.NEXT, "holiday")]


@pytest.mark.parametrize(("chosen", "at_the_end"), [("run_one", None), ("next", "run_one"), ("run_one", "run_one")])
def test_b31_with_run_one_the_latest_runs_at_once(office: Office, chosen: str, at_the_end: str | None) -> None:
    office.put(minutely("a"))
    office.asked(pause(on_resume=chosen))
    office.go_on()
    office.now += 2 * MINUTE + SECOND
    office.asked(resume(on_resume=at_the_end))
    assert office.go_on() == ["a"]
    assert office.orders["a"].due_at == NOON + 2 * MINUTE
    assert office.skipped("a") == [(2, "paused: a later one runs")]


def test_what_is_said_when_it_is_resumed_counts_more_than_what_was_said_before(office: Office) -> None:
    office.put(minutely("a"))
    office.asked(pause(on_resume="run_one"))
    office.go_on()
    office.now += MINUTE + SECOND
    office.asked(resume(on_resume="next"))
    assert office.go_on() == []
    assert office.skipped("a") == [(2, "paused")]


def test_a_one_shot_runs_late_when_its_pause_ends(office: Office) -> None:
    office.put(spec("a"))
    office.asked(pause())
    office.go_on()
    office.now += HOUR
    office.asked(resume())
    assert office.go_on() == ["a"]
    assert office.events[-1].late_by_us == HOUR


def test_a_pause_with_an_end_lets_go_by_itself_and_wakes_the_scheduler_then(office: Office) -> None:
    office.put(spec("a"))
    office.asked(pause(until=NOON + MINUTE))
    assert office.desk.earliest == NOON + MINUTE
    office.now += MINUTE - 1
    assert office.go_on() == []
    assert office.dispatch.next_attempt_at(office.now) == NOON + MINUTE
    office.now += 1
    assert office.go_on() == ["a"]


def test_what_came_due_in_a_pause_that_ended_while_nobody_was_there_is_told_as_paused(office: Office) -> None:
    office.asked(pause(until=NOON + 2 * MINUTE + SECOND))
    office.put(minutely("a"))
    office.now += 5 * MINUTE
    office.restart()
    office.host()
    assert office.go_on() == []
    assert office.go_on() == ["a"]
    assert office.skipped("a") == [(3, "paused"), (2, "missed: a later one runs")]
    assert office.orders["a"].due_at == NOON + 5 * MINUTE


def test_a_job_that_came_due_after_a_pause_had_ended_knows_nothing_of_it(office: Office) -> None:
    office.asked(pause())
    office.now += MINUTE
    office.asked(resume())
    office.put(spec("a", office.now + 1))
    office.now += SECOND
    assert office.go_on() == ["a"]
    assert office.row("a").held_by is None


def test_run_now_of_a_paused_job_waits_for_the_end_of_its_pause(office: Office) -> None:
    office.asked(pause(Scope.JOB, "a"))
    office.put(spec("a", NOON + HOUR))
    assert office.asked(RunNow(job_id="a")) == Accepted()
    assert office.go_on() == []
    office.now += SECOND
    office.asked(resume(Scope.JOB, "a"))
    assert office.go_on() == ["a"]


def test_what_is_resumed_and_paused_again_before_it_was_let_go_stays(office: Office) -> None:
    office.put(spec("a"))
    office.asked(pause())
    office.go_on()
    office.now += MINUTE
    office.asked(resume())
    office.now += SECOND
    office.asked(pause())
    assert office.go_on() == []
    assert office.row("a").waiting_for == "pause:all"
    office.now += MINUTE
    office.asked(resume())
    assert office.go_on() == ["a"]


def test_a_pause_that_is_begun_anew_tells_its_own_beginning(office: Office) -> None:
    office.asked(pause())
    office.now += MINUTE
    office.asked(resume())
    office.now += SECOND
    office.asked(pause(reason="again"))
    again = [Pause(Scope.ALL, None, office.now, None, OnResume.NEXT, "again")]
    assert (listed(office), office.store.pauses()) == (again, again)


def test_a_pause_that_is_changed_keeps_its_beginning(office: Office) -> None:
    office.asked(pause(reason="one"))
    office.now += MINUTE
    office.asked(pause(until=NOON + HOUR, reason="two"))
    changed = [Pause(Scope.ALL, None, NOON, NOON + HOUR, OnResume.NEXT, "two")]
    assert (listed(office), office.store.pauses()) == (changed, changed)


def test_b31_what_came_due_in_a_pause_stays_paused_while_it_waits_for_its_handler(office: Office) -> None:
    office.put(minutely("a", handler="other"))
    office.asked(pause())
    office.go_on()
    office.now += MINUTE + SECOND
    office.asked(resume())
    office.go_on()
    office.now += HOUR
    office.dispatch.pauses.forget_ended(office.now)
    office.host("8-1/b", "other")
    office.dispatch.release_waiting(frozenset({"other"}), office.now)
    office.go_on()
    assert office.skipped("a")[0] == (2, "paused")


# Refusals


def test_a_pause_must_end_later_than_now(office: Office) -> None:
    refused = office.asked(pause(until=NOON))
    assert isinstance(refused, Refused)
    assert (refused.code, office.store.pauses()) == ("in_the_past", [])


@pytest.mark.parametrize(
    ("scope", "key", "what"),
    [
        (Scope.JOB, "a", "job 'a'"),
        (Scope.CHAT, 7, "chat 7"),
        (Scope.HANDLER, "h", "handler 'h'"),
        (Scope.ALL, None, "all"),
    ],
)
def test_what_is_not_paused_can_not_be_resumed(office: Office, scope: str, key: ChatId | None, what: str) -> None:
    refused = office.asked(resume(scope, key))
    assert isinstance(refused, Refused)
    assert refused.code == "not_paused"
    assert refused.sentence == f"{what} is not paused: see `bellringer pause --list`"


def test_what_has_been_resumed_can_not_be_resumed_again(office: Office) -> None:
    office.asked(pause())
    assert office.asked(resume()) == Accepted()
    assert isinstance(office.asked(resume()), Refused)
    assert listed(office) == []


# Many


def test_thousands_are_let_go_a_page_at_a_time_and_lose_nobody(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.RELEASED_AT_ONCE == 1_000
    office.host("9-1/z", places=5_000)
    office.put(*(spec(f"j{number}") for number in range(2_500)))
    office.asked(pause())
    while office.go_on() or office.dispatch.more_is_due:
        pass
    assert office.store.counts().waiting == 2_500
    office.now += SECOND
    office.asked(resume())
    assert [office.dispatch.release_paused(office.now) for _ in range(3)] == [True, True, False]
    assert office.store.counts().waiting == 0
    begun: list[str] = []
    while len(begun) < 2_500 and (some := office.begun()):
        begun += some
    assert begun == [f"j{number}" for number in range(2_500)]


def test_a_pause_that_ends_while_it_lets_go_of_thousands_goes_on_after_a_restart(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RELEASED_AT_ONCE", 2)
    office.put(*(spec(f"j{number}") for number in range(5)))
    office.asked(pause())
    office.go_on()
    office.now += SECOND
    office.asked(resume())
    assert office.dispatch.release_paused(office.now)
    office.restart()
    office.host()
    assert office.go_on() == [f"j{number}" for number in range(5)]


def test_rows_in_memory_are_held_and_let_go_with_the_others(office: Office) -> None:
    office.put(spec("m"), in_memory=True)
    office.asked(pause())
    assert office.go_on() == []
    office.now += SECOND
    office.asked(resume())
    assert office.go_on() == ["m"]


# The scheduler's copy


def test_a_pause_is_remembered_for_a_while_after_its_end_and_then_forgotten() -> None:
    store = MemoryStore()
    pauses = Pauses(store)
    pauses.begin(Pause(Scope.ALL, None, NOON, NOON + SECOND, OnResume.NEXT, None))
    end = NOON + SECOND
    pauses.forget_ended(end + 2 * KEPT_AFTER_END_US)
    assert len(store.pauses()) == 1  # it has not let go yet
    (ended,) = pauses.to_release(end)
    pauses.note_released(ended)
    assert pauses.to_release(end) == []
    pauses.forget_ended(end + KEPT_AFTER_END_US)
    assert len(store.pauses()) == 1
    pauses.forget_ended(end + KEPT_AFTER_END_US + 1)
    assert store.pauses() == []
    assert pauses.holding(due_row(next_attempt_at=NOON), end) is None


def test_what_came_due_in_a_pause_that_has_ended_is_held_once_more_to_be_told_so() -> None:
    pauses = Pauses(MemoryStore())
    pauses.begin(Pause(Scope.ALL, None, NOON, NOON + SECOND, OnResume.NEXT, None))
    (ended,) = pauses.to_release(NOON + SECOND)
    pauses.note_released(ended)
    row = due_row(due_at=NOON + SECOND, next_attempt_at=NOON + 5 * SECOND)
    assert pauses.holding(row._replace(held_by="pause"), NOON + MINUTE) is None
    assert pauses.holding(row._replace(held_by="pause:run_one"), NOON + MINUTE) is None
    assert pauses.holding(row._replace(held_by="snooze"), NOON + MINUTE) is None
    assert pauses.holding(row._replace(due_at=NOON + SECOND + 1), NOON + MINUTE) is None
    assert pauses.holding(row._replace(due_at=NOON - 1), NOON + MINUTE) is None
    assert pauses.holding(row, NOON + MINUTE) == ended
    assert pauses.to_release(NOON + MINUTE) == [ended]


def test_a_pause_that_is_made_again_lets_go_again() -> None:
    pauses = Pauses(MemoryStore())
    for at in (NOON, NOON + HOUR):
        pauses.begin(Pause(Scope.ALL, None, at, None, OnResume.NEXT, None))
        assert pauses.end(Scope.ALL, None, at + 1, None)
        (ended,) = pauses.to_release(at + 1)
        pauses.note_released(ended)
    assert pauses.to_release(NOON + HOUR + 1) == []


def test_the_next_end_is_the_earliest_that_is_still_to_come() -> None:
    pauses = Pauses(MemoryStore())
    assert pauses.next_end(NOON) is None
    for key, until in (("a", NOON), ("b", NOON + 2), ("c", NOON + 1), ("d", None)):
        pauses.begin(Pause(Scope.JOB, key, NOON - 1, until, OnResume.NEXT, None))
    assert pauses.next_end(NOON) == NOON + 1
    assert [pause.key for pause in pauses.standing(NOON)] == ["b", "c", "d"]


def test_the_pauses_over_a_job_are_all_that_stand() -> None:
    pauses = Pauses(MemoryStore())
    over: list[tuple[Scope, ChatId | None]] = [(Scope.JOB, "a"), (Scope.CHAT, 7), (Scope.HANDLER, "work")]
    over.append((Scope.ALL, None))
    others: list[tuple[Scope, ChatId | None]] = [(Scope.JOB, "b"), (Scope.CHAT, "7"), (Scope.HANDLER, "a")]
    for scope, key in (*over, *others):
        pauses.begin(Pause(scope, key, NOON, NOON + 5, OnResume.NEXT, None))
    assert [(pause.scope, pause.key) for pause in pauses.over("a", 7, "work", NOON)] == over
    assert pauses.over("a", 7, "work", NOON + 5) == []
    assert [pause.scope for pause in pauses.over("a", None, "work", NOON)] == [Scope.JOB, Scope.HANDLER, Scope.ALL]


def test_the_reason_of_a_wait_tells_its_pause() -> None:
    scopes: list[tuple[Scope, ChatId | None]] = [(Scope.ALL, None), (Scope.JOB, "a"), (Scope.CHAT, 7)]
    scopes += [(Scope.CHAT, "7"), (Scope.HANDLER, "h")]
    reasons = [pause_reason(Pause(scope, key, NOON, None, OnResume.NEXT, None)) for scope, key in scopes]
    assert reasons == ["pause:all", "pause:job:a", "pause:chat:i:7", "pause:chat:s:7", "pause:handler:h"]


def test_what_a_pause_lets_go_is_marked_by_what_it_is_to_get() -> None:
    marks = [held_by(Pause(Scope.ALL, None, NOON, NOON, on_resume, None)) for on_resume in OnResume]
    assert marks == ["pause", "pause:run_one"]


def test_b69_a_pause_that_could_not_be_stored_holds_nothing() -> None:
    store = BusyOnce()
    office = Office(store)
    office.host()
    store.failing = "commit"
    refused = office.asked(pause())
    assert isinstance(refused, Refused)
    assert refused.again
    office.put(spec("a"))
    assert office.go_on() == ["a"]


def test_b69_a_resumption_that_could_not_be_stored_lets_nothing_go() -> None:
    store = BusyOnce()
    office = Office(store)
    office.host()
    office.asked(pause())
    office.put(spec("a"))
    office.go_on()
    office.now += SECOND
    store.failing = "commit"
    office.asked(resume())
    assert office.go_on() == []
    assert len(listed(office)) == 1


def test_b69_a_pass_that_fails_leaves_the_pauses_as_they_are() -> None:
    store = BusyOnce()
    office = Office(store)
    office.host()
    office.asked(pause())
    office.put(spec("a"))
    store.failing = "commit"
    with pytest.raises(StorageBusyError):
        office.begun()
    assert office.go_on() == []
    assert office.row("a").waiting_for == "pause:all"
