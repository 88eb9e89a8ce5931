"""The rank test: spans against dense ranks, and a witness that moves cosines while every length stays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embaudit.canonical import normalisation_test
from embaudit.errors import InputError
from embaudit.kernels.pairs import all_pairs, pair_cosines
from embaudit.kernels.rows import unit_rows
from embaudit.model import FactorModel


def vectors(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k))


@given(n=st.integers(1, 20), k=st.integers(1, 5), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_rank_is_that_of_the_flattened_products(n, k, seed):
    x = unit_rows(vectors(n, k, seed))
    expected = np.linalg.matrix_rank(np.einsum("ni,nj->nij", x, x).reshape(n, -1), tol=1e-5)
    found = normalisation_test(FactorModel.from_vectors(x))
    assert found.rank == expected
    assert found.is_pinned == (expected == k * (k + 1) // 2)


@pytest.mark.parametrize("n", [1, 5, 9])
def test_a_free_gauge_keeps_lengths_and_moves_cosines(n):
    x = unit_rows(vectors(n + 1, 4))
    found = normalisation_test(FactorModel.from_vectors(x))
    if n == 9:
        assert found.is_pinned
        with pytest.raises(InputError, match="a witness must be asked for where"):
            found.witness()
        return
    moved = x @ found.witness()
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), 1, atol=1e-12)
    pairs = all_pairs(n + 1)
    assert np.abs(pair_cosines(moved, moved, pairs) - pair_cosines(x, x, pairs)).max() > 1e-3
    assert "did not pin" in found.explain()


def test_rows_on_a_cone_pin_nothing_however_many():
    """Rows with one coordinate fixed in a share of their length lie on a quadric, a matrix T of their own."""
    x = vectors(5000, 3)
    x = np.column_stack([x / np.linalg.norm(x, axis=1, keepdims=True), np.full(5000, 0.7)])
    found = normalisation_test(FactorModel.from_vectors(x))
    assert (found.rank, found.needed, found.n_rows) == (9, 10, 5000)


def test_it_stops_reading_when_the_span_is_full():
    found = normalisation_test(FactorModel.from_vectors(vectors(100_000, 6).astype(np.float32)))
    assert found.is_pinned
    assert found.n_rows == 42
    assert 0 < found.firmness < 1
    assert "pinned the item vectors" in found.explain()


def test_a_rank_too_large_is_refused():
    with pytest.raises(InputError, match="at most 125"):
        normalisation_test(FactorModel.from_vectors(vectors(3, 200)))
