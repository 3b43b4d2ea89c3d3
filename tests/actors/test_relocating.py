"""Where due times lie after a zone has changed: local times stay, nothing comes twice, nothing is early or lost."""

from bellringer.actors.relocating import Relocated, Standing, relocate
from bellringer.storage import rules
from tests.rules.telling import us, wall

BERLIN, TOKYO, HELSINKI, NEW_YORK = "Europe/Berlin", "Asia/Tokyo", "Europe/Helsinki", "America/New_York"
WHY = "passed"


def moved(text: str, to: str, now: str, **standing: object) -> Relocated:
    rule = rules.parse(text, zone=BERLIN).in_zone(to)
    before, there = rules.zone_named(BERLIN), rules.zone_named(to)
    given = Standing(**{"status": "scheduled", "next_due_at": None, "is_begun": False, **standing})  # type: ignore[arg-type]
    return relocate(given, rule, lambda at: there.instant(before.local(at)), us(now), WHY)


def planned(due_at: str, **more: object) -> dict[str, object]:
    return {"due_at": us(due_at), "next_attempt_at": us(due_at), **more}


def test_a_local_time_that_is_to_come_stays_the_same_by_the_clock() -> None:
    found = moved("daily 09:00", NEW_YORK, "2026-07-01T00:00Z", **planned("2026-07-01T07:00Z"))
    assert found == (us("2026-07-01T13:00Z"), us("2026-07-01T13:00Z"), None, None, False)


def test_what_has_passed_there_is_told_with_all_that_follow_it_up_to_now() -> None:
    found = moved("daily 08:00,12:00,18:00", TOKYO, "2026-07-01T05:30Z", **planned("2026-07-01T06:00Z"))
    assert (found.due_at, found.next_attempt_at) == (us("2026-07-01T09:00Z"), us("2026-07-01T09:00Z"))
    assert found.passed is not None
    told = found.passed.due_at, found.passed.last_due_at, found.passed.count, found.passed.outcome
    assert told == (us("2026-06-30T23:00Z"), us("2026-07-01T03:00Z"), 2, "skipped")


def test_what_has_passed_is_never_told_of_an_instant_that_is_still_to_come() -> None:
    found = moved("daily 08:00,09:00,10:00", HELSINKI, "2026-07-01T06:30Z", **planned("2026-07-01T07:00Z"))
    assert found.due_at == us("2026-07-01T07:00Z")
    assert found.passed is not None
    assert found.passed.due_at == us("2026-07-01T06:00Z")


def test_a_rhythm_goes_on_with_the_next_that_the_clock_shows_there() -> None:
    for zone in (TOKYO, NEW_YORK):
        found = moved("*/30 * * * *", zone, "2026-07-01T07:59:30Z", **planned("2026-07-01T08:00Z"))
        assert found == (us("2026-07-01T08:00Z"), us("2026-07-01T08:00Z"), None, None, False)


def test_what_runs_keeps_its_due_time_and_what_follows_comes_later_than_it() -> None:
    running = planned("2026-07-01T07:00Z", status="claimed", next_due_at=us("2026-07-01T08:00Z"))
    found = moved("daily 08:00,09:00,10:00,11:00", HELSINKI, "2026-07-01T07:00:30Z", **running)
    assert found.due_at == us("2026-07-01T07:00Z")
    assert found.next_due_at == us("2026-07-01T08:00Z")
    assert found.passed is None  # 09:00 there is the instant of the run, which tells its own outcome


def test_a_retry_waits_on_and_what_follows_moves() -> None:
    waiting = planned("2026-07-01T07:00Z", is_begun=True, next_due_at=us("2026-07-02T07:00Z"))
    waiting["next_attempt_at"] = us("2026-07-01T07:05Z")
    found = moved("daily 09:00", NEW_YORK, "2026-07-01T07:01Z", **waiting)
    assert found[:3] == (us("2026-07-01T07:00Z"), us("2026-07-01T07:05Z"), us("2026-07-02T13:00Z"))


def test_what_was_put_off_does_not_come_before_its_new_due_time() -> None:
    snoozed = planned("2026-07-01T07:00Z")
    snoozed["next_attempt_at"] = us("2026-07-01T09:00Z")
    found = moved("daily 09:00", NEW_YORK, "2026-07-01T06:00Z", **snoozed)
    assert found[:2] == (us("2026-07-01T13:00Z"), us("2026-07-01T13:00Z"))


def test_what_is_due_already_stays() -> None:
    found = moved("daily 09:00", TOKYO, "2026-07-01T07:10Z", **planned("2026-07-01T07:00Z"))
    assert found == (us("2026-07-01T07:00Z"), us("2026-07-01T07:00Z"), None, None, False)


def test_a_series_ends_whose_last_local_time_has_passed_there() -> None:
    rule = rules.parse("daily 09:00", zone=TOKYO, until=wall("2026-07-01T09:00"))
    due_at = us("2026-07-01T07:00Z")
    standing = Standing("scheduled", due_at, due_at, None, is_begun=False)
    found = relocate(standing, rule, lambda at: at - 7 * 3_600_000_000, us("2026-07-01T06:00Z"), WHY)
    assert found.is_over
    assert found.passed is not None
