"""Which labels can have the largest score, and by how much, against linear programs and
an optimiser.
"""

from __future__ import annotations

import numpy as np
import pytest
from head_examples import SQUARE, random_head
from scipy.optimize import linprog, minimize
from scipy.spatial import ConvexHull

from embaudit.heads import argmaxable, shared_halves
from embaudit.linalg.pairs import all_pairs
from embaudit.model import FactorModel

Pair = tuple[int, int]


def lifted(rows: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    """Return `(w, b)` of each label, of which an input `(x, τ)` makes the logits."""
    return np.column_stack([rows, np.zeros(len(rows)) if bias is None else bias])


def some_input_leads(rows: np.ndarray, bias: np.ndarray | None, pair: Pair) -> bool:
    """Decide by a linear program whether an input makes a label, or a tied pair, lead.

    The program maximises `t` so that every gap to another label lies between `t` and 1.
    """
    others = np.setdiff1d(np.arange(len(rows)), pair)
    first, second = pair
    gaps = lifted(rows, bias)[first] - lifted(rows, bias)[others]
    ones = np.ones((len(others), 1))
    tie = None if first == second else [[*(rows[first] - rows[second]), 0.0, 0.0]]
    solved = linprog(
        [*np.zeros(gaps.shape[1]), -1.0],
        A_ub=np.block([[-gaps, ones], [gaps, 0 * ones]]),
        b_ub=np.append(0 * ones, ones),
        A_eq=tie,
        b_eq=None if tie is None else [0.0],
        bounds=[(None, None)] * rows.shape[1] + [(0, None), (None, 1)],
    )
    assert solved.status == 0
    return -float(solved.fun) > 1e-8


def largest_lead(rows: np.ndarray, bias: np.ndarray | None, pair: Pair) -> float:
    """Return the largest lead of a label, or of a tied pair, by an optimiser.

    It maximises the smallest gap to another label over all inputs whose logits have a
    standard deviation of at most 1. That is a convex problem.
    """
    others = np.setdiff1d(np.arange(len(rows)), pair)
    first, second = pair
    points = lifted(rows, bias)
    gaps = points[first] - points[others]
    centred = points - points.mean(axis=0)
    covariance = centred.T @ centred / len(points)
    smallest_gap = {
        "type": "ineq",
        "fun": lambda z: gaps @ z[:-1] - z[-1],
        "jac": lambda z: np.column_stack([gaps, -np.ones(len(gaps))]),
    }
    deviation = {
        "type": "ineq",
        "fun": lambda z: 1 - z[:-1] @ covariance @ z[:-1],
        "jac": lambda z: np.append(-2 * covariance @ z[:-1], 0.0),
    }
    tie = {
        "type": "eq",
        "fun": lambda z: (rows[first] - rows[second]) @ z[:-2],
        "jac": lambda z: np.append(rows[first] - rows[second], [0.0, 0.0]),
    }
    constraints = [smallest_gap, deviation]
    if first != second:
        constraints.append(tie)
    solved = minimize(
        lambda z: -z[-1],
        np.append((centred[first] + centred[second]) / 10, 0.0).clip(-1, 1),
        jac=lambda z: np.append(np.zeros(len(z) - 1), -1.0),
        constraints=constraints,
        bounds=[(None, None)] * rows.shape[1] + [(0, None), (0, None)],
        method="SLSQP",
        options={"maxiter": 1_000, "ftol": 1e-9},
    )
    best = solved.x[:-1]
    spread = np.sqrt(best @ covariance @ best)
    return 0.0 if spread < 1e-6 else float((gaps @ best).min() / spread)


def of_each(oracle, head: FactorModel, pairs: np.ndarray) -> np.ndarray:
    rows = np.asarray(head.right)
    return np.array([oracle(rows, head.right_bias, tuple(pair)) for pair in pairs])


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("n", "rank"), [(9, 3), (16, 2), (16, 3), (30, 2), (60, 4)])
def test_a_label_is_argmaxable_iff_a_linear_program_finds_an_input(n, rank, bias):
    head = random_head(n + rank, n, rank, bias=bias)
    found = argmaxable(head)
    alone = np.column_stack([np.arange(n), np.arange(n)])
    assert found.decided.all()
    assert found.can_lead.tolist() == of_each(some_input_leads, head, alone).tolist()
    assert ((found.lead > 0) == found.can_lead).all()


@pytest.mark.parametrize("margin", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("n", "rank"), [(9, 3), (16, 2), (30, 2), (60, 4)])
def test_a_label_is_argmaxable_iff_its_largest_lead_exceeds_the_margin(
    n, rank, bias, margin
):
    head = random_head(n + rank, n, rank, bias=bias)
    found = argmaxable(head, margin=margin)
    leads = of_each(largest_lead, head, np.column_stack([np.arange(n), np.arange(n)]))
    assert found.decided.all()
    assert found.can_lead.tolist() == (leads > margin).tolist()
    assert (found.lead <= leads + 1e-6).all()


@pytest.mark.parametrize(("n", "rank"), [(9, 3), (16, 2), (30, 2), (60, 4)])
def test_a_pair_shares_halves_iff_a_linear_program_finds_an_input(n, rank):
    head = random_head(n + rank, n, rank)
    pairs = np.random.default_rng(0).permutation(all_pairs(n))[:80]
    found = shared_halves(head, pairs)
    assert found.decided.all()
    assert found.can_share.tolist() == of_each(some_input_leads, head, pairs).tolist()


@pytest.mark.parametrize(("n", "rank"), [(9, 3), (16, 2), (30, 2), (60, 4)])
def test_a_pair_shares_halves_iff_its_largest_tied_lead_exceeds_the_margin(n, rank):
    head = random_head(n + rank, n, rank)
    pairs = np.random.default_rng(0).permutation(all_pairs(n))[:80]
    found = shared_halves(head, pairs, margin=0.3)
    leads = of_each(largest_lead, head, pairs)
    assert found.decided.all()
    assert found.can_share.tolist() == (leads > 0.3).tolist()
    assert (found.lead <= leads + 1e-6).all()


def test_of_the_nine_points_of_a_grid_only_the_corners_can_lead():
    """The others lie on an edge of the square or inside it."""
    grid = [[x, y] for x in (-1, 0, 1) for y in (-1, 0, 1)]
    found = argmaxable(FactorModel.from_softmax(grid))
    assert found.labels[found.can_lead].tolist() == [0, 2, 6, 8]
    assert found.decided.all()


def test_the_corners_of_a_grid_share_no_half_because_a_third_point_is_between():
    grid = [[x, y] for x in (-1, 0, 1) for y in (-1, 0, 1)]
    found = shared_halves(FactorModel.from_softmax(grid), [[0, 2], [0, 1], [0, 8]])
    assert not found.can_share.any()
    assert found.decided.all()


def test_a_label_inside_the_hull_of_the_others_cannot_lead():
    rows = [*SQUARE.right, [0, 0]]
    found = argmaxable(FactorModel.from_softmax(rows))
    assert not found.can_lead[4]


def test_a_bias_lifts_a_label_inside_the_hull_over_the_others():
    """At the input 0 the logits are the biases, so the last label leads by 1."""
    rows = [*SQUARE.right, [0, 0]]
    bias = [0, 0, 0, 0, 1]
    found = argmaxable(FactorModel.from_softmax(rows, bias))
    assert found.can_lead[4]


def test_the_lead_of_a_corner_of_a_square_is_its_gap_over_the_deviation_of_the_logits():
    """The input (1, 1) gives the four corners the logits 2, 0, -2 and 0.

    The gap to the next label is 2, the standard deviation of the logits is sqrt(2).
    """
    expected = 2 / np.sqrt(2)
    found = argmaxable(SQUARE)
    np.testing.assert_allclose(found.lead, expected)


def test_an_edge_of_a_square_leads_by_two_standard_deviations():
    """The input (1, 0) gives the corners the logits 1, -1, -1 and 1."""
    right_edge = [0, 3]
    found = shared_halves(SQUARE, [right_edge])
    np.testing.assert_allclose(found.lead, 2)


@pytest.mark.parametrize("n_labels", [2, 5])
def test_affinely_independent_labels_lead_as_their_number_says(n_labels):
    """Logits 1 and 0 for the others have the deviation sqrt(V - 1) / V."""
    head = random_head(0, n_labels, n_labels - 1)
    lead = n_labels / np.sqrt(n_labels - 1)
    np.testing.assert_allclose(argmaxable(head).lead, lead)


def test_thousands_of_pairs_that_share_halves_are_the_edges_of_the_hull():
    head, pairs = random_head(0, 80, 3), all_pairs(80)
    assert len(pairs) > 2_048
    found = shared_halves(head, pairs)
    corners = ConvexHull(head.right).simplices
    edges = {
        tuple(sorted(corner[[i, j]])) for corner in corners for i, j in all_pairs(3)
    }
    assert {tuple(pair) for pair in pairs[found.can_share]} == edges


def test_rows_near_the_mean_of_a_wide_head_cannot_lead():
    draw = np.random.default_rng(0)
    lengths = np.where(np.arange(2_000) < 10, 0.05, 1.0)[:, None]
    head = FactorModel.from_softmax(3 + lengths * draw.standard_normal((2_000, 60)))
    found = argmaxable(head, rows=np.arange(20))
    assert found.can_lead.tolist() == 10 * [False] + 10 * [True]
    assert found.decided.all()


def test_labels_that_need_more_rivals_than_allowed_stay_undecided_and_none_is_wrong():
    head, margin = random_head(0, 60, 4), 0.5
    whole = argmaxable(head, margin=margin)
    n_undecided = []
    for cells in (1, 250, 300, 350, 2**20):
        found = argmaxable(head, margin=margin, max_cells=cells)
        assert (found.can_lead == whole.can_lead)[found.decided].all()
        n_undecided.append(found.n_undecided)
    assert n_undecided == sorted(n_undecided, reverse=True)
    assert n_undecided[0] > n_undecided[-1] == 0


def test_labels_whose_nearest_point_is_not_found_stay_undecided(monkeypatch):
    def does_not_converge(*_arguments):
        raise RuntimeError("Maximum number of iterations reached.")

    rows = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.1, 0.1]])
    head = FactorModel.from_softmax(rows)
    assert argmaxable(head).answer.tolist() == ["yes", "yes", "yes", "no"]
    monkeypatch.setattr("scipy.optimize.nnls", does_not_converge)
    # The first three labels lead at their own coordinates, without any search.
    answers = argmaxable(head).answer.tolist()
    assert answers == ["yes", "yes", "yes", "undecided"]
