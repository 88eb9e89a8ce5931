"""One side of unit rows: its span against a dense rank, and quadrics that many rows may lie on."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from embaudit.canonical import pinned_test
from embaudit.linalg.rows import unit_rows
from embaudit.model import FactorModel


def vectors(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k))


@given(n=st.integers(1, 20), k=st.integers(1, 5), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_rank_is_that_of_the_flattened_products(n, k, seed):
    x = unit_rows(vectors(n, k, seed))
    expected = np.linalg.matrix_rank(np.einsum("ni,nj->nij", x, x).reshape(n, -1), tol=1e-5)
    found = pinned_test(FactorModel(None, x, link="cosine"))
    assert (found.rank, found.needed) == (expected, k * (k + 1) // 2)
    assert found.rows_missing == ({"right": found.needed - expected} if expected < found.needed else {})


def test_rows_on_a_cone_pin_nothing_however_many():
    """Rows with one coordinate fixed in a share of their length lie on a quadric, a matrix T of their own."""
    x = vectors(5000, 3)
    x = np.column_stack([x / np.linalg.norm(x, axis=1, keepdims=True), np.full(5000, 0.7)])
    found = pinned_test(FactorModel(None, x, link="cosine"))
    assert (found.status, found.rank, found.needed, found.rows_missing) == ("undecided", 9, 10, {"right": 1})
