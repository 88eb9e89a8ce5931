"""Drift stays below its rounding bound for every gauge, and a model that predicts otherwise exceeds it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import random_model

from embaudit.gauges import GeneralLinear, Translation
from embaudit.model import FactorModel
from embaudit.model import drift as module
from embaudit.model.drift import drift

LINKS = ("identity", "softmax", "ranking")


def make(link, seed=0, **options):
    return random_model(
        seed,
        **{"n": 20, "p": 15, "k": 6, "biases": ["right_bias"], "link": link, **options},
    )


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


DOUBLE, SINGLE = Fraction(1, 2**52), Fraction(1, 2**23)
SIZES = [(1, 10**6), (10**6, 1)]


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize(
    "stored",
    [(np.float64, np.float32), (np.float32, np.float64), (np.float64, np.float64)],
)
@pytest.mark.parametrize("left", SIZES)
@pytest.mark.parametrize("right", SIZES)
@pytest.mark.parametrize("kept", [0, 1])
def test_the_bound_is_that_of_the_worst_row_in_exact_arithmetic(
    largest, stored, left, right, kept
):
    """Rows of lengths 5 and 10 and biases a million apart: whichever row holds the largest, it is the one that counts.

    All four numbers here are exact: k = 4, so that k^1.5 is 8, and 3-4-5 triangles.
    """
    triangle, lengths = (
        np.array([3.0, 0.0, 4.0, 0.0]),
        np.array([1.0, 2.0])[:: 1 if largest else -1],
    )
    rows = lengths[:, None] * triangle
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
    size, storage = Fraction(10 * 10), SINGLE if np.float32 in stored else DOUBLE
    biases = 7 + (1 + 2) * max(left) + (1 + 3) * max(right)
    expected = 4 * DOUBLE * (8 * 16 * size + biases) + 4 * storage * 3 * size
    assert module.rounding_bound(before, after, 16.0, np.arange(2)) == pytest.approx(
        float(expected), rel=1e-13, abs=0
    )
    alone = (
        4
        * DOUBLE
        * (8 * 16 * 10 * 5 * int(lengths[kept]) + 7 + 3 * left[kept] + 4 * max(right))
    )
    alone += 4 * storage * 3 * 10 * 5 * int(lengths[kept])
    found = module.rounding_bound(before, after, 16.0, np.array([kept]))
    assert found == pytest.approx(float(alone), rel=1e-13, abs=0), (
        "of the left rows compared, not of all"
    )
