"""Thresholds for labelled pairs, on models with known answers.

Labels that depend on the cosines have a threshold. Labels that were permuted, reversed,
or that depend only on the row numbers, have none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import embaudit as ea

if TYPE_CHECKING:
    from collections.abc import Callable

N_ROWS = 240


def vectors(seed: int, noise: float = 0.7) -> np.ndarray:
    """Draw rows of 40 topics."""
    draw = np.random.default_rng(seed)
    topics = draw.standard_normal((40, 12))[np.arange(N_ROWS) % 40]
    return topics + noise * draw.standard_normal((N_ROWS, 12))


def same_topic(pairs: np.ndarray) -> np.ndarray:
    return pairs[:, 0] % 40 == pairs[:, 1] % 40


def sampled_pairs(seed: int, n_queries: int) -> np.ndarray:
    """Draw six pairs of each query, two of them of its topic."""
    draw = np.random.default_rng(seed)
    pairs = []
    for query in range(n_queries):
        related = query + 40 * draw.choice(np.arange(1, 6), 2, replace=False)
        others = draw.choice(np.arange(120, N_ROWS), 4, replace=False)
        second = np.unique(np.r_[related % N_ROWS, others])
        pairs += [(query, row) for row in second.tolist() if row > query]
    return np.array(pairs)


@dataclass(frozen=True)
class Row:
    """Labels, and whether some threshold separates them."""

    labels: Callable[[np.ndarray, np.random.Generator], np.ndarray]
    separates: bool
    says: str
    n_queries: int = 100


def permuted(pairs, draw):
    return draw.permutation(same_topic(pairs))


def permuted_within_queries(pairs, draw):
    labels = same_topic(pairs)
    for query in np.unique(pairs[:, 0]):
        own = pairs[:, 0] == query
        labels[own] = draw.permutation(labels[own])
    return labels


def by_query(pairs, draw):
    """All pairs of a query have one label, which is drawn."""
    return draw.random(N_ROWS)[pairs[:, 0]] < 0.5


ROWS = {
    "pairs of one topic": Row(lambda pairs, _: same_topic(pairs), True, "Cut at 0."),
    "pairs of one topic, a tenth of the labels wrong": Row(
        lambda pairs, draw: same_topic(pairs) ^ (draw.random(len(pairs)) < 0.1),
        True,
        "Cut at 0.",
    ),
    "permuted labels": Row(permuted, False, "which includes 0.5"),
    "labels permuted within queries": Row(
        permuted_within_queries, False, "which includes 0.5"
    ),
    "one label for each query": Row(by_query, False, "which includes 0.5"),
    "parity of row numbers": Row(
        lambda pairs, _: pairs.sum(axis=1) % 3 == 0, False, "which includes 0.5"
    ),
    "labels turned around": Row(
        lambda pairs, _: ~same_topic(pairs), False, "lower scores than unrelated ones"
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_threshold_is_recommended_only_if_it_separates(name):
    row = ROWS[name]
    for seed in range(12):
        pairs = sampled_pairs(seed, row.n_queries)
        labels = row.labels(pairs, np.random.default_rng(seed))
        table = pd.DataFrame(
            {"a": pairs[:, 0], "b": pairs[:, 1], "label": labels.astype(int)}
        )
        found = ea.threshold(vectors(seed), pairs=table, rng=seed)
        assert (found.threshold is not None) == row.separates, (name, seed)
        if row.separates:
            assert found.conclusion.startswith(row.says)
        else:
            assert "No threshold separates these pairs" in found.conclusion
            assert found.settings()["threshold"] is None
            assert "Cut at" not in found.explain()


@pytest.mark.parametrize("name", ["permuted labels", "labels turned around"])
def test_the_reason_is_named(name):
    row = ROWS[name]
    pairs = sampled_pairs(0, row.n_queries)
    labels = row.labels(pairs, np.random.default_rng(0))
    table = pd.DataFrame(
        {"a": pairs[:, 0], "b": pairs[:, 1], "label": labels.astype(int)}
    )
    assert row.says in ea.threshold(vectors(0), pairs=table).conclusion


def test_few_queries_that_are_separated_by_chance_have_no_threshold():
    """Of two times five queries, one in 252 is separated by chance alone."""
    pairs = np.column_stack([np.arange(10), np.arange(10) + 10])
    cosines = np.linspace(-0.9, 0.9, 10)
    rows = np.zeros((20, 20))
    rows[:10, :10] = np.eye(10)
    for row, cosine in enumerate(cosines):
        rows[10 + row, row] = cosine
        rows[10 + row, 10 + row] = np.sqrt(1 - cosine**2)
    table = pd.DataFrame(
        {"a": pairs[:, 0], "b": pairs[:, 1], "label": np.arange(10) // 5}
    )
    found = ea.threshold(rows, pairs=table)
    assert found.labelled.auc.value == 1
    assert found.threshold is None


@pytest.mark.slow
def test_permuted_labels_of_many_samples_have_no_threshold():
    wrong = 0
    for seed in range(600):
        pairs = sampled_pairs(seed, 60)
        labels = permuted(pairs, np.random.default_rng(seed))
        table = pd.DataFrame(
            {"a": pairs[:, 0], "b": pairs[:, 1], "label": labels.astype(int)}
        )
        found = ea.threshold(vectors(seed), pairs=table, rng=seed)
        wrong += found.threshold is not None
    # At most 0.5 % are expected.
    assert wrong <= 6
