"""Edges of the kernels: zeros among coordinates, cosines of copies, shares of few, matrices that are no stretch."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binomtest

from embaudit.kernels import moments, tally
from embaudit.kernels.copies import LOOKED_AT, _between, _spread
from embaudit.kernels.intervals import wilson_interval
from embaudit.kernels.nearest import neighbours
from embaudit.kernels.pairs import as_pairs, cosine_matrix, pairs_or_all
from embaudit.kernels.screened import screened
from embaudit.kernels.stretch import Stretch, plainest


def test_a_row_with_zeros_is_no_zero_row():
    x = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.0, 0.0]])
    best, settled = screened(x, np.array([0, 3]), 1)
    assert best.columns.tolist() == [[1], [-1]]
    assert best.values[0, 0] == pytest.approx(1 / np.sqrt(1.01), rel=1e-15)
    assert np.isnan(best.values[1, 0])
    assert settled.tolist() == [True, True]


def test_cosines_of_copies_do_not_pass_one():
    draw = np.random.default_rng(0)
    rows = np.repeat(draw.standard_normal((200, 7)), 2, axis=0) * np.where(np.arange(400) % 4 < 2, 1, -1)[:, None]
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.einsum("ij,ij->i", unit, unit).max() > 1, "what there is to cut off"
    best, _ = screened(rows, np.arange(400), 1)
    assert 1 - 1e-15 < best.values.max() <= 1
    whole = cosine_matrix(np.vstack([rows, -rows]))
    assert (whole.max(), whole.min()) == (1.0, -1.0)
    assert (np.diag(whole) == 1).all()


@pytest.mark.parametrize(("count", "n"), [(0, 3), (1, 7), (30, 30), (13, 200)])
def test_intervals_of_shares_are_scipys(count, n):
    expected = binomtest(count, n).proportion_ci(method="wilson")
    assert wilson_interval(count / n, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_one_pair_by_itself_is_a_table_of_one():
    assert as_pairs(np.array([2, 1]), 3, 3).tolist() == [[2, 1]]


def test_places_lie_in_the_middle_of_those_chosen():
    some = _spread(10_000)
    assert (len(some), some[0], some[-1]) == (LOOKED_AT, 0, 9_999)
    assert _between(some).tolist() == [(a + b) // 2 for a, b in pairwise(some)]
    few = _spread(LOOKED_AT - 1)
    assert few.tolist() == list(range(LOOKED_AT - 1))
    assert _between(few) is few


@pytest.mark.parametrize(
    "given", [np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]), np.ones((2, 2)), np.diag([1.0, 0.0]), Stretch(np.ones(2))]
)
def test_what_is_no_diagonal_matrix_stays_as_it_is(given):
    assert plainest(given) is given


def test_no_neighbour_is_nearer_than_one_in_the_same_direction():
    """Unrounded, some of these cosines would be 1 + eps."""
    x = np.random.default_rng(0).standard_normal((150, 3))
    found = neighbours(np.vstack([x, 3 * x, 5 * x]), 2)
    assert found.cosines.max() == 1
    np.testing.assert_allclose(found.cosines, 1, rtol=1e-15)


def test_all_pairs_across_are_those_of_each_row_with_each_column():
    assert pairs_or_all(None, 2, 3).tolist() == [[i, j] for i in range(2) for j in range(3)]
    assert pairs_or_all(None, 3).tolist() == [[0, 1], [0, 2], [1, 2]]


def test_a_wide_gram_matrix_of_rows_far_from_the_origin_is_exact(monkeypatch):
    monkeypatch.setattr(moments, "WIDE_BYTES", 8 * 5 * 7)
    x = np.round(np.random.default_rng(0).standard_normal((40, 5)), 3) + 2.0**27
    x = np.round(x, 7)
    mean, gram = moments._wide_gram(x, normalise=False)
    exact = x - 2.0**27
    centred = exact - exact.mean(axis=0)
    np.testing.assert_allclose(mean, x.mean(axis=0), rtol=1e-15)
    np.testing.assert_allclose(gram, centred.T @ centred, atol=1e-6)


def test_ranks_go_by_a_grid_over_the_range_of_a_sample():
    found = tally._RankBins.of(np.array([0.5, -1.0, 1.0]))
    assert (found.lowest, found.scale) == (-1.0, (2**16 - 1) / 2)
    assert found.cells.tolist() == [0, int(1.5 * 65535 / 2), 65535]
    # 256 bins; each of three takes a third of them, and is told by its middle.
    assert tally._bins(np.array([1, 3, 5]), 3).tolist() == [int(256 / 6), 128, int(256 * 5 / 6)]
    assert tally._bins(np.array([6]), 3).tolist() == [255]
    still = tally._RankBins.of(np.full(3, 0.25))
    assert (still.lowest, still.cells.tolist()) == (0.25, [0, 0, 0])
