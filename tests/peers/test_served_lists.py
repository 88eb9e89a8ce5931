"""Lists of an index against lists of models that implicit trained on MovieLens.

The brute force multiplies the matrices of implicit themselves, in which the biases of
BPR and of logistic matrix factorisation are columns. The model that is read has these
biases split off, so an index of its rows does not hold them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist

import embaudit as ea
from embaudit.serving.index_metric import SERVED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

N = 10
FEWEST_RATINGS = 10
"""Number of ratings that a film needs to take part."""
MODELS = {
    "als": "AlternatingLeastSquares",
    "bpr": "BayesianPersonalizedRanking",
    "lmf": "LogisticMatrixFactorization",
}
"""Classes of implicit, by module."""
BIAS_COLUMNS = {"als": 0, "bpr": 1, "lmf": 2}
"""Number of columns of a matrix that hold ones or biases."""


@dataclass(frozen=True)
class Fitted:
    """A model of implicit, and how often each film was rated."""

    module: str
    live: Any
    counts: np.ndarray

    @property
    def users(self) -> np.ndarray:
        return np.asarray(self.live.user_factors, dtype=np.float64)

    @property
    def items(self) -> np.ndarray:
        return np.asarray(self.live.item_factors, dtype=np.float64)

    @property
    def model(self) -> ea.FactorModel:
        """The model that is read, with the same numbers in float64.

        In float32, values that differ by less than 2e-6 count as tied, and a list keeps
        a film that ties with its last one. In float64, only equal values are tied.
        """
        model = ea.load(self.live)
        return model.replace(
            left=model.left.astype(np.float64),
            right=model.right.astype(np.float64),
            right_counts=self.counts,
        )

    def without_biases(self, rows: np.ndarray) -> np.ndarray:
        return rows[:, : rows.shape[1] - BIAS_COLUMNS[self.module]]


@pytest.fixture(scope="module")
def fitted(shared_data: Callable[[str], Path]) -> Callable[[str], Fitted]:
    """Return a function that trains a model of implicit with its defaults, once."""
    implicit = pytest.importorskip("implicit")
    ratings = pd.read_csv(shared_data("ml-latest-small") / "ratings.csv")
    n_ratings = ratings.groupby("movieId")["rating"].transform("size")
    ratings = ratings[n_ratings >= FEWEST_RATINGS]
    _, rows = np.unique(ratings["userId"], return_inverse=True)
    _, columns = np.unique(ratings["movieId"], return_inverse=True)
    ones = np.ones(len(ratings), dtype=np.float32)
    matrix = csr_matrix((ones, (rows, columns)))
    models: dict[str, Fitted] = {}

    def fit(module: str) -> Fitted:
        if module not in models:
            kind = getattr(getattr(implicit, module), MODELS[module])
            live = kind(random_state=0, num_threads=1)
            live.fit(matrix, show_progress=False)
            models[module] = Fitted(module, live, np.bincount(columns))
        return models[module]

    return fit


def similarities(measure: str, queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
    if measure == "dot":
        return queries @ rows.T
    if measure == "cosine":
        return 1 - cdist(queries, rows, "cosine")
    return -cdist(queries, rows)


def best(values: np.ndarray, *, is_own: bool = False) -> np.ndarray:
    """Flag the 10 largest values of each row.

    If `is_own`, queries and rows are the same, and no query flags itself.
    """
    values = values.copy()
    if is_own:
        np.fill_diagonal(values, -np.inf)
    order = np.argsort(-values, axis=1)
    # No two values tie at the end of a list, so no choice between them is made here.
    ends = np.take_along_axis(values, order[:, N - 1 : N + 1], axis=1)
    assert (ends[:, 0] - ends[:, 1] > 1e-12 * np.abs(ends[:, 0])).all()
    flags = np.zeros(values.shape, dtype=bool)
    np.put_along_axis(flags, order[:, :N], True, axis=1)
    return flags


def require_equal(
    lists: Any, by_model: np.ndarray, by_index: np.ndarray, counts: np.ndarray
) -> None:
    """Check the shares of all lists, and the median popularity of what they hold."""
    assert lists.n == N
    assert lists.queries.tolist() == list(range(len(by_model)))
    kept = (by_model & by_index).sum(axis=1) / N
    np.testing.assert_array_equal(lists.kept_by_query, kept)
    popularity = np.broadcast_to(counts, by_model.shape)
    medians = (np.median(popularity[by_model]), np.median(popularity[by_index]))
    assert lists.popularity == medians
    assert not lists.popularity_is_length


@pytest.mark.parametrize("served", SERVED)
@pytest.mark.parametrize("module", MODELS)
def test_shares_and_popularity_equal_brute_force(
    fitted: Callable[[str], Fitted], module: str, served: Any
) -> None:
    trained = fitted(module)
    counts = trained.counts
    model = trained.model
    for_users, for_items = ea.index_metric(model, served, n_lists=10_000).directions
    users = trained.without_biases(trained.users)
    items = trained.without_biases(trained.items)

    # The biases are columns of both matrices, so the product holds them.
    by_model = best(trained.users @ trained.items.T)
    by_index = best(similarities(served, users, items))
    require_equal(for_users, by_model, by_index, counts)
    if module == "als":
        assert for_users.kept_without_bias is None
    else:
        unbiased = best(users @ items.T)
        kept = (by_model & unbiased).sum() / by_model.sum()
        assert for_users.kept_without_bias == pytest.approx(kept, abs=1e-12)

    by_model = best(similarities("dot", items, items), is_own=True)
    by_index = best(similarities(served, items, items), is_own=True)
    require_equal(for_items, by_model, by_index, counts)


@pytest.mark.parametrize("served", SERVED)
@pytest.mark.parametrize("module", MODELS)
def test_an_index_of_the_matrices_with_their_bias_columns_equals_brute_force(
    fitted: Callable[[str], Fitted], module: str, served: Any
) -> None:
    """An index of the matrices as implicit stores them holds the biases as columns."""
    trained = fitted(module)
    users, items = trained.users, trained.items
    model = ea.FactorModel.from_user_item(users, items, link="ranking")
    model = model.replace(right_counts=trained.counts)
    for_users, for_items = ea.index_metric(model, served, n_lists=10_000).directions
    by_model = best(users @ items.T)
    by_index = best(similarities(served, users, items))
    require_equal(for_users, by_model, by_index, trained.counts)
    by_model = best(similarities("dot", items, items), is_own=True)
    by_index = best(similarities(served, items, items), is_own=True)
    require_equal(for_items, by_model, by_index, trained.counts)
    if served == "dot":
        assert (for_users.kept, for_items.kept) == (1, 1)


NOT_REPRODUCED = pytest.mark.xfail(
    reason="The share is 0.61 to 0.67 by seed, and 0.75 with a random 70 % of the "
    "ratings. The record of the figure does not name its training data.",
    raises=AssertionError,
)


@pytest.mark.parametrize(
    ("module", "served", "share"),
    [
        ("als", "cosine", 0.51),
        ("als", "l2", 0.92),
        ("bpr", "cosine", 0.35),
        ("bpr", "l2", 0.32),
        pytest.param("lmf", "cosine", 0.75, marks=NOT_REPRODUCED),
        ("lmf", "l2", 0.24),
    ],
)
def test_shares_of_the_defaults_are_near_to_recorded_ones(
    fitted: Callable[[str], Fitted], module: str, served: Any, share: float
) -> None:
    """The figures were measured once on MovieLens, with the bias columns in the index.

    Their record names no films and no weights. Films of at least ten ratings, each
    counted as 1, were chosen here because most shares come near to the figures. So this
    test guards against changes; it does not confirm the figures.
    """
    trained = fitted(module)
    model = ea.FactorModel.from_user_item(trained.users, trained.items, link="ranking")
    for_users = ea.index_metric(model, served).directions[0]
    assert abs(for_users.kept - share) <= 0.05


@pytest.mark.parametrize("module", MODELS)
def test_the_audit_reports_the_shares_of_the_index(
    fitted: Callable[[str], Fitted], module: str
) -> None:
    trained = fitted(module)
    model = trained.model
    audit = ea.audit(
        model,
        served="cosine",
        n_lists=len(trained.items),
        n_gauges=1,
        groups=["diagonal"],
        n_pairs=1000,
        n_starts=0,
    )
    found = ea.index_metric(model, "cosine", n_lists=len(trained.items))
    reported = audit.to_dict()["served"]["directions"]
    assert len(reported) == len(found.directions)
    for record, lists in zip(reported, found.directions, strict=True):
        assert record["kept"] == lists.kept
        before, after = lists.popularity
        assert record["popularity_before"] == before
        assert record["popularity_after"] == after
    # An index of the rows that are read lists other films in all three models.
    assert "EMB501" in {finding.code for finding in audit.findings}
