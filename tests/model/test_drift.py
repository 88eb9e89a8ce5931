"""Drift stays below its rounding bound for every gauge."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import random_model

from embaudit.gauges import GeneralLinear, Translation
from embaudit.model import FactorModel
from embaudit.model.drift import drift, rounding_bound

LINKS = ("identity", "softmax", "ranking")


def make(link, seed=0, **options):
    biases = ["right_bias"]
    return random_model(seed, n=20, p=15, k=6, biases=biases, link=link, **options)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(
    seed=st.integers(0, 2**31), log_kappa=st.floats(0, 6), log_scale=st.floats(-3, 3)
)
@settings(max_examples=30)
def test_rounding_never_exceeds_the_bound(link, dtype, seed, log_kappa, log_scale):
    model = make(link, seed, scales=2 * (10.0**log_scale,), dtype=dtype)
    gauge = GeneralLinear(6, max_condition=10.0**log_kappa).sample(rng=seed)
    found = drift(model, gauge.act(model), condition_number=gauge.condition_number)
    assert found.ok, found
    assert found.level is model.predicts


@given(seed=st.integers(0, 2**31), length=st.floats(0.1, 1e4))
@settings(max_examples=30)
def test_translations_keep_probabilities_within_the_bound(seed, length):
    model = make("softmax", seed)
    for side in ("right", "left"):
        after = Translation(6, side=side, max_shift=length).sample(rng=seed).act(model)
        found = drift(model, after, condition_number=1.0)
        assert found.ok, (side, found)


DOUBLE = Fraction(1, 2**52)
"""Distance from 1 to the next float64."""
SINGLE = Fraction(1, 2**23)
"""Distance from 1 to the next float32."""
LENGTHS = [(5, 10), (10, 5)]
BIASES = [(1, 10**6), (10**6, 1)]


def exact_bound(left_length, left_bias, right_bias, storage):
    """Compute 4 u (k^1.5 κ ‖p‖‖q‖ + Σ|bias|) + 4 s ‖p'‖‖q'‖ of the test below.

    k = 4, so that k^1.5 is 8, and κ is 16. The longest right row has length 10. The
    gauge triples the left rows and the right biases and doubles the left biases, and
    the offset is -7.
    """
    product = left_length * 10
    biases = 7 + (1 + 2) * left_bias + (1 + 3) * right_bias
    return 4 * DOUBLE * (8 * 16 * product + biases) + 4 * storage * 3 * product


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(
    ("stored", "storage"),
    [
        ((np.float64, np.float32), SINGLE),
        ((np.float32, np.float64), SINGLE),
        ((np.float64, np.float64), DOUBLE),
    ],
)
@pytest.mark.parametrize("left", BIASES)
@pytest.mark.parametrize("right", BIASES)
@pytest.mark.parametrize("kept", [0, 1])
def test_the_bound_is_that_of_the_worst_row_in_exact_arithmetic(
    lengths, stored, storage, left, right, kept
):
    """The longest row and the largest bias count, whichever rows have them.

    The rows are multiples of a 3-4-5 triangle, so their lengths are exact.
    """
    rows = np.outer(lengths, [3.0, 0.0, 4.0, 0.0]) / 5
    before = FactorModel.from_arrays(
        rows.astype(stored[0]),
        rows.astype(stored[1]),
        left_bias=left,
        right_bias=right,
        offset=-7.0,
    )
    after = before.replace(
        left=3 * before.left,
        left_bias=2 * before.left_bias,
        right_bias=3 * before.right_bias,
    )
    found = rounding_bound(before, after, 16.0, np.arange(2))
    expected = exact_bound(10, max(left), max(right), storage)
    assert found == pytest.approx(float(expected), rel=1e-13, abs=0)
    # If one left row is compared, the other one does not count.
    found = rounding_bound(before, after, 16.0, np.array([kept]))
    expected = exact_bound(lengths[kept], left[kept], max(right), storage)
    assert found == pytest.approx(float(expected), rel=1e-13, abs=0)
