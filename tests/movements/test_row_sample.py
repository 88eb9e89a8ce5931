"""Many rows: equivalent models are never made whole, and sums over some rows have intervals that hold."""

from importlib import import_module

import numpy as np
import pytest

from embaudit.canonical.equivalents import EquivalentModel, canonical_models
from embaudit.gauges import Affine, GeneralLinear
from embaudit.model import FactorModel, Pairs
from embaudit.movements.movement import MovementProbe

MOVEMENT = import_module("embaudit.movements.movement")
ROLES = ["right", "left", "cross"]


def model_of(n=150, p=220, k=5, seed=0):
    draw = np.random.default_rng(seed)
    left, right = (
        draw.standard_normal((n, k)) + 0.5,
        draw.standard_normal((p, k)) * draw.lognormal(size=(p, 1)),
    )
    right[7] = 0
    return FactorModel.from_user_item(left, right, user_bias=np.zeros(n))


def equal_models(model):
    linear = GeneralLinear(model.rank, max_condition=4.0).sample(rng=1)
    affine = Affine(model.rank, side="right", max_condition=3.0, max_shift=1.0).sample(
        rng=2
    )
    yield EquivalentModel.by(linear, "linear", "linear")
    yield EquivalentModel.by(affine, "affine", "affine")
    yield from canonical_models(model)


def cases():
    """Each equivalent model with what it is of; the last ones of a model with a column that no prediction sees."""
    model = model_of()
    flat = model.replace(right=model.right * [1, 1, 1, 1, 0])
    return [(one, model) for one in equal_models(model)] + [
        (one, flat) for one in canonical_models(flat)
    ]


@pytest.mark.parametrize("number", range(8))
def test_rows_made_where_they_are_asked_for_are_those_of_the_equal_model(number):
    one, model = cases()[number]
    made = one.of(model)
    for side in ("left", "right"):
        np.testing.assert_allclose(
            one.rows(model, side)[:], made.factors(side), atol=1e-12
        )
        np.testing.assert_allclose(
            one.rows(model, side)[[3, 1]], made.factors(side)[[3, 1]], atol=1e-12
        )
        assert one.rows(model, side).shape == made.factors(side).shape


def test_a_canonical_model_of_some_rows_is_that_of_the_whole():
    model = model_of()
    for one in canonical_models(model):
        some = one.of(model.take(left=np.array([4, 9]), right=np.array([0, 5])))
        np.testing.assert_allclose(some.right, one.of(model).right[[0, 5]], atol=1e-12)
        np.testing.assert_allclose(some.left, one.of(model).left[[4, 9]], atol=1e-12)


def measured(model, monkeypatch, *, whole, summed=10**6, n_pairs=400, seed=0):
    monkeypatch.setattr(MOVEMENT, "WHOLE", whole)
    monkeypatch.setattr(MOVEMENT, "SUMMED", summed)
    probe = MovementProbe(model, ROLES, n_pairs=n_pairs, n_neighbours=4, rng=seed)
    one = next(equal_models(model))
    return probe, probe.measure_rows(
        {side: one.rows(model, side) for side in probe.sides}
    )


@pytest.mark.parametrize(
    ("sizes", "whole", "cut"),
    [
        ((150, 220), 10, {"left", "right"}),
        ((150, 220), 180, {"right"}),
        ((220, 150), 180, {"left"}),
    ],
)
def test_a_panel_changes_no_list_and_no_sampled_pair_within_a_side(
    sizes, whole, cut, monkeypatch
):
    model = model_of(*sizes)
    _, everything = measured(model, monkeypatch, whole=10**6)
    probe, some = measured(model, monkeypatch, whole=whole)
    assert {
        side for side, panel in probe.before.samples.items() if panel.rows is not None
    } == cut
    for one, other in zip(everything[:2], some[:2], strict=True):
        assert one.role == other.role
        assert one.top_n_overlap == other.top_n_overlap
        assert other.mean_abs == pytest.approx(one.mean_abs, rel=1e-12)
        assert (one.n_zero, one.n_lists) == (other.n_zero, other.n_lists)
    assert all(record.margins == {} for record in everything)
    for record in some:
        assert set(record.margins) == (
            {"mean", "rms", "pearson"} if cut & {*Pairs(record.role).sides} else set()
        )


def test_intervals_of_sums_over_some_rows_hold(monkeypatch):
    model = model_of(300, 400)
    _, truth = measured(model, monkeypatch, whole=10**6)
    names = ("mean", "rms", "pearson")
    held = {(role, name): [] for role in ROLES for name in names}
    for seed in range(120):
        # Each row is in few pairs, so that the rows held are a small draw of all.
        _, found = measured(model, monkeypatch, whole=10, n_pairs=25, seed=seed)
        for one, record in zip(truth, found, strict=True):
            for name in names:
                off = abs(getattr(record, name) - getattr(one, name))
                held[one.role, name].append(off <= record.margins[name])
    shares = {key: np.mean(value) for key, value in held.items()}
    assert min(shares.values()) > 0.88, shares
    assert 0.93 <= np.mean(list(shares.values())) <= 0.99, shares
