"""Directions that predictions see, and the dimensions that rows span."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from embaudit import audit, verify
from embaudit.canonical import in_span, seen_directions
from embaudit.model import FactorModel
from tests.models import random_model


def rows(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k))


@pytest.mark.parametrize("link", ["identity", "softmax", "ranking", "sigmoid"])
@pytest.mark.parametrize("left_bias", [None, np.arange(9.0)])
@pytest.mark.parametrize("right_bias", [None, np.arange(8.0)])
def test_the_directions_seen_hold_the_scores_at_their_rank(link, left_bias, right_bias):
    left = rows(9, 2) @ rows(2, 5, 1) + [0, 0, 0, 0, 3]
    right = rows(8, 3, 2) @ rows(3, 5, 3) + [0, 0, 0, 2, 0]
    model = FactorModel.from_arrays(
        left, right, link=link, left_bias=left_bias, right_bias=right_bias
    )
    basis = seen_directions(model, model.free_shifts)
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
    # Scores and their part in these directions, both less the means that a bias or the
    # link takes up.
    products, held = left @ right.T, left @ basis @ (right @ basis).T
    for axis, side in enumerate(("left", "right")):
        if side in model.free_shifts:
            products, held = (
                x - x.mean(axis=axis, keepdims=True) for x in (products, held)
            )
    np.testing.assert_allclose(held, products, atol=1e-12)
    assert basis.shape[1] == np.linalg.matrix_rank(products, tol=1e-10) < 5


@pytest.mark.parametrize(
    ("k", "most", "rank"), [(11, 5, 10), (10, 5, 10), (31, 30, 10), (30, 30, 30)]
)
def test_few_columns_are_left_alone(k, most, rank):
    model = random_model(0, n=4, p=6, k=k)
    small = in_span(model, most=most)
    assert small.rank == rank
    assert (small is model) == (k == rank)


@pytest.mark.parametrize("k", [1_000, 1_200])
def test_columns_of_zeros_are_no_room_however_many_columns_there_are(k):
    """More than 1,024 rows in more columns than rows have a span of their own."""
    table = np.zeros((1_100, k))
    table[:, 7] = rows(1_100, 1)[:, 0]
    line = in_span(FactorModel.from_vectors(table))
    np.testing.assert_array_equal(line.right, table[:, [7]])


def test_five_rows_of_six_thousand_columns_take_no_matrix_of_columns():
    model = FactorModel.from_vectors(
        np.random.default_rng(0).standard_normal((5, 6040))
    )
    tracemalloc.start()
    found = audit(model, n_gauges=1, n_starts=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 6040 * 6040  # a quarter of one such matrix
    assert found.predictions_hold
    assert found.model.rank == 6040
    assert "6040" not in found.verdict
    assert verify(found.to_dict(), model).ok
