"""Bounds hold for the rows as stored, within the set and the budget that each sentence
names.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from limited import limits
from models import random_model

from embaudit.auditing.audit import audit
from embaudit.auditing.equivalents import one_equivalent
from embaudit.auditing.limits import holds_shifts
from embaudit.gauges import Affine, Diagonal, Gauge, GeneralLinear
from embaudit.linalg.nearest import neighbours
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.model import LINKS, FactorModel, Pairs
from embaudit.movements.movement import movement

MODELS = int(os.environ.get("EMBAUDIT_ADVERSARY_MODELS", "60"))
KAPPA = 2.0
ZEROS = [[1.0, 2.0], [2.0, 1.0], *[[0.0, 0.0]] * 3]
UNSEEN = "Components that no prediction sees can change further."
EFFORT = {"n_gauges": 1, "n_starts": 1, "n_steps": 5}


def equal_users():
    draw = np.random.default_rng(0)
    return FactorModel.from_user_item(
        np.ones((9, 3)), draw.standard_normal((12, 3)), user_bias=np.zeros(9)
    )


def flat_users():
    return random_model(n=20, p=40, k=4, scales=([1, 1, 1, 0], [1, 1, 1, 2]))


def proven(found):
    return [
        one
        for one in found.conclusions
        if one.kind == "proven" and one.code in ("bound", "range", "certified")
    ]


def test_no_proven_bound_lies_below_what_a_stretch_of_equal_users_does():
    model = equal_users()
    moved = movement(
        model, Gauge.diagonal([1, 1.4, 2]).act(model), role="right"
    ).mean_abs
    assert moved > 0.1
    found = audit(model, max_condition=KAPPA, **EFFORT)
    (bound,) = [
        one
        for one in proven(found)
        if (one.code, one.role) == ("bound", "right") and "cosines" in one.rows
    ]
    assert bound.value >= moved


def test_bounds_beside_components_that_no_prediction_sees_name_their_set():
    told = proven(audit(flat_users(), **EFFORT))
    assert {one.code for one in told} == {"bound", "range", "certified"}
    assert all("gauges of 4 columns within κ = " in one.text for one in told)
    assert all(one.text.endswith(UNSEEN) for one in told)
    assert not any(
        UNSEEN in one.text for one in proven(audit(random_model(k=4), **EFFORT))
    )


def test_certified_entries_and_ranges_are_of_the_stored_rows():
    model = flat_users()
    found = audit(model, **EFFORT).evidence.limits
    for one in (one for one in found.ranges if one.role == "right"):
        stored = pair_cosines(model.right, model.right, one.ranges.pairs)
        assert (stored >= one.ranges.lower - 1e-9).all()
        assert (stored <= one.ranges.upper + 1e-9).all()
    for one in (one for one in found.certificates if one.role == "right"):
        assert np.array_equal(
            one.certified.indices,
            neighbours(model.right, one.top_n, rows=one.certified.rows).indices,
        )


def test_where_rows_may_be_shifted_nothing_linear_is_called_proven():
    told = proven(audit(equal_users(), **EFFORT))
    right = [one for one in told if one.role == "right"]
    assert {one.code for one in right} == {"bound", "range", "certified"}
    for one in right:
        assert "affine gauges" in one.text
        assert "typical row" in one.text
        assert (one.scope.max_condition is None, one.scope.max_shift is None) == (
            False,
            False,
        )
    assert any("linear gauges" in one.text for one in told if one.role == "left")
    both = random_model(k=3, biases=("left_bias", "right_bias"))
    assert not [one for one in proven(audit(both, **EFFORT)) if one.role == "cross"]


# An adversary


def drawn_model(seed):
    """Draw a model: rank-deficient or not, with biases or a softmax or neither, of one
    side or two.
    """
    draw = np.random.default_rng(seed)
    k = int(draw.integers(2, 6))
    lacks = [np.where(np.arange(k) < draw.integers(1, k + 1), 1.0, 0.0) for _ in "lr"]
    model = random_model(
        seed,
        n=int(draw.integers(4, 12)),
        p=int(draw.integers(6, 16)),
        k=k,
        scales=(lacks[0], np.exp(draw.normal(size=k))),
        means=(0.0, draw.normal()),
        biases=[name for name in ("left_bias", "right_bias") if draw.random() < 0.4],
    )
    turn = np.linalg.qr(draw.standard_normal((k, k)))[0]
    model = model.replace(left=model.left @ turn, right=model.right @ turn)
    match seed % 4:
        case 0:
            return model.replace(link=LINKS["softmax"])
        case 1:
            return FactorModel.from_softmax(model.right)
        case 2:
            return FactorModel.from_vectors(model.right)
    return model


def extreme_gauge(model, group, draw):
    """Draw a gauge whose scales are 1 or the whole budget."""
    k = model.rank
    scales = np.where(draw.random(k) < 0.5, 1.0, group.max_condition)
    if isinstance(group, Diagonal):
        return Gauge.diagonal(scales)
    axes = np.linalg.qr(draw.standard_normal((k, k)))[0]
    return Gauge.linear(axes * scales)


def tried(model, group, draw):
    """Yield gauges within the budgets of a set: some random, some that spend all."""
    k = model.rank
    scaling = group
    if not isinstance(group, Diagonal):
        scaling = GeneralLinear(k, max_condition=group.max_condition)
    for _ in range(4):
        for gauge in (scaling.sample(rng=draw), extreme_gauge(model, group, draw)):
            if isinstance(group, Affine):
                direction = draw.standard_normal(k)
                shift = direction * group.max_shift / np.linalg.norm(direction)
                yield group.after(shift, gauge)
            else:
                yield gauge


def cosines(model, role, pairs):
    return pair_cosines(*Pairs(role).rows(model), pairs)


def assert_range_holds(model, measured, draw):
    """Check that no gauge takes a cosine out of its range."""
    ranges = measured.ranges
    assert ranges.model.rank == model.rank
    for gauge in tried(model, ranges.group, draw):
        after = cosines(gauge.act(model), measured.role, ranges.pairs)
        known = ~np.isnan(after) & ~np.isnan(ranges.lower)
        assert (after >= ranges.lower - 1e-7)[known].all()
        assert (after <= ranges.upper + 1e-7)[known].all()


def assert_certificate_holds(model, certificate, kappa, draw):
    """Check that certified neighbours stay in the lists of all gauges within κ."""
    role, certified = certificate.role, certificate.certified
    group = GeneralLinear(model.rank, max_condition=kappa)
    if certificate.max_shift:
        longest = certificate.max_shift * model.side(role).median_length
        group = Affine(model.rank, side=role, max_condition=kappa, max_shift=longest)
    is_certain = certified.certified(kappa)
    for gauge in tried(model, group, draw):
        rows = gauge.act(model).factors(role)
        now = neighbours(rows, certificate.top_n, rows=certified.rows).indices
        lists = zip(certified.indices, now, strict=True)
        stays = np.array([np.isin(old, new) for old, new in lists])
        assert stays[is_certain].all()


def assert_bound_holds(model, attack, draw):
    """Check that no gauge moves the cosines by more than the bound on average."""
    before = cosines(model, attack.role, attack.table)
    for gauge in (attack.gauge, *tried(model, attack.group, draw)):
        after = cosines(gauge.act(model), attack.role, attack.table)
        assert np.nanmean(np.abs(after - before)) <= attack.bound + 1e-7


@pytest.mark.parametrize("seed", range(MODELS))
def test_no_gauge_of_a_named_set_leaves_a_bound(seed):
    model = drawn_model(seed)
    draw = np.random.default_rng(seed)
    roles = ["right"] if model.left is None else ["right", "left", "cross"]
    found = limits(
        model,
        roles,
        max_condition=KAPPA,
        n_neighbours=3,
        n_starts=1,
        n_steps=2,
        rng=seed,
    )
    assert found.rank == model.rank
    assert found.ranges
    for measured in found.ranges:
        assert_range_holds(model, measured, draw)
    for certificate in found.certificates:
        for kappa in (1.1, KAPPA):
            assert_certificate_holds(model, certificate, kappa, draw)
    for attack in found.attacks:
        if attack.objective == "movement":
            assert_bound_holds(model, attack, draw)


def test_two_free_shifts_are_in_no_set_of_cross_pairs():
    both = random_model(k=3, biases=("left_bias", "right_bias"))
    assert not holds_shifts(both, "cross", "affine")
    assert holds_shifts(both, "right", "affine")
    assert not holds_shifts(both, "right", "linear")
    assert holds_shifts(random_model(k=3), "right", "linear")


def test_rescalings_of_wide_models_are_of_the_columns_as_stored():
    wide = random_model(n=None, p=30, k=1536)
    found = audit(wide, n_gauges=1, n_starts=0).evidence
    drawn = next(one for one in found.equivalents if one.kind == "diagonal")
    assert drawn.gauge.is_diagonal
    moved = found.movement[found.equivalents.index(drawn)][0].mean_abs
    assert moved == pytest.approx(
        movement(wide, drawn.gauge.act(wide), role="right").mean_abs
    )
    assert (
        {one.ranges.model.rank for one in found.limits.ranges}
        == {found.limits.columns}
        == {1536}
    )
    for name, axes in (("diagonal", 1536), ("linear", 30)):
        made = one_equivalent(wide, group=name)
        assert (made.rank, made.apply(wide).rank) == (axes, 1536)
    assert np.allclose(
        wide.right / one_equivalent(wide).apply(wide).right,
        one_equivalent(wide).gauge.left,
    )
    own = audit(
        wide, groups=[Diagonal(1536, max_condition=3.0)], n_gauges=1, n_starts=0
    ).evidence
    assert own.drift[0].ok
    assert own.movement[0][0].mean_abs < 0.02 < found.movement[-1][0].mean_abs


@pytest.mark.parametrize(
    "model",
    [
        FactorModel.from_softmax(ZEROS),
        FactorModel.from_arrays(np.eye(2), ZEROS, left_bias=np.zeros(2)),
    ],
)
def test_shifts_are_measured_by_rows_that_have_a_direction(model):
    found = audit(model, **EFFORT)
    assert found.predictions_hold
    assert model.right_side.median_length == np.sqrt(5)
    assert 0 < max(one.shift_in(model) for one in found.evidence.equivalents) <= 1.01
