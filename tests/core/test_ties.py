"""Choices and comparisons that do not depend on rounding."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.core.ties import (
    above_and_tied,
    exceeds,
    first_best,
    first_largest,
    largest_first,
    level_ties,
    order_lists,
    reaches,
    tied_chances,
)

ULP = 2.0**-52
"""Distance from 1 to the next float64."""


@pytest.mark.parametrize("noise", [(0, 0, 0), (0, ULP, 0), (-ULP, 0, ULP), (0, 0, ULP)])
def test_the_first_of_equal_values_is_chosen_whatever_their_last_bit(
    noise: tuple[float, ...],
) -> None:
    values = np.array([0.5, 1.0, 1.0, 1.0]) + np.array([0, *noise])
    assert first_largest(values) == 1
    assert largest_first(values).tolist() == [1, 2, 3, 0]
    assert first_best("abcd", lambda letter: values["abcd".index(letter)]) == "b"


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_the_default_tolerance_follows_the_size_of_the_values(scale: float) -> None:
    values = scale * np.array([1.0, 1.0 + 1e-6, 1.0 + 1e-6 + 1e-12])
    assert first_largest(values) == 1
    assert largest_first(values).tolist() == [1, 2, 0]


def test_nan_comes_last_and_infinite_values_tie() -> None:
    values = [np.nan, 1.0, np.inf, np.inf, -np.inf]
    assert first_largest(values) == 2
    assert largest_first(values).tolist() == [2, 3, 1, 0, 4]
    assert largest_first([]).tolist() == []
    assert first_largest([np.nan, np.nan]) == 0


def test_a_chain_of_close_values_is_not_one_tie() -> None:
    """Each value ties with the next one, yet the ends are four tolerances apart."""
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    assert largest_first(values, tolerance=1.0).tolist() == [3, 4, 1, 2, 0]


@pytest.mark.parametrize("seed", range(5))
def test_a_value_precedes_a_larger_one_only_within_the_tolerance(seed: int) -> None:
    values = np.random.default_rng(seed).random(200)
    ordered = values[largest_first(values, tolerance=0.01)]
    later_maxima = np.maximum.accumulate(ordered[::-1])[::-1]
    assert (later_maxima - ordered).max() <= 0.01


def test_lists_are_ordered_one_by_one() -> None:
    """Values that tie are ordered by their index."""
    indices = [[5, 3, 1], [2, 8, 4]]
    values = [[1.0, 1.0 - ULP, 0.5], [0.9, 0.4, 0.4 - ULP]]
    ordered = order_lists(np.array(indices), np.array(values), tolerance=1e-13)
    assert ordered[0].tolist() == [3, 5, 1]
    assert ordered[1].tolist() == [2, 4, 8]


def test_levelled_values_are_equal_where_they_tied() -> None:
    values = np.array([[1.0, 0.5, 1.0 + ULP, 0.5 + 1e-6]])
    levelled = level_ties(values)
    assert levelled.tolist() == [[1.0, 0.5, 1.0, 0.5 + 1e-6]]


def test_values_without_ties_stay_as_they_are() -> None:
    values = np.array([[2.0, -np.inf, 0.0, 4.0]])
    levelled = level_ties(values)
    assert levelled.tolist() == values.tolist()


@pytest.mark.parametrize("share", [0.05, 0.05 - 1e-17, 1 - 0.95, 0.3 - 0.25])
def test_a_share_at_a_limit_reaches_it_and_does_not_exceed_it(share: float) -> None:
    assert reaches(share, 0.05)
    assert not exceeds(share, 0.05)


# Candidates that tie with the last entry of a list


@pytest.mark.parametrize(
    ("value", "above", "tied"),
    [
        (2.0, True, False),
        (1.0 + 2e-6, True, False),
        (1.0 + 1e-7, False, True),
        (1.0, False, True),
        (1.0 - 1e-7, False, True),
        (0.5, False, False),
        (-np.inf, False, False),
    ],
)
def test_candidates_within_the_tolerance_of_the_last_entry_are_tied(
    value: float, above: bool, tied: bool
) -> None:
    last_entry = np.array([[1.0]])
    is_above, is_tied = above_and_tied(np.array([[value]]), last_entry, 1e-6)
    assert is_above.tolist() == [[above]]
    assert is_tied.tolist() == [[tied]]


def test_the_chances_of_the_tied_candidates_add_up_to_the_places_left() -> None:
    n_above = np.array([0, 2, 4, 4])
    n_tied = np.array([9, 7, 1, 12])
    chances = tied_chances(n_above, n_tied, length=5)
    np.testing.assert_allclose(n_above + chances * n_tied, 5)


def test_every_candidate_of_a_list_that_is_not_full_is_listed() -> None:
    chances = tied_chances(np.array([3, 2]), np.array([0, 1]), length=5)
    assert chances.tolist() == [1.0, 1.0]
