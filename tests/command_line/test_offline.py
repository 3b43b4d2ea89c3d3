"""What can be seen of a file, and changed in it, where no scheduler runs."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bellringer.commands.phrases import cells
from bellringer.commands.tables import Screen
from bellringer.storage.lock import DatabaseLock
from bellringer.storage.sqlite_store import open_store
from bellringer.storage.values import Pause
from tests.command_line.calling import Calling, ids
from tests.contract.steps import T, done, job, only_order, put


def test_pending_lists_jobs_in_order_of_due_time(bellringer: Calling) -> None:
    told = bellringer("pending", "--offline", "--json")

    assert told.code == 0
    assert ids(told.json["jobs"]) == ["broken", "strange", "running", "reminder:42", "digest"]
    assert told.json["after"] is None


def test_pending_says_why_a_job_is_not_simply_scheduled(bellringer: Calling) -> None:
    lines = {line.partition(" ")[0]: line for line in bellringer("pending", "--offline").out.splitlines()}

    assert lines["broken"].endswith("parked     ValueError: no")
    assert lines["strange"].endswith("waiting    no host knows the handler 'unknown'")
    assert "claimed    left by process host, which began it" in lines["running"]
    assert lines["reminder:42"].endswith("scheduled")


def test_what_is_overdue_starts_with_a_scheduler_where_none_runs(bellringer: Calling) -> None:
    assert bellringer("run-now", "digest", "--offline").code == 0
    store = open_store(bellringer.database)
    put(store, job("overdue", chat_id=6))
    store.close()

    told = bellringer("pending", "--offline").out
    assert "starts when a scheduler runs" in told
    assert "when a host has room" not in told
    assert "starts when a scheduler runs" in bellringer("show", "overdue", "--offline").out


def test_a_claim_that_an_ended_scheduler_left_is_not_told_as_running(bellringer: Calling) -> None:
    told = bellringer("show", "running", "--offline").out

    assert "left by process host, which began it" in told
    assert "running for" not in told
    assert "left by host" in bellringer("show", "running", "--offline", "--json").json["job"]["why"]


@pytest.mark.parametrize("command", [["pending"], ["health"]])
def test_jobs_are_counted_in_the_same_words_everywhere(bellringer: Calling, command: list[str]) -> None:
    assert "2 scheduled, 1 waiting, 1 claimed, 1 parked" in bellringer(*command, "--offline").out


def test_pending_refuses_to_go_on_behind_an_unknown_job(bellringer: Calling) -> None:
    told = bellringer("pending", "--offline", "--after", "nobody")

    assert (told.code, told.out, told.err) == (1, "", "bellringer: job 'nobody', to go on behind, is not there\n")


def test_history_of_an_unknown_job_is_refused(bellringer: Calling) -> None:
    assert bellringer("history", "nobody", "--offline", "--json").error["code"] == "not_found"
    assert bellringer("history", "digest", "--offline").out.startswith("There is no such occurrence recorded.")


@pytest.mark.parametrize("command", [["pending"], ["history"]])
@pytest.mark.parametrize("width", [40, 60, 80])
def test_every_line_of_a_table_fits_the_terminal(
    bellringer: Calling, command: list[str], width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Screen, "of_output", lambda: Screen(width))

    lines = bellringer(*command, "--offline").out.splitlines()
    assert len(lines) > 4
    assert max(map(cells, lines[: lines.index("")])) <= width


def test_pending_says_that_it_has_read_the_file(bellringer: Calling) -> None:
    assert f"Read from the file {bellringer.database}" in bellringer("pending", "--offline").out


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ("scheduled", ["strange", "reminder:42", "digest"]),
        ("waiting", ["strange"]),
        ("claimed", ["running"]),
        ("parked", ["broken"]),
    ],
)
def test_pending_can_be_asked_for_one_state(bellringer: Calling, status: str, found: list[str]) -> None:
    assert ids(bellringer("pending", "--offline", "--json", "--status", status).json["jobs"]) == found


@pytest.mark.parametrize(
    ("chat", "found"),
    [("42", ["reminder:42"]), ("text:42", ["digest"]), ("-100", ["broken"]), ("@channel", [])],
)
def test_a_chat_is_a_number_or_a_text(bellringer: Calling, chat: str, found: list[str]) -> None:
    assert ids(bellringer("pending", "--offline", "--json", "--chat", chat).json["jobs"]) == found


def test_pending_goes_on_where_the_page_before_has_ended(bellringer: Calling) -> None:
    first = bellringer("pending", "--offline", "--json", "--limit", "2").json
    second = bellringer("pending", "--offline", "--json", "--limit", "3", "--after", first["after"]).json

    assert ids(first["jobs"] + second["jobs"]) == ["broken", "strange", "running", "reminder:42", "digest"]
    assert second["after"] is None


def test_instants_are_utc_and_durations_seconds_in_json(bellringer: Calling) -> None:
    job = bellringer("show", "digest", "--offline", "--json").json["job"]

    assert job["due_at"] == "2100-01-01T00:00:01.000000Z"
    assert job["every_s"] == 86_400.0
    assert job["due_in_s"] > 0


def test_show_tells_everything_about_a_job(bellringer: Calling) -> None:
    told = bellringer("show", "reminder:42", "--offline").out

    assert 'payload   {"text": "tea"}' in told
    assert "state     scheduled" in told
    assert "chat      42" in told


def test_show_prints_the_traceback_of_the_latest_failure(bellringer: Calling) -> None:
    told = bellringer("show", "broken", "--offline").out

    assert "Traceback:\n  line \\x1b[31m\nValueError: no" in told


def test_show_tells_how_an_ended_job_ended(bellringer: Calling) -> None:
    assert bellringer("show", "ended", "--offline", "--json").json["job"]["state"] == "done"


def test_show_refuses_an_id_that_is_not_there(bellringer: Calling) -> None:
    told = bellringer("show", "nobody", "--offline", "--json")

    assert (told.code, told.out, told.error["code"]) == (1, "", "not_found")


def test_history_is_told_newest_first(bellringer: Calling) -> None:
    told = bellringer("history", "--offline", "--json").json["occurrences"]

    assert [(row["job_id"], row["outcome"]) for row in told] == [("broken", "failed"), ("ended", "done")]


def test_history_of_one_job_chat_or_outcome(bellringer: Calling) -> None:
    for only in (["ended"], ["--chat", "42"], ["--outcome", "done"]):
        told = bellringer("history", "--offline", "--json", *only).json["occurrences"]
        assert [row["job_id"] for row in told] == ["ended"]


def test_history_goes_on_with_what_is_older(bellringer: Calling) -> None:
    first = bellringer("history", "--offline", "--json", "--limit", "1").json
    second = bellringer("history", "--offline", "--json", "--before", str(first["before"])).json

    assert [row["job_id"] for row in first["occurrences"] + second["occurrences"]] == ["broken", "ended"]
    assert second["before"] is None


def test_sessions_are_listed(bellringer: Calling) -> None:
    (session,) = bellringer("sessions", "--offline", "--json").json["sessions"]

    assert (session["chat_id"], session["user_id"], session["data"]) == (42, 7, {"n": 1})


def test_health_of_a_file_is_its_counts(bellringer: Calling) -> None:
    told = bellringer("health", "--offline", "--json").json

    assert {name: told[name] for name in ("scheduled", "waiting", "claimed", "parked")} == {
        "scheduled": 3,
        "waiting": 1,
        "claimed": 1,
        "parked": 1,
    }


def test_looking_changes_nothing_of_the_file(bellringer: Calling) -> None:
    before = bellringer.database.read_bytes()

    for command in (["pending"], ["show", "broken"], ["history"], ["sessions"], ["health"]):
        assert bellringer(*command, "--offline").code == 0
    assert bellringer("check").code == 0

    assert bellringer.database.read_bytes() == before


def test_looking_is_possible_while_a_scheduler_writes(bellringer: Calling) -> None:
    store = open_store(bellringer.database)
    with store.transaction():
        store.put([job("not yet committed")], T)
        jobs = bellringer("pending", "--offline", "--json").json["jobs"]
    store.close()

    assert len(jobs) == 5


def test_check_finds_a_sound_file_sound(bellringer: Calling) -> None:
    told = bellringer("check", "--json")

    assert (told.code, told.json) == (0, {"faults": [], "absent": []})


def test_check_takes_offline_for_what_it_does_anyway(bellringer: Calling) -> None:
    assert bellringer("check", "--offline").out == f"{bellringer.database} is sound\n"


def test_check_names_each_fault(bellringer: Calling) -> None:
    with closing(sqlite3.connect(bellringer.database)) as connection, connection:
        connection.execute("UPDATE job SET payload = 'no JSON' WHERE id = 'digest'")

    told = bellringer("check")

    assert (told.code, told.out) == (1, "a job's payload is not JSON: 'digest'\n")


def test_b50_check_names_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "bad.db").write_text("certainly no database")

    told = Calling(tmp_path / "bad.db")("check", "--json")

    assert told.code == 1
    assert "is not an SQLite database" in told.json["faults"][0]


def test_cancel_takes_a_job_out_of_the_file(bellringer: Calling) -> None:
    told = bellringer("cancel", "digest", "nobody", "--offline")

    assert (told.code, told.out, told.err) == (0, "cancelled digest\n", "bellringer: job nobody is not there\n")
    assert "digest" not in ids(bellringer("pending", "--offline", "--json").json["jobs"])


def test_cancel_fails_where_none_of_the_ids_is_there(bellringer: Calling) -> None:
    told = bellringer("cancel", "nobody", "nothing", "--offline", "--json")

    assert (told.code, told.json) == (1, {"cancelled": [], "unknown": ["nobody", "nothing"]})


def test_run_now_makes_a_job_due(bellringer: Calling) -> None:
    assert bellringer("run-now", "reminder:42", "--offline").code == 0

    assert bellringer("show", "reminder:42", "--offline", "--json").json["job"]["due_in_s"] <= 0


def test_run_now_refuses_what_is_not_scheduled(bellringer: Calling) -> None:
    told = bellringer("run-now", "broken", "--offline")

    assert (told.code, told.err) == (1, "bellringer: job 'broken' is parked: only a scheduled job can be run now\n")


def test_redrive_puts_a_parked_job_back(bellringer: Calling) -> None:
    assert bellringer("redrive", "broken", "--offline").out == "broken is scheduled again\n"

    assert bellringer("show", "broken", "--offline", "--json").json["job"]["state"] == "scheduled"


def test_redrive_puts_every_parked_job_back(bellringer: Calling) -> None:
    assert bellringer("redrive", "--all-parked", "--offline", "--json").json == {"redriven": ["broken"]}
    assert bellringer("redrive", "--all-parked", "--offline", "--json").json == {"redriven": []}


def test_redrive_refuses_what_is_not_parked(bellringer: Calling) -> None:
    told = bellringer("redrive", "digest", "--offline", "--json")

    assert (told.code, told.error["code"]) == (1, "wrong_state")


@pytest.mark.parametrize("command", ["cancel", "run-now", "redrive"])
def test_b36_nothing_is_changed_in_a_file_that_somebody_else_holds(bellringer: Calling, command: str) -> None:
    with DatabaseLock(bellringer.database):
        told = bellringer(command, "digest", "--offline", "--json")

    assert (told.code, told.error["code"]) == (1, "database_in_use")
    assert "digest" in ids(bellringer("pending", "--offline", "--json").json["jobs"])


def test_a_job_is_explained_from_the_file(bellringer: Calling) -> None:
    told = bellringer("explain", "broken", "--offline")

    assert told.code == 0
    assert "and failed: ValueError: no." in told.out
    assert "It is parked: ValueError: no. `bellringer redrive` puts it back" in told.out
    assert "Next: nothing, until it is put back." in told.out
    assert "Read from the file" in told.out


def test_what_waits_for_a_handler_is_explained_from_the_file(bellringer: Calling) -> None:
    (said, _) = bellringer("explain", "strange", "--offline", "--json").json["sentences"]

    assert "waiting: no host knows the handler 'unknown'" in said


def test_a_pause_is_told_from_the_file_and_one_that_has_ended_is_not(bellringer: Calling) -> None:
    with closing(open_store(bellringer.database)) as store:
        store.pause(Pause("chat", 42, T, None, "next", "quiet"))
        store.pause(Pause("chat", "42", T, T + 1, "next", "over"))

    lines = {line.partition(" ")[0]: line for line in bellringer("pending", "--offline").out.splitlines()}
    assert lines["reminder:42"].endswith("scheduled  paused with its chat: quiet")
    assert lines["digest"].endswith("scheduled")
    assert "over" not in bellringer("pause", "--list", "--offline").out


def test_what_a_late_run_had_waited_for_stands_in_its_history(bellringer: Calling) -> None:
    with closing(open_store(bellringer.database)) as store:
        order = only_order(store, job("late", chat_id=9))
        finished = done(order)
        assert finished.ending is not None
        store.settle([finished._replace(ending=finished.ending._replace(reason="held: handler:greet"))], T + 2)

    told = bellringer("history", "late", "--offline").out
    assert "late: it waited for the handler 'greet', which no host knew" in told
