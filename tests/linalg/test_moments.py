"""Streamed moments against dense ones, by both routes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embaudit.linalg import moments as module
from embaudit.linalg.moments import moments


@pytest.fixture(params=["qr", "gram"])
def route(request, monkeypatch):
    monkeypatch.setattr(module, "AFFORDABLE", 0 if request.param == "gram" else 2**60)
    return request.param


@pytest.mark.parametrize("shape", [(1000, 5), (7, 5), (3, 5), (1, 1)])
@pytest.mark.parametrize("normalise", [False, True])
def test_mean_and_roots(shape, normalise, route):
    x = (np.random.default_rng(0).standard_normal(shape) + 1).astype(np.float32)
    found = moments(x, normalise=normalise)
    wide = x.astype(np.float64)
    wide = wide / np.linalg.norm(wide, axis=1, keepdims=True) if normalise else wide
    assert found.route == route
    np.testing.assert_allclose(found.mean, wide.mean(axis=0), atol=1e-12)
    centred = wide - wide.mean(axis=0)
    for root, rows in ((found.root, wide), (found.centred_root, centred)):
        np.testing.assert_allclose(root.T @ root, rows.T @ rows, atol=1e-10 * len(x))


def test_a_right_inverse_is_proven_or_not_given(monkeypatch):
    monkeypatch.setattr(module, "WIDE", 10)
    draw = np.random.default_rng(3)
    flat = draw.standard_normal((60, 5)) @ draw.standard_normal((5, 11))
    twice = draw.standard_normal((6, 11))
    for x in (
        flat,
        np.vstack([twice, twice[:1]]),
        np.ones((4, 11)),
        np.zeros((4, 11)),
        twice + 1e17,
    ):
        assert moments(x).right_inverse is None
    least, precision = 1e-3, 11 * np.finfo(float).eps
    x = draw.standard_normal((60, 11)) * np.append(np.ones(10), least)
    found = moments(x)
    for share, proven in ((0.5, True), (2.0, False)):
        bound = 1 / np.linalg.norm(found.right_inverse)
        size = np.hypot(
            np.linalg.norm(found.centred_root), np.sqrt(60) * np.linalg.norm(found.mean)
        )
        again = replace(found, precision=share * bound / size)
        assert (again.right_inverse is not None) == proven
    assert found.precision == precision


@pytest.fixture
def large(monkeypatch):
    """Rows, every eighth of which proves what all span."""
    for name, value in (
        ("EXACT_CELLS", 140 * 11**2 - 1),
        ("AFFORDABLE", 0),
        ("WIDE", 8),
        ("STRIP", 3),
    ):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(module, "WIDE_BYTES", 8 * 11 * 50)
    return (np.random.default_rng(5).standard_normal((140, 11)) + 2).astype(np.float32)


def test_very_many_long_rows_are_whitened_in_float32(large):
    found, wide = module.outlined(large), large.astype(np.float64)
    np.testing.assert_allclose(found.mean, wide.mean(axis=0), atol=1e-13)
    np.testing.assert_allclose(
        found.column_norms, np.linalg.norm(wide, axis=0), rtol=1e-13
    )
    centred = wide - wide.mean(axis=0)
    np.testing.assert_allclose(
        found.centred_root.T @ found.centred_root, centred.T @ centred, atol=1e-3
    )
    assert (
        np.abs(found.centred_root.T @ found.centred_root - centred.T @ centred).max()
        > 1e-9
    )
    np.testing.assert_allclose(
        found.centred_root @ found.inverse_root, np.eye(11), atol=1e-12
    )
    assert (found.n_rows, found.rank, moments(large).lengths) == (140, 11, None)


def test_a_rank_beside_a_large_mean_is_that_of_the_rows():
    x = np.array([[1e17, 0.0], [1e17, 1.0], [1e17, -1.0]])
    assert moments(x).rank == 1
    assert moments(x / [1e10, 1]).rank == 2
