"""The README is true: its example runs, its commands exist, its links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from bellringer.command_line import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_runs_as_it_stands(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    (tmp_path / "bot.py").write_text(example, encoding="utf-8")

    with subprocess.Popen(
        [sys.executable, "-X", "utf8", "bot.py"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as bot:
        assert bot.stdin is not None
        assert bot.stdout is not None
        assert bot.stderr is not None
        written: list[str] = []
        for line in bot.stdout:
            written.append(line.strip())
            if "⏰ stand up" in line:
                break
        bot.stdin.write("\n")
        bot.stdin.close()
        assert bot.stderr.read() == ""
        assert bot.wait(20) == 0
    assert "the poll is closed" in written
    assert "⏰ stand up" in written


@pytest.mark.parametrize("page", ["README.md", "SEMANTICS.md", "DESIGN.md", "CHANGELOG.md"])
def test_every_link_leads_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    headings = {_anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]

    dead = [link for link in links if not link.startswith("#") and not (ROOT / link).exists()]
    assert dead + [link for link in links if link.startswith("#") and link[1:] not in headings] == []


def test_every_make_target_that_it_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    named = set(re.findall(r"make ([a-z-]+)", README))

    assert {"run", "test"} <= named
    assert [target for target in named if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []


def test_every_command_that_it_names_exists() -> None:
    named = set(re.findall(r"^bellringer ([a-z-]+)", README, re.MULTILINE))

    assert {"serve", "pending", "redrive"} <= named
    for command in sorted(named):
        assert CliRunner().invoke(main, [command, "--help"]).exit_code == 0, command


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
