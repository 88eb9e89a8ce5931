"""Movement of cosines between two models: each measure against brute force over all
pairs.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from models import random_model
from scipy.stats import spearmanr

import embaudit as ea
from embaudit.errors import InputError
from embaudit.gauges import Diagonal, Gauge, GeneralLinear, Orthogonal
from embaudit.model import FactorModel
from embaudit.movements import MovementProbe, movement

ROLES = ("left", "right", "cross")


make = partial(random_model, means=(0.4, 0.2))


def cosine_table(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def all_cosines(model, role):
    """The cosines of all pairs of one role, from the full matrix."""
    if role == "cross":
        unit = [
            f / np.linalg.norm(f, axis=1, keepdims=True)
            for f in (model.left, model.right)
        ]
        return (unit[0] @ unit[1].T).ravel()
    rows = model.factors(role)
    return cosine_table(rows)[np.triu_indices(len(rows), 1)]


def equivalent_model(model, seed, condition):
    gauge = GeneralLinear(model.rank, max_condition=condition).sample(rng=seed)
    return gauge.act(model)


def over_gauges(test):
    """Run a test of (moved, before, after) for random linear gauges and every role.

    `moved` is the result of `movement`; `before` and `after` are the cosines of all
    pairs, computed here.
    """

    @pytest.mark.parametrize("role", ROLES)
    @given(seed=st.integers(0, 2**31), condition=st.floats(1.0, 50.0))
    # A smaller seed says nothing more, so failures are not shrunk.
    @settings(max_examples=25, phases=[Phase.explicit, Phase.generate])
    def run(role, seed, condition):
        model = make(seed % 1000)
        after = equivalent_model(model, seed, condition)
        test(
            movement(model, after, role=role),
            all_cosines(model, role),
            all_cosines(after, role),
        )

    run.__name__ = test.__name__
    return run


@over_gauges
def test_all_pairs_of_few_rows_are_visited(moved, before, after):
    assert moved.exact
    assert moved.n_pairs == moved.n_all_pairs == len(before) == len(after)
    assert moved.intervals == {}


@over_gauges
def test_mean_abs_is_the_mean_of_the_absolute_changes(moved, before, after):
    assert moved.mean_abs == pytest.approx(np.abs(after - before).mean(), abs=1e-12)
    assert moved.ci_low == moved.mean_abs == moved.ci_high


@over_gauges
def test_max_abs_is_the_largest_absolute_change(moved, before, after):
    assert moved.max_abs == pytest.approx(np.abs(after - before).max(), abs=1e-12)


@over_gauges
def test_mean_is_the_mean_of_the_signed_changes(moved, before, after):
    assert moved.mean == pytest.approx((after - before).mean(), abs=1e-10)


@over_gauges
def test_rms_is_the_root_mean_square_of_the_changes(moved, before, after):
    expected = np.sqrt(((after - before) ** 2).mean())
    assert moved.rms == pytest.approx(expected, abs=1e-7)


@over_gauges
def test_pearson_is_the_correlation_of_the_cosines(moved, before, after):
    expected = np.corrcoef(before, after)[0, 1]
    assert moved.pearson == pytest.approx(expected, abs=1e-9)


@over_gauges
def test_spearman_is_the_rank_correlation_of_the_cosines(moved, before, after):
    assert moved.spearman == pytest.approx(spearmanr(before, after)[0], abs=1e-3)


@over_gauges
def test_quantiles_are_those_of_the_absolute_changes(moved, before, after):
    assert moved.quantiles
    for level, value in moved.quantiles.items():
        expected = np.quantile(np.abs(after - before), level)
        assert value == pytest.approx(expected, abs=1e-12)


@over_gauges
def test_sign_flips_are_the_share_of_cosines_that_change_their_sign(
    moved, before, after
):
    assert moved.sign_flips == (before * after < -1e-15).mean()


def test_movement_of_three_rows_by_hand():
    """The rows (1, 0), (0, 1), (1, 1) become (1, 0), (0, 1), (-1, 1).

    Their cosines are 0, √½, √½ before and 0, -√½, √½ after: one of three cosines moves,
    by -2√½, and changes its sign.
    """
    before = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    after = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]])
    moved = movement(before, after)
    step = np.sqrt(2)
    assert moved.n_pairs == 3
    assert moved.max_abs == pytest.approx(step)
    assert moved.mean_abs == pytest.approx(step / 3)
    assert moved.mean == pytest.approx(-step / 3)
    assert moved.rms == pytest.approx(step / np.sqrt(3))
    assert moved.sign_flips == pytest.approx(1 / 3)
    assert moved.quantiles[0.5] == pytest.approx(0, abs=1e-12)
    # Before: (0, 1, 1) √½; after: (0, -1, 1) √½. Centred: (-2, 1, 1)/3 and (0, -1, 1).
    assert moved.pearson == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("n_neighbours", [1, 4, 10])
def test_top_n_overlap_is_the_mean_share_of_neighbours_that_stay(n_neighbours):
    model = make(n=30, p=60, k=8)
    after = equivalent_model(model, 2, 6.0)

    def nearest(rows):
        table = cosine_table(rows) - 9 * np.eye(len(rows))
        return [set(np.argsort(-row)[:n_neighbours].tolist()) for row in table]

    pairs = zip(nearest(model.right), nearest(after.right), strict=True)
    expected = np.mean([len(a & b) / n_neighbours for a, b in pairs])
    moved = movement(model, after, n_neighbours=n_neighbours)
    assert moved.top_n == n_neighbours
    assert moved.n_lists == 60
    assert moved.top_n_overlap == pytest.approx(expected, abs=1e-12)
    assert 0 < expected < 1


def test_a_list_that_ends_in_a_tie_is_counted_as_tied():
    """Of row (1, 0) the rows (1, 1) and (1, -1) are equally near: its list of one is
    tied.

    Of (1, 1) the nearest is (1, 0), and of (1, -1) too; of (0, 1) it is (1, 1).
    """
    rows = [[1.0, 0.0], [1.0, 1.0], [1.0, -1.0], [-0.2, 1.0]]
    model = FactorModel.from_vectors(rows)
    assert movement(model, model, n_neighbours=1).tied_lists == pytest.approx(1 / 4)


@pytest.mark.parametrize("role", ROLES)
def test_sampled_pairs_estimate_the_measures_of_all_pairs(role):
    model = make(n=300, p=200, k=6)
    after = Diagonal(6, max_condition=5.0).sample(rng=1).act(model)
    exact = movement(model, after, role=role)
    inside = 0
    for seed in range(20):
        sampled = movement(model, after, role=role, n_pairs=4_000, rng=seed)
        assert not sampled.exact
        assert sampled.n_pairs == 4_000
        assert sampled.ci_low < sampled.mean_abs < sampled.ci_high
        assert sampled.max_abs <= exact.max_abs + 1e-15
        assert sampled.intervals.keys() == {
            "mean",
            "rms",
            "pearson",
            "sign_flips",
            "spearman",
            *(f"{level:g}" for level in sampled.quantiles),
        }
        assert sampled.spearman == pytest.approx(exact.spearman, abs=0.03)
        assert sampled.mean == pytest.approx(exact.mean, abs=0.02)
        assert sampled.rms == pytest.approx(exact.rms, rel=0.1)
        assert sampled.pearson == pytest.approx(exact.pearson, abs=0.03)
        inside += sampled.ci_low <= exact.mean_abs <= sampled.ci_high
    assert inside >= 15


@pytest.mark.parametrize("role", ROLES)
def test_a_rotation_moves_nothing(role):
    model = make(n=60, p=50, k=7)
    moved = movement(model, Orthogonal(7).sample(rng=0).act(model), role=role)
    assert moved.max_abs < 1e-13
    assert moved.sign_flips == 0
    assert role == "cross" or moved.top_n_overlap == 1


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    "gauge",
    [
        Diagonal(5, max_condition=2.0).sample(rng=0),
        GeneralLinear(5, max_condition=2.0).sample(rng=0),
    ],
    ids=["diagonal", "linear"],
)
def test_a_linear_gauge_moves_the_cosines_of_every_role(role, gauge):
    model = make()
    moved = movement(model, gauge.act(model), role=role)
    assert moved.mean_abs > 1e-3


def test_a_linear_gauge_never_changes_the_sign_of_a_user_item_cosine():
    model = make(3, n=80, p=70, k=4)
    for seed in range(10):
        after = equivalent_model(model, seed, 100.0)
        assert movement(model, after, role="cross").sign_flips == 0
    assert movement(model, after, role="right").sign_flips > 0


@pytest.mark.parametrize("role", ROLES)
def test_rows_of_zeros_are_left_out_and_counted(role):
    model = make()
    items = np.array(model.right)
    items[[3, 11]] = 0
    with_zeros = model.replace(right=items)
    kept = model.replace(right=np.delete(items, [3, 11], axis=0))
    gauge = Gauge.diagonal([1, 2, 3, 4, 5])
    expected = movement(kept, gauge.act(kept), role=role)
    # A row that becomes zero in the second model is left out as if it was zero before.
    for before in (with_zeros, model):
        found = movement(before, gauge.act(with_zeros), role=role)
        assert found.n_zero == (0 if role == "left" else 2)
        assert found.n_pairs == expected.n_pairs
        assert found.mean_abs == pytest.approx(expected.mean_abs, abs=1e-13)
        assert found.rms == pytest.approx(expected.rms, abs=1e-9)
        assert found.pearson == pytest.approx(expected.pearson, abs=1e-9)
        assert role == "cross" or found.top_n_overlap == expected.top_n_overlap


def test_rows_of_zeros_before_are_left_out_even_if_they_have_a_direction_after():
    model = make()
    items = np.array(model.right)
    items[[3, 11]] = 0
    assert movement(model.replace(right=items), model).n_zero == 2


def test_movement_refuses_a_side_with_fewer_than_two_directions():
    model = make()
    one = model.replace(right=model.right * (np.arange(30) == 0)[:, None])
    with pytest.raises(
        InputError,
        match="the number of right rows to compare that are nonzero in both models",
    ):
        movement(model, one)


@pytest.fixture(scope="module")
def audit_of_an_unseen_item():
    """Audit a model whose first item takes part in no score.

    No user has the last dimension, and the first item has nothing else. Equivalent
    models in canonical form make this item zero; the other ones keep it.
    """
    users = np.abs(random_model(p=40, k=6).right)
    items = np.abs(random_model(p=50, k=6).right)
    users[:, -1] = 0
    items[0] = [0, 0, 0, 0, 0, 1]
    return ea.audit(FactorModel.from_user_item(users, items))


def test_an_item_that_no_score_sees_has_no_cosine_in_some_equivalent_models(
    audit_of_an_unseen_item,
):
    item_movements = audit_of_an_unseen_item.evidence.visits("right")
    assert {record.n_zero for _, record in item_movements} == {0, 1}


def test_an_item_without_a_cosine_leaves_the_correlations_finite(
    audit_of_an_unseen_item,
):
    for _, record in audit_of_an_unseen_item.evidence.visits():
        assert np.isfinite(record.pearson)


def test_measuring_one_model_does_not_change_the_sample_of_the_next():
    """If a row becomes zero, the probe draws again, with the same seed each time."""
    model = random_model(n=40, p=50, k=6)
    items = np.array(model.right)
    items[0] = [0, 0, 0, 0, 0, 1]
    model = model.replace(right=items)
    last_column_removed = model.replace(right=items * [1, 2, 3, 4, 5, 0])
    probe = MovementProbe(model, ["right"], n_lists=9)

    (first,) = probe.measure(last_column_removed)
    assert first.n_zero == 1
    for _ in range(8):
        (repeated,) = probe.measure(last_column_removed)
        assert repeated.top_n_overlap == first.top_n_overlap


def test_of_duplicates_one_row_stands_in_lists_for_all():
    """Three items are repeated 3, 1 and 5 times: lists are those without the copies."""
    without_copies = random_model(p=30, k=4)
    copies = np.repeat([0, 1, 2], [3, 1, 5])
    with_copies = without_copies.take(right=np.concatenate([np.arange(30), copies]))
    gauge = Gauge.diagonal([1.0, 1.3, 2.0, 0.6])

    expected = movement(without_copies, gauge.act(without_copies), n_neighbours=5)
    found = movement(with_copies, gauge.act(with_copies), n_neighbours=5)
    assert expected.n_lists == 30
    assert found.n_lists == 30
    assert expected.top_n_overlap < 1
    assert found.top_n_overlap == expected.top_n_overlap


def mean_cosine_of_all_pairs(rows):
    each_pair_once = np.triu_indices(len(rows), 1)
    return cosine_table(rows)[each_pair_once].mean()


def reported_mean_cosine(rows):
    audit = ea.audit(FactorModel.from_vectors(rows), quick=True)
    (traits,) = audit.evidence.traits
    return traits.direction.mean_cosine


@pytest.mark.parametrize("mean", [0.0, 1.5])
def test_an_audit_reports_the_mean_cosine_over_all_pairs_of_rows(mean):
    rows = np.random.default_rng(0).standard_normal((60, 4)) + mean
    expected = mean_cosine_of_all_pairs(rows)
    assert reported_mean_cosine(rows) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("mean", [0.0, 1.5])
def test_rows_of_zeros_do_not_change_the_reported_mean_cosine(mean):
    rows = np.random.default_rng(0).standard_normal((60, 4)) + mean
    with_zeros = np.vstack([rows, np.zeros((5, 4))])
    expected = mean_cosine_of_all_pairs(rows)
    assert reported_mean_cosine(with_zeros) == pytest.approx(expected, abs=1e-12)
