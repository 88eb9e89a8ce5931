"""Figures of sampled pairs against figures of all pairs, and the coverage of confidence
intervals.

`EMBAUDIT_COVERAGE=2000`, as in `make coverage`, sets the number of samples. The
coverage is then 93 to 97 %.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy.stats import spearmanr

from embaudit.gauges import GeneralLinear
from embaudit.linalg.pair_changes import LEVELS, PairChanges
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.pairs import all_pairs, draw_pairs, n_pairs
from embaudit.model import FactorModel

DRAWS = int(os.environ.get("EMBAUDIT_COVERAGE", "300"))
# Four standard deviations of a share of few draws.
LEAST, MOST = 0.95 - 4 * np.sqrt(0.0475 / DRAWS), 1.0
if DRAWS >= 2_000:
    LEAST, MOST = 0.93, 0.97


def clustered(seed=0, n=300, k=12):
    """Rows before and after of items in clusters, whose changes have skewed sizes."""
    draw = np.random.default_rng(seed)
    centres = draw.standard_normal((9, k)) * np.linspace(2, 0.3, k) + 0.3
    clusters = draw.zipf(1.7, n) % 9
    noise = draw.standard_normal((n, k)) * draw.lognormal(-1.2, 1, (n, 1))
    rows = centres[clusters] + noise
    model = FactorModel.from_user_item(rows[:5], rows)
    after = GeneralLinear(k, max_condition=6.0).sample(rng=seed).act(model)
    return model.right, after.right


ROWS = clustered()
EVERY = tuple(pair_cosines(x, x, all_pairs(len(x))) for x in ROWS)


def of_all(before, after):
    return PairChanges(before, after, len(before))


def figures(changes):
    return {
        "mean_abs": changes.mean_abs,
        "mean": changes.mean,
        "rms": changes.rms,
        "pearson": changes.pearson,
        "sign_flips": changes.sign_flips,
        "spearman": changes.spearman,
        **{f"{level:g}": value for level, value in changes.quantiles.items()},
    }


def test_figures_of_all_pairs_are_those_of_the_definition():
    changes, (before, after) = of_all(*EVERY), EVERY
    delta = np.abs(after - before)
    assert changes.mean_abs == pytest.approx(delta.mean(), rel=1e-12)
    assert changes.mean_abs_interval == (changes.mean_abs, changes.mean_abs)
    assert changes.max_abs == delta.max()
    assert changes.mean == pytest.approx((after - before).mean(), rel=1e-12)
    assert changes.rms == pytest.approx(np.sqrt((delta**2).mean()), rel=1e-12)
    correlation = np.corrcoef(before, after)[0, 1]
    assert changes.pearson == pytest.approx(correlation, rel=1e-12)
    assert changes.sign_flips == (before * after < -1e-12).mean()
    assert changes.spearman == pytest.approx(spearmanr(before, after)[0], abs=1e-4)
    assert changes.quantiles == {
        level: pytest.approx(np.quantile(delta, level)) for level in LEVELS
    }
    assert changes.intervals == {}


@pytest.mark.parametrize("size", [2_000, 20_000])
def test_intervals_hold_what_they_promise(size):
    """Of 44,850 pairs half are drawn, and few."""
    x, y = ROWS
    truth, held = figures(of_all(*EVERY)), {}
    table = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (x, y)]
    table = [unit @ unit.T for unit in table]
    total, draw = n_pairs(len(x)), np.random.default_rng(size)
    for _ in range(DRAWS):
        pairs = tuple(draw_pairs(len(x), size, rng=draw).T)
        found = PairChanges(table[0][pairs], table[1][pairs], total)
        for name, (low, high) in (
            {"mean_abs": found.mean_abs_interval} | found.intervals
        ).items():
            held.setdefault(name, []).append(low <= truth[name] <= high)
    shares = {name: float(np.mean(one)) for name, one in held.items()}
    assert set(shares) == set(truth)
    assert all(LEAST <= share <= MOST for share in shares.values()), shares


def test_edges_of_what_is_counted():
    flips = of_all(np.array([-1.0, -1.001, 1.0]) * 1e-12, np.ones(3))
    assert flips.sign_flips == pytest.approx(1 / 3)
    opposite = of_all(np.full(3, -1.0), np.ones(3))
    assert opposite.max_abs == 2.0
    still = of_all(np.array([0.25, 0.25 + 1e-12, 0.25]), np.array([0.1, 0.2, 0.3]))
    assert np.isnan(still.spearman)
    assert np.isnan(still.pearson)
    order = np.array([0.1, 0.5, 0.9, -0.3])
    assert [of_all(order, sign * order).spearman for sign in (1, -1)] == [1.0, -1.0]
