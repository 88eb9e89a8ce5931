"""Measures without a group of candidates, against leaving them out and measuring again."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from embaudit.evaluation.leave_out import LeftOut
from embaudit.linalg.intervals import draw_groups


def measured(scores, gains, n):
    """Precision, AUC and NDCG from their definitions, pair by pair."""
    related = gains > 0
    if related.all() or not related.any():
        return (np.nan, np.nan, np.nan)
    listed = gains[np.argsort(-scores, kind="stable")[:n]]
    ahead = scores[related][:, None] - scores[~related]
    discounts = 1 / np.log2(np.arange(len(listed)) + 2)
    ideal = np.sort(gains)[::-1][:n]
    return (listed > 0).mean(), ((ahead > 0) + (ahead == 0) / 2).mean(), listed @ discounts / (ideal @ discounts)


@given(st.integers(0, 2**32 - 1), st.integers(3, 40), st.integers(1, 5), st.booleans())
def test_equal_to_measuring_what_remains(seed, m, n, ties):
    draw = np.random.default_rng(seed)
    scores = draw.integers(4, size=(2, m)).astype(float) if ties else draw.standard_normal((2, m))
    gains = draw.choice([0, 0, 0.5, 1], size=(2, m)).astype(np.float32)
    itself = ([0, 1], draw.integers(m, size=2))
    scores[itself] = gains[itself] = -np.inf
    groups = draw_groups(m, draw)
    found = LeftOut(gains, groups, n).measures(scores)
    assert found.shape == (2, min(m, 20) + 1, 3)
    for group, query in np.ndindex(found.shape[1], 2):
        rest = (groups != group) & (gains[query] >= 0)
        if rest.sum() >= n:
            expected = measured(scores[query, rest], gains[query, rest], n)
            np.testing.assert_allclose(found[query, group], expected, atol=1e-6)
