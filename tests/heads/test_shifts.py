"""Shifts of all labels: the shortest for a pair, and nearest labels after a shift."""

from __future__ import annotations

import numpy as np
import pytest
from head_examples import random_head
from scipy.optimize import minimize

import embaudit as ea
from embaudit.gauges import Gauge
from embaudit.heads.equivalents import HeadProbe, centring
from embaudit.heads.label_sample import draw_label_sample
from embaudit.heads.shifts import neighbour_change, panel_pairs, shift_summaries
from embaudit.linalg.pairs import all_pairs
from embaudit.model import FactorModel

SHIFT = np.array([0.8, -0.3, 0.5])


def cosine_table(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def test_label_cosines_after_a_shift_are_those_of_the_shifted_rows():
    head = random_head(0, 12, 3)
    moved = Gauge.translation(3, right=SHIFT).act(head)
    expected = cosine_table(head.right + SHIFT)[tuple(all_pairs(12).T)]
    np.testing.assert_allclose(
        moved.cosines("right", all_pairs(12)), expected, atol=1e-12
    )
    measured = ea.movement(head, moved)
    change = np.abs(expected - head.cosines("right", all_pairs(12)))
    assert measured.mean_abs == pytest.approx(change.mean())


def test_removing_the_mean_row_moves_label_cosines_to_those_of_the_centred_rows():
    head = random_head(0, 12, 3)
    panel = draw_label_sample(head, 12, np.random.default_rng(0))
    probe = HeadProbe(panel, n_pairs=100, rng=np.random.default_rng(0))
    found = probe.measure(centring(panel))
    before = cosine_table(head.right)[tuple(all_pairs(12).T)]
    after = cosine_table(head.right - head.right.mean(axis=0))[tuple(all_pairs(12).T)]
    assert found.ok
    assert found.movement.mean_abs == pytest.approx(np.abs(after - before).mean())


def test_a_shift_makes_two_labels_opposite_and_another_makes_them_parallel():
    """The rows are (4, 0) and (0, 4), and the median length of a row is 4.

    The shift (-2, -2) leaves the rows (2, -2) and (-2, 2), which are opposite. The
    shift (-6, 2) leaves (-2, 2) and (-6, 6), which are parallel.
    """
    head = FactorModel.from_softmax([[4.0, 0.0], [0.0, 4.0], [-4.0, 0.0], [0.0, -4.0]])
    panel = draw_label_sample(head, 4, np.random.default_rng(0))
    probe = HeadProbe(panel, n_pairs=6, rng=np.random.default_rng(0))
    opposite, parallel = probe.construct((0, 1))
    assert opposite.before == pytest.approx(0, abs=1e-12)
    assert opposite.target == -1
    assert opposite.after == pytest.approx(-1)
    assert opposite.shift == pytest.approx(np.sqrt(8) / 4)
    assert parallel.target == 1
    assert parallel.after == pytest.approx(1)
    assert parallel.shift == pytest.approx(np.sqrt(40) / 4)


def test_the_shifts_that_turn_a_pair_keep_the_probabilities():
    panel = draw_label_sample(random_head(3, 9, 3), 9, np.random.default_rng(0))
    probe = HeadProbe(panel, n_pairs=9, rng=np.random.default_rng(0))
    for construction in probe.construct((2, 5)):
        assert construction.change < 1e-9


def shortest_shift(a, b, target):
    """Compute the shortest shift that gives two rows a cosine by optimisation."""

    def gap(shift):
        first, second = a + shift, b + shift
        lengths = np.linalg.norm(first) * np.linalg.norm(second)
        return first @ second - target * lengths

    draw = np.random.default_rng(0)
    runs = [
        minimize(
            lambda shift: shift @ shift,
            draw.standard_normal(len(a)) - (a + b) / 2,
            constraints={"type": "eq", "fun": gap},
            method="SLSQP",
        )
        for _ in range(12)
    ]
    return np.sqrt(min(run.fun for run in runs if run.success))


def test_shortest_shifts_to_a_right_angle_are_those_of_an_optimiser():
    head = random_head(2, 6, 2)
    panel = draw_label_sample(head, 6, np.random.default_rng(0))
    pairs, exact = panel_pairs(panel, 100, np.random.default_rng(0))
    assert exact
    summary = shift_summaries(panel, pairs, exact=exact)[0]
    unit = np.median(np.linalg.norm(head.right, axis=1))
    expected = [shortest_shift(*head.right[pair], 0.0) / unit for pair in pairs]
    assert summary.target == 0
    assert (summary.n_pairs, summary.n_fixed) == (15, 0)
    assert summary.quantiles[0.5] == pytest.approx(np.median(expected), abs=1e-4)
    assert summary.within_one == np.mean(np.array(expected) <= 1)
    easiest, hardest = summary.easiest[0], summary.hardest[0]
    assert easiest.shift == pytest.approx(min(expected), abs=1e-4)
    assert hardest.shift == pytest.approx(max(expected), abs=1e-4)
    pair = [int(name) for name in easiest.names]
    assert easiest.cosine == pytest.approx(head.cosines("right", [pair])[0])


def test_equal_labels_keep_cosine_one_under_every_shift():
    """Labels 0 and 1 are equal; label 2 differs from both."""
    head = FactorModel.from_softmax([[1.0, 2.0], [1.0, 2.0], [3.0, -1.0]])
    panel = draw_label_sample(head, 3, np.random.default_rng(0))
    pairs = np.array([[0, 1], [0, 2]])
    to_zero, to_minus_one, to_one = shift_summaries(panel, pairs, exact=True)
    for summary in (to_zero, to_minus_one):
        assert summary.n_pairs == 1
        assert summary.n_fixed == 1
    # The equal labels have cosine 1 already, so their shift has length 0.
    assert to_one.n_pairs == 2
    assert to_one.n_fixed == 0
    assert to_one.easiest[0].shift == 0


@pytest.mark.parametrize("n", [1, 3])
def test_neighbour_change_is_the_share_of_nearest_labels_that_change(n):
    head = random_head(1, 40, 3)
    found = neighbour_change(head, np.arange(40), SHIFT, n=n, exact=True)

    def nearest(rows):
        return np.argsort(-(cosine_table(rows) - 9 * np.eye(40)), axis=1)[:, :n]

    lists = nearest(head.right), nearest(head.right + SHIFT)
    top = np.mean(lists[0][:, 0] != lists[1][:, 0])
    pairs = zip(*lists, strict=True)
    kept = np.mean([len(set(a) & set(b)) / n for a, b in pairs])
    assert found.top_n == n
    # The nearest label counts as kept if it ties; among random rows nothing ties.
    assert found.top1_changed == pytest.approx(top)
    assert found.top_n_changed == pytest.approx(1 - kept)
    assert 0 < top < 1
