"""Rivals of lists under shifts against one exact range for each pair, and the figures that a shift is read off from."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.linalg.nearest import neighbours
from embaudit.ranges import rivals
from embaudit.ranges.rivals import nearest_rivals
from embaudit.ranges.translation import TranslationReach


def exact_tangents(x, radius):
    one, other = np.indices((len(x), len(x))).reshape(2, -1)
    return TranslationReach("right", radius).ends(x[one], x[other]).upper.reshape(len(x), len(x))


@pytest.mark.parametrize("batch", [2, 4096])
@pytest.mark.parametrize(("k", "spread"), [(2, 1.0), (5, 1.0), (5, 0.05)])
def test_the_nearest_rival_is_the_least_of_all_pairs(monkeypatch, k, spread, batch):
    monkeypatch.setattr(rivals, "BATCH", batch)
    draw = np.random.default_rng(k)
    x = draw.standard_normal((25, k)) * spread + np.eye(k)[0]
    found = neighbours(x, 3, rows=np.array([0, 4, 9, 24]))
    for radius in (0.02, 0.3):
        tangents = exact_tangents(x, radius)
        for row, listed, nearest in zip(found.rows, found.indices, nearest_rivals(x, found, radius), strict=True):
            others = np.setdiff1d(np.arange(25), [row, *listed])
            least = 0.0 if np.linalg.norm(x[row]) <= radius else tangents[row, others].min()
            assert nearest == pytest.approx(least, rel=1e-9, abs=1e-15)
            assert nearest <= least
