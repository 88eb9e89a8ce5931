"""Measures without a group of candidates, against leaving them out and measuring again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embaudit.evaluation.leave_out import draw_groups, left_out


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
    scores = draw.integers(4, size=m).astype(float) if ties else draw.standard_normal(m)
    gains = draw.choice([0, 0, 0.5, 1], size=m).astype(np.float32)
    groups = draw_groups(m, draw)
    n_groups = int(groups.max()) + 1
    found = left_out(scores, gains, groups, n, n_groups)
    for group in range(n_groups):
        rest = groups != group
        if rest.sum() < n:
            continue
        expected = measured(scores[rest], gains[rest], n)
        np.testing.assert_allclose(found[group], expected, atol=1e-6)


def test_groups_are_of_equal_size_and_cover_everyone():
    sizes = np.bincount(draw_groups(107, np.random.default_rng(0)))
    assert len(sizes) == 20
    assert set(sizes) == {5, 6}
    assert draw_groups(3, np.random.default_rng(0)).tolist() != [0, 0, 0]


def test_a_group_that_holds_every_related_candidate_leaves_nothing_to_measure():
    gains = np.array([1, 1, 0, 0, 0], dtype=np.float32)
    found = left_out(np.arange(5.0), gains, np.array([0, 0, 1, 1, 2]), 2, 3)
    assert np.isnan(found[0]).all()
    assert found[1:, 1] == pytest.approx(0)
