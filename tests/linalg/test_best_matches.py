"""Lists by inner product, cosine and distance, against sorting of all values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from embaudit.linalg.best_matches import Order, best_matches, shares_kept
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
    # Distance in the Poincaré ball.
    query_gaps = 1 - (queries**2).sum(axis=1)
    row_gaps = 1 - (rows**2).sum(axis=1)
    squares = cdist(queries, rows, "sqeuclidean")
    return -np.arccosh(1 + 2 * squares / np.outer(query_gaps, row_gaps))


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
    # 5,000 candidates are more than one block, and queries lie in all blocks.
    rows = rows_of(measure, 5_000, 6, seed=0)
    own = np.arange(0, 5_000, 97)
    queries = rows[own]
    best = best_matches(Order(measure, rows), queries, 8, own=own)

    expected = similarity(measure, queries, rows)
    for number, row in enumerate(own):
        expected[number, row] = -np.inf
    order = np.argsort(-expected, axis=1)
    np.testing.assert_array_equal(best.indices, order[:, :8])


def test_lists_by_cosine_are_those_of_the_nearest_rows() -> None:
    rows = rows_of("cosine", 500, 6, seed=0)
    own = np.arange(500)
    best = best_matches(Order("cosine", rows), rows, 10, own=own)
    np.testing.assert_array_equal(best.indices, neighbours(rows, 10).indices)


def test_a_bias_is_added_to_each_value() -> None:
    rows = rows_of("dot", 200, 6, seed=0)
    queries = rows_of("dot", 30, 6, seed=1)
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


@pytest.fixture(scope="module")
def copies() -> tuple[np.ndarray, np.ndarray]:
    """Rows that occur five times each, in random order, and queries.

    Lists of seven end among the copies of one row.
    """
    draw = np.random.default_rng(0)
    rows = np.tile(draw.standard_normal((20, 6)), (5, 1))
    rows = rows[draw.permutation(len(rows))]
    return rows, draw.standard_normal((30, 6))


@pytest.mark.parametrize("measure", ["dot", "cosine", "l2"])
def test_of_tied_candidates_the_first_ones_are_listed(
    measure: str, copies: tuple[np.ndarray, np.ndarray]
) -> None:
    rows, queries = copies
    lists = best_matches(Order(measure, rows), queries, 7).indices
    for listed in lists:
        last = rows[listed[-1]]
        tied = np.flatnonzero((rows == last).all(axis=1))
        n_listed = np.isin(tied, listed).sum()
        assert n_listed == 2
        assert np.isin(tied[:n_listed], listed).all()


@pytest.mark.parametrize("measure", ["dot", "cosine", "l2"])
@pytest.mark.parametrize("seed", range(4))
def test_rounding_decides_no_tie(
    measure: str, seed: int, copies: tuple[np.ndarray, np.ndarray]
) -> None:
    rows, queries = copies
    expected = best_matches(Order(measure, rows), queries, 7).indices
    # The same rotation of rows and queries changes every value by rounding only.
    rotated = turned(np.vstack([rows, queries]), seed)
    rotated_rows = rotated[: len(rows)]
    rotated_queries = rotated[len(rows) :]
    found = best_matches(Order(measure, rotated_rows), rotated_queries, 7).indices
    np.testing.assert_array_equal(np.sort(found), np.sort(expected))


NEAR_TIE = np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.0], [1.0 + 1e-6, 0.0]])
"""Rows 0 and 1 are equal, row 2 is worse, and row 3 is better by 1e-6."""
QUERY = np.array([[1.0, 0.0]])


def test_the_first_of_equal_candidates_is_listed() -> None:
    best = best_matches(Order("dot", NEAR_TIE), QUERY, 2)
    assert best.indices.tolist() == [[3, 0]]


@pytest.mark.parametrize(("row", "is_held"), [(3, True), (0, True), (2, False)])
def test_a_listed_candidate_is_held_and_a_worse_one_is_not(
    row: int, is_held: bool
) -> None:
    best = best_matches(Order("dot", NEAR_TIE), QUERY, 2)
    held = best.holds(np.array([[row]]), tie=1e-9)
    assert held.tolist() == [[is_held]]


def test_a_candidate_that_ties_with_the_last_one_is_held() -> None:
    best = best_matches(Order("dot", NEAR_TIE), QUERY, 2)
    assert best.holds(np.array([[1]]), tie=1e-9).tolist() == [[True]]


@pytest.mark.parametrize(("tie", "is_held"), [(1e-9, False), (1e-6, True)])
def test_the_tolerance_decides_which_candidates_tie(tie: float, is_held: bool) -> None:
    """Row 0 is worse than row 3 by 1e-6.

    Both values have a size of about 1, so the tolerance is twice `tie`.
    """
    best = best_matches(Order("dot", NEAR_TIE), QUERY, 1)
    assert best.indices.tolist() == [[3]]
    held = best.holds(np.array([[0]]), tie=tie)
    assert held.tolist() == [[is_held]]


def test_no_candidate_is_never_held() -> None:
    # The only candidate has a direction, so the list by cosine has an empty place.
    rows = np.array([[1.0, 0.0], [0.0, 0.0]])
    best = best_matches(Order("cosine", rows), QUERY, 2)
    assert best.indices.tolist() == [[0, -1]]
    assert best.holds(np.array([[0, 1, -1]]), tie=1e-9).tolist() == [
        [True, False, False]
    ]


def expected_share(before: np.ndarray, after: np.ndarray, n: int) -> float:
    """Draw many lists of n candidates with ties in random order, and compare them."""
    draw = np.random.default_rng(0)
    belongs = before >= np.sort(before)[-n]
    shares = []
    for _ in range(4_000):
        order = np.lexsort((draw.random(len(after)), -after))
        shares.append(min(np.count_nonzero(belongs[order[:n]]), n) / n)
    return float(np.mean(shares))


@pytest.mark.parametrize("has_own", [False, True])
@pytest.mark.parametrize("measure", ["dot", "cosine", "l2"])
def test_tied_candidates_count_by_their_chance(measure: str, has_own: bool) -> None:
    draw = np.random.default_rng(3)
    before = draw.standard_normal((30, 3))
    # Ten candidates after, three copies each; before they differ.
    after = np.repeat(draw.standard_normal((10, 3)), 3, axis=0)
    after = after[draw.permutation(30)]
    own = None
    if has_own:
        own = np.arange(5)
    n = 7
    reference = best_matches(Order(measure, before), before[:5], n, own=own)
    other = best_matches(Order(measure, after), after[:5], n, own=own)
    found = shares_kept(reference, other, 1e-9)
    values_before = similarity(measure, before[:5], before).round(12)
    values_after = similarity(measure, after[:5], after).round(12)
    for query in range(5):
        if has_own:
            values_before[query, query] = values_after[query, query] = -np.inf
        expected = expected_share(values_before[query], values_after[query], n)
        assert found[query] == pytest.approx(expected, abs=0.02)


def test_collapsed_rows_keep_no_more_than_chance() -> None:
    rows = rows_of("cosine", 101, 5, seed=0)
    own = np.arange(20)
    reference = best_matches(Order("cosine", rows), rows[:20], 10, own=own)
    collapsed = np.ones((101, 2))
    other = best_matches(Order("cosine", collapsed), collapsed[:20], 10, own=own)
    np.testing.assert_allclose(shares_kept(reference, other, 1e-9), 0.1)
    np.testing.assert_allclose(shares_kept(other, other, 1e-9), 1)


def test_shortened_lists_know_their_ties() -> None:
    best = best_matches(Order("dot", NEAR_TIE), QUERY, 3)
    assert best.indices.tolist() == [[3, 0, 1]]
    assert best.is_tied(1e-9).tolist() == [False]
    assert best.shortened(2).is_tied(1e-9).tolist() == [True]
    assert best.shortened(1).is_tied(1e-9).tolist() == [False]
    assert best.shortened(1).is_tied(1e-6).tolist() == [True]
