"""Copies of rows: what the hash and the tree find is what all pairs say, and they give up where they must."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.kernels import copies
from embaudit.kernels.copies import first_copies, near_pairs, resolution
from embaudit.kernels.pairs import pair_cosines
from embaudit.kernels.rows import unit_rows


def crowded(seed=0, n=120, k=6, noise=0.01):
    """Rows around a few directions, at distances on both sides of that of twins."""
    draw = np.random.default_rng(seed)
    rows = draw.standard_normal((8, k))[draw.integers(8, size=n)] + noise * draw.standard_normal((n, k))
    return rows * draw.uniform(0.1, 9, size=(n, 1))


def pairs_of(x, least):
    unit = unit_rows(x)
    return np.argwhere(np.triu(unit @ unit.T > least, 1)).tolist()


@pytest.fixture
def by_tree(monkeypatch):
    monkeypatch.setattr(copies, "PRODUCTS", 0)


@pytest.mark.parametrize("k", [2, 3, 6, 30])
@pytest.mark.parametrize("least", [0.9999, 0.99, 0.5])
@pytest.mark.parametrize("products", [0, 10**9])
def test_near_pairs_are_those_of_all_pairs(k, least, products, monkeypatch):
    monkeypatch.setattr(copies, "PRODUCTS", products)
    monkeypatch.setattr(copies, "STRIP", 50)
    x = crowded(k=k)
    wanted = pairs_of(x, least)
    assert len(wanted) > 20
    assert sorted(near_pairs(x, np.arange(len(x)), least).tolist()) == wanted


def test_only_the_rows_named_are_compared_by_their_places():
    x = crowded()
    rows = np.arange(1, len(x), 2)
    assert sorted(near_pairs(x, rows, 0.9999).tolist()) == pairs_of(x[rows], 0.9999)


@pytest.mark.parametrize("products", [4 * 40 * 40, 4 * 40 * 40 - 1])
def test_few_rows_are_multiplied_and_more_are_put_in_a_tree(products, monkeypatch):
    monkeypatch.setattr(copies, "PRODUCTS", products)
    built = []
    tree = copies._tree
    monkeypatch.setattr(copies, "_tree", lambda points: built.append(points.shape) or tree(points))
    assert len(near_pairs(np.repeat(np.eye(4), 10, axis=0), np.arange(40), 0.9999)) == 180
    assert built == ([] if products == 6_400 else [(40, 4)])


def test_products_give_up_where_too_many_pairs_are_near(monkeypatch):
    x = np.repeat(np.eye(5), 4, axis=0)
    monkeypatch.setattr(copies, "CANDIDATES", 30)
    assert near_pairs(x, np.arange(20), 0.9999).shape == (30, 2)
    monkeypatch.setattr(copies, "CANDIDATES", 29)
    assert near_pairs(x, np.arange(20), 0.9999) is None


@pytest.mark.usefixtures("by_tree")
def test_where_too_many_come_near_more_dimensions_are_tried_and_then_none(monkeypatch):
    rows = np.arange(300)
    x = np.random.default_rng(0).standard_normal((300, 40))
    built = []
    tree = copies._tree
    monkeypatch.setattr(copies, "_tree", lambda points: built.append(points.shape[1]) or tree(points))
    assert near_pairs(x, rows, 0.98).tolist() == []
    assert built == [4]
    monkeypatch.setattr(copies, "CANDIDATES", 500)
    assert near_pairs(x, rows, 0.98).tolist() == []
    assert built == [4, 4, 8]
    monkeypatch.setattr(copies, "DEEP", 299)
    assert near_pairs(x, rows, 0.98) is None
    monkeypatch.setattr(copies, "DEEP", 300)
    assert near_pairs(x[:, :3] ** 2, rows, 0.5) is None


def test_first_copies_are_rows_of_one_direction_whatever_their_length():
    base = np.random.default_rng(0).standard_normal((4, 5))
    x = np.vstack([base, 2 * base[::-1], -base, base[:1] + 1e-4])
    assert first_copies(x, np.arange(13)).tolist() == [0, 1, 2, 3, 3, 2, 1, 0, 8, 9, 10, 11, 12]
    assert first_copies(x, np.array([1, 5, 6, 9])).tolist() == [0, 1, 0, 3]
    assert first_copies(x.astype(np.float32), np.arange(13)).tolist() == first_copies(x, np.arange(13)).tolist()


def test_a_cosine_as_far_from_1_as_rounding_brings_one_is_that_of_a_copy():
    edge = 1 - resolution(2)
    pairs = [np.array([[1.0, 0.0], [np.cos(t), np.sin(t)]]) for t in np.arccos(edge) * np.linspace(0.9, 1.1, 400)]
    found = {float(pair_cosines(x, x, np.array([[0, 1]]))[0]): first_copies(x, np.arange(2)).tolist() for x in pairs}
    assert found[edge] == [0, 0]
    assert found[np.nextafter(edge, 0)] == [0, 1]


def test_copies_are_found_outside_the_dimensions_of_the_tree(monkeypatch):
    monkeypatch.setattr(copies, "PRODUCTS", 0)
    monkeypatch.setattr(copies, "LOOKED_AT", 4)
    x = np.zeros((13, 20))
    x[::4, :4] = np.eye(4)  # the rows looked at
    others = np.flatnonzero(~x.any(axis=1))
    x[others, 4 + np.arange(9) % 6] = np.arange(1, 10)
    assert np.abs(x[others] @ copies._widest(x, np.arange(13))).max() < 1e-12
    expected = np.arange(13)
    expected[others[6:]] = others[:3]
    assert first_copies(x, np.arange(13)).tolist() == expected.tolist()
