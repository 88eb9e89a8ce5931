"""Sums over all pairs by matrices, against the pairs themselves."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.linalg.pair_sums import RowSums, cross_gram, pair_sums
from embaudit.linalg.rows import unit_rows


def two_models(n, seed):
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((n, 4)) + 0.5
    y = x + draw.standard_normal((n, 4))
    x[2] = y[2] = 0
    return unit_rows(x), unit_rows(np.column_stack([y, draw.standard_normal(n) * (np.arange(n) != 2)]))


def compared(b, c):
    """What the sums must say, of the lists of cosines themselves."""
    return {
        "total": len(b),
        "before": b.sum(),
        "after": c.sum(),
        "before_squared": b @ b,
        "after_squared": c @ c,
        "product": b @ c,
        "mean": (c - b).mean(),
        "rms": np.sqrt(((c - b) ** 2).mean()),
        "pearson": np.corrcoef(b, c)[0, 1],
    }


def test_sums_of_one_side_are_those_of_its_pairs():
    before, after = two_models(9, 0)
    found = pair_sums([RowSums.of(before)], [RowSums.of(after)], [cross_gram(before, after)])
    upper = np.triu_indices(8, 1)
    b, c = (np.delete(unit, 2, axis=0) for unit in (before, after))
    wanted = compared((b @ b.T)[upper], (c @ c.T)[upper])
    assert {name: getattr(found, name) for name in wanted} == pytest.approx(wanted, rel=1e-10)


def test_sums_of_two_sides_are_those_of_all_their_pairs():
    (x, u), (y, v) = two_models(9, 0), two_models(6, 1)
    rows = [[RowSums.of(side) for side in sides] for sides in ((x, y), (u, v))]
    found = pair_sums(*rows, [cross_gram(x, u), cross_gram(y, v)])
    x, u, y, v = (np.delete(side, 2, axis=0) for side in (x, u, y, v))
    wanted = compared((x @ y.T).ravel(), (u @ v.T).ravel())
    assert {name: getattr(found, name) for name in wanted} == pytest.approx(wanted, rel=1e-10)
