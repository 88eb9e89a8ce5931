"""Shared half-spaces of labels against Qhull, Nielsen's Figure 2 and optimisation over
inputs.
"""

from __future__ import annotations

import numpy as np
import pytest
from head_examples import equivalent_head, figure_2_left, figure_2_right, random_head
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial import ConvexHull

from embaudit.heads import argmaxable, shared_halves
from embaudit.linalg.pairs import all_pairs
from embaudit.model import FactorModel


def hull_edges(rows: np.ndarray) -> set[tuple[int, int]]:
    corners = ConvexHull(rows).simplices
    return {
        tuple(sorted(map(int, corner[[i, j]])))
        for corner in corners
        for i, j in all_pairs(corners.shape[1])
    }


def best_common_probability(rows: np.ndarray, a: int, b: int) -> float:
    """Compute the largest min(p_a, p_b) over inputs by SLSQP from several starts.

    The problem is concave in the logarithms of the probabilities.
    """

    def logs(z: np.ndarray) -> np.ndarray:
        logits = rows @ z[:-1]
        return (
            logits[[a, b]] - np.log(np.exp(logits - logits.max()).sum()) - logits.max()
        )

    limits = {"type": "ineq", "fun": lambda z: logs(z) - z[-1]}
    starts = np.random.default_rng(0).standard_normal((6, rows.shape[1] + 1))
    bounds = [(-300, 300)] * rows.shape[1] + [(-20, 0)]
    runs = [
        minimize(lambda z: -z[-1], x, constraints=limits, bounds=bounds, method="SLSQP")
        for x in starts
    ]
    return float(np.exp(max(logs(run.x).min() for run in runs)))


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(6, 16), rank=st.integers(2, 4))
@settings(max_examples=25, deadline=None)
def test_pairs_that_share_halves_are_the_edges_of_the_hull(seed, n, rank):
    head = random_head(seed, n, rank)
    pairs = all_pairs(n)
    found = shared_halves(head, pairs)
    assert found.decided.all()
    assert {tuple(pair) for pair in pairs[found.can_share].tolist()} == hull_edges(
        head.right
    )


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=8, deadline=None)
def test_no_affine_gauge_and_no_bias_changes_which_pairs_share_halves(seed):
    pairs = all_pairs(8)
    head = random_head(seed, 8, 3, bias=True)
    before, after = (
        shared_halves(head, pairs),
        shared_halves(equivalent_head(head, seed), pairs),
    )
    assert (before.can_share == after.can_share).all()
    assert (
        before.can_share
        == shared_halves(head.replace(right_bias=None), pairs).can_share
    ).all()


def test_figure_2_left_unlike_labels_share_halves_and_like_ones_do_not():
    head = figure_2_left()
    cosines = head.cosines("right", [[0, 1], [1, 2], [2, 4]])
    assert cosines.round(3).tolist() == [0.324, -0.588, 0.8]
    found = shared_halves(head, [[0, 1], [1, 2], [2, 4]])
    assert found.can_share.tolist() == [True, True, False]
    assert argmaxable(head).can_lead.all()
    assert best_common_probability(head.right, 1, 2) > 0.499
    assert best_common_probability(head.right, 2, 4) == pytest.approx(0.31, abs=0.006)


def test_figure_2_right_the_cosine_has_the_wrong_sign_for_both_pairs():
    head = figure_2_right()
    assert head.cosines("right", [[0, 1], [1, 3]]).round(3).tolist() == [-0.805, 0.805]
    assert np.allclose(head.right.mean(axis=0), 0, atol=1e-15)
    assert np.allclose(np.linalg.norm(head.right, axis=1), 1)
    found = shared_halves(head, [[0, 1], [1, 3]])
    assert found.can_share.tolist() == [True, False]
    assert found.to_frame()["shared_half"].tolist() == ["yes", "no"]
    assert found.to_dict() == {
        "n_pairs": 2,
        "n_can": 1,
        "n_cannot": 1,
        "n_undecided": 0,
    }
    assert found.explain() == "Of 2 pairs of labels, 1 can share ½/½, 1 cannot."
    assert (
        shared_halves(head, [[0, 1]]).explain()
        == "Of 1 pair of labels, 1 can share ½/½, 0 cannot."
    )
    assert best_common_probability(head.right, 0, 1) > 0.499
    assert best_common_probability(head.right, 1, 3) < 0.4


@pytest.mark.parametrize("seed", range(3))
def test_a_third_row_on_the_segment_keeps_two_labels_from_sharing(seed):
    """Along the normal of that edge all three lead, so no pair of them leads alone."""
    triangle = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [1.0, 1.0]])
    edge = [[0, 1], [0, 2], [1, 2]]
    assert (
        shared_halves(FactorModel.from_softmax(triangle), edge).can_share.tolist()
        == [True] * 3
    )
    head = equivalent_head(
        FactorModel.from_softmax(np.vstack([triangle, [[1.0, 0.0]]])), seed
    )
    found = shared_halves(head, [*edge, [0, 4], [1, 4]])
    assert found.can_share.tolist() == [False, True, True, False, False]
    assert found.decided.all()
