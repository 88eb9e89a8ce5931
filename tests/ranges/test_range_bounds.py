"""Certificates of shifts as long as 1, ends of cross pairs in full, and where float64 ends."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from embaudit.model import FactorModel
from embaudit.ranges import certified_neighbours


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
