"""The gauge that fits best, which group of gauges is chosen, and on whom: exact numbers on both sides of each bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from models import random_model

from embaudit.comparison import compare
from embaudit.comparison.change import role_change, serving
from embaudit.comparison.fits import fit_gauge, folds, unexplained, whole
from embaudit.comparison.matching import Match, Pairing
from embaudit.comparison.neighbour_attribution import (
    OUTCOMES,
    AttributionSteps,
    attribution_steps,
    first_step_losing_neighbour,
    neighbour_attribution,
    refit_effects,
)
from embaudit.comparison.rounded import LoadedModel
from embaudit.gauges import GeneralLinear
from embaudit.linalg.intervals import draw_groups
from embaudit.linalg.pairs import pair_cosines
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


def test_the_change_of_a_row_is_the_mean_over_all_its_pairs():
    draw = np.random.default_rng(0)
    x, other = draw.standard_normal((2, 9, 2))
    found = Pairing({"right": (x, other)}, {"right": (x, other)}, ("linear",), (), True)
    parts, groups = whole(found.fitted, found.groups, ()), draw_groups(9, draw)
    refits = [(fold, fold.without(found.fitted, {"right": groups}, ())) for fold in parts]
    shared = Match("right", np.arange(9), np.arange(9), np.array(list("abcdefghi")), 0, 0, by_ids=False)
    told = role_change("right", shared, found, parts, groups, refits, n=3, rng=draw)
    pairs = np.array([(i, j) for i in range(9) for j in range(9) if i != j])
    gauged = parts[0].gauge.apply("right", x)
    old, new, carried = (pair_cosines(rows, rows, pairs).reshape(9, 8) for rows in (x, other, gauged))
    total, remainder = np.abs(new - old).mean(axis=1), np.abs(new - carried).mean(axis=1)
    np.testing.assert_allclose(told.total, total)
    np.testing.assert_allclose(told.remainder, np.minimum(remainder, total))
    np.testing.assert_allclose(told.gauge, np.maximum(total - remainder, 0), atol=1e-12)
    assert told.unseen.tolist() == [0] * 9
    assert told.correlation == pytest.approx(np.corrcoef(old.ravel(), new.ravel())[0, 1])
    assert told.gauged_correlation == pytest.approx(np.corrcoef(carried.ravel(), new.ravel())[0, 1])
    assert told.halvings["total"] == pytest.approx([total.mean()])
    for group in range(9):
        rest = groups != group
        cells = [abs(c) for c, (i, j) in zip((new - old).ravel(), pairs, strict=True) if rest[i] and rest[j]]
        assert told.replicates["total"][group] == pytest.approx(np.mean(cells))
    shares_without = neighbour_attribution([attribution_steps("right", found, parts[0])], groups, 3, draw).replicates
    effects = refit_effects("right", found, refits, n=3, rng=draw)
    assert any(effects[name].any() for name in OUTCOMES)
    for name in OUTCOMES:
        np.testing.assert_allclose(told.replicates[name], shares_without[name] + effects[name])


@pytest.fixture(scope="module")
def models():
    names = np.array([f"item {i}" for i in range(30)])
    one = random_model(n=40, p=30, k=4).replace(right_names=names)
    return one, random_model(n=40, p=30, k=4, seed=1).replace(right_names=names)


@pytest.fixture(scope="module")
def found(models):
    return compare(*models)


def nearest(rows, at, n):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = unit @ unit[at]
    order = np.argsort(-cosines)
    return [(int(i), cosines[i]) for i in order if i != at][:n]


def test_lists_are_those_of_either_model_among_all_that_are_shared(models, found):
    change = found.changes["right"]
    assert len(change.examples) == 4
    for example in change.examples:
        at = int(example.name.removeprefix("item "))
        lists = [nearest(model.right, at, 10) for model in models]
        for shown, known in zip((example.before, example.after), lists, strict=True):
            assert [name for name, _ in shown] == [f"item {i}" for i, _ in known]
            assert [cosine for _, cosine in shown] == pytest.approx([cosine for _, cosine in known])
        sets = [{i for i, _ in known} for known in lists]
        assert example.stay == tuple(i in sets[1] for i, _ in lists[0])
        assert example.stayed == tuple(i in sets[0] for i, _ in lists[1])
        assert example.kept == len(sets[0] & sets[1]) < 10
