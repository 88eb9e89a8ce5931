"""How often the interval of a mean over sampled pairs holds the mean over all pairs."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from embaudit.gauges import GeneralLinear
from embaudit.model import FactorModel
from embaudit.movements import movement


def test_sampled_pairs_stand_for_all(monkeypatch):
    draw = np.random.default_rng(0)
    before = FactorModel.from_user_item(draw.standard_normal((40, 4)), draw.standard_normal((60, 4)))
    after = GeneralLinear(4, max_condition=9.0).sample(rng=1).act(before)
    truth = movement(before, after, role="cross")
    assert truth.exact
    assert truth.ci_low == truth.ci_high == truth.mean_abs
    monkeypatch.setattr(import_module("embaudit.movements.movement"), "EXACT_PAIRS", 0)
    runs = [movement(before, after, role="cross", n_pairs=200, rng=seed) for seed in range(300)]
    ends = np.array([(run.ci_low, run.ci_high) for run in runs])
    held = np.mean((ends[:, 0] <= truth.mean_abs) & (truth.mean_abs <= ends[:, 1]))
    assert 0.93 <= held <= 0.975
    # As if of 85 %: the ends at three quarters of the way.
    middle = ends.mean(axis=1, keepdims=True)
    shorter = middle + 1.44 / 1.96 * (ends - middle)
    assert np.mean((shorter[:, 0] <= truth.mean_abs) & (truth.mean_abs <= shorter[:, 1])) < 0.92
