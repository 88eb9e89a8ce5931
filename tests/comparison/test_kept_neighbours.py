"""Neighbours that are kept in lists that end in a tie."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from embaudit.comparison.kept_neighbours import kept_fractions
from embaudit.linalg.nearest import NeighbourLists, neighbours

QUERY = 0
N_ROWS = 13
EACH_ROW = np.arange(N_ROWS)
"""Each row represents itself."""
IN_ORDER = np.linspace(0.1, 1.3, N_ROWS - 1)
"""Angles of the other rows to the query, so row 1 is the nearest one."""


def rows_at(angles: np.ndarray) -> np.ndarray:
    """Return a query and rows at some angles to it."""
    angles = np.concatenate([[0.0], angles])
    return np.column_stack([np.cos(angles), np.sin(angles)])


def list_of_query(angles: np.ndarray, length: int) -> NeighbourLists:
    return neighbours(rows_at(angles), length, rows=[QUERY])


def with_tie(n_above: int, n_tied: int) -> np.ndarray:
    """Return angles in which the rows behind the nearest ones tie."""
    angles = IN_ORDER.copy()
    angles[n_above : n_above + n_tied] = angles[n_above]
    return angles


def listed_shares(angles: np.ndarray, length: int) -> np.ndarray:
    """Return per row the share of all orders of tied rows in which it is listed."""
    last = np.sort(angles)[length - 1]
    above = np.flatnonzero(angles < last)
    tied = np.flatnonzero(angles == last)
    n_listed = np.zeros(N_ROWS)
    choices = list(combinations(tied, length - len(above)))
    for choice in choices:
        for other in (*above, *choice):
            n_listed[other + 1] += 1
    return n_listed / len(choices)


@pytest.mark.parametrize(("n_above", "n_tied"), [(0, 12), (1, 9), (3, 6), (3, 9)])
def test_in_a_crowded_list_a_tied_neighbour_counts_by_its_chance(
    n_above: int, n_tied: int
) -> None:
    length = 4
    before = list_of_query(IN_ORDER, length)
    crowded = with_tie(n_above, n_tied)
    fractions = kept_fractions(before, list_of_query(crowded, length), EACH_ROW)
    expected = listed_shares(crowded, length)[before.indices]
    np.testing.assert_allclose(fractions, expected)
    assert fractions.min() < 1


@pytest.mark.parametrize(("n_tied", "is_crowded"), [(5, False), (6, True)])
def test_a_list_is_crowded_if_more_than_twice_as_many_rows_reach_its_last_entry(
    n_tied: int, is_crowded: bool
) -> None:
    length = 4
    before = list_of_query(IN_ORDER, length)
    # Three rows are above the last entry, so 8 or 9 rows reach it.
    after = list_of_query(with_tie(3, n_tied), length)
    is_uncertain = kept_fractions(before, after, EACH_ROW) < 1
    assert is_uncertain.tolist() == [[False, False, False, is_crowded]]


def test_a_list_is_not_crowded_if_as_many_rows_tied_before() -> None:
    lists = list_of_query(with_tie(0, 12), 4)
    assert (kept_fractions(lists, lists, EACH_ROW) == 1).all()


def test_a_lost_neighbour_is_lost_in_a_crowded_list_too() -> None:
    before = list_of_query(IN_ORDER, 4)
    angles = with_tie(1, 10)
    # Row 2 becomes the farthest row; rows 3 and 4 tie with eight others.
    angles[1] = 1.5
    fractions = kept_fractions(before, list_of_query(angles, 4), EACH_ROW)
    assert fractions.tolist() == [[1.0, 0.0, 1 / 3, 1 / 3]]


def test_duplicates_and_rows_without_direction_do_not_crowd_a_list() -> None:
    length = 4
    # Rows 4 and 5 tie for the last place, and rows 13 to 32 are duplicates of row 4.
    tied = with_tie(3, 2)
    with_duplicates = rows_at(np.concatenate([tied, np.full(20, tied[3])]))
    without_direction = np.zeros((20, 2))
    rows = np.concatenate([with_duplicates, without_direction])
    representatives = np.arange(len(rows))
    representatives[N_ROWS : len(with_duplicates)] = 4
    # Before, no rows tied.
    other_angles = np.linspace(0.1, 1.3, len(with_duplicates) - 1)
    rows_before = np.concatenate([rows_at(other_angles), without_direction])
    before = neighbours(rows_before, length, rows=[QUERY], first=representatives)
    after = neighbours(rows, length, rows=[QUERY], first=representatives)
    assert after.end_in_tie().all()
    assert (kept_fractions(before, after, representatives) == 1).all()


def test_a_neighbour_without_direction_in_the_new_model_is_lost() -> None:
    length = 4
    before = list_of_query(IN_ORDER, length)
    rows = rows_at(IN_ORDER)
    rows[2] = 0
    after = neighbours(rows, length, rows=[QUERY])
    fractions = kept_fractions(before, after, EACH_ROW)
    assert fractions.tolist() == [[1.0, 0.0, 1.0, 1.0]]


def test_a_list_that_is_not_full_keeps_all_rows_that_have_a_direction() -> None:
    length = 4
    before = list_of_query(with_tie(0, 12), length)
    rows = rows_at(IN_ORDER)
    rows[3:] = 0
    after = neighbours(rows, length, rows=[QUERY])
    fractions = kept_fractions(before, after, EACH_ROW)
    assert fractions.tolist() == [[1.0, 1.0, 0.0, 0.0]]


def test_a_query_without_direction_keeps_no_neighbour() -> None:
    length = 4
    rows = rows_at(IN_ORDER)
    rows[QUERY] = 0
    after = neighbours(rows, length, rows=[QUERY])
    fractions = kept_fractions(list_of_query(IN_ORDER, length), after, EACH_ROW)
    assert (fractions == 0).all()
    # Without an old list, no neighbour can be kept.
    assert (kept_fractions(after, after, EACH_ROW) == 0).all()
