"""One screen of a result: every word, and as much of the first table as there is room for."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit.comparison import compare
from embaudit.evaluation import evaluate_similarities
from embaudit.report.evaluation import evaluation_grid
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


def test_words_alone_need_no_table_and_long_ones_are_wrapped():
    assert brief(["word " * 40], []).splitlines() == [("word " * 16).strip()] * 2 + [("word " * 8).strip()]


def test_long_names_are_cut_and_columns_left_out_where_there_is_no_room():
    wide = Grid("t", "", ("name", "a", "b"), (("n" * 36, "1", "2"), ("m" * 37, "3" * 30, "4" * 30)), essential=("b",))
    lines = brief(["S."], [wide]).splitlines()
    assert lines[3].split() == ["name", "b"]
    assert lines[4].split() == ["n" * 36, "2"]
    assert lines[5].split() == ["m" * 35 + "…", "4" * 30]
    assert lines[-1] == "Everything: --full"


def test_similarities_are_one_line_each_with_what_chance_leaves_open():
    rows = np.repeat(np.eye(3), 20, axis=0) + 0.1 * np.random.default_rng(0).standard_normal((60, 3))
    model = random_model(p=60, k=3).replace(right=rows + 5)
    found = evaluate_similarities(model, np.repeat([0, 1, 2], 20), n=5)
    grid = evaluation_grid(found)
    assert grid.headings == ("similarity", "precision", "AUC", "NDCG")
    assert grid.note == "5 nearest, 60 items asked; * not the cosine's, beyond chance"
    cells = {name: values for name, *values in grid.rows}
    assert list(cells) == list(found.by_query)
    for record in found.records():
        cell = cells[record["similarity"]].pop(0)
        value, margin = cell.rstrip(" *").split(" ± ")
        assert value == f"{record['value']:.3f}"
        most = max(record["value"] - record["ci_low"], record["ci_high"] - record["value"])
        assert margin == f"{most:.3f}"
        differs = record["difference_ci_low"] > 0 or record["difference_ci_high"] < 0
        assert cell.endswith("*") == differs
    assert any("*" in cell for row in grid.rows for cell in row)
    assert not any("*" in cell for cell in grid.rows[0])


@pytest.mark.parametrize(("ids", "how"), [(range(30), "by their ids"), (None, "by the order of their rows")])
def test_a_comparison_begins_with_what_it_compares(ids, how):
    model = random_model(right_ids=ids if ids is None else list(ids), left_ids=None if ids is None else list(range(40)))
    assert compare(model, model).explain().startswith(f"Compared: 40 users and 30 items, matched {how}. ")
