"""Neighbours of rows with the bias as a column, against an independent computation."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.auditing.traits import bias_columns, stored_rows
from embaudit.linalg.nearest import neighbours
from embaudit.model.side import Side

DRAW = np.random.default_rng(5)
ROWS, BIAS = DRAW.normal(size=(80, 6)).astype(np.float32), 2 * DRAW.normal(size=80)


def nearest(x: np.ndarray) -> list[set[int]]:
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -2)
    return [set(row.tolist()) for row in np.argsort(-cosines, axis=1)[:, :10]]


@pytest.mark.parametrize("both", [True, False])
def test_lists_are_compared_with_those_of_the_columns_that_implicit_stores(
    both: bool,
) -> None:
    stored = np.column_stack(
        [ROWS, BIAS.astype(np.float32), *([np.ones(80)] if both else [])]
    )
    expected = np.mean(
        [len(a & b) / 10 for a, b in zip(nearest(ROWS), nearest(stored), strict=True)]
    )
    side = Side(ROWS, "item", bias=BIAS)
    np.testing.assert_array_equal(stored_rows(side, both=both), stored)
    assert stored_rows(side, both=both).dtype == np.float32
    found = bias_columns(side, neighbours(ROWS, 10), both=both)
    assert found.kept == pytest.approx(expected, abs=1e-12)
    assert 0.1 < found.kept < 0.9
    assert (found.n_neighbours, found.n_rows, found.columns) == (10, 80, 1 + both)
