"""`bellringer check` finds due times that should have an outcome on record, and have none."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bellringer.commands.absences import absences
from bellringer.storage import rules
from bellringer.storage.memory_store import MemoryStore
from bellringer.storage.sqlite_store import open_store
from bellringer.storage.values import Ending, Rezoned
from tests.command_line.calling import Calling
from tests.contract.steps import SECOND, T, claim_due, claim_of, done, failed, job, put

MINUTE = 60 * SECOND
MINUTELY = rules.grid(MINUTE)
DAY = 86_400 * SECOND


def run(store: MemoryStore, times: int, *, rule: str = MINUTELY, fail: bool = False) -> None:
    """Run what is due so many times, each at its due time."""
    for _ in range(times):
        for row in store.due(T + 10_000 * DAY, 10):
            following = rules.of_job(rule, row.due_at).next(row.due_at)
            assert following is not None
            (order,) = claim_due(store, row.due_at)
            end = failed(order) if fail else done(order, at=row.due_at + 1)
            store.settle([end._replace(next_due_at=following, next_attempt_at=following)], row.due_at + 1)


def lose(database: Path, *, beyond: int, number: int = 1) -> None:
    """Take rows out of the ledger, as nothing in the project does."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(
            "DELETE FROM occurrence WHERE number IN (SELECT number FROM occurrence ORDER BY number LIMIT ?, ?)",
            (beyond, number),
        )


@pytest.fixture
def minutely(tmp_path: Path) -> Calling:
    """A file with a job that has run ten times, once a minute, a long time ago."""
    path = tmp_path / "bot.db"
    with closing(open_store(path)) as store:
        put(store, job("digest", T, rule=MINUTELY))
        run(store, 10)  # type: ignore[arg-type]
    return Calling(path)


def found(store: MemoryStore, now: int) -> list[tuple[str, list[int]]]:
    return [(one.job_id, one.due_at) for one in absences(store, now, since=0)]


def test_nothing_is_absent_where_every_due_time_has_its_outcome(minutely: Calling) -> None:
    assert minutely("check", "--since", "2020-01-01").code == 0


def test_b104_a_due_time_without_an_outcome_is_named_and_fails_the_check(minutely: Calling) -> None:
    lose(minutely.database, beyond=3)
    told = minutely("check", "--since", "2020-01-01")

    assert (told.code, told.err) == (1, "")
    assert told.out == ("job digest: no outcome is on record for what was due Tue 2023-11-14 22:16:20 UTC\n")
    assert minutely("check", "--since", "2020-01-01", "--json").json == {
        "faults": [],
        "absent": [{"job_id": "digest", "due_at": ["2023-11-14T22:16:20Z"]}],
    }


def test_of_many_absent_due_times_some_are_named(minutely: Calling) -> None:
    lose(minutely.database, beyond=2, number=6)

    assert minutely("check", "--since", "2020-01-01").out.endswith("22:17:20 UTC; and 3 more\n")


def test_what_is_longer_ago_than_is_asked_for_is_not_looked_at(minutely: Calling) -> None:
    lose(minutely.database, beyond=3)

    assert minutely("check").code == 0
    assert minutely("check", "--since", "2023-11-14T22:17Z").code == 0


def test_a_time_that_can_not_be_read_is_refused(minutely: Calling) -> None:
    assert minutely("check", "--since", "lately", "--json").error["code"] == "invalid_job"


def test_what_is_due_and_has_not_run_yet_is_not_absent() -> None:
    store = MemoryStore()
    put(store, job("digest", T, rule=MINUTELY))
    run(store, 3)

    assert found(store, T + 10 * MINUTE) == []


def test_missed_due_times_that_are_told_in_one_row_are_not_absent() -> None:
    store = MemoryStore()
    (seq,) = put(store, job("digest", T, rule=MINUTELY))
    run(store, 2)
    skipped = Ending("skipped", T + 2 * MINUTE, T + 9 * MINUTE, count=7, last_due_at=T + 8 * MINUTE)
    store.skip(seq, [skipped], T + 9 * MINUTE)
    run(store, 1)

    assert found(store, T + 10 * MINUTE) == []


def test_a_row_that_tells_of_too_few_is_found() -> None:
    store = MemoryStore()
    (seq,) = put(store, job("digest", T, rule=MINUTELY))
    run(store, 2)
    skipped = Ending("skipped", T + 2 * MINUTE, T + 9 * MINUTE, count=6, last_due_at=T + 8 * MINUTE)
    store.skip(seq, [skipped], T + 9 * MINUTE)

    assert found(store, T + 10 * MINUTE) == [("digest", [T + 7 * MINUTE])]


def test_a_job_that_replaced_another_does_not_answer_for_it() -> None:
    store = MemoryStore()
    put(store, job("digest", T, rule=MINUTELY))
    run(store, 2)
    put(store, job("digest", T + DAY, rule=MINUTELY))
    run(store, 2)

    assert found(store, T + 2 * DAY) == []


def test_an_extra_run_is_no_obstacle() -> None:
    store = MemoryStore()
    put(store, job("digest", T, rule=MINUTELY))
    run(store, 2)
    assert store.run_now("digest", T + MINUTE + 30 * SECOND)
    (row,) = store.due(T + 2 * MINUTE, 1)
    (order,) = claim_due(store, row.due_at)
    store.settle([done(order)._replace(next_due_at=row.next_due_at, next_attempt_at=row.next_due_at)], T + 2 * MINUTE)
    run(store, 2)

    assert found(store, T + 10 * MINUTE) == []


def test_a_change_of_zone_leaves_nothing_absent() -> None:
    store = MemoryStore()
    berlin = rules.daily("09:00", zone="Europe/Berlin")
    first = berlin.next(T)
    assert first is not None
    (seq,) = put(store, job("digest", first, rule=rules.dump(berlin), zone="Europe/Berlin"))
    run(store, 3, rule=rules.dump(berlin))
    moved = berlin.in_zone("America/New_York")
    following = moved.next(first + 3 * DAY)
    assert following is not None
    store.rezone([Rezoned(seq, "America/New_York", rules.dump(moved), following, following, None)])
    run(store, 3, rule=rules.dump(moved))

    assert found(store, T + 30 * DAY) == []


def test_a_failure_that_is_kept_longer_than_the_others_leaves_nothing_absent() -> None:
    store = MemoryStore()
    put(store, job("digest", T, rule=MINUTELY))
    run(store, 1, fail=True)
    run(store, 5)
    store.trim(finished_before=T + 4 * MINUTE, keep=1_000, limit=1_000)
    assert [row.outcome for row in store.history(job_id="digest")][-1] == "failed"

    assert found(store, T + 10 * MINUTE) == []


def test_runs_beside_each_other_are_not_absent_while_they_go_on() -> None:
    store = MemoryStore()
    (seq,) = put(store, job("digest", T, rule=MINUTELY, overlap="parallel", overlap_limit=3))
    for place in range(3):
        store.spawn(seq, T + place * MINUTE, T + (place + 1) * MINUTE, T + place * MINUTE)
    due = [row for row in store.due(T + 3 * MINUTE - 1, 10) if row.series == seq]
    first, second, third = store.claim([claim_of(row) for row in due], T + 3 * MINUTE)
    assert first.due_at < second.due_at < third.due_at
    store.settle([done(first), done(third)], T + 3 * MINUTE)

    assert found(store, T + 3 * MINUTE - 1) == []
    store.settle([done(second)], T + 3 * MINUTE)
    assert found(store, T + 3 * MINUTE - 1) == []


def test_a_rule_of_another_version_is_passed_over() -> None:
    store = MemoryStore()
    put(store, job("digest", T, rule='{"moon":"full"}'))

    assert found(store, T + DAY) == []
