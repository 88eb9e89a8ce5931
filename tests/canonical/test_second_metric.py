"""The proof for both sides of unit rows together, second metrics, and heads of too many numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embaudit.canonical import pinned_test
from embaudit.canonical.quadratic_forms import (
    certified_stretch,
    packed,
    shared_form,
    span_of,
)
from embaudit.linalg.rows import unit_rows
from embaudit.model import FactorModel


def rows(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k))


def span(x):
    return span_of(x, np.eye(x.shape[1]))


def test_a_shared_form_is_positive_and_lies_in_both_spans():
    left, right = rows(8, 4), rows(8, 4, 1)
    spans = span(left), span(right)
    form = shared_form(*spans, 4)
    values = np.linalg.eigvalsh(form)
    assert values[0] > 1e-3 * values[-1] > 0
    share = (
        (sum(side.rounding for side in spans) + 1e-9) * np.linalg.norm(form) / values[0]
    )
    assert certified_stretch(*spans, 4) == pytest.approx(-np.log1p(-share))
    for side in spans:
        np.testing.assert_allclose(
            side.held @ (side.held.T @ packed(form)), packed(form), atol=1e-9
        )
    assert shared_form(span(rows(12, 4)), spans[1], 4) is None
    apart = span(np.eye(2)[:1]), span(np.eye(2)[1:])
    assert shared_form(*apart, 2) is None
    assert certified_stretch(*apart, 2) == np.inf


@pytest.mark.parametrize(
    ("dtype", "turn", "status"),
    [(np.float32, 0, "pinned"), (np.float16, 2e-4, "undecided")],
)
def test_no_proof_holds_for_rows_whose_rounding_hides_another_metric(
    dtype, turn, status
):
    """Two right rows a little inside the corner of the left ones leave `S = [[1, sin 2φ], [sin 2φ, 1]]` free."""
    turned = [np.pi / 4 - turn, turn - np.pi / 4]
    left = np.array([[1.0, 1.0], [1.0, -1.0]]) * np.sqrt(0.5)
    right = np.column_stack([np.cos(turned), np.sin(turned)])
    plane = [[(x @ np.eye(2, k)).astype(dtype) for x in (left, right)] for k in (2, 3)]
    assert [
        pinned_test(FactorModel(*sides, link="cosine")).status for sides in plane
    ] == [status] * 2


@given(n=st.integers(1, 20), k=st.integers(1, 5), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_rank_is_that_of_the_flattened_products(n, k, seed):
    x = unit_rows(rows(n, k, seed))
    expected = np.linalg.matrix_rank(
        np.einsum("ni,nj->nij", x, x).reshape(n, -1), tol=1e-5
    )
    found = pinned_test(FactorModel(None, x, link="cosine"))
    assert (found.rank, found.needed) == (expected, k * (k + 1) // 2)
    assert found.rows_missing == (
        {"right": found.needed - expected} if expected < found.needed else {}
    )


def test_rows_on_a_cone_pin_nothing_however_many():
    """Rows with one coordinate fixed in a share of their length lie on a quadric, a matrix T of their own."""
    x = rows(5000, 3)
    x = np.column_stack(
        [x / np.linalg.norm(x, axis=1, keepdims=True), np.full(5000, 0.7)]
    )
    found = pinned_test(FactorModel(None, x, link="cosine"))
    assert (found.status, found.rank, found.needed, found.rows_missing) == (
        "undecided",
        9,
        10,
        {},
    )
