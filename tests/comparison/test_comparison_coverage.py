"""Coverage of the 95 % confidence intervals of a comparison, over samples of rows and
over seeds.
"""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.comparison import compare
from embaudit.gauges import GeneralLinear
from embaudit.model import FactorModel

M, K = 30, 3
NAMES = ("total", "kept")
GAUGE = GeneralLinear(K, max_condition=6.0).sample(rng=7)


def change(entities, seed=0, n=M):
    """Compare a model with one that a gauge carried away and that learned something
    else besides.
    """
    draw = np.random.default_rng(entities)
    one = FactorModel.from_vectors(draw.standard_normal((n, K)))
    two = GAUGE.act(one).right + 0.4 * draw.standard_normal((n, K))
    return compare(
        one, FactorModel.from_vectors(two), rng=seed, n_neighbours=4
    ).changes["right"]


def value(found, name):
    return (
        found.neighbour_shares[name]
        if name in found.neighbour_shares
        else getattr(found, f"mean_{name}")
    )


def covered(changes):
    """Coverage of the mean of all, by name."""
    held = {}
    for name in NAMES:
        ends = np.array([found.interval(name) for found in changes])
        truth = np.mean([value(found, name) for found in changes])
        held[name] = float(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])))
    return held


@pytest.mark.slow
def test_intervals_of_change_hold_over_draws_of_entities():
    changes = [change(seed) for seed in range(120)]
    assert min(covered(changes).values()) >= 0.93
    # Rows share pairs, which an interval from their spread does not see.
    totals = np.array([found.total for found in changes])
    naive = 1.96 * totals.std(axis=1, ddof=1) / np.sqrt(M)
    assert np.mean(np.abs(totals.mean(axis=1) - totals.mean()) <= naive) < 0.85


@pytest.mark.slow
def test_intervals_of_change_hold_if_few_users_decide_the_gauge():
    """Of those draws where one group of gauges is found: which one it is, no interval
    tells.
    """
    found = [few_users(seed) for seed in range(120)]
    changes = [each.changes["right"] for each in found if each.group == "linear"]
    assert len(changes) > 90
    assert min(covered(changes).values()) >= 0.93


def few_users(seed):
    draw, linear = (
        np.random.default_rng(seed),
        np.random.default_rng(99).standard_normal((4, 4)),
    )
    users, items = (
        draw.standard_normal((12, 4)),
        draw.standard_normal((60, 4)) * [1, 1, 1, 0.5],
    )
    others = users @ np.linalg.inv(linear).T, items @ linear
    learned = (rows + 0.5 * draw.standard_normal(rows.shape) for rows in others)
    models = (
        FactorModel.from_user_item(users, items),
        FactorModel.from_user_item(*learned),
    )
    return compare(*models, roles=["right"], n_neighbours=5)
