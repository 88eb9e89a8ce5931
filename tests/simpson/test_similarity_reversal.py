"""Correlation of two similarity structures against all pairs formed one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.simpson import ReversalKind, similarity_reversal

BETWEEN = "between clusters"


def structures_in_clusters() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return two sets of vectors in three clusters far apart, and the clusters.

    Within a cluster, items lie on a line. The second set folds this line in the middle.
    """
    rng = np.random.default_rng(0)
    sizes = [12, 9, 15]
    clusters = np.repeat(["a", "b", "c"], sizes)
    centres = np.repeat(6.0 * np.eye(3), sizes, axis=0)
    direction = np.array([1.0, -1.0, 0.5])
    position = rng.uniform(-1, 1, (36, 1))
    before = centres + position * direction
    folded = centres + np.abs(position) * direction
    after = folded + 0.05 * rng.standard_normal((36, 3))
    return before, after, clusters


def cosines_of_pairs(vectors: np.ndarray) -> np.ndarray:
    """Return the cosines of all pairs of rows, one by one."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    pairs = itertools.combinations(unit, 2)
    return np.array([x @ y for x, y in pairs])


def test_correlations_of_cosines_are_those_of_all_pairs() -> None:
    before, after, clusters = structures_in_clusters()
    report = similarity_reversal(before, after, clusters)
    s = cosines_of_pairs(before)
    t = cosines_of_pairs(after)
    pairs = itertools.combinations(clusters, 2)
    group = np.array([x if x == y else BETWEEN for x, y in pairs])
    assert report.n_rows == len(s)
    assert report.r_pooled == pytest.approx(np.corrcoef(s, t)[0, 1], abs=1e-10)
    groups = report.to_frame()
    assert list(groups.index) == ["a", "b", "c", BETWEEN]
    for level, row in groups.iterrows():
        part = group == level
        assert row["n"] == part.sum()
        assert row["r"] == pytest.approx(np.corrcoef(s[part], t[part])[0, 1], abs=1e-8)
        slope = np.polyfit(s[part], t[part], 1)[0]
        assert row["slope"] == pytest.approx(slope, abs=1e-8)
    parts = report.covariance_within + report.covariance_between
    assert parts == pytest.approx(np.cov(s, t, bias=True)[0, 1])
    assert "over all 630 pairs cosine before and cosine after" in report.explain()
    assert "cosine after on cosine before" in report._repr_html_()


def test_structures_that_agree_only_on_clusters_do_not_correlate_within_them() -> None:
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(8), 25)
    centre = 4 * rng.standard_normal((8, 10))[clusters]
    a = centre + 2 * rng.standard_normal((200, 10))
    b = centre + 2 * rng.standard_normal((200, 10))
    report = similarity_reversal(a, b, clusters)
    inside = report.to_frame()["r"].drop(BETWEEN)
    assert report.r_pooled > 0.6
    assert np.abs(inside).max() < 0.3
    same = similarity_reversal(a, a, clusters)
    assert same.kind is ReversalKind.NONE
    assert same.r_pooled == pytest.approx(1)
    display = report.plot()
    import matplotlib.pyplot as plt

    plt.close(display.figure_)


def test_similarities_that_are_reversed_within_clusters_are_found() -> None:
    """Both keep the clusters; the second reverses who is close to whom inside them."""
    rng = np.random.default_rng(1)
    clusters = np.repeat(["u", "v"], 10)
    same = clusters[:, None] == clusters
    noise = rng.uniform(-0.05, 0.05, (20, 20))
    noise = (noise + noise.T) * same

    def vectors(sign: float) -> np.ndarray:
        cosines = np.where(same, 0.7, 0.1) + sign * noise
        np.fill_diagonal(cosines, 1)
        return np.linalg.cholesky(cosines)

    report = similarity_reversal(vectors(1), vectors(-1), clusters)
    assert report.r_pooled > 0.9
    assert report.kind is ReversalKind.REVERSAL
    groups = report.to_frame()
    np.testing.assert_allclose(groups.loc[["u", "v"], "r"], -1)
    assert np.isnan(groups.loc[BETWEEN, "r"])
    assert report.r_within == pytest.approx(-1)


def test_items_without_pairs_or_direction_are_left_out_and_reported() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((7, 3))
    vectors[6] = 0
    report = similarity_reversal(
        vectors, vectors + 0.1, ["a", "a", "a", "b", "b", "c", "c"]
    )
    assert "1 item without a cosine skipped" in report.notes
    assert "1 cluster of one item, without a pair" in report.notes
    assert "1 group in which x or y is constant, without a correlation" in report.notes


EYE = np.eye(4)


@pytest.mark.parametrize(
    ("before", "after", "clusters", "sentence"),
    [
        (EYE, EYE[:3], "aabb", "must have one row per item; got 4, 3 and 4"),
        (EYE, EYE, "aaaa", "clusters must be at least two clusters among the items"),
        (
            EYE,
            EYE,
            "aabb",
            "both structures must be different for some pairs; got equal cosines",
        ),
        (EYE[0], EYE, "aabb", "before must be a matrix with at least one row"),
        (EYE, EYE[0], "aabb", "after must be a matrix with at least one row"),
    ],
)
def test_similarity_reversal_refuses(before, after, clusters, sentence) -> None:
    with pytest.raises(InputError, match=sentence):
        similarity_reversal(before, after, list(clusters))
