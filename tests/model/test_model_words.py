"""Drifts, links, pairs and sides: their bounds to the digit, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.model.drift import rounding_bound
from embaudit.model.factor_model import FactorModel
from embaudit.model.links import Softmax

EPS = np.finfo(float).eps


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_bound_is_its_formula(dtype):
    left, right = np.array([[3.0, 4.0], [60.0, 80.0]], dtype=dtype), np.array([[0.0, 2.0], [1.0, 0.0]], dtype=dtype)
    model = FactorModel(left, right, left_bias=[0.5, 99.0], right_bias=[-7.0, 1.0], offset=-3.0)
    after = FactorModel(left * 2, right * 3, left_bias=[1.5, 0.0], right_bias=[0.0, 0.25])
    storage = float(np.finfo(dtype).eps)
    # Row 0 alone: lengths 5 and 10, the longest items 2 and 6; biases 3 + 0.5 + 7 + 1.5 + 0.25.
    wanted = 4 * EPS * (2**1.5 * 7.0 * 10.0 + 12.25) + 4 * storage * 60.0
    assert rounding_bound(model, after, 7.0, np.array([0])) == pytest.approx(wanted, rel=1e-14)
    ranked = [one.replace(link="ranking") for one in (model, after)]
    assert rounding_bound(*ranked, 7.0, np.array([0])) == pytest.approx(2 * wanted, rel=1e-14)
    cosines = [FactorModel(one.left, one.right, link="cosine") for one in (model, after)]
    assert rounding_bound(*cosines, 7.0, np.array([0])) == pytest.approx(4 * (EPS * 2**1.5 * 7.0 + storage), rel=1e-14)
    unit = [one.replace(link=Softmax(unit_rows=True), left_bias=None) for one in (model, after)]
    wanted = 4 * EPS * (2**1.5 * 7.0 * 5.0 + 10.25) + 4 * storage * 10.0
    assert rounding_bound(*unit, 7.0, np.array([0])) == pytest.approx(2 * wanted, rel=1e-14)
