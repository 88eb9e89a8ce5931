"""Both sides of what kernels take for equal, for constant and for rounding; and the same from blocks of one row."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.core.parallel import row_blocks
from embaudit.errors import InputError
from embaudit.linalg import pairs, passes, rows
from embaudit.linalg.copies import first_copies, near_pairs, resolution
from embaudit.linalg.moments import moments
from embaudit.linalg.nearest import neighbours
from embaudit.linalg.pair_sums import CosineSums, RowSums, cross_gram, pair_sums
from embaudit.linalg.pairs import all_pairs, pair_cosines, pairs_or_all
from embaudit.linalg.rows import gram, row_norms, triangular_factor, unit_rows

EPS = float(np.finfo(np.float64).eps)


def draw(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k))


def test_a_correlation_is_told_where_variances_are_no_rounding():
    x, y = np.array([1.0, 2.0, 4.0, 8.0]), np.array([2.0, 1.0, 5.0, 3.0])
    sums = CosineSums(4, x.sum(), y.sum(), (x * x).sum(), (y * y).sum(), (x * y).sum())
    assert sums.pearson == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert sums.rms == pytest.approx(np.sqrt(((y - x) ** 2).mean()))
    assert sums.mean == pytest.approx((y - x).mean())
    assert CosineSums(4, 4.0, 4.0, 4.0, 4.0, 4.0).rms == 0.0
    # A variance that is so many roundings of what was subtracted; one that is small by itself counts.
    for units, known in ((64, False), (65, True)):
        for other in (1.0, 4.0):
            assert np.isfinite(CosineSums(1, 1.0, 0.0, 1 + units * EPS, other, 0.0).pearson) == known
            assert np.isfinite(CosineSums(1, 0.0, 1.0, other, 1 + units * EPS, 0.0).pearson) == known
    small = 1e-14
    assert CosineSums(4, 0.0, 0.0, 3.0, small, 0.5 * np.sqrt(3 * small)).pearson == pytest.approx(0.5)


def test_blocks_of_one_row_give_what_the_whole_does(monkeypatch):
    x, y = draw(23, 4), draw(23, 3, 1)
    x[5], x[9], x[17] = 0, x[2], -3 * x[2]
    x[11] *= 1e-200
    flags = np.isnan(unit_rows(x)[:, 0])
    weights = np.arange(23.0)
    chosen = np.array([0, 5, 9, 22])

    def everything():
        found = neighbours(x, 3, rows=chosen)
        unit, other = unit_rows(x), unit_rows(draw(23, 4, 2))
        sums = [RowSums.of(unit), RowSums.of(other)]
        factor = triangular_factor(y, weights)
        one = moments(y, normalise=True)
        return [
            row_norms(x), unit, unit_rows(x, none=0), gram(x), gram(x, y), factor.T @ factor,
            moments(y).mean, moments(y).root.T @ moments(y).root, one.mean, one.root.T @ one.root,
            found.indices, found.cosines, found.runner_up, pair_cosines(x, x, all_pairs(23)),
            sums[0].count, sums[0].total, sums[0].gram, cross_gram(unit, other),
            [*vars(pair_sums(sums[:1], sums[1:], [cross_gram(unit, other)])).values()],
            first_copies(y[[0, 1, 0, 2, 1]], np.arange(5)), near_pairs(y, np.arange(23), 0.9),
        ]  # fmt: skip

    whole = everything()
    monkeypatch.setattr(row_blocks, "__kwdefaults__", {"budget": 1})
    for owner, name in ((rows, "CACHE_BYTES"), (rows, "PASS_BYTES"), (passes, "CACHE_BYTES")):
        monkeypatch.setattr(owner, name, 1)
    for one, other in zip(whole, everything(), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(whole[5], (y * weights[:, None]).T @ y)
    assert np.flatnonzero(flags).tolist() == [5]
    assert resolution(4) == 10 * EPS


def test_all_pairs_are_taken_up_to_a_number(monkeypatch):
    monkeypatch.setattr(pairs, "ALL_PAIRS", 6)
    given = np.array([[0, 1]])
    assert pairs_or_all(given, 100) is given
    assert pairs_or_all(None, 4).tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    assert pairs_or_all(None, 2, 3).tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    for sizes, count in (((5,), 10), ((7, 1), 7)):
        with pytest.raises(InputError) as refused:
            pairs_or_all(None, *sizes)
        assert str(refused.value) == (
            f"pairs must be named where there are more than 6; got None for {count}; pass row numbers (m, 2), or see "
            "movement and range_summary, which sample."
        )
