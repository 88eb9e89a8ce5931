"""Neighbours of rows with the bias as a column, against an independent computation."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.auditing.bias_columns import BiasColumns, rows_with_bias
from embaudit.linalg.nearest import neighbours
from embaudit.model import FactorModel

DRAW = np.random.default_rng(5)
USERS = DRAW.normal(size=(9, 6)).astype(np.float32)
ITEMS = DRAW.normal(size=(80, 6)).astype(np.float32)
ITEM_BIAS = 2 * DRAW.normal(size=80)


def nearest(x: np.ndarray) -> list[set[int]]:
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -2)
    return [set(row.tolist()) for row in np.argsort(-cosines, axis=1)[:, :10]]


@pytest.mark.parametrize(
    ("user_bias", "constant"),
    [(None, np.empty((80, 0))), (np.arange(9.0), np.ones((80, 1)))],
    ids=["bias of items", "biases of both sides"],
)
def test_lists_are_compared_with_those_of_the_columns_that_implicit_stores(
    user_bias: np.ndarray | None, constant: np.ndarray
) -> None:
    model = FactorModel.from_user_item(
        USERS, ITEMS, user_bias=user_bias, item_bias=ITEM_BIAS
    )
    stored = np.column_stack([ITEMS, ITEM_BIAS.astype(np.float32), constant])
    np.testing.assert_array_equal(rows_with_bias(model), stored)
    assert rows_with_bias(model).dtype == np.float32

    pairs_of_lists = zip(nearest(ITEMS), nearest(stored), strict=True)
    expected = np.mean([len(before & after) / 10 for before, after in pairs_of_lists])
    compared = BiasColumns.from_model(model, neighbours(ITEMS, 10))
    assert compared.kept == pytest.approx(expected, abs=1e-12)
    assert 0.1 < compared.kept < 0.9
    assert (compared.n_neighbours, compared.n_rows) == (10, 80)
    assert compared.columns == 1 + constant.shape[1]
