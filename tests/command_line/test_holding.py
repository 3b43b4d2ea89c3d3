"""Pausing, resuming, leaving out, putting off and moving to another zone, against a running system."""

import pendulum
import pytest

import bellringer
from bellringer import SchedulerHandle
from tests.command_line.calling import Calling, call, ids

LATER = 100_000.0


@pytest.fixture
def handle(serving: Calling) -> SchedulerHandle:
    return bellringer.connect(serving.database)


def test_a_paused_job_is_shown_so_with_the_reason_until_it_is_resumed(
    serving: Calling, handle: SchedulerHandle
) -> None:
    with handle:
        handle.persisted("held", "greet", after=LATER, chat_id=2001)

    told = serving("pause", "held", "--until", "2099-01-01T00:00Z", "--reason", "on holiday")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("job held: paused until 20")
    assert "paused until 20" in (shown := serving("show", "held").out)
    assert "on holiday" in shown
    (pending,) = serving("pending", "--chat", "2001", "--json").json["jobs"]
    assert (pending["paused"]["scope"], pending["paused"]["reason"]) == ("job", "on holiday")
    assert "It is paused since" in serving("explain", "held").out

    assert serving("resume", "held").out == "job held: resumed\n"
    assert "paused" not in serving("show", "held").out


@pytest.mark.parametrize(
    ("scope", "told"),
    [
        (["--chat", "2002"], {"scope": "chat", "key": 2002}),
        (["--chat", "text:2002"], {"scope": "chat", "key": "2002"}),
        (["--handler", "break"], {"scope": "handler", "key": "break"}),
        (["--all"], {"scope": "all", "key": None}),
    ],
)
def test_a_pause_can_hold_a_chat_a_handler_or_all(serving: Calling, scope: list[str], told: dict[str, object]) -> None:
    assert serving("pause", *scope, "--json").json == {"paused": {**told, "until": None}}
    listed = serving("pause", "--list", "--json").json["pauses"]
    assert [told] == [{"scope": one["scope"], "key": one["key"]} for one in listed]
    assert listed == serving("pause", "--list", "--offline", "--json").json["pauses"]

    assert serving("resume", *scope, "--json").json == {"resumed": told}
    assert serving("pause", "--list").out == "Nothing is paused.\n"


def test_pauses_are_listed_for_people(serving: Calling) -> None:
    serving("pause", "--chat", "2003", "--reason", "quiet", "--run-one")
    title, line = serving("pause", "--list").out.splitlines()
    serving("resume", "--chat", "2003")

    assert title.split() == ["SCOPE", "WHICH", "SINCE", "UNTIL", "THEN", "REASON"]
    assert line.split()[:2] == ["chat", "2003"]
    assert line.endswith("resumed  run one  quiet")


def test_b31_a_job_that_is_run_now_while_it_is_paused_says_so(serving: Calling, handle: SchedulerHandle) -> None:
    with handle:
        handle.persisted("held now", "greet", after=LATER, chat_id=2004)
        handle.pause(chat_id=2004, reason="quiet")
        assert serving("run-now", "held now").out == "held now is due now; paused with its chat: quiet\n"
        assert handle.get("held now").status == "scheduled"  # type: ignore[union-attr]
        handle.resume(chat_id=2004)


def test_resuming_what_is_not_paused_is_refused(serving: Calling) -> None:
    told = serving("resume", "nobody", "--json")

    assert (told.code, told.error["code"]) == (1, "not_paused")


def test_the_next_due_time_can_be_left_out(serving: Calling, handle: SchedulerHandle) -> None:
    with handle:
        handle.schedule("greet", id="hourly", every=3_600, chat_id=2005)
        before = serving("show", "hourly", "--json").json["upcoming"]
        assert serving("skip-next", "hourly").out == "job hourly: 1 due time left out\n"

    after = serving("show", "hourly", "--json").json["upcoming"]
    assert after[:2] == before[1:]
    assert "it was asked to leave out the next one" in serving("explain", "hourly").out
    assert serving("skip-next", "--chat", "2005", "--json").json["skipped_next"]["jobs"] == 1


def test_leaving_out_is_refused_for_what_runs_once_or_is_not_there(serving: Calling, handle: SchedulerHandle) -> None:
    with handle:
        handle.persisted("just once", "greet", after=LATER)

    assert serving("skip-next", "just once", "--json").error["code"] == "wrong_state"
    assert serving("skip-next", "nobody", "--json").error["code"] == "not_found"


def test_a_snooze_puts_off_what_is_next_and_leaves_the_series(serving: Calling, handle: SchedulerHandle) -> None:
    with handle:
        handle.schedule("greet", id="snoozed", every=3_600, chat_id=2006)
    due_at = serving("show", "snoozed", "--json").json["job"]["due_at"]

    assert serving("snooze", "snoozed", "--by", "10m").out.startswith("job snoozed: put off until")

    job = serving("show", "snoozed", "--json").json["job"]
    assert pendulum.parse(job["next_attempt_at"]) - pendulum.parse(due_at) == pendulum.duration(minutes=10)  # type: ignore[operator]
    assert (job["due_at"], job["snoozed_until"]) == (due_at, job["next_attempt_at"])
    assert "snoozed until" in serving("pending", "--chat", "2006").out
    assert "It is snoozed until" in serving("explain", "snoozed").out


def test_a_snooze_of_a_chat_ends_by_itself_and_runs_once(serving: Calling) -> None:
    assert serving("snooze", "--chat", "2007", "--until", "2099-01-01").code == 0
    (pause,) = serving("pause", "--list", "--json").json["pauses"]
    serving("resume", "--chat", "2007")

    assert (pause["until"], pause["on_resume"]) == ("2099-01-01T00:00:00.000000Z", "run_one")


@pytest.mark.parametrize("time", ["31 dec 2098 23:30", "2098-12-31 23:30", "2098-12-31T14:30Z"])
def test_a_time_is_a_phrase_or_a_local_time_of_a_zone_or_an_instant(serving: Calling, time: str) -> None:
    told = serving("pause", "--chat", "2008", "--until", time, "--zone", "Asia/Tokyo", "--json")
    serving("resume", "--chat", "2008")

    assert told.json["paused"]["until"] == "2098-12-31T14:30:00.000000Z"


@pytest.mark.parametrize("time", ["2020-01-01T00:00Z", "gibberish", "9"])
def test_a_time_that_is_past_or_no_time_is_refused(serving: Calling, time: str) -> None:
    told = serving("pause", "--all", "--until", time, "--json")

    assert (told.code, told.error["code"]) == (1, "invalid_job")
    assert serving("pause", "--list").out == "Nothing is paused.\n"


def test_a_chat_can_be_moved_to_another_zone(serving: Calling, handle: SchedulerHandle) -> None:
    with handle:
        handle.schedule("greet", id="morning", rule="daily 09:00", zone="Europe/Berlin", chat_id=2009)

    told = serving("zone", "America/New_York", "--chat", "2009")
    assert (told.code, told.out) == (0, "2009 is in America/New_York now; 1 job moved\n")
    shown = serving("show", "morning", "--json").json
    assert shown["job"]["zone"] == "America/New_York"
    assert [at["local"][10:19] for at in shown["upcoming"]] == ["T09:00:00"] * 3
    assert serving("zone", "Mars/Olympus", "--chat", "2009", "--json").error["code"] == "invalid_job"


def test_the_policies_that_are_not_the_defaults_are_shown(serving: Calling, handle: SchedulerHandle) -> None:
    with handle:
        handle.schedule(
            "greet", id="strict", rule="weekly mon,fri 18:00", zone="Europe/Berlin", chat_id=2010, misfire="skip",
            grace=90, catch_up="all(5)", overlap="skip", stale_after=3_600, attempts=3, time_limit=5,
        )  # fmt: skip
        handle.schedule("greet", id="lax", after=LATER)
        assert ids(serving("pending", "--chat", "2010", "--json").json["jobs"]) == ["strict"]

    shown = {line[:13].strip(): line[13:].strip() for line in serving("show", "strict").out.splitlines()}
    expected = {
        "rule": "weekly mon,fri 18:00, in Europe/Berlin",
        "zone": "Europe/Berlin",
        "misfire": "skip",
        "grace": "1 min 30 s",
        "catch up": "all(5)",
        "overlap": "skip",
        "stale after": "1 h",
        "attempts": "0 of 3",
        "time limit": "5 s",
    }
    assert {name: shown[name] for name in expected} == expected
    assert shown["next"].count("18:00:00 +0") == 1

    job = serving("show", "strict", "--json").json["job"]
    assert (job["rule"], job["grace_s"], job["catch_up"]) == (expected["rule"], 90.0, "all(5)")
    told = serving("show", "lax").out
    assert not [name for name in ("misfire", "grace", "catch up", "overlap", "stale", "limit", "zone") if name in told]


def test_explain_tells_what_happened_and_what_comes(serving: Calling, handle: SchedulerHandle) -> None:
    with handle:
        handle.persisted("never known", "nobody knows it", after=LATER)
        told = serving("explain", "never known", "--json").json
        explanation = handle.explain("never known")

    assert explanation is not None
    assert told["sentences"] == list(explanation.sentences)
    assert told["sentences"][0].startswith("Now no host knows the handler 'nobody knows it'")
    assert told["sentences"][-1].startswith("Next: ")
    assert len(told["upcoming"]) == 1


def test_explaining_an_unknown_job_is_refused(serving: Calling) -> None:
    for flags in ([], ["--offline"]):
        told = serving("explain", "nobody", "--json", *flags)
        assert (told.code, told.out, told.error["code"]) == (1, "", "not_found")


@pytest.mark.parametrize(
    "arguments",
    [
        ["pause"],
        ["pause", "a", "--all"],
        ["pause", "--chat", "1", "--handler", "x"],
        ["pause", "a", "--offline"],
        ["pause", "a", "--list"],
        ["resume"],
        ["skip-next"],
        ["snooze", "a"],
        ["snooze", "a", "--by", "1m", "--until", "2099-01-01"],
        ["snooze", "--by", "1m"],
        ["zone", "Europe/Berlin"],
    ],
)
def test_a_scope_and_a_time_are_needed(arguments: list[str]) -> None:
    assert call(*arguments).code == 2
