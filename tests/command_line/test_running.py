"""Every command against a running system, in processes of its own."""

import pendulum
import pytest

import bellringer
from bellringer import SchedulerHandle
from tests.command_line.calling import Calling, ids, run

LATER = 100_000.0


@pytest.fixture
def handle(serving: Calling) -> SchedulerHandle:
    return bellringer.connect(serving.database)


def test_pending_and_show_tell_what_a_bot_has_scheduled(serving: Calling, handle: SchedulerHandle) -> None:
    with handle:
        handle.persisted("seen", "greet", after=LATER, chat_id=1001, payload={"text": "tea"})

    assert ids(serving("pending", "--chat", "1001", "--json").json["jobs"]) == ["seen"]
    assert serving("show", "seen", "--json").json["job"]["payload"] == {"text": "tea"}


def test_what_has_run_stands_in_history_and_sessions(serving: Calling, handle: SchedulerHandle) -> None:
    with handle:
        handle.persisted("ran", "greet", after=LATER, chat_id=1002, user_id=7)
        assert serving("run-now", "ran").out == "ran runs now\n"
        _until_ended(handle, "ran")

    (occurrence,) = serving("history", "ran", "--json").json["occurrences"]
    (session,) = serving("sessions", "--chat", "1002", "--json").json["sessions"]
    assert (occurrence["outcome"], occurrence["attempts"]) == ("done", 1)
    assert occurrence["duration_s"] >= 0
    assert session["data"] == {"greeted": True}


def test_run_now_says_that_a_job_waits_for_a_handler_that_nobody_knows(
    serving: Calling, handle: SchedulerHandle
) -> None:
    with handle:
        handle.persisted("stranded", "nobody knows it", after=LATER)

    told = serving("run-now", "stranded")
    assert (told.code, told.out) == (
        0, "stranded is due now; waiting: no host knows the handler 'nobody knows it'\n"
    )  # fmt: skip


def test_pending_and_history_refuse_an_unknown_job(serving: Calling) -> None:
    for command in (["pending", "--after", "nobody"], ["history", "nobody"]):
        told = serving(*command, "--json")
        assert (told.code, told.out, told.error["code"]) == (1, "", "not_found")


def test_pending_can_be_asked_in_python_for_what_waits(serving: Calling, handle: SchedulerHandle) -> None:
    with handle:
        handle.persisted("held up", "nobody knows it", after=0, chat_id=1005)
        handle.persisted("later", "greet", after=LATER, chat_id=1005)
        _until_waiting(handle, "held up")
        assert [job.id for job in handle.pending(status="waiting", chat_id=1005)] == ["held up"]


def test_a_scheduled_job_shows_its_due_time_as_a_datetime(handle: SchedulerHandle) -> None:
    at = pendulum.datetime(2030, 12, 25, 8)
    with handle:
        told = repr(handle.schedule("greet", id="shown", at=at))
        again = repr(handle.schedule("greet", id="shown", at=at))

    assert told == "<ScheduledJob 'shown', due 2030-12-25 08:00:00+00:00>"
    assert again == "<ScheduledJob 'shown', due 2030-12-25 08:00:00+00:00, replacing an earlier one>"


def test_what_python_is_refused_is_told_in_its_own_words(handle: SchedulerHandle) -> None:
    with handle:
        with pytest.raises(bellringer.InvalidJobError, match=r"^at is 1969-.*, but must lie in the years 1970 to 9999"):
            handle.schedule("greet", at=pendulum.datetime(1969, 1, 1))
        with pytest.raises(bellringer.InvalidJobError, match=r"^say when it is due"):
            handle.schedule("greet")
        with pytest.raises(TypeError, match=r"^attach takes a list of module names: write \['x'\]"):
            handle.attach("x")


def test_a_parked_job_is_shown_with_its_traceback_and_redriven(serving: Calling, handle: SchedulerHandle) -> None:
    with handle:
        handle.persisted("breaks", "break", after=0)
        _until_ended(handle, "breaks")

        assert 'raise ValueError("it broke")' in serving("show", "breaks").out
        assert serving("redrive", "breaks").out == "breaks is scheduled again\n"
        _until_ended(handle, "breaks", times=2)


def test_cancel_names_the_ids_that_are_not_there(serving: Calling, handle: SchedulerHandle) -> None:
    with handle:
        handle.persisted("unwanted", "greet", after=LATER)

    told = serving("cancel", "unwanted", "nobody", "unwanted", "--json")
    assert (told.code, told.json) == (0, {"cancelled": ["unwanted"], "unknown": ["nobody"]})
    assert serving("cancel", "unwanted").code == 1


@pytest.mark.parametrize("odd", ["--weird", "two\nlines", "🎂", "a'b; DROP TABLE job;--", " spaces ", "\u202ertl"])
def test_b59_odd_ids_can_be_shown_and_cancelled(serving: Calling, handle: SchedulerHandle, odd: str) -> None:
    with handle:
        handle.persisted(odd, "greet", after=LATER)

    assert serving("show", "--json", "--", odd).json["job"]["id"] == odd
    assert serving("cancel", "--json", "--", odd).json == {"cancelled": [odd], "unknown": []}


@pytest.mark.parametrize(
    ("command", "code"), [("run-now", "not_found"), ("redrive", "not_found"), ("show", "not_found")]
)
def test_an_id_that_is_not_there_is_refused(serving: Calling, command: str, code: str) -> None:
    told = serving(command, "nobody", "--json")

    assert (told.code, told.out, told.error["code"]) == (1, "", code)


def test_redrive_refuses_a_job_that_is_not_parked(serving: Calling, handle: SchedulerHandle) -> None:
    with handle:
        handle.persisted("fine", "greet", after=LATER)

    assert serving("redrive", "fine", "--json").error["code"] == "wrong_state"


def test_health_tells_who_runs_handlers(serving: Calling) -> None:
    told = serving("health", "--json")
    (host,) = told.json["hosts"]

    assert (told.code, told.json["status"], told.json["name"]) == (0, "ok", "bellringer")
    assert {"greet", "break"} <= set(host["handlers"])


def test_health_is_told_to_people(serving: Calling) -> None:
    assert serving("health").out.startswith("bellringer on bot.db: ok\n")


def test_the_file_is_sound_while_the_system_runs(serving: Calling) -> None:
    assert serving("check").code == 0


def test_a_scheduler_of_another_name_is_refused(serving: Calling) -> None:
    told = serving("--name", "other", "pending", "--json")

    assert (told.code, told.error["code"]) == (1, "wrong_scheduler")


def test_b36_a_second_scheduler_on_the_database_is_refused(serving: Calling) -> None:
    told = run("serve", "--json", folder=serving.database.parent)

    assert (told.code, told.out, told.error["code"]) == (1, "", "database_in_use")


@pytest.mark.parametrize("command", ["cancel", "run-now", "redrive"])
def test_the_file_is_not_changed_behind_a_scheduler(serving: Calling, command: str) -> None:
    told = serving(command, "any", "--offline", "--json")

    assert (told.code, told.error["code"]) == (1, "database_in_use")


def test_the_installed_module_answers_with_codes_a_shell_can_use(serving: Calling) -> None:
    folder = serving.database.parent

    assert run("health", folder=folder).code == 0
    assert run("show", "nobody", folder=folder).code == 1
    assert run("show", folder=folder).code == 2
    assert run("health", folder=folder, BELLRINGER_DATABASE="elsewhere.db").code == 3


def _until_ended(handle: SchedulerHandle, job_id: str, times: int = 1) -> None:
    """Each look is an answer of the scheduler, which goes on meanwhile."""
    for _ in range(10_000):
        if len(handle.history(job_id)) >= times:
            return
    raise AssertionError(f"job {job_id!r} has not ended {times} times")


def _until_waiting(handle: SchedulerHandle, job_id: str) -> None:
    for _ in range(10_000):
        job = handle.get(job_id)
        if job is not None and job.waiting_for is not None:
            return
    raise AssertionError(f"job {job_id!r} does not wait")
