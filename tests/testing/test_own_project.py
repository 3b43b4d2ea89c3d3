"""The kit in somebody's own project: nothing to set up, and the example of the plugin's page works as it stands."""

import subprocess
import sys
import textwrap
from pathlib import Path

from bellringer.testing import plugin


def test_the_example_of_the_plugin_s_page_passes_in_an_empty_project(tmp_path: Path) -> None:
    assert plugin.__doc__ is not None
    example = plugin.__doc__.split("\n\n", 1)[1]
    (tmp_path / "test_bot.py").write_text(textwrap.dedent(example))
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
    ]
    run = subprocess.run([*command, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 passed" in run.stdout, run.stdout + run.stderr
