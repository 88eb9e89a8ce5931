"""Streamed moments against dense ones, by both routes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embaudit.linalg import moments as module
from embaudit.linalg.moments import moments


@pytest.mark.parametrize(
    ("shape", "route"),
    [
        ((1000, 5), "qr"),
        ((7, 5), "qr"),
        ((3, 5), "qr"),
        ((1, 1), "qr"),
        ((2**20 + 1, 16), "gram"),
    ],
)
@pytest.mark.parametrize("normalise", [False, True])
def test_means_and_gram_matrices_are_those_of_the_rows(shape, route, normalise):
    """Above 2²⁴ entries in float32 the root comes from the Gram matrix, else from QR."""
    x = (np.random.default_rng(0).standard_normal(shape) + 1).astype(np.float32)
    found = moments(x, normalise=normalise)
    wide = x.astype(np.float64)
    wide = wide / np.linalg.norm(wide, axis=1, keepdims=True) if normalise else wide
    assert found.route == route
    np.testing.assert_allclose(found.mean, wide.mean(axis=0), atol=1e-12)
    centred = wide - wide.mean(axis=0)
    for root, rows in ((found.root, wide), (found.centred_root, centred)):
        np.testing.assert_allclose(root.T @ root, rows.T @ rows, atol=1e-10 * len(x))


WIDE = 257
"""The fewest columns of rows that are whitened by a right inverse."""


def test_rows_that_do_not_span_all_columns_have_no_right_inverse():
    draw = np.random.default_rng(3)
    flat = draw.standard_normal((600, 5)) @ draw.standard_normal((5, WIDE))
    few = draw.standard_normal((6, WIDE))
    for x in (
        flat,
        np.vstack([few, few[:1]]),
        np.ones((4, WIDE)),
        np.zeros((4, WIDE)),
        few + 1e17,
    ):
        assert moments(x).right_inverse is None


def test_a_right_inverse_is_given_only_if_rounding_cannot_hide_a_lost_direction():
    draw, least = np.random.default_rng(3), 1e-3
    scales = np.append(np.ones(WIDE - 1), least)
    found = moments(draw.standard_normal((600, WIDE)) * scales)
    assert found.precision == WIDE * np.finfo(float).eps
    size = np.hypot(
        np.linalg.norm(found.centred_root), np.sqrt(600) * np.linalg.norm(found.mean)
    )
    bound = 1 / np.linalg.norm(found.right_inverse)
    for share, proven in ((0.5, True), (2.0, False)):
        again = replace(found, precision=share * bound / size)
        assert (again.right_inverse is not None) == proven


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


def test_a_large_mean_does_not_count_as_a_direction_that_rows_span():
    x = np.array([[1e17, 0.0], [1e17, 1.0], [1e17, -1.0]])
    assert moments(x).rank == 1
    assert moments(x / [1e10, 1]).rank == 2
