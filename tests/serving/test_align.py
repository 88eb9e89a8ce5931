"""Alignment of a retrained model: equal predictions, old coordinates, true figures."""

from __future__ import annotations

from dataclasses import replace

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import random_model
from scipy.linalg import orthogonal_procrustes

from embaudit.comparison import compare
from embaudit.comparison.matching import match
from embaudit.errors import InputError
from embaudit.gauges import Diagonal, GeneralLinear, Orthogonal, Translation
from embaudit.model import FactorModel
from embaudit.serving import align, with_mixable_lists
from embaudit.serving.mixed_lists import MixedLists, Mixing, compare_lists
from embaudit.serving.rotation_fit import fit_rotation, measure_angles

NAMED = {"left_ids": np.arange(40), "right_ids": np.arange(100, 130)}
STRETCH = (np.geomspace(3, 0.3, 5), np.geomspace(0.5, 2, 5))
"""Scales of columns that are far from balanced."""


def aligned(old, new, **options):
    """Return the new model in the coordinates of the old one."""
    maps = align(old, new, **options).maps
    rows = {role: maps[role](np.array(new.factors(role))) for role in new.sides}
    return new.replace(**rows)


def retrained(old, seed, noise=0.3, k=None):
    """Return a model that differs from another by noise, in other axes."""
    draw = np.random.default_rng(seed)
    k = old.rank if k is None else k
    rows = {}
    for role in old.sides:
        x = old.factors(role)
        width = min(old.rank, k)
        moved = np.zeros((len(x), k))
        moved[:, :width] = x[:, :width]
        rows[role] = moved + noise * draw.standard_normal(moved.shape)
    model = old.replace(**rows)
    return GeneralLinear(k, max_condition=20.0).sample(rng=seed).act(model)


def assert_rows_equal(found, expected, tolerance=1e-11):
    for role in expected.sides:
        rows = expected.factors(role)
        np.testing.assert_allclose(
            found.factors(role), rows, atol=tolerance * np.abs(rows).max()
        )


@given(
    seed=st.integers(0, 2**32 - 1),
    kappa=st.floats(1, 1e4),
    link=st.sampled_from(["identity", "sigmoid", "ranking", "softmax"]),
    biases=st.sampled_from([(), ("right_bias",), ("left_bias", "right_bias")]),
)
def test_a_gauged_copy_becomes_the_original_again(seed, kappa, link, biases):
    old = random_model(
        seed, scales=STRETCH, means=(0.3, 0.5), biases=biases, link=link, **NAMED
    )
    new = GeneralLinear(5, max_condition=kappa).sample(rng=seed).act(old)
    assert_rows_equal(aligned(old, new), old, tolerance=1e-12 * kappa)


@pytest.mark.parametrize("group", [Orthogonal(5), Diagonal(5, max_condition=50.0)])
def test_copies_in_other_groups_of_gauges_become_the_original_again(group):
    old = random_model(1, scales=STRETCH, **NAMED)
    assert_rows_equal(aligned(old, group.sample(rng=2).act(old)), old)


def test_shifted_labels_of_a_softmax_become_the_original_again():
    old = random_model(1, scales=STRETCH, link="softmax", **NAMED)
    shifted = Translation(5, side="right", max_shift=3.0).sample(rng=2).act(old)
    new = GeneralLinear(5, max_condition=5.0).sample(rng=3).act(shifted)
    assert_rows_equal(aligned(old, new), old)


def test_a_model_of_cosines_is_only_turned():
    old = random_model(1, link="cosine", **NAMED)
    new = Orthogonal(5).sample(rng=2).act(old)
    lengths = np.random.default_rng(0).uniform(0.5, 2, size=(30, 1))
    new = new.replace(right=new.right * lengths)
    found = aligned(old, new)
    np.testing.assert_allclose(found.left, old.left, atol=1e-13)
    np.testing.assert_allclose(found.right, old.right * lengths, atol=1e-13)
    alignment = align(old, new)
    assert alignment.keeps_cosines
    assert alignment.details[-1] == (
        "Aligned vectors of shared rows equal the old ones up to rounding, apart from "
        "their lengths, which predictions ignore."
    )


@given(seed=st.integers(0, 2**32 - 1), noise=st.floats(0.01, 3))
@settings(max_examples=30)
def test_scores_of_a_retrained_model_stay(seed, noise):
    old = random_model(seed, scales=STRETCH, biases=("left_bias",), **NAMED)
    new = retrained(old, seed + 1, noise)
    expected = new.scores()
    difference = np.abs(aligned(old, new).scores() - expected).max()
    assert difference <= 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("seed", range(5))
def dense_balanced_form(model):
    """Compute the balanced form of both sides by an SVD of all scores."""
    u, s, vt = np.linalg.svd(model.scores(), full_matrices=False)
    rank = model.rank
    roots = np.sqrt(s[:rank])
    return {"left": u[:, :rank] * roots, "right": vt[:rank].T * roots}


@pytest.mark.parametrize("seed", range(5))
def test_aligned_rows_equal_a_dense_computation(seed):
    old = random_model(seed, scales=STRETCH, **NAMED)
    new = retrained(old, seed + 1)
    old_form = dense_balanced_form(old)
    new_form = dense_balanced_form(new)
    # SciPy fits the rotation to the rows of both sides.
    rotation, _ = orthogonal_procrustes(
        np.vstack([new_form["left"], new_form["right"]]),
        np.vstack([old_form["left"], old_form["right"]]),
    )
    found = aligned(old, new)
    for role in ("left", "right"):
        # Least squares find the map from the form back to the stored old rows.
        back = np.linalg.lstsq(old_form[role], old.factors(role), rcond=None)[0]
        expected = new_form[role] @ rotation @ back
        np.testing.assert_allclose(found.factors(role), expected, atol=1e-10)


def test_one_table_is_turned_as_scipy_turns_it():
    draw = np.random.default_rng(0)
    old, new = draw.standard_normal((2, 50, 4))
    rotation, _ = orthogonal_procrustes(new, old)
    models = [FactorModel.from_vectors(rows, ids=np.arange(50)) for rows in (old, new)]
    found = aligned(*models)
    np.testing.assert_allclose(found.right, new @ rotation, atol=1e-13)
    np.testing.assert_allclose(
        found.cosines("right"), models[1].cosines("right"), atol=1e-14
    )


def test_rows_that_one_model_lacks_do_not_disturb_the_others():
    """Forms are those of the shared rows, so other rows are mapped exactly, too."""
    whole = random_model(3, n=60, p=50, scales=STRETCH)
    whole = whole.replace(left_ids=np.arange(60) + 7, right_ids=np.arange(50) + 7)
    old = whole.take(left=np.arange(40), right=np.arange(10, 50))
    new = whole.take(
        left=np.random.default_rng(0).permutation(60)[:55], right=np.arange(45)[::-1]
    )
    gauged = GeneralLinear(5, max_condition=30.0).sample(rng=4).act(new)
    found = align(old, gauged)
    assert_rows_equal(aligned(old, gauged), new)
    assert found.is_exact
    items = found.sides["right"]
    assert (items.n_shared, items.only_old, items.only_new) == (35, 5, 10)


def test_a_model_of_fewer_dimensions_gets_the_width_of_the_old_one():
    old = random_model(1, scales=STRETCH, **NAMED)
    new = retrained(old, 2, k=3)
    found = aligned(old, new)
    assert found.rank == 5
    assert np.linalg.matrix_rank(found.right) == 3
    np.testing.assert_allclose(found.scores(), new.scores(), atol=1e-12)
    assert align(old, new).sides["right"].mean_before is None


def test_columns_that_the_old_predictions_do_not_see_hold_new_directions():
    """The old model has 4 directions in 5 columns, the new model has 5 directions."""
    old = random_model(1, scales=([3, 2, 1, 0.5, 0], STRETCH[1]), **NAMED)
    new = retrained(random_model(5, **NAMED), 2)
    found = aligned(old, new)
    np.testing.assert_allclose(
        found.scores(), new.scores(), atol=1e-12 * np.abs(new.scores()).max()
    )


def test_a_copy_of_a_model_with_an_unseen_column_has_the_seen_part_again():
    old = random_model(1, scales=([3, 2, 1, 0.5, 0], STRETCH[1]), **NAMED)
    new = GeneralLinear(5, max_condition=5.0).sample(rng=1).act(old)
    found = aligned(old, new)
    np.testing.assert_allclose(found.scores(), old.scores(), atol=1e-12)
    np.testing.assert_allclose(found.left, old.left, atol=1e-11)
    # The unseen part of the items differs, so no sentence may call them equal.
    assert np.abs(found.right - old.right).max() > 0.1
    details = align(old, new).details
    assert details[-1] == (
        "Aligned vectors of shared rows equal the old ones up to rounding, apart from "
        "some directions, which predictions ignore."
    )


def test_aligned_float32_rows_have_the_scores_of_float32():
    old = random_model(1, scales=STRETCH, dtype=np.float32, **NAMED)
    new = GeneralLinear(5, max_condition=5.0).sample(rng=1).act(old)
    assert_rows_equal(aligned(old, new), old, tolerance=1e-5)


def test_rows_are_matched_by_row_or_in_memory_without_ids():
    old = random_model(1, scales=STRETCH)
    new = Orthogonal(5).sample(rng=2).act(old)
    assert_rows_equal(aligned(old, new), old)
    other_ids = new.replace(right_ids=[f"x{i}" for i in range(30)])
    named = old.replace(right_ids=[f"y{i}" for i in range(30)])
    assert_rows_equal(aligned(named, other_ids, by_row=True), old)


# Angles and lists


def fitted(old, new, seed=0):
    draw = np.random.default_rng(seed)
    matches = {role: match(old, new, role) for role in new.sides}
    return fit_rotation(old, new, matches, draw)


def test_angles_are_measured_by_the_rotation_of_the_other_half():
    old = random_model(1, scales=STRETCH, **NAMED)
    new = retrained(old, 2)
    fit = fitted(old, new)
    assert not fit.is_exact
    for role in ("left", "right"):
        angles, before = measure_angles(fit, role)
        for row, is_second in enumerate(fit.is_second_half[role]):
            rotation = fit.held_out[int(is_second)]
            x = old.factors(role)[row]
            y = fit.row_map(role, rotation)(np.array(new.factors(role)[[row]]))[0]
            assert np.cos(angles[row]) == pytest.approx(cosine(x, y), abs=1e-12)
            z = new.factors(role)[row]
            assert np.cos(before[row]) == pytest.approx(cosine(x, z), abs=1e-12)


def cosine(x, y):
    return x @ y / np.linalg.norm(x) / np.linalg.norm(y)


def test_the_rotation_of_a_half_did_not_see_the_rows_that_it_judges():
    """Other rows in the second half leave the rotation that judges it as it was."""
    old = random_model(1, scales=STRETCH, **NAMED)
    new = FactorModel.from_vectors(old.right, ids=np.arange(30))
    table = FactorModel.from_vectors(
        old.right + np.random.default_rng(2).standard_normal((30, 5)), ids=np.arange(30)
    )
    fit = fitted(table, new)
    is_second = fit.is_second_half["right"]
    draw = np.random.default_rng(3)
    changed = np.array(new.right)
    changed[is_second] = draw.standard_normal((is_second.sum(), 5))
    other = fitted(table, new.replace(right=changed))
    np.testing.assert_allclose(other.held_out[1], fit.held_out[1], atol=1e-12)
    assert np.abs(other.held_out[0] - fit.held_out[0]).max() > 0.01


def test_a_few_unrelated_rows_are_not_called_near():
    """A rotation of 16 dimensions brings 20 rows near to each other in the fit only."""
    draw = np.random.default_rng(0)
    old, new = draw.standard_normal((2, 20, 16))
    rotation, _ = orthogonal_procrustes(new, old)
    cosines = (unit(old) * unit(new @ rotation)).sum(axis=1)
    assert np.degrees(np.arccos(cosines)).mean() < 50
    models = [FactorModel.from_vectors(rows, ids=np.arange(20)) for rows in (old, new)]
    found = align(*models)
    assert found.sides["right"].mean_after > 75
    assert found.lists[0].mixing is not Mixing.YES


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def listed_rows(query, rows, bias, own=None):
    """Return the 4 best rows: by cosine within a side, by score between two sides."""
    if own is None:
        values = rows @ query + bias
    else:
        values = unit(rows) @ query
        values[own] = -np.inf
    return set(np.argsort(-values)[:4].tolist())


def share_found(reference, found):
    return len(reference & found) / 4


@pytest.mark.parametrize(
    ("query", "listed"), [("left", "left"), ("right", "right"), ("left", "right")]
)
def test_mixed_lists_equal_brute_force(query, listed):
    old = random_model(1, scales=STRETCH, biases=("right_bias",), **NAMED)
    new_bias = np.random.default_rng(4).standard_normal(30)
    in_order = retrained(old, 2).replace(right_bias=new_bias)
    # The stored items of the new model have another order, and are matched by ids.
    new = in_order.take(right=np.random.default_rng(5).permutation(30))
    fit = fitted(old, new)
    directed = {role: np.ones(len(fit.shared[role]), dtype=bool) for role in new.sides}
    found = compare_lists(fit, query, listed, directed, 4, np.random.default_rng(0))
    assert len(found.mixed) == len(fit.shared[query])

    old_among_new = []
    new_among_old = []
    old_among_old = []
    for row, is_second in enumerate(fit.is_second_half[query]):
        rotation = fit.held_out[int(is_second)]
        map_query = fit.row_map(query, rotation)
        map_listed = fit.row_map(listed, rotation)
        old_query = old.factors(query)[row]
        new_query = map_query(np.array(in_order.factors(query)[[row]]))[0]
        old_rows = old.factors(listed)
        new_rows = map_listed(np.array(in_order.factors(listed)))
        own = row if query == listed else None
        reference = listed_rows(new_query, new_rows, new_bias, own)
        mixed = listed_rows(old_query, new_rows, new_bias, own)
        old_among_new.append(share_found(reference, mixed))
        mixed = listed_rows(new_query, old_rows, old.right_bias, own)
        new_among_old.append(share_found(reference, mixed))
        unmixed = listed_rows(old_query, old_rows, old.right_bias, own)
        old_among_old.append(share_found(reference, unmixed))
    np.testing.assert_allclose(found.old_among_new, old_among_new, atol=1e-12)
    np.testing.assert_allclose(found.new_among_old, new_among_old, atol=1e-12)
    np.testing.assert_allclose(found.old_among_old, old_among_old, atol=1e-12)
    assert 0.1 < found.mixed.mean() < 0.95


def test_the_list_of_another_query_is_one_of_the_same_half():
    old = random_model(1, scales=STRETCH, **NAMED)
    fit = fitted(old, retrained(old, 2))
    directed = {role: np.ones(len(fit.shared[role]), dtype=bool) for role in old.sides}
    draw = np.random.default_rng(0)
    found = compare_lists(fit, "left", "right", directed, 4, draw)
    new_lists = []
    for row in range(40):
        rotation = fit.held_out[int(fit.is_second_half["left"][row])]
        new = fit.shared["left"].new
        query = fit.row_map("left", rotation)(np.array(new.left[[row]]))[0]
        rows = fit.row_map("right", rotation)(np.array(new.right))
        new_lists.append(listed_rows(query, rows, 0))
    for row in range(40):
        is_same_half = fit.is_second_half["left"] == fit.is_second_half["left"][row]
        others = np.setdiff1d(np.flatnonzero(is_same_half), [row])
        shares = [share_found(new_lists[row], new_lists[other]) for other in others]
        assert found.of_another[row] in shares


def lists_of(old_among_new, new_among_old, old_among_old, of_another=0, n_rows=10_000):
    values = [
        np.asarray(x, dtype=float)
        for x in (old_among_new, new_among_old, old_among_old)
    ]
    values.append(np.full(len(values[0]), float(of_another)))
    return MixedLists(("item", "item"), "right", "right", 10, n_rows, *values)


MANY = np.tile([0.9, 0.7, 0.8, 0.8], 100)
"""Shares of 400 lists, with a mean of 0.8 and a narrow interval."""


@pytest.mark.parametrize(
    ("mixed", "alone", "expected"),
    [
        (MANY, MANY, Mixing.YES),
        (MANY, MANY + 0.04, Mixing.YES),
        # A loss of exactly 5 % is allowed, whatever the rounding.
        (MANY, MANY + 0.05 + 1e-14, Mixing.YES),
        (MANY, MANY + 0.05 - 1e-14, Mixing.YES),
        (MANY, MANY + 0.06, Mixing.NO),
        (MANY - 0.35, MANY - 0.4, Mixing.NO),
        (MANY - 0.25, MANY - 0.4, Mixing.YES),
        ([0.9, 0.2, 0.9], [0.9, 0.2, 0.9], Mixing.UNDECIDED),
        (MANY[:4], [0.2, 1.0, 0.9, 0.9], Mixing.UNDECIDED),
    ],
)
def test_vectors_may_be_mixed_if_most_of_the_list_stays_and_no_less_than_before(
    mixed, alone, expected
):
    assert lists_of(mixed, mixed, alone).mixing is expected


@pytest.mark.parametrize(
    ("of_another", "expected"),
    # Mixed lists hold 0.8 of each list. Of the rows that another list lacks, this is
    # two thirds, exactly half, and a third.
    [(0.4, Mixing.YES), (0.6, Mixing.YES), (0.7, Mixing.NO)],
)
def test_rows_that_the_list_of_another_query_holds_do_not_count(of_another, expected):
    shares = np.full(400, 0.8)
    assert lists_of(shares, shares, shares, of_another).mixing is expected


def test_the_worse_kind_of_mixed_list_decides():
    worse = lists_of(MANY, MANY - 0.5, MANY)
    assert worse.mixing is Mixing.NO
    assert worse.mixed.mean() == pytest.approx(0.3)
    assert lists_of(MANY - 0.5, MANY, MANY).mixing is Mixing.NO
    assert "keep 30 %" in worse.sentence


def test_all_lists_have_no_interval():
    found = lists_of([0.9, 0.5], [0.9, 0.5], [0.9, 0.5], n_rows=2)
    assert found.interval(found.mixed) == pytest.approx((0.7, 0.7))
    assert "keep 70 %, old vectors among" in found.sentence


def test_rows_without_direction_have_no_angle_and_no_list():
    old = random_model(1, scales=STRETCH, **NAMED)
    rows = np.array(old.right)
    rows[[3, 7]] = 0
    new = retrained(old, 2)
    found = align(old.replace(right=rows), new)
    assert np.flatnonzero(np.isnan(found.sides["right"].angles)).tolist() == [3, 7]
    assert found.lists[1].n_rows == 28


def test_the_most_turned_rows_are_named_largest_angle_first():
    found = align(random_model(1, **NAMED), retrained(random_model(1, **NAMED), 2))
    side = found.sides["right"]
    turned = side.most_turned()
    assert len(turned) == 5
    order = np.argsort(-side.angles)[:5]
    names = [record["name"] for record in turned]
    assert names == [f"item {100 + row}" for row in order]


def test_a_copy_names_the_first_rows_as_most_turned_whatever_the_rounding():
    old = random_model(1, scales=STRETCH, **NAMED)
    for seed in range(4):
        copy = GeneralLinear(5, max_condition=20.0).sample(rng=seed).act(old)
        turned = align(old, copy).sides["right"].most_turned()
        names = [record["name"] for record in turned]
        assert names == [f"item {100 + row}" for row in range(5)]


def test_rows_without_direction_are_not_among_the_most_turned():
    rows = np.array(OLD.right)
    rows[3:] = 0
    side = align(OLD.replace(right=rows), retrained(OLD, 2)).sides["right"]
    names = [record["name"] for record in side.most_turned()]
    assert sorted(names) == ["item 100", "item 101", "item 102"]


def test_any_number_of_workers_gives_the_same_numbers():
    old = random_model(1, n=5000, p=800, k=8)
    new = retrained(old, 2)
    records = []
    for workers in (1, 3):
        with joblib.parallel_config(n_jobs=workers):
            records.append(align(old, new).to_dict())
    assert records[0] == records[1]


# Words


def test_the_words_of_a_copy_say_that_it_may_be_mixed():
    old = random_model(1, scales=STRETCH, **NAMED)
    found = align(old, Orthogonal(5).sample(rng=2).act(old))
    assert found.conclusion == (
        "Old and new vectors may be mixed for user → user, item → item and user → item "
        "while you replace the old ones."
    )
    assert "equal the old ones up to rounding" in str(found)
    assert "did not take part in the fit" not in str(found)


def test_the_words_of_an_unrelated_model_say_that_it_may_not_be_mixed():
    found = align(random_model(1, n=300, p=200), random_model(2, n=300, p=200))
    assert found.conclusion.startswith("Do not mix old and new vectors for user → user")
    assert "may be mixed" not in str(found)
    angle = found.sides["right"].mean_after
    assert 80 < angle < 95
    assert f"200 shared items are {angle:.1f}° apart" in str(found)


def test_open_directions_are_named_with_the_others():
    found = align(random_model(1, **NAMED), retrained(random_model(1, **NAMED), 2))
    lists = [
        replace(lists_of(MANY, MANY, MANY), titles=("user", "user")),
        replace(lists_of(MANY, MANY - 0.5, MANY), titles=("item", "item")),
        replace(
            lists_of([0.9, 0.2, 0.9], [0.9, 0.2, 0.9], MANY[:3]),
            titles=("user", "item"),
        ),
    ]
    assert replace(found, lists=tuple(lists)).conclusion == (
        "Old and new vectors may be mixed for user → user while you replace the old "
        "ones. Do not mix old and new vectors for item → item: replace all at once. "
        "These rows do not decide whether old and new vectors may be mixed for user → "
        "item: replace all at once."
    )


def test_the_record_and_the_tables_hold_the_same_figures():
    found = align(random_model(1, **NAMED), retrained(random_model(1, **NAMED), 2))
    record = found.to_dict()
    sides = record["sides"]
    assert [side["shared"] for side in sides] == [40, 30]
    angles = [side["mean_angle_after"] for side in sides]
    assert found.to_frame()["mean_angle_after"].tolist() == angles
    shares = [lists["old_among_new"] for lists in record["lists"]]
    assert found.lists_frame()["old_among_new"].tolist() == shares


def test_the_table_of_lists_has_a_row_with_an_interval_per_direction():
    found = align(random_model(1, **NAMED), retrained(random_model(1, **NAMED), 2))
    frame = found.lists_frame()
    assert frame["direction"].tolist() == ["user → user", "item → item", "user → item"]
    for lists in frame.to_dict("records"):
        low, high = lists["old_among_new_ci_low"], lists["old_among_new_ci_high"]
        assert low <= lists["old_among_new"] <= high
        assert lists["may_be_mixed"] in ("yes", "no", "undecided")


def test_the_report_names_the_directions():
    found = align(random_model(1, **NAMED), retrained(random_model(1, **NAMED), 2))
    assert "user → item" in found.report()


# Refusals

OLD = random_model(1, **NAMED)
HEAD = FactorModel.from_softmax(OLD.right)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            OLD,
            random_model(2, k=6, **NAMED),
            r"the model to align must be a model of at most 5 dimensions, "
            r"like the other "
            r"model; got 6",
        ),
        (
            OLD,
            OLD.replace(left=None, left_ids=None),
            "must be a model of users and items",
        ),
        (HEAD, HEAD, "aligned vectors must be computed from the factors"),
        (
            OLD,
            OLD.replace(right_ids=np.arange(30) + 500),
            "the number of items in both models",
        ),
        (
            OLD.take(right=np.arange(10)),
            random_model(2, k=5, p=10, **{**NAMED, "right_ids": np.arange(120, 130)}),
            "the number of items in both models must be at least 8; got 0",
        ),
        (OLD, OLD.replace(right_ids=None), "item ids must be in both models"),
    ],
)
def test_models_that_cannot_be_aligned_are_refused_in_one_sentence(old, new, sentence):
    with pytest.raises(InputError, match=sentence):
        align(old, new)


def test_shared_rows_must_span_the_new_rows():
    draw = np.random.default_rng(0)
    old, new = draw.standard_normal((2, 40, 12))
    tables = (
        FactorModel.from_vectors(old, ids=np.arange(7, 47)),
        FactorModel.from_vectors(new, ids=np.arange(39, 79)),
    )
    sentence = (
        "enough to span the 12 dimensions of the model to align; got rows that span 8"
    )
    with pytest.raises(InputError, match=sentence):
        align(*tables, partial=True)


def test_shared_rows_of_both_sides_must_span_the_new_scores():
    whole = random_model(1, n=40, p=40, k=12)
    whole = whole.replace(left_ids=np.arange(40), right_ids=np.arange(40))
    old = whole.take(right=np.arange(9))
    sentence = (
        "enough to span the 12 dimensions of the model to align; got rows that span 9"
    )
    with pytest.raises(InputError, match=sentence):
        align(old, whole)


def test_lists_are_no_longer_than_the_shared_rows():
    with pytest.raises(
        InputError, match="n_neighbours must be an integer from 1 to 29"
    ):
        align(OLD, OLD, n_neighbours=40)


# Models with appended rows


def grown(removed=()):
    """Return an old model, and a new one with 10 more rows on each side.

    The new model lacks the removed items, and has other axes.
    """
    n_users, n_items = 60, 50
    both = random_model(3, n=n_users, p=n_items, scales=STRETCH)
    both = both.replace(left_ids=np.arange(n_users), right_ids=np.arange(n_items))

    old_users = np.arange(n_users - 10)
    old_items = np.arange(n_items - 10)
    old = both.take(left=old_users, right=old_items)

    new_items = np.setdiff1d(np.arange(n_items), removed)
    new = both.take(right=new_items)
    gauge = GeneralLinear(new.rank, max_condition=30.0).sample(rng=4)
    return old, gauge.act(new)


def without_ids(model):
    return model.replace(left_ids=None, right_ids=None)


def test_appended_rows_without_ids_are_matched_only_if_numbers_are_declared_equal():
    old, new = (without_ids(model) for model in grown())
    with pytest.raises(InputError, match="same_numbers=True if the same row number"):
        align(old, new)
    found = align(old, new, same_numbers=True)
    assert found.is_exact
    items = found.sides["right"]
    assert (items.n_shared, items.only_old, items.only_new) == (40, 0, 10)
    assert items.key == "row numbers"


def test_rows_that_moved_up_are_seen_not_to_be_those_of_their_number():
    """An item was removed in between, so a declaration of equal numbers is wrong."""
    old, new = (without_ids(model) for model in grown(removed=[3]))
    found = align(old, new, same_numbers=True)
    answers = {lists.title: lists.mixing for lists in found.lists}
    assert answers["item → item"] is not Mixing.YES
    assert answers["user → item"] is not Mixing.YES


def test_numbers_as_ids_are_matched_if_some_are_gone_and_others_were_added():
    old, new = grown(removed=[3, 7])
    with pytest.raises(InputError, match="row numbers 0 to 39 in the first model"):
        align(old, new)
    found = align(old, new, same_numbers=True)
    assert found.is_exact
    items = found.sides["right"]
    assert (items.n_shared, items.only_old, items.only_new) == (38, 2, 10)
    assert items.key == "ids"


def test_further_numbers_are_matched_without_a_declaration_if_none_is_gone():
    old, new = grown()
    assert align(old, new).is_exact


def two_sided(n_left=200, n_right=150, k=6, *, has_ids=True):
    """Return a model of random rows."""
    draw = np.random.default_rng(0)
    ids = {}
    if has_ids:
        ids = {"left_ids": np.arange(n_left), "right_ids": np.arange(n_right)}
    rows = draw.standard_normal((n_left + n_right, k))
    return FactorModel.from_user_item(rows[:n_left], rows[n_left:]).replace(**ids)


def trained_further(model, noise):
    """Return a model in the same coordinates that differs by noise."""
    draw = np.random.default_rng(3)
    left = model.left + noise * draw.standard_normal(model.left.shape)
    right = model.right + noise * draw.standard_normal(model.right.shape)
    return model.replace(left=left, right=right)


def turned(model):
    return Orthogonal(model.rank).sample(rng=1).act(model)


def next_step(old, new):
    return with_mixable_lists(compare(old, new), old, new).next_step


def other_rows(model):
    """Return a model of unrelated rows with the same ids."""
    draw = np.random.default_rng(9)
    return model.replace(
        left=draw.standard_normal(model.left.shape),
        right=draw.standard_normal(model.right.shape),
    )


COMMAND = "`embaudit fix NEW --align-to OLD`"


@pytest.mark.parametrize(
    "change",
    [
        turned,
        lambda model: turned(trained_further(model, 0.1)),
        lambda model: GeneralLinear(6, max_condition=5.0).sample(rng=1).act(model),
    ],
    ids=["turned", "turned and trained further", "other axes"],
)
def test_a_comparison_names_the_alignment_after_which_vectors_may_be_mixed(change):
    old = two_sided()
    step = next_step(old, change(old))
    assert COMMAND in step
    assert "mixed for user → user, item → item and user → item." in step


def test_the_next_step_for_turned_models_does_not_contradict_itself():
    old = two_sided()
    step = next_step(old, turned(old))
    assert step == (
        "The models are equal up to a rotation of the axes, so either of them can "
        "replace the other as a whole. To mix old and new vectors in one index, for "
        "example while you replace them, align the second model (NEW) with the first "
        f"(OLD): {COMMAND}. Then they may be mixed for user → user, item → item and "
        "user → item."
    )
    identical = "Nothing to do: either model can stand in for the other."
    assert next_step(old, old) == identical


def test_a_comparison_names_only_lists_that_the_alignment_keeps():
    """Noise of 0.6 turns a user list too far, and leaves the other two kinds."""
    old = two_sided()
    new = turned(trained_further(old, 0.6))
    titles = [x.title for x in align(old, new).lists if x.mixing is Mixing.YES]
    assert titles == ["item → item", "user → item"]
    assert "may be mixed for item → item and user → item." in next_step(old, new)


@pytest.mark.parametrize(
    ("old", "change"),
    [
        (two_sided(), lambda model: model),
        (two_sided(), lambda model: trained_further(model, 0.1)),
        (two_sided(), lambda model: turned(trained_further(model, 1.0))),
        (two_sided(), other_rows),
        (two_sided(has_ids=False), turned),
        (two_sided(16, 12, 10), lambda model: turned(trained_further(model, 0.01))),
    ],
    ids=[
        "identical",
        "same coordinates",
        "no rotation keeps lists",
        "other space",
        "matched by row numbers",
        "too few rows",
    ],
)
def test_a_comparison_names_no_alignment_that_would_not_help(old, change):
    assert "--align-to" not in next_step(old, change(old))


def test_a_new_model_of_more_dimensions_than_the_old_one_is_not_aligned():
    old = two_sided(k=4)
    wider = two_sided(k=6)
    rows = {
        role: np.hstack([old.factors(role), 0.3 * wider.factors(role)[:, 4:]])
        for role in old.sides
    }
    assert "--align-to" not in next_step(old, turned(old.replace(**rows)))
