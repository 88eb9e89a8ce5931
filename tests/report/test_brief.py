"""One screen of a result: every word, and as much of the first table as there is room for."""

from __future__ import annotations

import pytest

from embaudit.report.grid import Grid
from embaudit.report.terminal import brief


def table(rows, name="row", **fields):
    return Grid("t", "", ("name", "x"), tuple((f"{name} {i}", str(i)) for i in range(rows)), **fields)


@pytest.mark.parametrize(("said", "rows", "shown", "more"), [(1, 19, 19, False), (1, 20, 19, True), (19, 9, 3, True)])
def test_words_come_first_and_rows_as_far_as_there_is_room(said, rows, shown, more):
    lines = brief(["A sentence."] * said, [table(rows)]).splitlines()
    assert lines[:said] == ["A sentence."] * said
    assert sum(line.startswith("row ") for line in lines) == shown
    assert (lines[-1] == "Everything: --full") == more
    assert len(lines) <= 25 or said > 17


def test_long_names_are_cut_and_columns_left_out_where_there_is_no_room():
    wide = Grid("t", "", ("name", "a", "b"), (("n" * 36, "1", "2"), ("m" * 37, "3" * 30, "4" * 30)), essential=("b",))
    lines = brief(["S."], [wide]).splitlines()
    assert lines[3].split() == ["name", "b"]
    assert lines[4].split() == ["n" * 36, "2"]
    assert lines[5].split() == ["m" * 35 + "…", "4" * 30]
    assert lines[-1] == "Everything: --full"
