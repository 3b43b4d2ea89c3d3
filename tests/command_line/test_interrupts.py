"""Which processes are ended by Ctrl-C while they import."""

import pytest

from bellringer.interrupts import is_command


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["python", "-m", "bellringer", "serve"], True),
        (["python", "-X", "-m", "bellringer"], True),
        (["python", "/somewhere/bin/bellringer", "serve"], True),
        (["python", "-m", "mybot", "-m", "bellringer"], False),
        (["python", "bot.py", "-m", "bellringer"], False),
        (["python"], False),
    ],
)
def test_only_the_command_line_is(arguments: list[str], expected: bool) -> None:
    assert is_command(arguments) is expected
