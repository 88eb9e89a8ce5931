"""Certificates of shifts as long as 1, ends of cross pairs in full, and where float64 ends."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from embaudit.gauges import Diagonal, GeneralLinear
from embaudit.model import FactorModel
from embaudit.ranges import certified_neighbours, cosine_range


@pytest.mark.parametrize("seed", range(2))
def test_no_radius_is_larger_than_the_exact_one(seed):
    """In 40 digits: an entry is taken a rounding lower than computed, what is left out one higher."""
    rows = np.random.default_rng(seed).standard_normal((12, 3))
    found = certified_neighbours(FactorModel.from_vectors(rows), n=3)
    with mp.workdps(40):
        exact = [[mpf(float(x)) for x in row] for row in rows]

        def depth(i, j):
            a, b = exact[i], exact[int(j)]
            dot, p, q = (mp.fdot(one, other) for one, other in ((a, b), (a, a), (b, b)))
            return mp.atanh(dot / mp.sqrt(p * q))

        for i, listed in enumerate(found.indices):
            out = max(depth(i, j) for j in set(range(12)) - {i, *listed.tolist()})
            for j, radius in zip(listed, found.radii[i], strict=True):
                truth = mp.exp((depth(i, j) - out) / 2)
                assert truth * (1 - mpf(10) ** -12) < mpf(float(radius)) <= max(truth, 1)


@pytest.mark.parametrize("role", ["cross", "right"])
def test_ends_of_pairs_of_every_sign_in_full(role):
    rows = np.array([[1.0, 0.0], [0.6, 0.8], [-0.6, 0.8], [0.0, 2.0], [-3.0, 0.0], [0.0, 0.0]])
    model = FactorModel(rows[:1], rows) if role == "cross" else FactorModel.from_vectors(rows)
    pairs = [[0, j] for j in range(6)]
    kappa = 1.25
    free, bounded = (
        cosine_range(model, GeneralLinear(2, max_condition=b), role=role, pairs=pairs) for b in (None, kappa)
    )
    cosines = np.array([1.0, 0.6, -0.6, 0.0, -1.0])
    if role == "cross":
        lower, upper = [0.0, 0.0, -1.0, 0.0, -1.0], [1.0, 1.0, 0.0, 0.0, 0.0]
        attained = [False, False, True, True, True], [True, True, False, True, False]
        depth = np.arccosh(1 / np.abs(cosines[[0, 1, 2, 4]]))
        near, far = 1 / np.cosh(depth + np.log(kappa)), 1 / np.cosh(np.maximum(depth - np.log(kappa), 0))
        some = [near[0], near[1], -far[2], 0.0, -far[3]], [far[0], far[1], -near[2], 0.0, -near[3]]
    else:
        lower, upper = [1.0, -1.0, -1.0, -1.0, -1.0], [1.0, 1.0, 1.0, 1.0, -1.0]
        attained = [True, False, False, False, True], [True, False, False, False, True]
        tangent = np.sqrt((1 - cosines[1:4]) / (1 + cosines[1:4]))
        low, high = ((1 - t**2) / (1 + t**2) for t in (tangent * kappa, tangent / kappa))
        some = [1.0, *low, -1.0], [1.0, *high, -1.0]
    assert (free.lower[:5].tolist(), free.upper[:5].tolist()) == (lower, upper)
    assert (free.lower_attained[:5].tolist(), free.upper_attained[:5].tolist()) == attained
    np.testing.assert_allclose([bounded.lower[:5], bounded.upper[:5]], some, atol=1e-12)
    assert bounded.lower_attained[:5].all()
    assert bounded.upper_attained[:5].all()
    for group in (None, kappa):
        for found in (free, bounded, cosine_range(model, Diagonal(2, max_condition=group), role=role, pairs=pairs)):
            assert np.isnan([found.lower[5], found.upper[5]]).all()
            assert not found.lower_attained[5]
            assert not found.upper_attained[5]
