"""Which labels can lead, and by how much, against linear programs of the tests' own."""

from __future__ import annotations

import numpy as np
import pytest
from head_examples import random_head
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from embaudit.heads import argmaxable, shared_halves
from embaudit.heads.feasibility import best_lead
from embaudit.linalg.pairs import all_pairs
from embaudit.model import FactorModel


def largest_lead(rows: np.ndarray, bias: np.ndarray | None, pair: np.ndarray) -> float:
    """Return the largest lead of a label, or of a tied pair, by a linear program.

    It maximises `t` so that every gap to another label lies between `t` and 1.
    """
    others = np.setdiff1d(np.arange(len(rows)), pair)
    first, second = pair
    gaps = np.column_stack([rows, np.zeros(len(rows)) if bias is None else bias])
    gaps = gaps[first] - gaps[others]
    ones = np.ones((len(others), 1))
    solved = linprog(
        [*np.zeros(gaps.shape[1]), -1.0],
        A_ub=np.block([[-gaps, ones], [gaps, 0 * ones]]), b_ub=np.append(0 * ones, ones),
        A_eq=None if first == second else [[*(rows[first] - rows[second]), 0.0, 0.0]],
        b_eq=None if first == second else [0.0],
        bounds=[(None, None)] * rows.shape[1] + [(0, None), (None, 1)],
    )  # fmt: skip
    assert solved.status == 0
    return -float(solved.fun)


def largest_leads(head: FactorModel, pairs: np.ndarray) -> np.ndarray:
    rows = np.asarray(head.right)
    return np.array([largest_lead(rows, head.right_bias, pair) for pair in pairs])


# A large margin is what nearest points alone seldom decide: then programs are solved.
@pytest.mark.parametrize("margin", [1e-6, 0.1, 0.3])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("n", "rank"), [(9, 3), (16, 2), (16, 3), (30, 2), (60, 4)])
def test_a_label_is_argmaxable_iff_its_largest_lead_exceeds_the_margin(
    n, rank, bias, margin
):
    head = random_head(n + rank, n, rank, bias=bias)
    found = argmaxable(head, margin=margin)
    leads = largest_leads(head, np.column_stack([np.arange(n)] * 2))
    assert found.decided.all()
    assert found.can_lead.tolist() == (leads > margin).tolist()
    assert (found.lead <= leads * (1 + 1e-6) + 1e-8).all()
    assert ((found.lead > 0) == found.can_lead).all()


@pytest.mark.parametrize(("n", "rank"), [(9, 3), (16, 2), (30, 2), (60, 4)])
def test_a_pair_shares_halves_iff_its_largest_tied_lead_exceeds_the_margin(n, rank):
    head = random_head(n + rank, n, rank)
    pairs = np.random.default_rng(0).permutation(all_pairs(n))[:80]
    found = shared_halves(head, pairs, margin=0.1)
    leads = largest_leads(head, pairs)
    assert found.decided.all()
    assert found.can_share.tolist() == (leads > 0.1).tolist()
    assert (found.lead <= leads * (1 + 1e-6) + 1e-8).all()


def test_thousands_of_pairs_that_share_halves_are_the_edges_of_the_hull():
    head, pairs = random_head(0, 80, 3), all_pairs(80)
    assert len(pairs) > 2_048
    found = shared_halves(head, pairs)
    corners = ConvexHull(head.right).simplices
    edges = {
        tuple(sorted(corner[[i, j]])) for corner in corners for i, j in all_pairs(3)
    }
    assert {tuple(pair) for pair in pairs[found.can_share]} == edges


@pytest.mark.parametrize(("n", "rank"), [(30, 2), (60, 4), (90, 7)])
def test_few_labels_need_a_linear_program(n, rank):
    head = random_head(0, n, rank)
    pairs = all_pairs(n)[:300]
    assert argmaxable(head, max_cells=1).decided.mean() > 0.95
    assert shared_halves(head, pairs, max_cells=1).decided.mean() > 0.95


def test_a_wide_head_needs_no_linear_program_for_rows_near_the_mean():
    draw = np.random.default_rng(0)
    lengths = np.where(np.arange(2_000) < 10, 0.05, 1.0)[:, None]
    head = FactorModel.from_softmax(3 + lengths * draw.standard_normal((2_000, 60)))
    found = argmaxable(head, rows=np.arange(20), max_cells=1)
    assert found.can_lead.tolist() == 10 * [False] + 10 * [True]
    assert found.decided.all()


def test_labels_whose_program_is_too_large_stay_undecided_and_none_is_wrong():
    head, margin = random_head(0, 60, 4), 0.1
    whole = argmaxable(head, margin=margin)
    n_undecided = []
    for cells in (1, 240, 280, 320, 2**20):
        found = argmaxable(head, margin=margin, max_cells=cells)
        assert (found.can_lead == whole.can_lead)[found.decided].all()
        n_undecided.append(found.n_undecided)
    assert n_undecided == sorted(n_undecided, reverse=True)
    assert n_undecided[0] > n_undecided[-1] == 0


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_input_of_a_program_has_the_lead_that_the_program_returns(seed, bias):
    draw = np.random.default_rng(seed)
    differences = draw.standard_normal((9, 3)) + np.array([0.9, 0.2, 0.1])
    differences[:, -1] *= bias
    lead, x = best_lead(differences)
    gaps = differences @ x
    assert gaps.min() == pytest.approx(lead * gaps.max(), abs=1e-9)
    assert gaps.max() == pytest.approx(1.0) or lead == 0
    assert x[-1] >= 0
    assert bias or x[-1] == 0
    searched = differences @ (draw.standard_normal((3, 20_000)) * [[1], [1], [bias]])
    searched = searched[:, searched.min(axis=0) > 0]
    assert (
        not searched.size
        or (searched.min(axis=0) / searched.max(axis=0)).max() <= lead + 1e-9
    )
