"""Rivals of lists under shifts against one exact range for each pair, and the figures that a shift is read off from."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.kernels.nearest import neighbours
from embaudit.ranges import rivals
from embaudit.ranges.rivals import SLACK, _bounds, nearest_rivals
from embaudit.ranges.translation import TranslationReach, _Scene


def exact_tangents(x, radius):
    one, other = np.indices((len(x), len(x))).reshape(2, -1)
    return TranslationReach("right", radius).ends(x[one], x[other]).upper.reshape(len(x), len(x))


@pytest.mark.parametrize("batch", [2, 4096])
@pytest.mark.parametrize(("k", "spread"), [(2, 1.0), (5, 1.0), (5, 0.05)])
def test_the_nearest_rival_is_the_least_of_all_pairs(monkeypatch, k, spread, batch):
    monkeypatch.setattr(rivals, "BATCH", batch)
    draw = np.random.default_rng(k)
    x = draw.standard_normal((25, k)) * spread + np.eye(k)[0]
    found = neighbours(x, 3, rows=np.array([0, 4, 9, 24]))
    for radius in (0.02, 0.3):
        tangents = exact_tangents(x, radius)
        for row, listed, nearest in zip(found.rows, found.indices, nearest_rivals(x, found, radius), strict=True):
            others = np.setdiff1d(np.arange(25), [row, *listed])
            least = 0.0 if np.linalg.norm(x[row]) <= radius else tangents[row, others].min()
            assert nearest == pytest.approx(least, rel=1e-9, abs=1e-15)
            assert nearest <= least


def test_bounds_are_below_the_exact_tangents_and_next_to_them():
    draw = np.random.default_rng(0)
    x = draw.standard_normal((40, 3)) * draw.uniform(0.5, 2.0, (40, 1))
    lengths, unit = np.linalg.norm(x, axis=1), x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    off = ~np.eye(40, dtype=bool)
    for radius in (0.01, 0.1, 0.4):
        bounds = _bounds(cosines, lengths, lengths, radius, 3)
        assert np.isposinf(np.diag(bounds)).all()
        exact, able = exact_tangents(x, radius), np.minimum.outer(lengths, lengths) > radius
        assert (bounds[off] <= exact[off]).all()
        clear = off & able & (exact > 0.05)
        np.testing.assert_allclose(bounds[clear], exact[clear], rtol=1e-9)
        assert (bounds[off & ~able] == 0).all()
    assert clear.mean() > 0.5
    # Of rows just as long as the shift either may be turned anywhere.
    assert _bounds(np.array([[0.5]]), np.array([1.0]), np.array([3.0]), 1.0, 3).tolist() == [[0.0]]


def test_where_no_search_is_needed():
    rows = np.array([[3.0, 4.0], [0.0, 2.0], [5.0, 0.0], [-4.0, 3.0]])
    assert nearest_rivals(rows, neighbours(rows, 3), 0.1).tolist() == [np.inf] * 4
    # A shift as long as a row points it anywhere.
    alone = neighbours(rows, 1, rows=np.array([1]))
    assert nearest_rivals(rows, alone, 2.0).tolist() == [0.0]
    assert nearest_rivals(rows, alone, 1.9)[0] > 0
    # So it does with a row of zeros.
    assert nearest_rivals(np.vstack([rows, [[0.0, 0.0]]]), neighbours(rows, 1), 0.1).tolist() == [0.0] * 4
    plain = nearest_rivals(rows, neighbours(rows, 2), 1e-3)
    assert np.isfinite(plain).all()
    assert 64 * np.finfo(float).eps == SLACK


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_the_figures_of_a_scene_are_those_of_its_triangle(scale):
    draw = np.random.default_rng(0)
    x, y = draw.standard_normal((2, 50, 3))
    scene = _Scene.of(x * scale, y * scale)
    unit = scene.unit / scale
    gap, middle = y - x, (x + y) / 2
    base = np.linalg.norm(gap, axis=1)
    along = gap / base[:, None]
    height = np.linalg.norm(middle - np.einsum("ij,ij->i", middle, along)[:, None] * along, axis=1)
    a, b = np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1)
    dot = np.einsum("ij,ij->i", x, y)
    np.testing.assert_allclose(scene.a * unit, a, rtol=1e-13)
    np.testing.assert_allclose(scene.b * unit, b, rtol=1e-13)
    np.testing.assert_allclose(scene.base * unit, base, rtol=1e-13)
    np.testing.assert_allclose(scene.dot * unit**2, dot, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(scene.area * unit**2, np.sqrt(a**2 * b**2 - dot**2), rtol=1e-9)
    np.testing.assert_allclose(scene.offset * unit, np.einsum("ij,ij->i", middle, along), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(scene.nearest * unit, height, rtol=1e-9)
    np.testing.assert_allclose(scene.tangent, np.sqrt((1 - dot / a / b) / (1 + dot / a / b)), rtol=1e-9)
    foot = np.abs(np.einsum("ij,ij->i", middle, along)) < base / 2
    assert scene.inside.tolist() == foot.tolist()
    np.testing.assert_array_equal(scene.corner, np.minimum(scene.a, scene.b))
    assert 0.2 < foot.mean() < 0.9


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_rows_along_the_axes_are_as_long_as_they_may_be(scale):
    scene = _Scene.of(np.array([[3.0, 0.0]]) * scale, np.array([[0.0, 4.0]]) * scale)
    assert (scene.base * scene.unit).tolist() == pytest.approx([5 * scale])
    assert scene.tangent.tolist() == pytest.approx([1.0])


def test_the_foot_of_a_right_angle_is_not_inside():
    x, y = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[1.0, 2.0], [1.0, -1.0]])
    assert _Scene.of(x, y).inside.tolist() == [False, False]
    assert _Scene.of(y, x).inside.tolist() == [False, False]
    assert _Scene.of(x - [[0.0, 0.1]], y).inside.tolist() == [True, False]
    same = _Scene.of(x, x)
    assert (same.base.tolist(), same.nearest.tolist(), same.offset.tolist()) == ([0, 0], [0, 0], [0, 0])
