"""The gauge that fits best, which group of gauges is chosen, and on whom: exact numbers on both sides of each bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embaudit.comparison.change import serving
from embaudit.comparison.fits import fit_gauge, folds, held_out_error, unexplained
from embaudit.comparison.matching import Pairing
from embaudit.comparison.rounded import LoadedModel
from embaudit.gauges import GeneralLinear
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm


def test_a_linear_gauge_weighs_both_sides_whatever_their_scale():
    """The normal equations of both problems, each over the size of what it should meet."""
    draw = np.random.default_rng(3)
    p, p2 = draw.standard_normal((2, 9, 2))
    q, q2 = 100 * draw.standard_normal((2, 7, 2))
    m = fit_gauge({"left": (p, p2), "right": (q, q2)}, "linear").left
    w, v = 1 / (p2**2).sum(), 1 / (q**2).sum()
    np.testing.assert_allclose(w * p.T @ (p @ m - p2) + v * (m @ q2.T - q.T) @ q2, 0, atol=1e-12)


def test_a_gauge_of_any_size_is_found():
    x, y = np.random.default_rng(0).standard_normal((2, 10, 2))
    for size in (1e-9, 1e9):
        gauge = size * np.array([[1.0, 0.2], [0, 3]])
        rows = {"left": (x, x @ gauge), "right": (y, y @ np.linalg.inv(gauge).T)}
        fit = fit_gauge(rows, "linear")
        np.testing.assert_allclose(fit.left, gauge, rtol=1e-9, atol=1e-9 * size)
        np.testing.assert_allclose(fit.right, np.linalg.inv(gauge).T, rtol=1e-9, atol=1e-9 / size)


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


def test_halves_are_judged_by_what_was_fitted_on_the_others():
    x, y = (np.random.default_rng(seed).standard_normal((11, 2)) for seed in (0, 1))
    rows = {"right": (x, y)}
    one, two = folds(rows, np.random.default_rng(2), ("rotation", "linear"), ())
    assert sorted([*one.held_out["right"], *two.held_out["right"]]) == list(range(11))
    assert (len(one.held_out["right"]), len(two.held_out["right"])) == (6, 5)
    for fold, other in ((one, two), (two, one)):
        np.testing.assert_array_equal(fold.trained_on["right"], other.held_out["right"])
        train = {"right": (x[fold.trained_on["right"]], y[fold.trained_on["right"]])}
        np.testing.assert_array_equal(fold.fits["linear"].right, fit_gauge(train, "linear").right)
        assert fold.gauge is fold.fits[fold.group]
        assert list(fold.fits) == ["rotation", "linear"]
    error = held_out_error("right", rows, [one, two])
    for group in ("rotation", "linear"):
        parts = [{"right": (x[f.held_out["right"]], y[f.held_out["right"]])} for f in (one, two)]
        left = [unexplained(f.fits[group], "right", part) for f, part in zip((one, two), parts, strict=True)]
        assert error[group] == pytest.approx(np.mean(left))


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
