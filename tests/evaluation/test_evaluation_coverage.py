"""How often the 95 % intervals of an evaluation hold the truth, in simulated populations of entities."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from embaudit.evaluation.measures import query_measures
from embaudit.evaluation.truth import as_truth
from embaudit.linalg.intervals import draw_groups, jackknife_margin

M, SIMULATIONS = 40, 300


def measured(rows, truth, draw):
    """Values, margins and the margins of a bootstrap over queries: each measure of a cosine and its difference."""
    other = rows * [1, 1, 1, 4.0]
    versions = {
        name: x / np.linalg.norm(x, axis=1, keepdims=True)
        for name, x in (("one", rows), ("two", other))
    }
    versions = {name: (x, x) for name, x in versions.items()}
    everyone = np.arange(len(rows))
    values, replicates, _ = query_measures(
        versions, truth, everyone, everyone, draw_groups(len(rows), draw), n=5
    )
    queries, without = (
        np.hstack([x["one"], x["two"] - x["one"]]) for x in (values, replicates)
    )
    return (
        queries.mean(axis=0),
        jackknife_margin(without),
        1.96 * queries.std(axis=0, ddof=1) / np.sqrt(len(rows)),
    )


@cache
def draws(signal):
    """Entities whose labels show in their vectors by so much; for each draw, the three of `measured`."""
    found = []
    for seed in range(SIMULATIONS):
        draw = np.random.default_rng(seed)
        labels = draw.integers(3, size=M)
        rows = draw.standard_normal((M, 4)) + signal * np.eye(4)[labels]
        found.append(measured(rows, as_truth(labels, M), draw))
    return np.stack(found, axis=1)


@pytest.mark.slow
def test_intervals_hold_if_labels_are_independent_of_vectors():
    values, margins, naive = draws(0.0)
    truth = np.array([1 / 3, 1 / 2, values[:, 2].mean(), 0, 0, 0])
    assert ((np.abs(values - truth) <= margins).mean(axis=0) >= 0.93).all()
    # Queries share candidates, which a bootstrap over queries does not see.
    assert ((np.abs(values - truth) <= naive).mean(axis=0)[:2] < 0.85).all()


@pytest.mark.slow
def test_intervals_hold_if_labels_depend_on_vectors():
    values, margins, naive = draws(1.0)
    truth = values.mean(axis=0)
    assert truth[:2] == pytest.approx([0.47, 0.61], abs=0.02)
    assert ((np.abs(values - truth) <= margins).mean(axis=0) >= 0.93).all()
    assert ((np.abs(values - truth) <= naive).mean(axis=0)[[0, 1, 4]] < 0.85).all()
