"""Lists by inner product, cosine and distance, against every value computed at once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from embaudit.linalg.best_matches import Order, best_matches
from embaudit.linalg.nearest import neighbours

MEASURES = ("dot", "cosine", "l2", "hyperbolic")


def rows_of(measure: str, n: int, k: int, seed: int) -> np.ndarray:
    """Draw rows of different lengths, within the unit ball for hyperbolic distances."""
    draw = np.random.default_rng(seed)
    rows = draw.standard_normal((n, k)) * np.exp(draw.normal(0, 0.7, (n, 1)))
    if measure == "hyperbolic":
        rows *= 0.95 / np.linalg.norm(rows, axis=1).max()
    return rows


def similarity(measure: str, queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Compute all similarities by the textbook formula of each measure."""
    if measure == "dot":
        return queries @ rows.T
    if measure == "cosine":
        return 1 - cdist(queries, rows, "cosine")
    if measure == "l2":
        return -cdist(queries, rows)
    gaps = np.outer(1 - (queries**2).sum(axis=1), 1 - (rows**2).sum(axis=1))
    return -np.arccosh(1 + 2 * cdist(queries, rows, "sqeuclidean") / gaps)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("n_rows", [9, 5_000])
def test_lists_hold_the_best_of_all_values(measure: str, n_rows: int) -> None:
    # 5,000 candidates are more than one block.
    rows = rows_of(measure, n_rows, 6, seed=0)
    queries = rows_of(measure, 40, 6, seed=1)
    best = best_matches(Order(measure, rows), queries, 5)
    expected = np.argsort(-similarity(measure, queries, rows), axis=1)[:, :5]
    np.testing.assert_array_equal(best.indices, expected)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_query_does_not_list_itself(measure: str) -> None:
    rows = rows_of(measure, 300, 6, seed=0)
    own = np.arange(0, 300, 7)
    best = best_matches(Order(measure, rows), rows[own], 8, own=own)
    values = similarity(measure, rows[own], rows)
    values[np.arange(len(own)), own] = -np.inf
    np.testing.assert_array_equal(best.indices, np.argsort(-values, axis=1)[:, :8])


def test_lists_by_cosine_are_those_of_the_nearest_rows() -> None:
    rows = rows_of("cosine", 500, 6, seed=0)
    own = np.arange(500)
    best = best_matches(Order("cosine", rows), rows, 10, own=own)
    np.testing.assert_array_equal(best.indices, neighbours(rows, 10).indices)


def test_a_bias_is_added_to_each_value() -> None:
    rows, queries = rows_of("dot", 200, 6, seed=0), rows_of("dot", 30, 6, seed=1)
    bias = np.random.default_rng(2).normal(0, 3, 200)
    best = best_matches(Order("dot", rows, bias), queries, 6)
    expected = np.argsort(-(queries @ rows.T + bias), axis=1)[:, :6]
    np.testing.assert_array_equal(best.indices, expected)


def test_a_candidate_without_direction_is_listed_by_products_only() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]])
    query = np.array([[2.0, 0.0]])
    by_product = best_matches(Order("dot", rows), query, 3)
    assert by_product.indices.tolist() == [[0, 1, 2]]
    by_cosine = best_matches(Order("cosine", rows), query, 3)
    assert by_cosine.indices.tolist() == [[0, 2, -1]]
    assert by_cosine.values[0, -1] == -np.inf


def turned(rows: np.ndarray, seed: int) -> np.ndarray:
    """Turn rows at random, which keeps products and distances up to rounding."""
    square = np.random.default_rng(seed).standard_normal((rows.shape[1],) * 2)
    return rows @ np.linalg.qr(square)[0]


@pytest.mark.parametrize("measure", ["dot", "cosine", "l2"])
@pytest.mark.parametrize("seed", range(4))
def test_ties_go_to_the_first_candidates_whatever_the_rounding(
    measure: str, seed: int
) -> None:
    # Every row occurs five times, so lists of seven end among equal rows.
    draw = np.random.default_rng(0)
    rows = np.tile(draw.standard_normal((20, 6)), (5, 1))[draw.permutation(100)]
    queries = draw.standard_normal((30, 6))
    expected = best_matches(Order(measure, rows), queries, 7).indices
    both = turned(np.vstack([rows, queries]), seed)
    found = best_matches(Order(measure, both[:100]), both[100:], 7).indices
    np.testing.assert_array_equal(np.sort(found), np.sort(expected))
    # Of the five copies at the end, those with the smallest numbers are listed.
    for query, listed in zip(queries, expected, strict=True):
        last = rows[listed[-1]]
        copies = np.flatnonzero((rows == last).all(axis=1))
        n_copies = np.isin(copies, listed).sum()
        assert np.isin(copies[:n_copies], listed).all(), query


def test_a_candidate_that_ties_with_the_last_one_is_held() -> None:
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.0], [1.0 + 1e-6, 0.0]])
    best = best_matches(Order("dot", rows), np.array([[1.0, 0.0]]), 2)
    assert sorted(best.indices[0].tolist()) == [0, 3]
    held = best.holds(np.array([[0, 1, 2, -1]]), tie=1e-9)
    assert held.tolist() == [[True, True, False, False]]
    first = best_matches(Order("dot", rows), np.array([[1.0, 0.0]]), 1)
    assert first.holds(np.array([[0, 3]]), tie=1e-9).tolist() == [[False, True]]
    assert first.holds(np.array([[0, 3]]), tie=1e-6).tolist() == [[True, True]]
