"""Traits number by number: each bound from both sides, and what is drawn, against computations of their own."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from models import random_model

from embaudit.auditing.equivalents import equivalent_models
from embaudit.auditing.traits import ALIKE, UNIT, Traits, all_traits, traits_of
from embaudit.kernels.nearest import neighbours
from embaudit.kernels.rows import sample_rows
from embaudit.model import FactorModel
from embaudit.movements.hubs import hubs
from embaudit.movements.tail import tail

MODULE = sys.modules["embaudit.auditing.traits"]


def of(rows, role="right", **given):
    model = rows if isinstance(rows, FactorModel) else FactorModel.from_vectors(rows)
    return traits_of(model, role, rng=np.random.default_rng(0), **given)


def test_rows_are_of_unit_length_up_to_what_rounding_to_a_few_digits_leaves():
    assert of([[0.7, 0.0], [0.0, 1.2], [0.0, 0.0], [0.6, 0.8]]).off_unit == pytest.approx(0.3)
    assert of([[0.9, 0.0], [0.0, 1.2]]).off_unit == pytest.approx(0.2)
    assert Traits("right", 2, UNIT, False).is_unit
    assert not Traits("right", 2, np.nextafter(UNIT, 1), False).is_unit


def spread(s, scale=1.0):
    """Five rows with these singular values, of columns that are equally long."""
    k = len(s)
    turn = np.array([[1, 1], [1, -1]]) / np.sqrt(2) if k == 2 else np.linalg.qr(np.vander(np.arange(1.0, k + 1)))[0]
    left = np.linalg.qr(np.random.default_rng(0).standard_normal((5, k)))[0]
    return scale * left @ np.diag(s) @ turn.T


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_columns_are_orthonormal_but_for_a_scale_within_a_thousandth(scale):
    inside, outside = 1 - 0.9995 * ALIKE, 1 - 1.0005 * ALIKE
    assert of(spread([1.0, inside], scale)).orthonormal is True
    assert of(spread([1.0, outside], scale)).orthonormal is False
    assert of(spread([1.0, 1.0, 1.0], scale)).orthonormal is True
    # Columns that are not equally long, and none that could be told by its length.
    assert of(spread([1.0, 1.0], scale) * [1, 1.1]).orthonormal is False
    assert of(spread([1.0, 1.0], scale) * [1, 1 - 0.5 * ALIKE]).orthonormal is True
    circle = np.exp(2j * np.pi * np.arange(6) / 6)
    flat = np.column_stack([np.ones(6), circle.real, circle.imag]) * scale
    assert of(flat * [1, np.sqrt(2), np.sqrt(2)]).orthonormal is True
    # Two of three directions are alike, the third is shorter; columns are equally long.
    assert of(flat * [0.9, np.sqrt(2), np.sqrt(2)] @ np.linalg.qr(np.vander([1.0, 2.0, 4.0]))[0]).orthonormal is False
    assert of(np.eye(3) * scale).orthonormal is False  # no more rows than columns
    assert of(np.vstack([np.eye(3), np.zeros((1, 3))]) * scale).orthonormal is True


def equal_columns():
    """Rows whose columns are equally long, with singular values 1, 1 and less."""
    third = np.ones(3) / np.sqrt(3)
    return np.vstack([np.eye(3) - 0.1 * np.outer(third, third), np.zeros((1, 3))])


def test_the_smallest_singular_value_counts_and_not_the_last_but_one():
    x = equal_columns()
    assert np.ptp(np.linalg.norm(x, axis=0)) < 1e-12
    np.testing.assert_allclose(np.linalg.svd(x, compute_uv=False), [1, 1, 0.9])
    assert of(x).orthonormal is False


@pytest.mark.parametrize(("p", "told"), [(29, False), (30, True)])
def test_from_thirty_rows_on_it_is_asked_what_is_typical(p, told):
    model = random_model(n=40, p=p, k=12, biases=["right_bias"])
    found = of(model, n_neighbours=99)
    names = ("direction", "dimensions", "lengths", "bias_columns")
    assert [getattr(found, name) is not None for name in names] == [told] * 4
    assert (found.hubs, found.tail, found.equal, found.rounding) == (None,) * 4
    if told:
        assert (found.bias_columns.n_neighbours, found.bias_columns.columns) == (28, 1)
        assert of(model.replace(left_bias=np.zeros(40))).bias_columns.columns == 2
        assert of(model.replace(left_bias=np.zeros(40)), "left").bias_columns is None


@pytest.mark.parametrize(("p", "told"), [(99, False), (100, True)])
def test_from_a_hundred_rows_on_one_in_a_hundred_may_be_a_hub(p, told):
    model = random_model(p=p)
    assert (of(model).hubs is not None) is told
    copied = of(model.take(right=np.r_[np.arange(p), 0, 0]))
    assert (copied.hubs_without_twins is not None) is told
    assert copied.hubs is not None


@pytest.mark.parametrize(("queries", "searched", "n"), [(60, 10**6, 60), (400, 70 * 110, 70), (10, 10**6, 50)])
def test_as_many_rows_are_asked_as_is_affordable(queries, searched, n, monkeypatch):
    monkeypatch.setattr(MODULE, "QUERIES", queries)
    monkeypatch.setattr(MODULE, "SEARCHED", searched)
    model = random_model(p=110)
    lists = neighbours(model.right, 10, rows=sample_rows(np.arange(110), n, np.random.default_rng(0)))
    assert of(model).hubs == hubs(lists)
    given = neighbours(model.right, 3, rows=np.arange(7))
    assert of(model, lists=given, n_neighbours=3).hubs == hubs(given)


def test_lists_that_are_given_are_not_searched_for_again(monkeypatch):
    model = random_model(p=110)
    given, wanted = neighbours(model.right, 3, rows=np.arange(7)), of(model, n_neighbours=3)
    monkeypatch.setattr(MODULE, "neighbours_and_shifted", None)
    with pytest.raises(TypeError):
        of(model, n_neighbours=3)
    found = of(model, lists=given, n_neighbours=3)
    assert (found.direction.centring.n_rows, wanted.direction.centring.n_rows) == (7, 110)


@pytest.fixture(scope="module")
def copied():
    """A model of 105 different items, some of them twice or thrice and long before others."""
    model = random_model(n=40, p=105, k=4, right_counts=np.arange(1.0, 106))
    return model.take(right=np.r_[3, 3, np.arange(105), 50, 90])


def alone(model, asked, n):
    kept = np.array([0, 2, 3, 4, *range(6, 107)])  # row 5 is row 0 again, as row 1 is
    some = model.right_side.take(kept)
    return kept, some, neighbours(some.rows, n, rows=asked)


def test_without_copies_rows_are_asked_that_stand_for_themselves(copied, monkeypatch):
    equal = equivalent_models(copied, groups=["linear"], n_gauges=1, rng=np.random.default_rng(0))[0]
    monkeypatch.setattr(MODULE, "QUERIES", 60)
    for asked in (None, np.array([1, 5, 7, 108])):
        own = np.random.default_rng(0)
        kept, some, _ = alone(copied, [0], 1)
        rows = sample_rows(np.arange(105), 60, own) if asked is None else np.searchsorted(kept, [0, 7, 92])
        lists = neighbours(some.rows, 4, rows=rows)
        wanted = hubs(lists)
        given = None if asked is None else neighbours(copied.right, 4, rows=asked)
        found = of(copied, lists=given, n_neighbours=4, equal=equal)
        assert found.hubs_without_twins == replace(wanted, few=(int(kept[wanted.few[0]]),))
        after = replace(equal.rows(copied, "right"), x=some.rows)
        assert found.tail_without_twins == tail(some, after, lists, own)
        assert found.equal == equal.name


@pytest.mark.parametrize(("most", "told"), [(105, True), (104, False)])
def test_of_very_many_rows_no_second_lists_are_made(copied, most, told, monkeypatch):
    monkeypatch.setattr(MODULE, "COPIED", most)
    assert (of(copied).hubs_without_twins is not None) is told


def test_thirty_rows_without_their_copies_are_enough():
    model = random_model(n=40, p=30, k=4)
    equal = equivalent_models(model, groups=["linear"], n_gauges=1, rng=np.random.default_rng(0))[0]
    for p, told in ((30, True), (29, False)):
        twice = model.take(right=np.r_[np.arange(p), np.arange(p)])
        found = of(twice, equal=equal, n_neighbours=99)
        assert (found.tail_without_twins is not None) is told
    assert found.hubs_without_twins is None
    assert of(model.take(right=np.r_[np.arange(30), 0]), equal=equal, n_neighbours=99).tail_without_twins.top_n == 28
    assert of(model, equal=equal, n_neighbours=99).tail.top_n == 28


def test_what_is_known_of_each_side_is_given_to_it():
    model = random_model(n=50, p=60, k=4)
    equal = equivalent_models(model, groups=["linear"], n_gauges=1, rng=np.random.default_rng(0))[0]
    draw = np.random.default_rng(0)
    lists = {"left": neighbours(model.left, 3, rows=np.arange(9))}
    right, left = all_traits(model, ["right", "left"], n_neighbours=3, equal={"left": equal}, lists=lists, rng=draw)
    assert (right.tail, right.equal, left.equal) == (None, None, equal.name)
    assert (left.tail.top_n, left.direction.centring.n_rows, right.direction.centring.n_rows) == (3, 9, 60)
    one = model.replace(left=model.left * (np.arange(50) == 7)[:, None])
    assert [found.role for found in all_traits(one, ["left", "right"], rng=draw)] == ["right"]
