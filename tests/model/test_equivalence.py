"""Gaps at each level of agreement, compared with mpmath and with loops over pairs."""

from __future__ import annotations

import itertools

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
    before = draw(arrays(float, shape, elements=entries))
    after = draw(arrays(float, shape, elements=entries))
    return before, after


def slow_ranking_gap(before: np.ndarray, after: np.ndarray) -> float:
    """Return the largest `before_i - before_j` of pairs with `after_i <= after_j`."""
    largest = 0.0
    for old, new in zip(before, after, strict=True):
        for i, j in itertools.product(range(len(old)), repeat=2):
            if new[i] <= new[j]:
                largest = max(largest, old[i] - old[j])
    return largest


@given(two_blocks(COARSE))
def test_ranking_gap_with_many_ties(blocks: tuple[np.ndarray, np.ndarray]) -> None:
    assert largest_gap(Equivalence.RANKINGS, *blocks) == slow_ranking_gap(*blocks)


def exact_log_softmax(scores: np.ndarray) -> list[mpf]:
    """Compute `s - log Σ exp s` in the current precision of mpmath."""
    exact = [mpf(float(score)) for score in scores]
    log_sum = mp.log(mp.fsum(mp.exp(score) for score in exact))
    return [score - log_sum for score in exact]


@given(two_blocks(st.floats(-800, 800)))
def test_probability_gap_against_mpmath(blocks: tuple[np.ndarray, np.ndarray]) -> None:
    """Scores up to ±800, whose exponentials overflow or vanish in float64."""
    before, after = blocks
    found = largest_gap(Equivalence.PROBABILITIES, before, after)
    size = 1 + max(np.abs(before).max(), np.abs(after).max())
    with mp.workdps(60):
        exact = mpf(0)
        for old, new in zip(before, after, strict=True):
            for a, b in zip(
                exact_log_softmax(old), exact_log_softmax(new), strict=True
            ):
                exact = max(exact, abs(a - b))
        assert abs(found - exact) <= 16 * EPS * size
