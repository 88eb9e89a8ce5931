"""The gauge that fits best, which group of gauges is chosen, and on whom: exact numbers on both sides of each bound."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from models import random_model

from embaudit.comparison import compare
from embaudit.comparison.change import serving
from embaudit.comparison.fits import LOST, _keeps_all, fit_gauge, unexplained
from embaudit.comparison.folds import Fold, _choose, _smallest, folds, held_out_error, whole
from embaudit.comparison.seen import Pairing
from embaudit.errors import InputError
from embaudit.gauges import GeneralLinear
from embaudit.kernels.intervals import draw_groups
from embaudit.model import FactorModel

COMPARE = import_module("embaudit.comparison.compare")


def vectors(n=9, k=3, seed=0, **fields):
    return FactorModel.from_vectors(np.random.default_rng(seed).standard_normal((n, k)), **fields)


def test_a_rotation_carries_the_scale_of_both_sides():
    x, y = (np.random.default_rng(seed).standard_normal((10, 2)) for seed in (0, 1))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    for rows in (
        {"left": (x, 3 * x @ turn)},
        {"right": (y, y @ turn / 3)},
        {"left": (x, 3 * x @ turn), "right": (y, y @ turn / 3)},
    ):
        fit = fit_gauge(rows, "rotation")
        np.testing.assert_allclose(fit.left, 3 * turn, atol=1e-12)
        np.testing.assert_allclose(fit.right, turn / 3, atol=1e-12)
        assert fit.condition_number == pytest.approx(1)
    mixed = fit_gauge({"left": (x, 4 * x), "right": (y, y)}, "rotation")
    np.testing.assert_allclose(mixed.left, 2 * np.eye(2), atol=1e-12)
    np.testing.assert_allclose(mixed.right, np.eye(2) / 2, atol=1e-12)


def test_rows_that_vanish_leave_the_scale_alone():
    x = np.random.default_rng(0).standard_normal((10, 2))
    for rows in (
        {"left": (x, 0 * x)},
        {"left": (0 * x, x)},
        {"right": (x, 0 * x)},
        {"left": (0 * x, x), "right": (x, x)},
    ):
        np.testing.assert_allclose(abs(np.linalg.det(fit_gauge(rows, "rotation").left)), 1)


@pytest.mark.parametrize("group", ["diagonal", "linear", "affine"])
@pytest.mark.parametrize("role", ["left", "right"])
def test_where_a_group_is_singular_its_rotation_is_taken(group, role):
    """One direction is flattened: no gauge does that."""
    x = np.random.default_rng(0).standard_normal((10, 2))
    x -= x.mean(axis=0)
    for flat in (x * [1, 0], x * [1, 1e-14]):
        rows = {role: (x, flat)}
        turn, fit = fit_gauge(rows, "rotation"), fit_gauge(rows, group)
        if group == "diagonal" and not flat.any(axis=0).all():
            np.testing.assert_allclose(np.diag(fit.left if role == "left" else fit.right), [1, 1], rtol=1e-9)
        else:
            np.testing.assert_allclose(fit.left, turn.left, atol=1e-9)
            np.testing.assert_allclose(fit.right, turn.right, atol=1e-9)
        assert fit.group == group
    rows = {role: (x, x * [1, 1e-6])}
    fit = fit_gauge(rows, group)
    np.testing.assert_allclose(fit.left if role == "left" else fit.right, np.diag([1, 1e-6]), atol=1e-9)
    assert fit.condition_number == pytest.approx(1e6, rel=1e-3)


def test_a_flat_map_has_no_condition_number():
    flat = replace(fit_gauge({"left": (np.eye(2), np.eye(2))}, "rotation"), left=np.diag([1.0, 0]))
    assert flat.condition_number == np.inf


def test_a_column_that_says_nothing_gets_the_largest_scale_of_the_others():
    x = np.random.default_rng(0).standard_normal((10, 3))
    x[:, 1] = 0
    fit = fit_gauge({"left": (x, x * [2, 1, -5])}, "diagonal")
    np.testing.assert_allclose(np.diag(fit.left), [2, 5, -5])
    np.testing.assert_allclose(np.diag(fit.right), [1 / 2, 1 / 5, -1 / 5])


def test_a_column_whose_two_sides_are_unlike_gets_the_largest_scale_of_the_others():
    x = np.random.default_rng(0).standard_normal((10, 2))
    unlike = x[::-1, 1] - x[:, 1] * (x[::-1, 1] @ x[:, 1]) / (x[:, 1] @ x[:, 1])
    rows = {"left": (x, np.column_stack([3 * x[:, 0], unlike]))}
    assert x[:, 1] @ unlike != 0
    np.testing.assert_allclose(np.diag(fit_gauge(rows, "diagonal").left), [3, 3])


def test_a_direction_at_the_bound_is_lost():
    assert _keeps_all(np.array([1.01 * LOST]), 1.0)
    assert not _keeps_all(np.array([LOST]), 1.0)
    assert _keeps_all(np.array([1.0]), 1.01 * LOST)
    assert not _keeps_all(np.array([1.0]), LOST)


def test_only_sides_that_may_be_shifted_are():
    draw = np.random.default_rng(0)
    x, y = draw.standard_normal((10, 2)), draw.standard_normal((12, 2))
    rows = {"left": (x, x + 3), "right": (y, y - 2)}
    both = fit_gauge(rows, "affine")
    np.testing.assert_allclose([both.left_shift, both.right_shift], [[3, 3], [-2, -2]], atol=1e-9)
    assert unexplained(both, "right", rows) < 1e-20
    right = fit_gauge(rows, "affine", ("right",))
    assert right.left_shift.tolist() == [0, 0]
    assert right.right_shift.any()
    assert not fit_gauge(rows, "linear").right_shift.any()


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


@pytest.mark.parametrize(("size", "kept"), [(3e-12, True), (3e-13, False)])
@pytest.mark.parametrize("role", ["left", "right"])
@pytest.mark.parametrize("group", ["diagonal", "linear"])
def test_a_direction_counts_down_to_rounding(size, kept, role, group):
    x = np.random.default_rng(0).standard_normal((10, 2))
    fit = fit_gauge({role: (x, x * [1, size])}, group)
    assert (fit.condition_number > 1e11) == kept


def test_rows_that_all_vanish_have_a_rotation():
    nothing = np.zeros((9, 2))
    fit = fit_gauge({"left": (nothing, nothing), "right": (nothing, nothing)}, "linear")
    np.testing.assert_allclose(fit.left @ fit.left.T, np.eye(2), atol=1e-12)


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


def test_the_smallest_group_within_a_tenth_of_the_best_is_chosen():
    assert _smallest({"rotation": 1.1, "diagonal": 1.05, "linear": 1.0}) == "rotation"
    assert _smallest({"rotation": 1.11, "diagonal": 1.05, "linear": 1.0}) == "diagonal"
    assert _smallest({"rotation": 1.11, "diagonal": 1.2, "linear": 1.0}) == "linear"
    assert _smallest({"rotation": 9e-9, "linear": 1e-20}) == "rotation"
    assert _smallest({"rotation": 1.1e-8, "linear": 1e-20}) == "linear"


def test_the_group_is_chosen_on_rows_that_its_gauge_was_not_fitted_on():
    """Many parameters meet few rows exactly, and serve no others."""
    draw = np.random.default_rng(0)
    x = draw.standard_normal((12, 7))
    rows = {"right": (x, x + 0.5 * draw.standard_normal(x.shape))}
    assert unexplained(fit_gauge(rows, "linear"), "right", rows) < unexplained(
        fit_gauge(rows, "rotation"), "right", rows
    )
    assert _choose(rows, ("rotation", "linear"), ()) == "rotation"
    fitted, judged = (
        {"right": tuple(y[part] for y in rows["right"])} for part in (np.arange(12) % 3 > 0, np.arange(12) % 3 == 0)
    )
    left = {group: unexplained(fit_gauge(fitted, group), "right", judged) for group in ("rotation", "linear")}
    assert 1.1 * left["rotation"] < left["linear"]


def test_two_thirds_are_fitted_and_the_third_left_out_judged(monkeypatch):
    seen = {"fitted": set(), "judged": set()}
    module = import_module("embaudit.comparison.folds")

    def fitted(rows, *_):
        seen["fitted"] |= set(rows["right"][0][:, 0])
        return fit_gauge(rows, "rotation")

    def judged(_, role, rows):
        seen["judged"] |= set(rows[role][0][:, 0])
        return 0.0

    monkeypatch.setattr(module, "fit_gauge", fitted)
    monkeypatch.setattr(module, "unexplained", judged)
    x = np.column_stack([np.arange(12.0), np.ones(12)])
    assert _choose({"right": (x, x)}, ("rotation", "linear"), ()) == "rotation"
    assert seen == {"fitted": {1, 2, 4, 5, 7, 8, 10, 11}, "judged": {0, 3, 6, 9}}


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
        assert fold.gauge is fold.fits[fold.chosen]
        assert list(fold.fits) == ["rotation", "linear"]
    error = held_out_error("right", rows, [one, two])
    for group in ("rotation", "linear"):
        parts = [{"right": (x[f.held_out["right"]], y[f.held_out["right"]])} for f in (one, two)]
        left = [unexplained(f.fits[group], "right", part) for f, part in zip((one, two), parts, strict=True)]
        assert error[group] == pytest.approx(np.mean(left))


def test_a_gauge_without_a_group_of_entities_is_that_of_the_others():
    draw = np.random.default_rng(0)
    rows = {"left": draw.standard_normal((2, 14, 2)), "right": draw.standard_normal((2, 10, 2))}
    groups = {"left": draw_groups(14, draw, most=4), "right": draw_groups(10, draw, most=3)}
    fold = replace(folds(rows, draw)[0], chosen="linear")
    without = fold.without(rows, groups, ("left", "right"))
    assert len(without) == 3
    for group, other in enumerate(without):
        rest = {role: [i for i in fold.trained_on[role] if groups[role][i] != group] for role in rows}
        alone = fit_gauge({role: (x[rest[role]], y[rest[role]]) for role, (x, y) in rows.items()}, "linear")
        np.testing.assert_array_equal(other.gauge.left, alone.left)
        assert other.fits["rotation"] is fold.fits["rotation"]
        assert other.held_out is fold.held_out


def test_all_rows_at_once_are_one_part():
    x = np.random.default_rng(0).standard_normal((9, 2))
    for role in ("left", "right"):
        (moved,) = whole({role: (x, x + 3)})
        assert moved.chosen == "affine"
    (fold,) = whole({"right": (x, x * [1, 3])})
    assert fold.chosen == "diagonal"
    assert fold.held_out["right"].tolist() == fold.trained_on["right"].tolist() == list(range(9))
    np.testing.assert_allclose(fold.gauge.right, np.diag([1, 3]), atol=1e-12)


def fold_of(chosen, groups=("rotation", "diagonal", "linear")):
    return Fold({}, {}, dict.fromkeys(groups), chosen)


@pytest.mark.parametrize(
    ("chosen", "typical"),
    [
        (["rotation", "linear"], "linear"),
        (["linear", "rotation"], "linear"),
        (["rotation", "linear", "rotation", "linear"], "linear"),
        (["rotation", "rotation", "rotation", "linear"], "rotation"),
        (["diagonal"], "diagonal"),
        (["rotation", "diagonal", "linear"], "diagonal"),
    ],
)
def test_the_typical_group_is_the_upper_median(chosen, typical):
    assert COMPARE._typical([fold_of(group) for group in chosen]).chosen == typical


def test_the_more_entities_the_fewer_halvings(monkeypatch):
    assert (COMPARE.ROWS, COMPARE.HALVINGS, COMPARE.HALVED) == (50_000, 5, 2_000)
    cuts = []
    monkeypatch.setattr(COMPARE, "folds", lambda *_: cuts.append(1) or folds(*_))
    for rows, expected in ((200, 5), (400, 5), (401, 4), (500, 4), (1000, 2), (1001, 1), (2001, 1)):
        cuts.clear()
        x = np.random.default_rng(0).standard_normal((rows, 2))
        found = Pairing({}, {"right": (x, x[::-1])}, ("rotation",), (), True)
        monkeypatch.setattr(COMPARE, "serving", lambda found, parts, draw: parts)
        COMPARE._gauges(found, None, np.random.default_rng(0))
        assert len(cuts) == expected


def test_a_side_of_many_entities_is_sampled(monkeypatch):
    monkeypatch.setattr(COMPARE, "ROWS", 20)
    found = compare(vectors(21), vectors(21)).changes["right"]
    assert len(found.match) == 20
    assert len(compare(vectors(20), vectors(20)).changes["right"].match) == 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbours": 0}, "n_neighbours must be at least 1; got 0"),
        ({"roles": []}, r"roles must name each side once; got \[\]\."),
        ({"roles": ["right", "item"]}, r"roles must name each side once; got \['right', 'item'\]\."),
    ],
)
def test_options_that_ask_for_nothing_are_refused(options, message):
    model = random_model(n=10, p=10, k=2)
    with pytest.raises(InputError, match=message):
        compare(model, model, **options)
    assert compare(model, model, n_neighbours=1).changes["right"].n_neighbours == 1
    assert list(compare(model, model, roles=["item"]).changes) == ["right"]


def test_both_models_must_have_the_side_that_is_named():
    both, one = random_model(n=10, p=10, k=2), vectors(10, 2)
    for models in ((both, one), (one, both)):
        with pytest.raises(InputError, match="user factors must be at hand"):
            compare(*models, roles=["left"])
        assert list(compare(*models).changes) == ["right"]
        assert compare(*models).agreement is None


def test_a_gauge_that_brings_cosines_no_nearer_is_not_kept():
    """A map that the factors need and the cosines do not: a far longer row decides the fit."""
    draw = np.random.default_rng(0)
    x = draw.standard_normal((40, 3))
    turned = x @ np.linalg.qr(draw.standard_normal((3, 3)))[0]
    found = Pairing({"right": (x, turned)}, {"right": (x, turned)}, ("rotation", "linear"), (), True)
    parts = [replace(fold, chosen="linear") for fold in folds(found.fitted, draw, ("rotation", "linear"), ())]
    spoilt = GeneralLinear(3, max_condition=9.0).sample(rng=0).left
    bad = [
        replace(
            fold, fits=fold.fits | {"linear": replace(fold.fits["linear"], right=fold.fits["linear"].right @ spoilt)}
        )
        for fold in parts
    ]
    assert {fold.chosen for fold in serving(found, bad, draw)} == {"rotation"}
    moved = x @ spoilt
    real = Pairing({"right": (x, moved)}, {"right": (x, moved)}, ("rotation", "linear"), (), True)
    good = [replace(fold, chosen="linear") for fold in folds(real.fitted, draw, ("rotation", "linear"), ())]
    assert serving(real, good, draw) is good


@pytest.mark.parametrize(("sizes", "kept"), [((1.1, 1.0), True), ((1.09, 1.0), False), ((0.6, 0.5, 0.5, 0.5), True)])
def test_a_gauge_must_bring_the_cosines_of_all_sides_together_nearer_by_a_tenth(monkeypatch, sizes, kept):
    """The sizes are those of the change, and of what the gauge leaves of it, of each side in turn."""
    x = np.random.default_rng(0).standard_normal((12, 2))
    rows = dict.fromkeys(("right", "left")[: len(sizes) // 2], (x, x))
    found = Pairing(rows, rows, ("rotation", "linear"), (), True)
    parts = [replace(fold, chosen="linear") for fold in folds(rows, np.random.default_rng(0), ("rotation", "linear"))]
    told = iter(sizes)
    monkeypatch.setattr("embaudit.comparison.change.mean_size", lambda _: next(told))
    assert (serving(found, parts, np.random.default_rng(0)) is parts) == kept


@pytest.mark.parametrize(("left", "fits"), [(COMPARE.EXPLAINED, True), (1.01 * COMPARE.EXPLAINED, False)])
def test_a_gauge_fits_up_to_what_float32_shows(monkeypatch, left, fits):
    monkeypatch.setattr(COMPARE, "held_out_error", lambda *_: {"rotation": 1.0, "linear": left})
    x = np.eye(2)
    found = Pairing({}, {"left": (x, x), "right": (x, x)}, ("rotation", "linear"), (), True)
    assert COMPARE._fits(found, [fold_of("linear")]) == fits
