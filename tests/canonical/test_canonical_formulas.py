"""Each formula of the canonical form, on models small enough to be computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.canonical import at_exponent, canonical_form, hidden_biases, pinned_test

SCORES_9_4 = ea.FactorModel.from_user_item(np.diag([9.0, 1.0]), np.diag([1.0, 4.0]))
"""Its scores are diag(9, 4); left columns have lengths 9 and 1, right ones 1 and 4."""


def test_singular_values_are_those_of_the_score_matrix() -> None:
    np.testing.assert_allclose(canonical_form(SCORES_9_4).singular_values, [9.0, 4.0])


@pytest.mark.parametrize(
    ("exponent", "left", "right"),
    [
        (0.0, [1.0, 1.0], [9.0, 4.0]),
        (0.25, [3**0.5, 2**0.5], [3 * 3**0.5, 2 * 2**0.5]),
        (0.5, [3.0, 2.0], [3.0, 2.0]),
        (1.0, [9.0, 4.0], [1.0, 1.0]),
    ],
)
def test_left_columns_hold_the_exponent_of_singular_values_and_right_ones_the_rest(
    exponent: float, left: list[float], right: list[float]
) -> None:
    found = at_exponent(SCORES_9_4, exponent)
    np.testing.assert_allclose(np.abs(found.left), np.diag(left), atol=1e-12)
    np.testing.assert_allclose(np.abs(found.right), np.diag(right), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "kappa"),
    [("left-whitened", 9.0), ("balanced", 6.0), ("right-whitened", 4)],
)
def test_the_distance_to_a_canonical_model_is_ln_kappa_of_the_gauge_to_it(
    name: str, kappa: float
) -> None:
    """Left columns 9 and 1 become 1 and 1, 3 and 2, or 9 and 4."""
    distance = ea.position(SCORES_9_4).distances[name]
    assert distance == pytest.approx(np.log(kappa), rel=1e-12)


@pytest.mark.parametrize("exponent", [0.0, 0.25, 0.5, 0.8, 1.0])
def test_position_finds_the_exponent_that_a_model_was_made_with(
    exponent: float,
) -> None:
    scales = np.array([9.0, 4.0])
    left, right = np.diag(scales**exponent), np.diag(scales ** (1 - exponent))
    where = ea.position(ea.FactorModel.from_user_item(left, right))
    assert where.exponent == pytest.approx(exponent, abs=1e-5)
    assert where.distance == pytest.approx(0.0, abs=1e-5)


def test_balancedness_compares_the_right_gram_matrix_with_the_left_one() -> None:
    """The quotients of squared column lengths: 4² / 1² and 1² / 9²."""
    found = ea.position(SCORES_9_4).balancedness
    np.testing.assert_allclose(found, [16.0, 1 / 81], rtol=1e-12)


def test_counted_balance_weighs_each_row_by_its_number_of_interactions() -> None:
    """Left squares 1 and 4 with counts 4 and 1 equal the right squares, 4 and 4."""
    model = ea.FactorModel.from_user_item(
        np.diag([1.0, 2.0]),
        np.diag([2.0, 2.0]),
        user_counts=[4, 1],
        item_counts=[1, 1],
    )
    where = ea.position(model)
    assert where.counted_distance == pytest.approx(0.0, abs=1e-12)
    assert where.distances["balanced"] == pytest.approx(np.log(2) / 2, rel=1e-12)


@pytest.mark.parametrize(("smaller", "expected"), [(1.0, 1), (1.1, 2)])
def test_the_energy_rank_is_the_fewest_directions_with_99_percent_of_squared_scores(
    smaller: float, expected: int
) -> None:
    """100 of 101 is 99.01 %, 100 of 101.21 is 98.8 %."""
    model = ea.FactorModel.from_user_item(np.diag([10.0, smaller]), np.eye(2))
    assert ea.position(model).energy_rank == expected


CROSSED = ea.FactorModel.from_user_item([[2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [0, 1]])
"""Its scores are [[2, 0], [1, 1]]."""


@pytest.mark.parametrize(
    ("role", "expected"), [("right", 1 / 5**0.5), ("left", 1 / 2**0.5)]
)
def test_the_prediction_cosine_is_the_cosine_of_columns_or_rows_of_scores(
    role: str, expected: float
) -> None:
    """Columns (2, 1) and (0, 1) for items, rows (2, 0) and (1, 1) for users."""
    found = ea.identified_cosines(CROSSED, role=role, pairs=[[0, 1]])
    np.testing.assert_allclose(found, [expected], rtol=1e-12)


THREE_ITEMS = ea.FactorModel.from_arrays(
    [[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0, 1], [1, 2]]
)
"""Its scores are [[2, 0, 1], [0, 1, 2]]."""


@pytest.mark.parametrize(
    ("biases", "expected"),
    [
        ({}, 0.0),
        ({"left_bias": [0.0, 0.0]}, -1 / 2**0.5),
        ({"right_bias": [0.0, 0.0, 0.0]}, -1.0),
    ],
    ids=["no bias: plain", "user bias: rows centred", "item bias: columns centred"],
)
def test_the_prediction_cosine_removes_means_that_a_free_bias_absorbs(
    biases: dict[str, list[float]], expected: float
) -> None:
    """Items 0 and 1 have columns (2, 0) and (0, 1).

    Without the mean of each row they are (1, -1) and (-1, 0), without that of each
    column (1, -1) and (-1/2, 1/2).
    """
    model = THREE_ITEMS.replace(**biases)
    found = ea.identified_cosines(model, role="right", pairs=[[0, 1]])
    np.testing.assert_allclose(found, [expected], atol=1e-12)


def test_a_column_that_is_constant_is_a_hidden_bias_with_its_value() -> None:
    model = ea.FactorModel.from_user_item(
        [[1.0, 2.0], [2.0, 5.0], [4.0, 1.0]], [[1.0, 3.0], [2.0, 3.0], [5.0, 3.0]]
    )
    (bias,) = ea.position(model).hidden_biases
    assert (bias.role, bias.column) == ("right", 1)
    assert bias.value == pytest.approx(3.0)
    assert hidden_biases("right", canonical_form(model).right) == (bias,)


@pytest.mark.parametrize(("n", "status"), [(2, "undecided"), (3, "pinned")])
def test_unit_rows_are_pinned_by_k_times_k_plus_1_over_2_rows_in_general_position(
    n: int, status: str
) -> None:
    """In two dimensions a symmetric matrix has three numbers."""
    rows = np.array([[1.0, 0.0], [0.6, 0.8], [0.8, -0.6]])[:n]
    found = pinned_test(ea.FactorModel.from_arrays(None, rows, link="cosine"))
    assert (found.status, found.rank, found.needed) == (status, n, 3)
