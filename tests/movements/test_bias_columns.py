"""Neighbours with the bias counted in, against a computation of its own."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from browsing import text_of
from rich.console import Console

from embaudit.auditing import audit
from embaudit.auditing.effort import Effort
from embaudit.auditing.evidence import gather
from embaudit.linalg.nearest import neighbours
from embaudit.model import FactorModel
from embaudit.model.side import Side
from embaudit.movements.bias_columns import beside_bias, bias_columns, stored_rows
from embaudit.report.audit_document import audit_document
from embaudit.report.terminal import print_audit

DRAW = np.random.default_rng(5)
ROWS, BIAS = DRAW.normal(size=(80, 6)).astype(np.float32), 2 * DRAW.normal(size=80)


def nearest(x: np.ndarray) -> list[set[int]]:
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -2)
    return [set(row.tolist()) for row in np.argsort(-cosines, axis=1)[:, :10]]


@pytest.mark.parametrize("both", [True, False])
def test_lists_are_compared_with_those_of_the_columns_that_implicit_stores(both: bool) -> None:
    stored = np.column_stack([ROWS, BIAS.astype(np.float32), *([np.ones(80)] if both else [])])
    expected = np.mean([len(a & b) / 10 for a, b in zip(nearest(ROWS), nearest(stored), strict=True)])
    side = Side(ROWS, "item", bias=BIAS)
    np.testing.assert_array_equal(stored_rows(side, both=both), stored)
    assert stored_rows(side, both=both).dtype == np.float32
    found = bias_columns(side, neighbours(ROWS, 10), both=both)
    assert found.kept == pytest.approx(expected, abs=1e-12)
    assert 0.1 < found.kept < 0.9
    assert (found.n_neighbours, found.n_rows, found.columns) == (10, 80, 1 + both)


@pytest.mark.usefixtures("without_attacks")
def test_an_audit_lays_both_lists_side_by_side() -> None:
    model = FactorModel(ROWS[:40], ROWS, right_bias=BIAS, right_ids=np.arange(80) + 500)
    found = audit(model, n_gauges=1, show=["507"])
    (example,) = found.evidence.beside_bias
    assert example == beside_bias(model.right_side, np.array([7]), 5, both=False)[0]
    assert found.to_dict()["neighbours"]["beside_bias"] == [example.to_dict()]
    lists = audit_document(found, drawn=False).lists[1]
    assert lists.headings == ("without the bias", "with it among the factors")
    assert [one.name for one in lists.before] == [f"item {name}" for name, _ in example.before]
    shown = [(f"item {name}", f"{cosine:.2f}") for name, cosine in example.after]
    assert [(one.name, one.cosine) for one in lists.after] == shown
    assert 0 < lists.kept < 5
    assert text_of(found.report()).count("nearest to item 507") == 2
    screen = Console(width=120, record=True, file=StringIO())
    print_audit(found, screen)
    assert "with it among the factors" in screen.export_text()
    for other in (model.replace(right_bias=None), model.replace(link="cosine")):
        assert gather(other, effort=Effort(n_gauges=1), show=["507"]).beside_bias == ()
    assert gather(model, effort=Effort(n_gauges=1), primary_role="left").beside_bias == ()
