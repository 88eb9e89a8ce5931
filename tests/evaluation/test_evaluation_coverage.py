"""Coverage of 95 % confidence intervals by labels, in simulated populations.

The jackknife over entities is conservative for so few entities (Efron & Stein, 1981),
so the coverage can exceed 95 %. In 1,000 simulations, it was 96 to 99.5 % for values
and 97 to 100 % for differences.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from embaudit.evaluation.measures import query_measures
from embaudit.evaluation.truth import as_truth
from embaudit.linalg.intervals import draw_groups, jackknife_margin

M, SIMULATIONS = 40, 300


def measured(rows, truth, draw):
    """Measure two cosines of the same entities.

    Returns
    -------
    values, margins, naive : arrays of shape (6,)
        The three measures of the first cosine and their differences in the second one:
        mean, half the width of the interval, and the same by a bootstrap over queries.
    """
    other = rows * [1, 1, 1, 4.0]
    first = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    second = other / np.linalg.norm(other, axis=1, keepdims=True)
    versions = {"one": (first, first), "two": (second, second)}
    everyone = np.arange(len(rows))
    values, replicates, _ = query_measures(
        versions, truth, everyone, everyone, draw_groups(len(rows), draw), n=5
    )
    by_query = np.hstack([values["one"], values["two"] - values["one"]])
    means = np.hstack([replicates["one"], replicates["two"] - replicates["one"]])
    naive = 1.96 * by_query.std(axis=0, ddof=1) / np.sqrt(len(rows))
    return by_query.mean(axis=0), jackknife_margin(means), naive


@cache
def draws(signal):
    """Draw entities whose vectors move by `signal` in the direction of their label.

    Returns the three arrays of `measured` for each draw.
    """
    found = []
    for seed in range(SIMULATIONS):
        draw = np.random.default_rng(seed)
        labels = draw.integers(3, size=M)
        rows = draw.standard_normal((M, 4)) + signal * np.eye(4)[labels]
        found.append(measured(rows, as_truth(labels, M), draw))
    return np.stack(found, axis=1)


def coverage(values, margins, truth):
    """Return the share of the simulations whose interval holds the true value."""
    is_inside = np.abs(values - truth) <= margins
    return is_inside.mean(axis=0)


@pytest.mark.slow
def test_intervals_hold_if_labels_are_independent_of_vectors():
    values, margins, naive = draws(0.0)
    truth = np.array([1 / 3, 1 / 2, values[:, 2].mean(), 0, 0, 0])
    assert (coverage(values, margins, truth) >= 0.95).all()
    # Queries share candidates, which a bootstrap over queries does not see.
    assert (coverage(values, naive, truth)[:2] < 0.85).all()


@pytest.mark.slow
def test_intervals_hold_if_labels_depend_on_vectors():
    values, margins, naive = draws(1.0)
    truth = values.mean(axis=0)
    assert truth[:2] == pytest.approx([0.47, 0.61], abs=0.02)
    assert (coverage(values, margins, truth) >= 0.95).all()
    assert (coverage(values, naive, truth)[[0, 1, 4]] < 0.85).all()
