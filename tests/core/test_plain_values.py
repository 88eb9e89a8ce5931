"""What JSON is given, and the words and files that a command keeps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from embaudit.core.checked import as_seed
from embaudit.core.inputs import inputs_noted, note_input, noted_inputs
from embaudit.core.parallel import row_blocks
from embaudit.core.plain import frame_of, plain
from embaudit.core.words import copied, counted, listed, percent, visible


@dataclass
class Pair:
    share: float
    rows: tuple[int, ...]


class Named:
    def to_dict(self):
        return {"a": np.float64(0.5)}


def test_tables_records_and_numbers_become_plain():
    table = pd.DataFrame({"x": [1, 2], "y": [0.5, np.nan]})
    assert plain(table) == [{"x": 1, "y": 0.5}, {"x": 2, "y": None}]
    assert plain(pd.Series({"x": 1.0})) == {"x": 1.0}
    assert plain(Named()) == {"a": 0.5}
    assert plain({1: Pair(np.inf, (1, 2)), "kind": Pair}) == {"1": {"share": None, "rows": [1, 2]}, "kind": Pair}
    assert plain(np.array([[1.0, -np.inf]])) == [[1.0, None]]
    assert plain(True) is True
    assert frame_of([{"a": None, "b": 1}])["a"].isna().all()


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, "0 %"),
        (0.0001, "0.1 %"),
        (0.0099, "1.0 %"),
        (0.01, "1 %"),
        (0.5, "50 %"),
        (0.99, "99 %"),
        (0.9901, "99.0 %"),
        (0.99999, "99.9 %"),
        (1.0, "100 %"),
        (np.nan, "–"),
    ],
)
def test_shares_are_never_rounded_to_all_or_nothing(share, said):
    assert percent(share) == said


def test_counts_copies_and_names():
    assert [counted(n, "row") for n in (0, 1, 1000)] == ["0 rows", "1 row", "1,000 rows"]
    assert [listed("abcd"[:n], 2) for n in range(5)] == ["", "a", "a, b", "a, b and 1 more", "a, b and 2 more"]
    assert [copied(n) for n in (0, 1, 1000)] == ["0 copies", "1 copy", "1,000 copies"]
    assert [visible(name) for name in ("", "a ", " a", "a b", "a\tb")] == ["''", "'a '", "' a'", "a b", r"'a\tb'"]


def test_files_are_noted_while_a_command_works():
    note_input(Path("before"))
    with inputs_noted():
        note_input(Path("a"))
        with inputs_noted():
            note_input(Path("b"))
            assert noted_inputs() == {Path("b")}
        note_input(Path("c"))
        assert noted_inputs() == {Path("a"), Path("c")}
    assert noted_inputs() == frozenset()


def test_seeds_are_kept_and_drawn_ones_can_be_given_again():
    assert as_seed(np.int64(7)) == 7
    assert 0 <= as_seed(None) < 2**31
    draw = np.random.default_rng(0)
    assert as_seed(draw) == np.random.default_rng(0).integers(2**31)


def test_rows_are_cut_by_their_bytes():
    assert list(row_blocks(5, 2, budget=32)) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert [part.stop for part in row_blocks(3, 2, budget=15)] == [1, 2, 3]
    assert [part.stop for part in row_blocks(3, 0, budget=16)] == [2, 3]
