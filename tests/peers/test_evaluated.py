"""Evaluation of a model of implicit by the last ratings of its users.

Two independent computations give the expected values: plain loops, and
`ranking_metrics_at_k` of implicit. That function judges lists of users. So each query
item becomes a user of implicit, with the vector of the item, who has consumed this item
only. The precision of implicit divides by the smaller of K and the number of held-out
items, which is the definition of our recall. It sums over users before it divides, so
each of our users is judged alone. Its NDCG is the same as ours. It has no hit rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import embaudit as ea

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

N = 10
FEWEST_RATINGS = 20
"""Number of ratings that a film needs to take part."""
TRAINED_SHARE = 0.8
"""Share of the ratings of each user that the model is trained on, the oldest first."""


@dataclass(frozen=True)
class Judged:
    """A model of implicit, the ratings it did not see, and our evaluation by them."""

    model: ea.FactorModel
    held_out: list[np.ndarray]
    """Rows of the held-out items of each user who has two."""
    found: Any

    def vectors(self, similarity: str) -> tuple[np.ndarray, np.ndarray]:
        """Return vectors of queries and candidates whose product is a similarity."""
        users = self.model.left.astype(np.float64)
        items = self.model.right.astype(np.float64)
        if similarity == "dot product":
            return items, items
        if similarity == "popularity":
            counts = self.model.right_counts[:, None].astype(np.float64)
            return np.ones_like(counts), counts
        if similarity == "prediction cosine":
            # The columns of all scores, as users × items numbers.
            items = (users @ items.T).T
        unit = items / np.linalg.norm(items, axis=1, keepdims=True)
        return unit, unit


@pytest.fixture(scope="module")
def judged(shared_data: Callable[[str], Path]) -> Judged:
    als = pytest.importorskip("implicit").als
    ratings = pd.read_csv(shared_data("ml-latest-small") / "ratings.csv")
    n_ratings = ratings.groupby("movieId")["rating"].transform("size")
    ratings = ratings[n_ratings >= FEWEST_RATINGS]
    ratings = ratings.sort_values(["userId", "timestamp"], kind="stable")
    users, rows = np.unique(ratings["userId"], return_inverse=True)
    films, columns = np.unique(ratings["movieId"], return_inverse=True)
    place = ratings.groupby("userId").cumcount().to_numpy()
    size = ratings.groupby("userId")["userId"].transform("size").to_numpy()
    is_late = place >= TRAINED_SHARE * size
    early = csr_matrix(
        (
            np.ones((~is_late).sum(), dtype=np.float32),
            (rows[~is_late], columns[~is_late]),
        ),
        shape=(len(users), len(films)),
    )
    live = als.AlternatingLeastSquares(factors=32, random_state=0, num_threads=1)
    live.fit(early, show_progress=False)
    # Counts that differ from each other decide which of two popular films comes first.
    counts = np.bincount(columns[~is_late], minlength=len(films))
    counts = counts + np.arange(len(films)) / (2 * len(films))
    model = ea.load(live, left_ids=users, ids=films).replace(right_counts=counts)
    found = ea.evaluate_similarities(
        model, interactions=ratings[is_late], n_neighbours=N, n_queries=len(ratings)
    )
    held_out = [
        columns[is_late & (rows == row)]
        for row in range(len(users))
        if (is_late & (rows == row)).sum() >= 2
    ]
    return Judged(model, held_out, found)


SIMILARITIES = ["cosine", "dot product", "prediction cosine", "popularity"]


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_hit_rate_recall_and_ndcg_equal_plain_loops(
    judged: Judged, similarity: str
) -> None:
    queries, candidates = judged.vectors(similarity)
    values = queries @ candidates.T
    np.fill_diagonal(values, -np.inf)
    lists = np.argsort(-values, axis=1)[:, :N]
    discounts = 1 / np.log2(np.arange(N) + 2)
    of_users = []
    for items in judged.held_out:
        of_queries = []
        for query in items:
            related = np.setdiff1d(items, [query])
            is_hit = np.isin(lists[query], related)
            n_findable = min(N, len(related))
            recall = is_hit.sum() / n_findable
            ndcg = discounts[is_hit].sum() / discounts[:n_findable].sum()
            of_queries.append((is_hit.any(), recall, ndcg))
        of_users.append(np.mean(of_queries, axis=0))
    expected = np.mean(of_users, axis=0)
    found = judged.found
    assert found.measures == ("hit_rate", "recall", "ndcg")
    values_found = [found.value(similarity, name) for name in found.measures]
    np.testing.assert_allclose(values_found, expected, rtol=0, atol=1e-12)
    assert 0.01 < expected[1] < 0.6


@pytest.mark.parametrize("similarity", ["cosine", "dot product"])
def test_recall_and_ndcg_equal_those_of_implicit(
    judged: Judged, similarity: str
) -> None:
    from implicit.als import AlternatingLeastSquares
    from implicit.evaluation import ranking_metrics_at_k

    queries, candidates = judged.vectors(similarity)
    recall, ndcg = [], []
    for items in judged.held_out:
        n_items = len(items)
        model = AlternatingLeastSquares(factors=candidates.shape[1])
        model.user_factors = queries[items].astype(np.float32)
        model.item_factors = candidates.astype(np.float32)
        shape = (n_items, len(candidates))
        consumed = csr_matrix((np.ones(n_items), (np.arange(n_items), items)), shape)
        all_items = np.zeros(shape)
        all_items[:, items] = 1
        related = csr_matrix(all_items - consumed.toarray())
        measures = ranking_metrics_at_k(
            model, consumed, related, K=N, show_progress=False, num_threads=1
        )
        recall.append(measures["precision"])
        ndcg.append(measures["ndcg"])
    # Products are in float32, so two films whose values agree to seven digits can
    # change places.
    found = judged.found
    assert found.value(similarity, "recall") == pytest.approx(np.mean(recall), abs=2e-4)
    assert found.value(similarity, "ndcg") == pytest.approx(np.mean(ndcg), abs=2e-4)
