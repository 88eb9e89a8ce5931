"""For sides of more than 50,000 rows, directions are computed only for the rows of the
sampled pairs.
"""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.gauges import Gauge
from embaudit.model import FactorModel
from embaudit.movements import MovementProbe

ROLES = ["right", "left", "cross"]
GAUGE = Gauge.diagonal([1.0, 3.0, 0.5])


def large_model(n, p):
    draw = np.random.default_rng(0)
    left = draw.standard_normal((n, 3)) + 0.5
    right = draw.standard_normal((p, 3)) * draw.lognormal(size=(p, 1))
    right[7] = 0
    return FactorModel.from_user_item(left, right)


def unit_rows(rows):
    norms = np.linalg.norm(rows, axis=1)
    return rows[norms > 0] / norms[norms > 0, None]


def sums_over_all_pairs(x, after_x, y=None, after_y=None):
    """The mean and RMS change and the correlation of all cosines, from Gram matrices.

    With unit rows, the cosines sum to `Σx · Σy`, and their products to the inner
    product of the Gram matrices. Pairs within one side leave out the diagonal, whose
    cosines are 1.
    """
    within = y is None
    y, after_y = (x, after_x) if within else (y, after_y)
    diagonal = len(x) if within else 0
    m = len(x) * len(y) - diagonal

    def mean(a, b):
        return (a.sum(axis=0) @ b.sum(axis=0) - diagonal) / m

    def mean_product(a, b, c, d):
        return (((a.T @ c) * (b.T @ d)).sum() - diagonal) / m

    first, second = mean(x, y), mean(after_x, after_y)
    squares = mean_product(x, y, x, y), mean_product(after_x, after_y, after_x, after_y)
    product = mean_product(x, y, after_x, after_y)
    deviations = np.sqrt((squares[0] - first**2) * (squares[1] - second**2))
    return {
        "mean": second - first,
        "rms": np.sqrt(squares[0] + squares[1] - 2 * product),
        "pearson": (product - first * second) / deviations,
    }


def truth(model):
    after = GAUGE.act(model)
    left, right = ((unit_rows(m.left), unit_rows(m.right)) for m in (model, after))
    return {
        "left": sums_over_all_pairs(left[0], right[0]),
        "right": sums_over_all_pairs(left[1], right[1]),
        "cross": sums_over_all_pairs(left[0], right[0], left[1], right[1]),
    }


def measured(model, n_pairs, seed=0):
    probe = MovementProbe(
        model, ROLES, n_pairs=n_pairs, n_neighbours=4, n_lists=1, rng=seed
    )
    return {record.role: record for record in probe.measure(GAUGE.act(model))}


def test_a_sample_of_rows_changes_no_measure_of_the_sampled_pairs():
    model = large_model(400, 60_000)
    after = GAUGE.act(model)
    record = measured(model, 2_000)["right"]
    assert record.n_pairs == len(record.pairs) == 2_000
    assert record.n_zero == 1
    first, second = record.pairs.T

    def cosines(rows):
        a, b = rows[first], rows[second]
        norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        return (a * b).sum(axis=1) / norms

    change = np.abs(cosines(after.right) - cosines(model.right))
    assert record.mean_abs == pytest.approx(change.mean(), rel=1e-9)
    assert record.max_abs == pytest.approx(change.max(), rel=1e-9)


def test_figures_of_sampled_pairs_lie_near_those_of_all_pairs():
    """Over 80 draws of 300 pairs an interval of 95 % holds the figure of all pairs.

    Of 80 draws the share may differ from 95 % by four standard deviations, 10 %.
    """
    model = large_model(51_000, 52_000)
    exact = truth(model)
    held = {(role, name): [] for role in ROLES for name in exact["right"]}
    for seed in range(80):
        for role, record in measured(model, 300, seed).items():
            for name, value in exact[role].items():
                low, high = record.intervals[name]
                held[role, name].append(low <= value <= high)
    shares = {key: np.mean(value) for key, value in held.items()}
    assert min(shares.values()) > 0.85, shares
    assert 0.92 <= np.mean(list(shares.values())) <= 0.99, shares
