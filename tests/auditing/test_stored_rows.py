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

N_MODELS = int(os.environ.get("EMBAUDIT_ADVERSARY_MODELS", "60"))
KAPPA = 2.0
TWO_ROWS_AND_ZEROS = [[1.0, 2.0], [2.0, 1.0], *[[0.0, 0.0]] * 3]
UNSEEN = "Components that no prediction sees can change further."
SMALL_EFFORT = {"n_gauges": 1, "n_starts": 1, "n_steps": 5}
PROVEN_BOUNDS = {"bound", "range", "certified"}
"""Codes of the conclusions that state a proven bound."""


def model_of_equal_users():
    """Return nine equal users with free biases, so that items can be shifted."""
    items = np.random.default_rng(0).standard_normal((12, 3))
    return FactorModel.from_user_item(np.ones((9, 3)), items, user_bias=np.zeros(9))


def model_with_unseen_column():
    """Return users that are zero in the last of four columns of the items."""
    return random_model(n=20, p=40, k=4, scales=([1, 1, 1, 0], [1, 1, 1, 2]))


def proven_bounds(audit, role=None):
    """Return the proven bounds of an audit, of all roles or of one."""
    return [
        conclusion
        for conclusion in audit.conclusions
        if conclusion.kind == "proven"
        and conclusion.code in PROVEN_BOUNDS
        and role in (None, conclusion.role)
    ]


def codes(conclusions):
    """Return the set of codes of some conclusions."""
    return {conclusion.code for conclusion in conclusions}


def test_no_proven_bound_lies_below_what_a_stretch_of_equal_users_does():
    model = model_of_equal_users()
    stretched = Gauge.diagonal([1, 1.4, 2]).act(model)
    moved = movement(model, stretched, role="right").mean_abs
    assert moved > 0.1

    found = audit(model, max_condition=KAPPA, **SMALL_EFFORT)
    (bound,) = (
        conclusion
        for conclusion in proven_bounds(found, "right")
        if conclusion.code == "bound" and "cosines" in conclusion.rows
    )
    assert bound.value >= moved


def test_bounds_next_to_components_that_no_prediction_sees_name_their_set():
    bounds = proven_bounds(audit(model_with_unseen_column(), **SMALL_EFFORT))
    assert codes(bounds) == PROVEN_BOUNDS
    for bound in bounds:
        assert "gauges of 4 columns within κ = " in bound.text
        assert bound.text.endswith(UNSEEN)


def test_bounds_of_a_model_without_unseen_components_do_not_mention_them():
    for bound in proven_bounds(audit(random_model(k=4), **SMALL_EFFORT)):
        assert UNSEEN not in bound.text


@pytest.fixture(scope="module")
def limits_with_unseen_column():
    return audit(model_with_unseen_column(), **SMALL_EFFORT).evidence.limits


def test_ranges_contain_the_cosines_of_the_stored_rows(limits_with_unseen_column):
    items = model_with_unseen_column().right
    for summary in limits_with_unseen_column.ranges:
        if summary.role == "right":
            stored = pair_cosines(items, items, summary.ranges.pairs)
            assert (stored >= summary.ranges.lower - 1e-9).all()
            assert (stored <= summary.ranges.upper + 1e-9).all()


def test_certified_entries_are_neighbours_of_the_stored_rows(limits_with_unseen_column):
    items = model_with_unseen_column().right
    for certificate in limits_with_unseen_column.certificates:
        if certificate.role == "right":
            certified = certificate.certified
            stored = neighbours(items, certificate.top_n, rows=certified.rows)
            np.testing.assert_array_equal(certified.indices, stored.indices)


@pytest.fixture(scope="module")
def audit_with_a_user_bias():
    """Return an audit of a model whose items can be shifted, but not its users."""
    return audit(model_of_equal_users(), **SMALL_EFFORT)


def test_bounds_of_rows_that_can_be_shifted_are_for_affine_gauges(
    audit_with_a_user_bias,
):
    bounds = proven_bounds(audit_with_a_user_bias, "right")
    assert codes(bounds) == PROVEN_BOUNDS
    for bound in bounds:
        assert "affine gauges" in bound.text
        assert "typical row" in bound.text
        assert bound.scope.max_condition is not None
        assert bound.scope.max_shift is not None


def test_bounds_of_rows_that_cannot_be_shifted_are_for_linear_gauges(
    audit_with_a_user_bias,
):
    bounds = proven_bounds(audit_with_a_user_bias, "left")
    assert any("linear gauges" in bound.text for bound in bounds)


def test_nothing_is_proven_of_pairs_of_sides_that_can_both_be_shifted():
    model = random_model(k=3, biases=("left_bias", "right_bias"))
    assert proven_bounds(audit(model, **SMALL_EFFORT), "cross") == []


# Models and gauges that try to leave the bounds


def draw_model(seed):
    """Draw a small model of full or lower rank, with or without biases.

    The seed decides the kind: two sides with a softmax, a head, one table of vectors,
    or two sides with dot products.
    """
    draw = np.random.default_rng(seed)
    k = int(draw.integers(2, 6))
    used_columns = [
        np.where(np.arange(k) < draw.integers(1, k + 1), 1.0, 0.0) for _ in range(2)
    ]
    model = random_model(
        seed,
        n=int(draw.integers(4, 12)),
        p=int(draw.integers(6, 16)),
        k=k,
        scales=(used_columns[0], np.exp(draw.normal(size=k))),
        means=(0.0, draw.normal()),
        biases=[name for name in ("left_bias", "right_bias") if draw.random() < 0.4],
    )
    rotation = np.linalg.qr(draw.standard_normal((k, k)))[0]
    model = model.replace(left=model.left @ rotation, right=model.right @ rotation)
    match seed % 4:
        case 0:
            return model.replace(link=LINKS["softmax"])
        case 1:
            return FactorModel.from_softmax(model.right)
        case 2:
            return FactorModel.from_vectors(model.right)
    return model


def gauges_within(group, draw):
    """Yield gauges of a group: random ones, and ones that use the whole budget."""
    k = group.rank
    kappa = group.max_condition
    for _ in range(4):
        axes = np.linalg.qr(draw.standard_normal((k, k)))[0]
        extreme_scales = np.where(draw.random(k) < 0.5, 1.0, kappa)
        if isinstance(group, Diagonal):
            random_gauge = group.sample(rng=draw)
            extreme_gauge = Gauge.diagonal(extreme_scales)
        else:
            random_gauge = GeneralLinear(k, max_condition=kappa).sample(rng=draw)
            extreme_gauge = Gauge.linear(axes * extreme_scales)

        for gauge in (random_gauge, extreme_gauge):
            if isinstance(group, Affine):
                direction = draw.standard_normal(k)
                shift = direction * group.max_shift / np.linalg.norm(direction)
                yield group.after(shift, gauge)
            else:
                yield gauge


def cosines(model, role, pairs):
    """Return the cosines of some pairs of a role."""
    return pair_cosines(*Pairs(role).rows(model), pairs)


@pytest.fixture(scope="module", params=range(N_MODELS))
def seed(request):
    """Return each seed in turn."""
    return request.param


@pytest.fixture(scope="module")
def model(seed):
    return draw_model(seed)


@pytest.fixture(scope="module")
def limits_of_model(model, seed):
    """Return the limits of all cosines of the model within κ = 2."""
    roles = ["right"] if model.left is None else ["right", "left", "cross"]
    return limits(
        model,
        roles,
        max_condition=KAPPA,
        n_neighbours=3,
        n_starts=1,
        n_steps=2,
        rng=seed,
    )


def test_no_gauge_within_the_budget_leaves_a_range(model, limits_of_model, seed):
    draw = np.random.default_rng(seed)
    assert limits_of_model.ranges
    assert limits_of_model.rank == model.rank
    for summary in limits_of_model.ranges:
        ranges = summary.ranges
        assert ranges.model.rank == model.rank
        for gauge in gauges_within(ranges.group, draw):
            after = cosines(gauge.act(model), summary.role, ranges.pairs)
            known = ~np.isnan(after) & ~np.isnan(ranges.lower)
            assert (after >= ranges.lower - 1e-7)[known].all()
            assert (after <= ranges.upper + 1e-7)[known].all()


def certified_group(certificate, model, kappa):
    """Return the set of gauges for which a certificate holds, within a smaller κ."""
    if not certificate.max_shift:
        return GeneralLinear(model.rank, max_condition=kappa)
    max_shift = certificate.max_shift * model.side(certificate.role).median_length
    return Affine(
        model.rank, side=certificate.role, max_condition=kappa, max_shift=max_shift
    )


@pytest.mark.parametrize("kappa", [1.1, KAPPA])
def test_no_gauge_within_the_budget_removes_a_certified_entry(
    model, limits_of_model, seed, kappa
):
    draw = np.random.default_rng(seed)
    for certificate in limits_of_model.certificates:
        lists = certificate.certified
        is_certified = lists.certified(kappa)
        for gauge in gauges_within(certified_group(certificate, model, kappa), draw):
            rows = gauge.act(model).factors(certificate.role)
            after = neighbours(rows, certificate.top_n, rows=lists.rows).indices
            pairs_of_lists = zip(lists.indices, after, strict=True)
            is_kept = np.array([np.isin(old, new) for old, new in pairs_of_lists])
            assert is_kept[is_certified].all()


def test_no_gauge_within_the_budget_moves_cosines_beyond_the_bound_of_an_attack(
    model, limits_of_model, seed
):
    draw = np.random.default_rng(seed)
    for attack in limits_of_model.attacks:
        if attack.objective != "movement":
            continue
        before = cosines(model, attack.role, attack.table)
        for gauge in (attack.gauge, *gauges_within(attack.group, draw)):
            after = cosines(gauge.act(model), attack.role, attack.table)
            assert np.nanmean(np.abs(after - before)) <= attack.bound + 1e-7


def test_two_free_shifts_are_in_no_set_of_cross_pairs():
    model = random_model(k=3, biases=("left_bias", "right_bias"))
    assert not holds_shifts(model, "cross", "affine")
    assert holds_shifts(model, "right", "affine")
    assert not holds_shifts(model, "right", "linear")


def test_linear_gauges_hold_for_rows_that_cannot_be_shifted():
    assert holds_shifts(random_model(k=3), "right", "linear")


@pytest.fixture(scope="module")
def wide_model():
    """Return 30 items of 1,536 columns, so that they span 30 dimensions."""
    return random_model(n=None, p=30, k=1536)


@pytest.fixture(scope="module")
def wide_evidence(wide_model):
    return audit(wide_model, n_gauges=1, n_starts=0).evidence


def test_a_rescaling_of_a_wide_model_is_measured_on_its_stored_columns(
    wide_model, wide_evidence
):
    kinds = [equivalent.kind for equivalent in wide_evidence.equivalents]
    number = kinds.index("diagonal")
    gauge = wide_evidence.equivalents[number].gauge
    assert gauge.is_diagonal
    expected = movement(wide_model, gauge.act(wide_model), role="right").mean_abs
    assert wide_evidence.movement[number][0].mean_abs == pytest.approx(expected)


def test_limits_of_a_wide_model_are_about_its_stored_columns(wide_evidence):
    found = wide_evidence.limits
    assert found.columns == 1536
    assert {summary.ranges.model.rank for summary in found.ranges} == {1536}


@pytest.mark.parametrize(("group", "rank"), [("diagonal", 1536), ("linear", 30)])
def test_an_equivalent_of_a_wide_model_keeps_all_columns(wide_model, group, rank):
    """A linear gauge acts on the 30 dimensions of the rows, a rescaling on columns."""
    equivalent = one_equivalent(wide_model, group=group)
    assert equivalent.rank == rank
    assert equivalent.apply(wide_model).rank == 1536


def test_the_default_equivalent_of_a_wide_model_divides_its_columns(wide_model):
    equivalent = one_equivalent(wide_model)
    quotients = wide_model.right / equivalent.apply(wide_model).right
    assert np.allclose(quotients, equivalent.gauge.left)


def test_a_given_group_of_rescalings_of_all_columns_is_used(wide_model, wide_evidence):
    """A rescaling of 1,536 columns moves cosines less than the default groups do."""
    groups = [Diagonal(1536, max_condition=3.0)]
    evidence = audit(wide_model, groups=groups, n_gauges=1, n_starts=0).evidence
    assert evidence.drift[0].ok
    moved = evidence.movement[0][0].mean_abs
    assert moved < 0.02
    assert wide_evidence.movement[-1][0].mean_abs > 0.02


@pytest.mark.parametrize(
    "model",
    [
        FactorModel.from_softmax(TWO_ROWS_AND_ZEROS),
        FactorModel.from_arrays(np.eye(2), TWO_ROWS_AND_ZEROS, left_bias=np.zeros(2)),
    ],
    ids=["a head", "two sides"],
)
def test_shifts_are_counted_in_the_median_length_of_nonzero_rows(model):
    found = audit(model, **SMALL_EFFORT)
    assert found.predictions_hold
    assert model.right_side.median_length == np.sqrt(5)
    shifts = [equivalent.shift_in(model) for equivalent in found.evidence.equivalents]
    assert 0 < max(shifts) <= 1.01
