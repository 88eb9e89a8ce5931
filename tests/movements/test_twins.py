"""Twins: pairs, groups and shares against all pairs; the interval of a sample; words; a language model's tokens."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from models import random_model

import embaudit as ea
from embaudit.gauges import Gauge
from embaudit.linalg.nearest import neighbours
from embaudit.linalg.rows import unit_rows
from embaudit.model import FactorModel
from embaudit.movements import movement
from embaudit.movements import twins as by_package
from embaudit.movements.twins import twins

MODULE = sys.modules["embaudit.movements.twins"]


def crowded(seed=0, n=90, k=5):
    """Rows around a few directions: copies, near copies, and rows in between."""
    draw = np.random.default_rng(seed)
    rows = draw.standard_normal((9, k))[draw.integers(9, size=n)]
    return np.vstack(
        [
            rows + 0.012 * draw.standard_normal((n, k)),
            draw.standard_normal((20, k)),
            rows[:6],
            rows[:6] * 3,
        ]
    )


def by_hand(x, tolerance):
    """Pairs, leaders and shares by looking at everything, a row at a time."""
    unit = unit_rows(x)
    near = unit @ unit.T > 1 - tolerance
    np.fill_diagonal(near, val=False)
    first = np.full(len(x), -1)
    for row in range(len(x)):
        if first[row] < 0:
            first[(first < 0) & near[row]] = row
            first[row] = row
    return near, first


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-5])
def test_pairs_groups_and_shares_are_those_of_all_pairs(seed, tolerance):
    x = crowded(seed)
    near, first = by_hand(x, tolerance)
    found = twins(FactorModel.from_vectors(x), tolerance=tolerance)
    with_twins = near.any(axis=1)
    assert found.n_pairs == near.sum() // 2 > 10
    assert found.first.tolist() == first.tolist()
    assert (~found.alone).tolist() == with_twins.tolist()
    assert found.share == found.ci_low == found.ci_high == with_twins.mean()
    assert found.n_groups == len(set(first[with_twins]))
    assert found.largest == np.bincount(first).max()
    assert found.copies.tolist() == [
        max(list(first).count(row) - 1, 0) for row in range(len(x))
    ]
    assert found.exact
    assert found.n_rows == len(x)


def pair(cosine):
    return FactorModel.from_vectors(
        [[1.0, 0.0], [cosine, np.sqrt(1 - cosine**2)], [0.0, 1.0]]
    )


def test_twins_have_a_cosine_above_one_less_the_tolerance():
    assert twins(pair(1 - 0.99e-4), tolerance=1e-4).n_pairs == 1
    assert twins(pair(1 - 1.01e-4), tolerance=1e-4).n_pairs == 0
    assert twins(pair(0.91), tolerance=0.1).n_pairs == 1
    assert twins(pair(0.89), tolerance=0.1).n_pairs == 0
    assert twins(pair(1 - 1e-9), tolerance=0).n_pairs == 0


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_distinct_rows_in_few_dimensions_have_no_copies(dtype):
    """Nearly all of as many rows as a survey of four dimensions had have another one within 1e-4, by density alone."""
    x = np.random.default_rng(0).standard_normal((43_234, 4)).astype(dtype)
    found = twins(FactorModel.from_vectors(x))
    assert found.exact
    assert found.share < 5e-4
    assert dtype is np.float16 or found.n_pairs == 0
    plane = x[:2_000, :2]
    unit = plane / np.linalg.norm(plane.astype(np.float64), axis=1, keepdims=True)
    gaps = np.diff(np.sort(np.arctan2(*unit.T)))
    spacing = float(np.finfo(dtype).eps)
    assert twins(FactorModel.from_vectors(plane)).n_pairs >= (gaps < spacing / 2).sum()
    assert dtype is np.float16 or twins(FactorModel.from_vectors(plane)).share < 0.01, (
        "gaps are 2e-3 in the median"
    )
    some = twins(FactorModel.from_vectors(x[:9_000]), tolerance=1e-4)
    assert some.share > 0.004


def half_copied(n=300, n_copies=60, k=8, seed=0):
    x = np.random.default_rng(seed).standard_normal((n - n_copies, k))
    return FactorModel.from_vectors(np.vstack([x, 3 * x[:n_copies]]).astype(np.float16))


def test_above_the_stated_size_a_sample_has_an_interval_that_holds(monkeypatch):
    model, truth = half_copied(), 120 / 300
    assert twins(model).share == pytest.approx(truth)
    monkeypatch.setattr(MODULE, "ROWS", 299)
    monkeypatch.setattr(MODULE, "SAMPLE", 100)
    model = half_copied()
    found = [twins(model, rng=seed) for seed in range(100)]
    assert not any(one.exact for one in found)
    assert sum(one.ci_low <= truth <= one.ci_high for one in found) >= 94
    assert 0.15 < np.mean([one.ci_high - one.ci_low for one in found]) < 0.2
    assert np.mean([one.share for one in found]) == pytest.approx(truth, abs=0.01)
    monkeypatch.setattr(MODULE, "ROWS", 300)
    assert twins(half_copied()).exact


def test_tokens_of_a_language_model(shared_data):
    head = ea.load(shared_data("lm-stories260K"))
    found = twins(head)
    # Tokens that training never saw: 2.5e-4 apart, which is near, but more than rounding to float32.
    assert (found.n_pairs, found.share, found.exact) == (0, 0, True)
    near = twins(head, tolerance=1e-4)
    assert (near.n_pairs, near.n_groups, near.largest, near.share) == (
        17_519,
        11,
        186,
        221 / 512,
    )
    assert by_package is ea.twins


STRETCH = Gauge.diagonal(np.array([1.0, 1.3, 2.0, 0.6]))


def copied(n=30, groups=(3, 1, 5), **fields):
    """A model whose first items have so many copies each, at the end; and the model without these."""
    model = random_model(p=n, k=4, **fields)
    rows = np.repeat(np.arange(len(groups)), groups)
    return model.take(right=np.concatenate([np.arange(n), rows])), model


def test_lists_have_one_row_of_each_group_and_none_of_the_own():
    x = np.array(
        [
            [1.0, 0.0],
            [0.8, 0.6],
            [2.0, 0.0],
            [0.0, 1.0],
            [0.0, 0.0],
            [3.0, 0.0],
            [0.8, 0.6],
        ]
    )
    first = np.array([0, 1, 0, 3, 4, 0, 1])
    found = neighbours(x, 3, first=first)
    assert found.indices.tolist() == [
        [1, 3, -1],
        [0, 3, -1],
        [1, 3, -1],
        [1, 0, -1],
        [-1] * 3,
        [1, 3, -1],
        [0, 3, -1],
    ]
    draw = np.random.default_rng(0)
    base = draw.standard_normal((3_000, 3))
    first = np.concatenate([np.arange(3_000), draw.integers(3_000, size=500)])
    found, wanted = neighbours(base[first], 4, first=first), neighbours(base, 4)
    assert found.indices[:3_000].tolist() == wanted.indices.tolist()
    assert found.indices.tolist() == found.indices[first].tolist()
    np.testing.assert_allclose(found.runner_up[:3_000], wanted.runner_up, atol=1e-12)


def test_movement_without_twins_is_that_of_one_row_each():
    many, few = copied()
    found, wanted = (
        movement(model, STRETCH.act(model), n_neighbours=5) for model in (many, few)
    )
    assert found.top_n_overlap == wanted.top_n_overlap < 1
    assert (found.n_lists, wanted.n_lists) == (30, 30)
    by_all = neighbours(many.right, 5).overlap(neighbours(STRETCH.act(many).right, 5))
    assert found.top_n_overlap != by_all
