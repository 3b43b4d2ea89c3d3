"""Tables that fit the terminal they are printed on."""

import pytest

from bellringer.commands.phrases import cells
from bellringer.commands.tables import Column, Screen, listing, table

COLUMNS = (Column("ID", least=8), Column("CHAT", leave_out=1), Column("N", right=True))
ROWS = [("reminder:42", "-1001234567890", "7"), ("名前🎂", "42", "123")]


def test_columns_are_aligned_by_what_the_terminal_shows() -> None:
    assert table(COLUMNS, ROWS, Screen()) == [
        "ID           CHAT              N",
        "reminder:42  -1001234567890    7",
        "名前🎂       42              123",
    ]


def test_nothing_is_cut_or_coloured_where_there_is_no_terminal() -> None:
    lines = table([Column("A", colours={"x" * 500: "red"})], [["x" * 500]], Screen())

    assert lines == ["A", "x" * 500]


def test_what_steers_a_terminal_is_escaped() -> None:
    assert table([Column("A")], [["\x1b[2J"]], Screen()) == ["A", "\\x1b[2J"]


@pytest.mark.parametrize("width", [20, 26, 31, 32, 80])
def test_every_line_fits_the_terminal(width: int) -> None:
    assert max(map(cells, table(COLUMNS, ROWS, Screen(width)))) <= width


def test_a_column_that_can_be_cut_is_cut_first() -> None:
    assert table(COLUMNS, ROWS, Screen(30))[1] == "reminder…  -1001234567890    7"


def test_a_column_that_can_be_spared_is_left_out_next() -> None:
    assert table(COLUMNS, ROWS, Screen(24)) == ["ID             N", "reminder:42    7", "名前🎂       123"]


def test_notes_are_a_last_column_where_they_fit() -> None:
    lines = table([Column("ID")], [["a", "because"], ["b", ""]], Screen(80), note="WHY")

    assert lines == ["ID  WHY", "a   because", "b"]


def test_notes_stand_below_their_rows_where_they_do_not_fit() -> None:
    lines = table([Column("ID")], [["a", "because of this and that"], ["b", ""]], Screen(20), note="WHY")

    assert lines == ["ID", "a", "    because of this", "    and that", "b"]


def test_colours_do_not_move_the_columns() -> None:
    plain = table([Column("A", colours={"x": "red"}), Column("B")], [["x", "y"]], Screen(80))
    coloured = table([Column("A", colours={"x": "red"}), Column("B")], [["x", "y"]], Screen(80, colours=True))

    assert coloured[1] == plain[1].replace("x", "\x1b[31mx\x1b[0m")


def test_a_list_leaves_out_what_has_no_value() -> None:
    assert listing([("name", "a"), ("why", None), ("chat", "42")], Screen()) == ["name  a", "chat  42"]


def test_a_long_value_goes_on_below_itself() -> None:
    assert listing([("why", "one two three")], Screen(13)) == ["why  one two", "     three"]
