"""The levels of agreement and the gap at each, against mpmath and brute force over pairs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from mpmath import mp, mpf

from embaudit.model.equivalence import Equivalence, largest_gap

EPS = np.finfo(np.float64).eps
COARSE = st.integers(-3, 3).map(float)
SHAPES = array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6)


@st.composite
def two_blocks(
    draw: st.DrawFn, entries: st.SearchStrategy[float]
) -> tuple[np.ndarray, np.ndarray]:
    shape = draw(SHAPES)
    return draw(arrays(float, shape, elements=entries)), draw(
        arrays(float, shape, elements=entries)
    )


def slow_ranking_gap(before: np.ndarray, after: np.ndarray) -> float:
    """The largest `before_i - before_j` of a pair that `after` does not put in that order any more."""
    return max(
        (
            old[i] - old[j]
            for old, new in zip(before, after, strict=True)
            for i in range(len(old))
            for j in range(len(old))
            if new[i] <= new[j]
        ),
        default=0.0,
    )


@given(two_blocks(COARSE))
def test_ranking_gap_with_many_ties(blocks: tuple[np.ndarray, np.ndarray]) -> None:
    assert largest_gap(Equivalence.RANKINGS, *blocks) == slow_ranking_gap(*blocks)


@given(two_blocks(st.floats(-800, 800)))
def test_probability_gap_against_mpmath(blocks: tuple[np.ndarray, np.ndarray]) -> None:
    """Differences of log-probabilities, in 60 digits, where exp would overflow or vanish."""
    with mp.workdps(60):
        logs = []
        for block in blocks:
            rows = [[mpf(float(x)) for x in row] for row in block]
            logs.append(
                [[x - mp.log(mp.fsum(map(mp.exp, row))) for x in row] for row in rows]
            )
        exact = max(
            abs(a - b)
            for one, two in zip(*logs, strict=True)
            for a, b in zip(one, two, strict=True)
        )
        size = 1 + max(float(np.abs(block).max()) for block in blocks)
        assert (
            abs(mpf(largest_gap(Equivalence.PROBABILITIES, *blocks)) - exact)
            <= 16 * EPS * size
        )
