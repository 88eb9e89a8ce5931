"""The gauge that fits best, which group of gauges is chosen, and on whom: exact numbers on both sides of each bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from models import random_model

from embaudit.comparison import compare
from embaudit.comparison.change import (
    OUTCOMES,
    AttributionSteps,
    first_step_losing_neighbour,
    serving,
)
from embaudit.comparison.fits import fit_gauge, folds, unexplained
from embaudit.comparison.matching import Pairing
from embaudit.comparison.rounded import LoadedModel
from embaudit.gauges import GeneralLinear
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm


@pytest.mark.parametrize("seed", range(6))
def test_directions_that_neither_side_has_are_no_gauge(seed):
    draw = np.random.default_rng(seed)
    plane = np.linalg.qr(draw.standard_normal((3, 3)))[0][:2]
    drawn = {"left": draw.standard_normal((2, 10, 2)) @ plane, "right": draw.standard_normal((2, 9, 2)) @ plane}
    rows = {role: tuple(found) for role, found in drawn.items()}
    np.testing.assert_allclose(fit_gauge(rows, "linear").left, fit_gauge(rows, "rotation").left, atol=1e-12)


def test_the_share_that_a_gauge_leaves():
    x = np.random.default_rng(0).standard_normal((10, 2))
    fit = fit_gauge({"right": (x, x)}, "rotation")
    other = x + [[1, 0]] * 10
    assert unexplained(fit, "right", {"right": (x, other)}) == pytest.approx(10 / ((x - x.mean(axis=0)) ** 2).sum())
    small = 0.1 * x
    expected = 0.81 * (x**2).sum() / ((small - small.mean(axis=0)) ** 2).sum()
    assert unexplained(replace(fit, right=np.eye(2)), "right", {"right": (x, small)}) == pytest.approx(expected)
    tiny = {"right": (x / 100, small / 100)}
    assert unexplained(replace(fit, right=np.eye(2)), "right", tiny) == pytest.approx(expected)
    level = np.ones((10, 2))
    assert unexplained(fit, "right", {"right": (x, level)}) == 1
    assert unexplained(replace(fit, right=0 * fit.right), "right", {"right": (x, level / 128)}) == 1
    same = replace(fit, right=np.eye(2))
    assert unexplained(same, "right", {"right": (level, level)}) == 0


def test_a_gauge_that_brings_cosines_no_nearer_is_not_kept():
    """A map that the factors need and the cosines do not: a far longer row decides the fit."""
    draw = np.random.default_rng(0)
    x = draw.standard_normal((40, 3))
    turned = x @ np.linalg.qr(draw.standard_normal((3, 3)))[0]
    found = Pairing({"right": (x, turned)}, {"right": (x, turned)}, ("rotation", "linear"), (), True)
    parts = [replace(fold, group="linear") for fold in folds(found.fitted, draw, ("rotation", "linear"), ())]
    spoilt = GeneralLinear(3, max_condition=9.0).sample(rng=0).left
    bad = [
        replace(
            fold, fits=fold.fits | {"linear": replace(fold.fits["linear"], right=fold.fits["linear"].right @ spoilt)}
        )
        for fold in parts
    ]
    assert {fold.group for fold in serving(found, bad, draw)} == {"rotation"}
    moved = x @ spoilt
    real = Pairing({"right": (x, moved)}, {"right": (x, moved)}, ("rotation", "linear"), (), True)
    good = [replace(fold, group="linear") for fold in folds(real.fitted, draw, ("rotation", "linear"), ())]
    assert serving(real, good, draw) is good


def test_a_head_behind_a_norm_keeps_what_its_shift_adds_to_the_logits():
    draw = np.random.default_rng(0)
    rows, gain, shift, states = (draw.standard_normal(size) for size in ((6, 3), 3, 3, (4, 3)))
    norm = FinalNorm("layer", gain, shift)
    found = LoadedModel(FactorModel.from_softmax(rows, np.arange(6.0)), norm).behind(states).model
    np.testing.assert_allclose(found.scores(), (gain * states + shift) @ rows.T + np.arange(6.0), atol=1e-12)


def path(*versions, forward=True):
    steps = ("gauge", "learning") if forward else ("learning", "gauge")
    return AttributionSteps(np.arange(len(versions[0])), versions, ("unseen", *steps, "unseen"))


def test_a_neighbour_is_lost_to_the_first_step_that_drives_it_out():
    x = np.eye(3)
    known = np.array([[True, True, True, True, True, False]])
    # Of five neighbours, one stays; the others leave at steps 1 to 4; the last was none.
    kept = {
        1: [[True, False, True, True, True, True]],
        2: [[True, True, False, True, True, True]],
        3: [[True, True, True, False, True, True]],
        4: [[True, False, False, False, False, True]],
    }
    found = first_step_losing_neighbour(path(x, x + 1, x + 2, x + 3, x + 4), known, lambda i: np.array(kept[i]))
    assert dict(zip(OUTCOMES, found[:, 0].astype(int).tolist(), strict=True)) == {
        "kept": [1, 0, 0, 0, 0, 0],
        "lost_to_gauge": [0, 0, 1, 0, 0, 0],
        "lost_to_unseen": [0, 1, 0, 0, 1, 0],
        "lost_to_learning": [0, 0, 0, 1, 0, 0],
    }
    other = first_step_losing_neighbour(
        path(x, x + 1, x + 2, x + 3, x + 4, forward=False), known, lambda i: np.array(kept[i])
    )
    np.testing.assert_array_equal(other[[0, 3, 2, 1]], found)


@pytest.fixture(scope="module")
def models():
    names = np.array([f"item {i}" for i in range(30)])
    one = random_model(n=40, p=30, k=4).replace(right_names=names)
    return one, random_model(n=40, p=30, k=4, seed=1).replace(right_names=names)


@pytest.fixture(scope="module")
def found(models):
    return compare(*models)
