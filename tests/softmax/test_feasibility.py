"""Feasible maxima against linear programs and brute force, each certificate by itself."""

from __future__ import annotations

import numpy as np
import pytest
from head_examples import random_head
from scipy.optimize import linprog

from embaudit.model import FactorModel
from embaudit.softmax import argmaxable, feasibility
from embaudit.softmax.coordinates import label_coordinates
from embaudit.softmax.feasibility import NO, OPEN, YES, best_lead, solve_feasibility


def alone(n: int) -> np.ndarray:
    return np.column_stack([np.arange(n)] * 2)


def all_members(n: int, *, bias: bool) -> np.ndarray:
    """All labels, and without a bias all pairs."""
    return (
        alone(n) if bias else np.array([[i, j] for i in range(n) for j in range(i + 1)])
    )


def largest_lead(rows: np.ndarray, bias: np.ndarray | None, pair: np.ndarray) -> float:
    """The lead by a program of its own in the rows as stored: `max t, t <= gaps <= 1`, a pair tied far out."""
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


@pytest.mark.parametrize("rounds", [0, 8])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("n", "r"), [(9, 3), (16, 2), (16, 3), (30, 2), (60, 4)])
def test_answers_are_those_of_a_program_each(monkeypatch, n, r, bias, rounds):
    """By nearest points and, without any, by programs that grow; leads are no larger than the largest one."""
    monkeypatch.setattr(feasibility, "ROUNDS", rounds)
    monkeypatch.setattr(feasibility, "LEAST_ROUNDS", 0)
    monkeypatch.setattr(feasibility, "CHUNK", 50)
    head = random_head(n + r, n, r, bias=bias)
    members = all_members(n, bias=bias)
    members = members[np.random.default_rng(0).permutation(len(members))[:120]]
    solved = solve_feasibility(label_coordinates(head), members, title="")
    leads = np.array(
        [
            largest_lead(np.asarray(head.right), head.right_bias, pair)
            for pair in members
        ]
    )
    assert solved.status.tolist() == np.where(leads > 1e-6, YES, NO).tolist()
    assert (solved.lead <= leads * (1 + 1e-6) + 1e-8).all()
    assert ((solved.lead > 0) == (solved.status == YES)).all()
    assert YES in solved.status
    assert n == 9 or NO in solved.status


def test_nearest_points_leave_few_labels_to_programs(monkeypatch):
    """No program has room."""
    monkeypatch.setattr(feasibility, "RIVALS", 8)
    for seed, (n, r) in enumerate(((30, 2), (60, 4), (90, 7))):
        space = label_coordinates(random_head(seed, n, r))
        solved = solve_feasibility(
            space, all_members(n, bias=False)[:300], title="", max_cells=1
        )
        assert (solved.status != OPEN).mean() > 0.95


def test_a_wide_head_needs_no_linear_program_for_rows_near_the_mean():
    draw = np.random.default_rng(0)
    lengths = np.where(np.arange(2_000) < 10, 0.05, 1.0)[:, None]
    head = FactorModel.from_softmax(3 + lengths * draw.standard_normal((2_000, 60)))
    found = argmaxable(head, rows=np.arange(20), max_cells=1)
    assert found.can_lead.tolist() == 10 * [False] + 10 * [True]
    assert found.decided.all()


@pytest.mark.parametrize("margin", [0.3, 0.1, 0.01])
def test_no_label_stays_open_for_a_large_margin(margin):
    """The label of the largest gap, which a lead is a share of, is none of the closest."""
    head = FactorModel.from_softmax(np.random.default_rng(0).standard_normal((90, 6)))
    found = argmaxable(head, margin=margin)
    leads = np.array(
        [largest_lead(head.right, None, np.array([i, i])) for i in range(90)]
    )
    assert found.decided.all()
    assert found.can_lead.tolist() == (leads > margin).tolist()
    assert 0 < found.n_can < 90


def test_too_little_room_leaves_labels_open_and_never_wrong(monkeypatch):
    head = random_head(4, 60, 2)
    whole = argmaxable(head)
    monkeypatch.setattr(feasibility, "ROUNDS", 0)
    monkeypatch.setattr(feasibility, "LEAST_ROUNDS", 0)
    n_open = []
    for cells in (1, 8, 9, 15, 30, 60, 3 * 60):
        found = argmaxable(head, max_cells=cells)
        assert (found.can_lead == whole.can_lead)[found.decided].all()
        n_open.append(found.n_undecided)
    assert n_open == sorted(n_open, reverse=True)
    assert n_open[0] == n_open[1] > n_open[3] > n_open[-1] == 0


# --- programs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_an_input_of_a_program_has_the_lead_that_is_told_of_it(seed, bias):
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
