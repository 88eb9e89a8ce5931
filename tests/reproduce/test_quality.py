"""The measures of cluster recovery against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.linalg.pairs import cosine_matrix
from embaudit.reproduce.netflix_models import cluster_recovery


@pytest.fixture
def vectors():
    return np.random.default_rng(0).standard_normal((30, 4))


def test_recovery_agrees_with_loops_over_pairs(vectors):
    clusters = np.arange(30) % 3
    cosines = cosine_matrix(vectors)
    found = cluster_recovery(cosines, clusters)
    within, between = [], []
    for i in range(30):
        for j in range(i):
            value = vectors[i] @ vectors[j] / np.linalg.norm(vectors[i]) / np.linalg.norm(vectors[j])
            (within if clusters[i] == clusters[j] else between).append(value)
    assert found["within_mean"] == pytest.approx(np.mean(within))
    assert found["between_mean"] == pytest.approx(np.mean(between))
    assert found["auc"] == pytest.approx(np.mean([a > b for a in within for b in between]))
    shares = []
    for i in range(30):
        order = [j for j in np.argsort(-cosines[i]) if j != i][:10]
        shares.append(np.mean(clusters[order] == clusters[i]))
    assert found["top10_in_cluster"] == pytest.approx(np.mean(shares))


def test_too_few_items_are_refused():
    with pytest.raises(InputError, match="number of items"):
        cluster_recovery(np.eye(10), np.arange(10) % 2)
