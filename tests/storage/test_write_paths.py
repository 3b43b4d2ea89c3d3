"""No write begins as a read, and no table is walked where an index serves."""

import ast
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import bellringer.storage
from bellringer.storage.errors import StorageError
from bellringer.storage.sqlite_store import SqliteStore, open_store
from bellringer.storage.values import Cursor, Pause, Scope
from tests.contract.steps import EVERY_SECOND, SECOND, T, job
from tests.storage.test_crash_at_each_call import run

SOURCES = sorted(Path(bellringer.storage.__path__[0]).glob("*.py"))
WRITES = ("INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP")


def calls(source: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield node


def test_b70_only_the_connection_speaks_to_sqlite() -> None:
    raw = {
        source.name
        for source in SOURCES
        for call in calls(source)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in ("execute", "executemany", "executescript", "execute_sql", "commit", "cursor")
    }

    assert raw == {"connection.py", "migrations.py"}


def test_b70_every_transaction_begins_immediate() -> None:
    begun: list[str] = []
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("BEGIN"):
                begun.append(node.value)
        for call in calls(source):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "atomic":
                assert [ast.literal_eval(argument) for argument in call.args] == ["IMMEDIATE"]

    assert begun == ["BEGIN IMMEDIATE"]


def test_b70_a_whole_run_writes_only_after_begin_immediate(path: Path) -> None:
    store = open_store(path)
    statements: list[str] = []
    store._connection._raw.set_trace_callback(statements.append)
    run(store, lambda _: None)
    store._connection._raw.set_trace_callback(None)
    store.close()

    begun = False
    for statement in statements:
        if statement.startswith("BEGIN"):
            assert statement == "BEGIN IMMEDIATE"
            begun = True
        elif statement in ("COMMIT", "ROLLBACK"):
            begun = False
        elif statement.startswith(WRITES):
            assert begun, statement
    assert sum(statement.startswith(WRITES) for statement in statements) > 50


def test_b70_a_write_outside_of_a_transaction_is_refused(store: SqliteStore) -> None:
    with pytest.raises(StorageError, match="outside of a transaction"):
        store._connection.run("DELETE FROM job")


class ExplainingConnection(sqlite3.Connection):
    """Notes the plan of every statement."""

    plans: list[tuple[str, str]]

    def execute(self, *args: object) -> sqlite3.Cursor:
        self.explain(args)
        return super().execute(*args)  # type: ignore[arg-type]

    def executemany(self, *args: object) -> sqlite3.Cursor:
        rows = list(args[1])  # type: ignore[call-overload]
        if rows:
            self.explain((args[0], rows[0]))
        return super().executemany(args[0], rows)  # type: ignore[arg-type]

    def explain(self, args: tuple[object, ...]) -> None:
        sql = str(args[0])
        if sql.startswith(("SELECT", "UPDATE", "DELETE", "WITH")):
            for row in super().execute(f"EXPLAIN QUERY PLAN {sql}", *args[1:]).fetchall():  # type: ignore[arg-type]
                self.plans.append((sql, row[3]))


def test_b100_no_step_of_a_run_walks_or_sorts_a_table(path: Path) -> None:
    ExplainingConnection.plans = []
    store = open_store(path, connection_factory=ExplainingConnection)
    run(store, lambda _: None)
    store.put([job("a", chat_id=1), job("b", chat_id=1)], T)
    store.run_now("a", T)
    store.next_attempt_at(Cursor(T, 1))
    store.waiting("handler:")
    store.get("a")
    store.jobs(limit=5)
    store.jobs(limit=5, after="a")
    store.jobs(limit=5, status="scheduled")
    store.jobs(limit=5, status="claimed")
    store.jobs(limit=5, status="parked")
    store.jobs(limit=5, chat_id=1)
    store.history(limit=5)
    store.history(limit=5, job_id="a")
    store.history(limit=5, chat_id=1)
    store.history(limit=5, outcome="failed")
    store.trim(finished_before=T, keep=1, limit=5)
    store.put([job("series", rule=EVERY_SECOND, zone="Europe/Berlin")], T)
    (series,) = store.zoned("Europe/Berlin", limit=5)
    store.spawn(series.seq, T, T + SECOND, T)
    store.parts(series.seq)
    store.put([job("series", rule=EVERY_SECOND, zone="Europe/Berlin"), job("b")], T)
    store.zone_names()
    for scope, key in ((Scope.JOB, "a"), (Scope.CHAT, 1), (Scope.HANDLER, "remind"), (Scope.ALL, None)):
        store.pause(Pause(scope, key, T, None, "next", None))
        store.select(scope=scope, key=key, user_id=1, limit=5)
        store.unpause(scope, key)
    store.pauses()
    store.outages(T, T)
    store.latest_sign()
    store.session(1, 1)
    store.close()

    assert len(ExplainingConnection.plans) > 100
    walks = {
        (sql, plan)
        for sql, plan in ExplainingConnection.plans
        if (plan.startswith("SCAN") and "INDEX" not in plan) or "TEMP B-TREE" in plan
    }
    # The few answers to clients, and outages, are walked when they are trimmed, and the few pauses when they are told;
    # the ledger is read backwards until a page is full, or one sign of life is found; the zones in use are walked, each
    # of which is one step in an index; and what is claimed, the jobs of one chat, the parts of one id,
    # and the outages of a time are sorted.
    allowed = (
        *("DELETE FROM reply", "DELETE FROM outage", "FROM outage WHERE", "FROM pause ORDER", "t1.id > ?"),
        *("SELECT (SELECT finished_at", "WITH RECURSIVE used"),
        *('FROM "occurrence" AS "t1" ORDER', '"t1"."chat_id" = ?', "t2.seq IN (SELECT seq"),
    )
    assert {walk for walk in walks if not any(part in walk[0] for part in allowed)} == set()


@pytest.mark.parametrize(("status", "index"), [("claimed", "job_state_claimed"), ("parked", "job_state_parked")])
def test_b100_the_few_of_a_status_are_found_without_the_many(path: Path, status: str, index: str) -> None:
    ExplainingConnection.plans = []
    store = open_store(path, connection_factory=ExplainingConnection)
    store.jobs(status=status)
    store.close()

    plans = [plan for _, plan in ExplainingConnection.plans]
    assert any(index in plan for plan in plans)
    assert not any("job_state_order" in plan for plan in plans)


@pytest.mark.parametrize("outcome", ["failed", "skipped", "interrupted", "cancelled"])
def test_b100_what_did_not_end_well_is_found_without_the_rest(path: Path, outcome: str) -> None:
    ExplainingConnection.plans = []
    store = open_store(path, connection_factory=ExplainingConnection)
    store.history(outcome=outcome)
    store.close()

    assert any("occurrence_unusual" in plan for _, plan in ExplainingConnection.plans)


def test_a_start_and_a_look_do_not_depend_on_how_much_is_pending(path: Path) -> None:
    store = open_store(path)
    for block in range(20):
        store.put([job(f"j{block}:{n}", T + n) for n in range(1_000)], T)
    store.close()
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    store = open_store(path)
    store._connection._raw.set_progress_handler(count, 100)
    store.due(T + 10**9, 10)
    store.next_attempt_at()
    store.put([job("one")], T)
    store.cancel(["one"], T)
    store.jobs(limit=10)
    store._connection._raw.set_progress_handler(None, 0)
    store.close()

    assert steps < 50


def test_b100_the_zones_in_use_are_found_without_walking_the_jobs(path: Path) -> None:
    ExplainingConnection.plans = []
    store = open_store(path, connection_factory=ExplainingConnection)
    store.zone_names()
    store.zoned("Europe/Berlin", limit=5)
    store.parts(1)
    store.close()

    searches = [plan for _, plan in ExplainingConnection.plans if " job " in plan or " j " in plan]
    assert len(searches) == 4
    assert all(plan.startswith("SEARCH") and ("job_zone" in plan or "job_series" in plan) for plan in searches)
