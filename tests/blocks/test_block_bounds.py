"""Sums that cancel, shares that are just reached, and pairs of blocks tried one by one."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.blocks import block_cosines
from embaudit.blocks.sums import _exact
from embaudit.blocks.thresholds import _along_path, _front, _on_two_blocks


@pytest.mark.parametrize(("n", "total"), [(10**6 - 1, 1.0), (10**6, 0.0)])
def test_fewer_than_a_million_sums_are_rounded_once(n, total):
    values = np.zeros(n)
    values[[0, 1, 2]] = 1e17, 1.0, -1e17
    assert _exact(values, np.zeros(1, dtype=np.int64)) == total


def test_no_cosine_of_profiles_is_above_1():
    draw = np.random.default_rng(0)
    passed = 0
    for _ in range(200):
        x = np.abs(draw.standard_normal((5, 3)))
        found = block_cosines(x, 3.7 * x, partition="rows")
        own, whole = found.sums.weights()
        passed += own.sum() / whole > 1
        assert 1 - 1e-15 <= found.norm_cosine <= 1
    assert passed, "what there is to cut off"


@pytest.mark.parametrize(("share", "listed"), [(0.25, 1), (0.5, 2), (0.5 + 1e-9, 3), (0.75, 3), (1.0, 4), (None, 4)])
def test_blocks_are_listed_until_their_share_is_reached(share, listed):
    found = block_cosines([[1.0]] * 4, [[-1.0]] * 4)
    frame = found.largest_gaps(share=share)
    assert len(frame) == listed
    assert frame["gap_share"].tolist() == [0.25] * listed
    assert frame["cumulative_share"].tolist() == [0.25 * (i + 1) for i in range(listed)]
    assert len(found.largest_gaps(share=share, limit=1)) == 1
    assert len(block_cosines([[1.0]] * 4, [[2.0]] * 4).largest_gaps(share=share)) == (4 if share is None else 0)


def best_of_all_pairs(a, g, t):
    """Of single blocks at or above the threshold, and of mixtures of one with a block below it, just at it."""
    psi = np.linspace(0, np.pi / 2, 40_001)
    best = a[g >= t].max()
    for i in np.flatnonzero(g >= t):
        for j in np.flatnonzero(g < t):
            at = np.abs(np.cos(psi) * g[i] + np.sin(psi) * g[j] - t) < 1e-4
            best = max(best, (np.cos(psi) * a[i] + np.sin(psi) * a[j])[at].max(initial=0))
    return best


def test_where_no_path_leads_there_the_best_of_two_blocks_is_that_of_all_pairs():
    fronts = []
    for seed in range(400):
        draw = np.random.default_rng(seed)
        a, g = draw.uniform(0.02, 1, 4), draw.uniform(-0.95, -0.05, 4)
        a /= np.linalg.norm(a)
        t = float(draw.uniform(g.min(), g.max()))
        if _along_path(a, g, t) is None:
            found = _on_two_blocks(a, g, t)
            fronts.append(len(_front(a, g)))
            assert np.linalg.norm(found) == pytest.approx(1.0)
            assert found.min() >= 0
            assert np.count_nonzero(found) <= 2
            assert found @ g >= t - 1e-9
            assert a @ found == pytest.approx(best_of_all_pairs(a, g, t), abs=1e-3)
    assert set(fronts) >= {2, 3, 4}
    assert len(fronts) > 40


def test_no_block_of_the_front_is_beaten_in_both():
    draw = np.random.default_rng(3)
    a, g = draw.integers(6, size=(2, 30)).astype(float)
    front = set(_front(a, g).tolist())
    for i in range(30):
        beaten = ((a >= a[i]) & (g >= g[i]) & ((a > a[i]) | (g > g[i]))).any()
        assert not (beaten and i in front)
        assert beaten or any(a[j] == a[i] and g[j] == g[i] for j in front)
    assert len({(a[i], g[i]) for i in front}) == len(front)
