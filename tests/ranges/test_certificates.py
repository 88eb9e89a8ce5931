"""Certified neighbours: exact lists, sound radii, honest ties, and what the summary and the pictures make of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import random_model

from embaudit.attacks import worst_gauge
from embaudit.errors import InputError
from embaudit.gauges import Diagonal, GeneralLinear
from embaudit.kernels.nearest import neighbours
from embaudit.model import FactorModel
from embaudit.ranges import certified_neighbours, condition_to_reach, cosine_range, range_summary
from embaudit.report.range_display import RangeDisplay


def vectors(p: int, k: int, seed: int = 0) -> FactorModel:
    return random_model(seed, n=None, p=p, k=k)


def test_radii_are_half_the_gap_in_artanh() -> None:
    model = vectors(30, 4)
    found = certified_neighbours(model, n=5)
    cosines = model.cosines("right", [[i, j] for i in range(30) for j in range(30)])
    cosines = cosines.reshape(30, 30).copy()
    np.fill_diagonal(cosines, -2)
    order = np.argsort(-cosines, axis=1)
    np.testing.assert_array_equal(found.indices, order[:, :5])
    z = np.arctanh(np.take_along_axis(cosines, order[:, :6], axis=1))
    np.testing.assert_allclose(found.radii, np.exp((z[:, :5] - z[:, 5:]) / 2), rtol=1e-9)
    np.testing.assert_allclose(found.radii**2, condition_to_reach(found.cosines, found.runner_up[:, None]), rtol=1e-9)


@settings(max_examples=25)
@given(st.integers(2, 5), st.floats(1.05, 4), st.integers(0, 2**32 - 1))
def test_no_sampled_gauge_displaces_a_certified_entry(k: int, kappa: float, seed: int) -> None:
    model = vectors(25, k, seed)
    found = certified_neighbours(model, n=4)
    safe = found.certified(kappa)
    for kind in (GeneralLinear, Diagonal):
        for draw in range(5):
            moved = kind(k, max_condition=kappa).sample(rng=draw).act(model)
            after = neighbours(moved.right, 4).indices
            kept = (found.indices[:, :, None] == after[:, None, :]).any(axis=2)
            assert kept[safe].all()


def test_some_gauge_beyond_the_radius_displaces_entries() -> None:
    model = vectors(40, 2)
    found = certified_neighbours(model, n=3)
    moved = GeneralLinear(2, max_condition=6.0).sample(rng=0).act(model)
    kept = (found.indices[:, :, None] == neighbours(moved.right, 3).indices[:, None, :]).any(axis=2)
    assert not kept.all()
    assert found.radii[~kept].max() <= 6.0


def test_ties_with_the_first_excluded_item_certify_nothing() -> None:
    draw = np.random.default_rng(0)
    direction = draw.normal(size=(4, 6))
    rows = np.concatenate([direction * scale for scale in (1.0, 3.0, 0.1, 7.0)])
    found = certified_neighbours(FactorModel.from_vectors(rows), n=2)
    # Four rows of each direction: of three equal candidates the list holds two, by row number only.
    assert (found.radii == 1).all()
    assert found.tied_share == 1
    assert found.curve([1.0, 2.0]).tolist() == [0, 0]
    whole = certified_neighbours(FactorModel.from_vectors(rows), n=3)
    # All three fit: parallel rows never separate, so no condition number displaces them.
    assert np.isinf(whole.radii).all()
    assert whole.curve([1e8]).tolist() == [1]


def test_zero_rows_and_places_nobody_can_fill_have_no_radius() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
    found = certified_neighbours(FactorModel.from_vectors(rows), n=3)
    assert np.isnan(found.radii[1]).all()
    assert found.n_undefined == 3 + 3
    assert np.isinf(found.radii[0, :2]).all()
    assert found.list_curve([2.0]).tolist() == [1]
    nothing = certified_neighbours(FactorModel.from_vectors(np.zeros((3, 2))), n=1)
    assert np.isnan(nothing.curve([1.0])).all()
    assert np.isnan(nothing.tied_share)


def test_near_duplicates_keep_a_radius_beyond_what_cosines_resolve() -> None:
    # Neighbours at angles 1e-6 and 1e-2: both cosines print as 1, the half angles are a factor of 1e4 apart.
    angles = np.array([0.0, 1e-6, 1e-2, 1.0])
    found = certified_neighbours(FactorModel.from_vectors(np.column_stack([np.cos(angles), np.sin(angles)])), n=1)
    truth = np.sqrt(np.tan(5e-3) / np.tan(5e-7))
    assert truth == pytest.approx(100, rel=1e-4)
    assert truth * (1 - 1e-8) < found.radii[0, 0] <= truth


def test_curves_fall_lists_are_harder_than_entries_and_rows_can_be_sampled() -> None:
    model = vectors(200, 8)
    found = certified_neighbours(model)
    kappas = np.geomspace(1, 5, 30)
    curve, whole = found.curve(kappas), found.list_curve(kappas)
    assert (np.diff(curve) <= 0).all()
    assert (whole <= curve).all()
    assert curve[0] == 1
    sample = certified_neighbours(model, rows=[5, 17])
    np.testing.assert_array_equal(sample.radii, found.radii[[5, 17]])
    with pytest.raises(InputError, match="at least 1"):
        found.curve([0.5])
    with pytest.raises(InputError, match="an array of real numbers"):
        found.curve(["a"])
    with pytest.raises(InputError, match="number of neighbours"):
        certified_neighbours(model, n=200)


def test_summary_narrows_with_the_budget_and_with_the_group() -> None:
    draw = np.random.default_rng(0)
    model = FactorModel.from_user_item(draw.normal(size=(50, 6)), draw.normal(size=(40, 6)))
    for role in ("left", "right", "cross"):
        lines = {
            (s.group, s.max_condition): s
            for s in range_summary(model, role=role, budgets=[1.25, 2.0, None], n_pairs=500, rng=1)
        }
        assert lines["linear", 1.25].width_mean < lines["linear", 2.0].width_mean < lines["linear", None].width_mean
        assert lines["diagonal", 1.25].width_mean < lines["linear", 1.25].width_mean
        assert lines["linear", 2.0].sign_definite_share <= lines["linear", 1.25].sign_definite_share
        assert (lines["linear", None].vacuous_share == 1) == (role != "cross")
        assert (lines["linear", 2.0].sign_definite_share == 1) == (role == "cross")
        quantiles = list(lines["linear", 2.0].width_quantiles.values())
        assert quantiles == sorted(quantiles)
        assert lines["diagonal", 2.0].to_dict()["n_pairs"] == 500
    empty = range_summary(FactorModel.from_vectors(np.zeros((3, 2))), n_pairs=5, rng=0)[0]
    assert empty.n_undefined == 5
    assert np.isnan(empty.width_mean)


def test_displays_hold_numbers_and_draw_them() -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    model = vectors(60, 3)
    group = GeneralLinear(3, max_condition=1.5)
    found = cosine_range(model, group, pairs=np.random.default_rng(0).integers(60, size=(900, 2)))
    assert len(found.plot().before) == 400
    shown = RangeDisplay.of(found, max_pairs=50).plot()
    assert len(shown.before) <= 50
    assert (np.diff(shown.before) >= 0).all()
    assert ((shown.lower <= shown.before + 1e-9) & (shown.before <= shown.upper + 1e-9)).all()
    assert len(shown.lines_.get_segments()) == len(shown.before)
    certified = certified_neighbours(model)
    attacks = [worst_gauge(model, group, objective="neighbours", n_starts=1, n_steps=2, rng=0)]
    axes = plt.figure().add_subplot()
    curve = certified.plot(axes, attacks=attacks)
    assert curve.ax_ is axes
    assert curve.survived[0] == 1 - attacks[0].achieved
    assert curve.attack_kappas.tolist() == [1.5]
    np.testing.assert_array_equal(curve.line_.get_ydata(), certified.curve(curve.kappas))
    plt.close("all")
