"""Levels: the meaning of a cosine within one model, given the cosines of its pairs."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit.errors import InputError
from embaudit.model import FactorModel
from embaudit.movements import levels


def all_cosines(model):
    unit = model.right / np.linalg.norm(model.right, axis=1, keepdims=True)
    return np.sort((unit @ unit.T)[np.triu_indices(len(unit), 1)])


THREE_ROWS = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
"""Rows with the cosines 0, 0.6 and 0.8."""


def test_levels_hold_the_sorted_cosines_of_the_pairs():
    found = levels(THREE_ROWS)
    np.testing.assert_allclose(found.cosines, [0, 0.6, 0.8], atol=1e-12)


@pytest.mark.parametrize(
    ("cosine", "share"), [(-0.1, 0), (0.5, 1 / 3), (0.7, 2 / 3), (0.9, 1)]
)
def test_levels_count_the_pairs_below_a_cosine(cosine, share):
    assert levels(THREE_ROWS).below([cosine])[0] == pytest.approx(share)


def test_the_median_level_is_the_median_cosine():
    assert levels(THREE_ROWS).quantiles[0.5] == pytest.approx(0.6)


def test_of_few_rows_all_pairs_are_taken():
    model = random_model(p=30)
    found, expected = levels(model), all_cosines(model)
    assert (found.n_pairs, found.exact) == (435, True)
    np.testing.assert_allclose(found.cosines, expected, atol=1e-14)
    assert repr(found) == "Levels(435 pairs of items)"


def test_below_is_the_share_of_pairs_with_a_lower_cosine():
    model = random_model(p=30)
    expected = all_cosines(model)
    values = np.linspace(-1.1, 1.1, 23)
    shares = [(expected < value).mean() for value in values]
    assert levels(model).below(values).tolist() == shares


def test_a_cosine_is_not_above_itself():
    found = levels(random_model(p=30))
    assert found.below(found.cosines[[7]]) == [7 / 435]


def test_quantiles_are_those_of_the_cosines_of_all_pairs():
    model = random_model(p=30)
    found = levels(model).quantiles
    assert list(found) == [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999]
    for level, value in found.items():
        assert value == pytest.approx(np.quantile(all_cosines(model), level))


def test_of_many_rows_a_sample_of_pairs_is_taken():
    model = random_model(p=201, n=200)
    found = levels(model)
    assert (found.n_pairs, found.n_all_pairs, found.exact) == (20_000, 20_100, False)
    expected = all_cosines(model)
    grid = np.linspace(-0.9, 0.9, 19)
    shares = [(expected < value).mean() for value in grid]
    # All pairs are counted against a threshold, not only the drawn ones.
    assert found.below(grid).tolist() == shares
    left = levels(model, role="user")
    assert (left.n_pairs, left.exact) == (19_900, True)
    assert levels(model, rng=1).cosines.tolist() != found.cosines.tolist()


def test_the_share_above_a_threshold_counts_all_pairs():
    """Of 2,500 rows only two agree: 1 of 3,123,750 pairs has a cosine above 0.9."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((2_500, 64))
    rows[1_999] = rows[3] + 0.01 * rows[7]
    found = levels(FactorModel.from_vectors(rows))
    assert (found.n_pairs, found.n_counted) == (20_000, 3_123_750)
    assert (found.cosines < 0.9).all()
    assert 1 - found.below(0.9) == pytest.approx(1 / 3_123_750, rel=1e-6)
    # The order of thresholds does not matter, and no value has no share.
    shares = found.below([2.0, 0.9, np.nan, -2.0])
    assert shares[[0, 3]].tolist() == [1, 0]
    assert np.isnan(shares[2])
    assert shares[1] == found.below(0.9)


def test_no_value_has_no_share():
    found = levels(random_model(p=201, n=200))
    assert found.n_counted > found.n_pairs
    assert np.isnan(found.below(np.nan))
    assert found.below([]).tolist() == []


def test_cross_levels_are_those_of_all_pairs_of_both_sides():
    model = random_model(n=30, p=20)
    found = levels(model, role="cross")
    left, right = (
        rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for rows in (model.left, model.right)
    )
    expected = np.sort((left @ right.T).ravel())
    assert (found.n_pairs, found.exact, found.title) == (600, True, "users and items")
    np.testing.assert_allclose(found.cosines, expected, atol=1e-14)
    grid = np.linspace(-1.1, 1.1, 23)
    shares = [(expected < value).mean() for value in grid]
    assert found.below(grid).tolist() == shares
    assert "all 600 pairs of users and items half have" in found.explain()
    assert levels(model, role="user-item").cosines.tolist() == found.cosines.tolist()


def test_cross_levels_of_many_pairs_count_all_of_them():
    model = random_model(n=300, p=200)
    found = levels(model, role="cross")
    assert (found.n_pairs, found.n_counted) == (20_000, 60_000)
    expected = model.cosines("cross")
    for value in (-0.3, 0.2, 0.7):
        assert found.below(value) == (expected < value).mean()


@pytest.mark.parametrize("role", ["right", "cross"])
def test_pairs_of_one_group_do_not_count(role):
    model = random_model(n=40, p=250)
    left, right = np.arange(40) % 5, np.arange(250) % 5
    rows = model.right / np.linalg.norm(model.right, axis=1, keepdims=True)
    if role == "right":
        cosines = (rows @ rows.T)[np.triu_indices(250, 1)]
        kept = (right[:, None] != right)[np.triu_indices(250, 1)]
        groups = right
    else:
        users = model.left / np.linalg.norm(model.left, axis=1, keepdims=True)
        cosines = (users @ rows.T).ravel()
        kept = (left[:, None] != right).ravel()
        groups = [left, right]
    found = levels(model, role=role, groups=groups)
    assert found.n_all_pairs == kept.sum()
    for value in (-0.3, 0.2, 0.7):
        assert found.below(value) == (cosines[kept] < value).mean()


@pytest.mark.parametrize(
    ("role", "groups", "sentence"),
    [
        ("right", ["a"] * 30, "groups must be labels that differ between some"),
        ("right", ["a"] * 3, "groups must be a list of 30 labels, one per row; got 3"),
        ("right", "a" * 30, "groups must be a list, such as"),
        ("cross", ["a"] * 30, "groups must be two lists for pairs of both sides"),
        ("cross", [["a"] * 9, ["a"] * 30], "groups of the left rows must be a list of"),
    ],
)
def test_groups_that_do_not_fit_are_refused(role, groups, sentence):
    with pytest.raises(InputError, match=sentence):
        levels(random_model(n=20, p=30), role=role, groups=groups)


def fan(step):
    """Fifteen rows of a plane, each turned by `step` from the one before."""
    angles = step * np.arange(15)
    return FactorModel.from_vectors(np.column_stack([np.cos(angles), np.sin(angles)]))


def test_the_scale_of_a_table_has_the_decimals_that_its_cosines_need():
    # 105 pairs, 14 of them neighbours, whose cosine cos 0.01 = 0.99995 is the highest.
    # Cosines from there down to cos 0.14 = 0.9902 span between 0.001 and 0.01, so ten
    # steps need four decimals. 99 % would be at most 1.0000, which says nothing; the
    # 79th of 105 is one of the 13 pairs two steps apart, with cos 0.02 = 0.9998000067.
    assert (
        levels(fan(0.01)).scale
        == "75 % of all 105 pairs have a cosine of at most 0.9999."
    )
    assert levels(fan(0.01)).decimals == 4
    # Cosines from cos 1.4 = 0.17 to cos 0.1 = 0.995 are not crowded.
    assert levels(fan(0.1)).decimals == 2
    # Rows at right angles have one cosine, 0, which no decimal tells apart.
    right_angles = levels(FactorModel.from_vectors(np.eye(3)))
    assert right_angles.scale == "All 3 cosines are 0.00."
