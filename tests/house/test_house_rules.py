"""The rules of the house hold in this checkout, and each rule finds what breaks it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tools import check_house, layout

Messages = Callable[[str, str], list[str]]


@pytest.fixture
def messages(tmp_path: Path) -> Messages:
    """What the checks say about a project that consists of one file."""

    def written(path: str, text: str) -> list[str]:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return [finding.message for finding in check_house.check(tmp_path)]

    return written


def test_this_checkout_breaks_no_rule() -> None:
    assert [str(finding) for finding in check_house.check(layout.ROOT)] == []


def test_every_folder_of_the_project_is_looked_at() -> None:
    looked_at = {path.relative_to(layout.ROOT).parts[0] for path in layout.files(layout.ROOT)}

    assert looked_at >= {"bellringer", "actors", "handlers", "storage", "tests", "tools", ".ci", "README.md"}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("storage/a.py", "from ..handlers import registry"),
        ("storage/a.py", "from .. import actors"),
        ("storage/inner/a.py", "from ...actors.clock import Clock"),
        ("storage/__init__.py", "from ..actors import clock"),
        ("storage/a.py", "import bellringer.actors.messages"),
        ("storage/a.py", "from bellringer import handler"),
        ("handlers/a.py", "from ..actors import messages"),
        ("handlers/a.py", "from .. import handler"),
        ("actors/a.py", "from bellringer import Context"),
        ("actors/a.py", "from ..testing import plugin"),
        ("actors/a.py", "import run_bot"),
        ("bellringer/a.py", "from run_bot import main"),
        ("storage/a.py", "def late():\n    from ..actors import clock"),
        ("storage/a.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..actors import clock"),
        ("storage/a.py", "import importlib\nimportlib.import_module('bellringer.actors')"),
    ],
)
def test_an_import_against_the_direction_is_found(messages: Messages, path: str, text: str) -> None:
    assert [message for message in messages(path, text) if "may not import" in message]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("storage/a.py", "from .values import JobSpec"),
        ("storage/a.py", "from . import values"),
        ("handlers/transports/a.py", "from ...storage import values"),
        ("actors/a.py", "from ..handlers.registry import find"),
        ("actors/a.py", "from .. import storage"),
        ("bellringer/a.py", "from .actors import clock"),
        ("bellringer/testing/a.py", "from ..actors import clock"),
        ("run_bot.py", "import bellringer"),
        ("tests/a.py", "from bellringer.storage import values"),
    ],
)
def test_an_import_along_the_direction_is_let_through(messages: Messages, path: str, text: str) -> None:
    assert messages(path, text) == []


@pytest.mark.parametrize("path", ["tests/a.py", "run_bot.py", "actors/a.py"])
def test_a_folder_imported_by_the_name_it_has_only_in_the_checkout_is_found(messages: Messages, path: str) -> None:
    assert messages(path, "from storage import values") == [
        "imports storage: once installed, its name is bellringer.storage"
    ]


@pytest.mark.parametrize(
    ("path", "text", "owner"),
    [
        ("actors/a.py", "import sqlite3", "storage/"),
        ("bellringer/a.py", "from peewee import Model", "storage/"),
        ("handlers/a.py", "from playhouse.shortcuts import model_to_dict", "storage/"),
        ("bellringer/a.py", "from thespian.actors import Actor", "actors/"),
        ("storage/a.py", "import thespian.actors", "actors/"),
    ],
)
def test_a_library_outside_of_the_folder_that_owns_it_is_found(
    messages: Messages, path: str, text: str, owner: str
) -> None:
    assert [message for message in messages(path, text) if message.endswith(f"only {owner} may")]


@pytest.mark.parametrize(
    ("path", "text"), [("storage/a.py", "import peewee, sqlite3"), ("actors/a.py", "import thespian.actors")]
)
def test_a_library_in_the_folder_that_owns_it_is_let_through(messages: Messages, path: str, text: str) -> None:
    assert messages(path, text) == []


CLOCK_READS = [
    "import time\ntime.time()",
    "import time as t\nt.monotonic_ns()",
    "from time import perf_counter as tick\ntick()",
    "import time\ndef f(now=time.time): ...",
    "import time\ntime.localtime()",
    "import datetime\ndatetime.datetime.now(datetime.UTC)",
    "from datetime import datetime as moment\nmoment.now()",
    "from datetime import date\ndate.today()",
    "import pendulum\npendulum.now()",
    "from pendulum import DateTime\nDateTime.now()",
    "import asyncio\nasyncio.get_running_loop().time()",
    "class A:\n    def f(self):\n        return self._loop.time()",
    "SQL = \"select strftime('%s', 'now')\"",
    "SQL = 'select current_timestamp'",
]


@pytest.mark.parametrize("text", CLOCK_READS)
def test_a_clock_read_outside_of_the_clock_is_found(messages: Messages, text: str) -> None:
    assert [message for message in messages("storage/a.py", text) if message.startswith("reads a clock")]


@pytest.mark.parametrize("path", ["actors/clock.py", "tests/a.py", "benchmarks/a.py"])
def test_the_clock_itself_tests_and_benchmarks_may_read_a_clock(messages: Messages, path: str) -> None:
    assert messages(path, CLOCK_READS[0]) == []


@pytest.mark.parametrize(
    "text",
    [
        "import time\ntime.sleep(1)",
        "import time\ntime.gmtime(0)",
        "def f(clock):\n    return clock.time()",
        "from datetime import datetime\ndef f(moment: datetime):\n    return moment.time()",
        "import pendulum\npendulum.duration(days=1)",
    ],
)
def test_what_only_looks_like_a_clock_read_is_let_through(messages: Messages, text: str) -> None:
    assert messages("handlers/a.py", text) == []


@pytest.mark.parametrize(
    "text", ["import pickle\npickle.loads(b'')", "from pickle import loads\nloads(b'')", "import marshal\nmarshal.load"]
)
def test_unpickling_outside_of_the_frames_is_found(messages: Messages, text: str) -> None:
    assert [message for message in messages("actors/a.py", text) if message.startswith("uses ")]
    assert [message for message in messages("bellringer/a.py", text) if message.startswith("uses ")]


def test_the_frames_may_unpickle_and_everyone_may_pickle(messages: Messages) -> None:
    assert messages("actors/frames.py", "import pickle\npickle.loads(b'')") == []
    assert messages("actors/a.py", "import pickle\npickle.dumps(1)") == []


@pytest.mark.parametrize("name", ["a.md", ".ci/run", "Makefile", "storage/a.py"])
@pytest.mark.parametrize(
    "text", ["/".join(("", "root", "bot.db")), "/".join(("", "home", "ann", "bot.db")), ".".join(("pypi", "org"))]
)
def test_a_path_of_one_machine_or_a_registry_host_is_found_in_any_file(
    messages: Messages, name: str, text: str
) -> None:
    assert len(messages(name, f"# {text}\n")) == 1


def test_a_broad_except_needs_its_reason_beside_it(messages: Messages) -> None:
    border = "try:\n    f()\n{}except Exception:  # {}: BLE001{}\n    pass\n"

    assert messages("actors/a.py", border.format("", "noqa", "")) == [
        "catches everything without a reason: say it after the noqa or in the line above"
    ]
    assert messages("actors/a.py", border.format("", "noqa", "  a handler may raise anything")) == []
    assert messages("actors/a.py", border.format("# A handler may raise anything.\n", "noqa", "")) == []


def test_a_finding_names_its_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "storage").mkdir()
    (tmp_path / "storage" / "a.py").write_text("\nimport thespian\n", encoding="utf-8")

    assert [str(finding) for finding in check_house.check(tmp_path)] == [
        "storage/a.py:2: imports thespian: only actors/ may"
    ]
