"""Streamed moments against dense ones, by both routes."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.foundation import workers
from embaudit.kernels import moments as module
from embaudit.kernels import passes
from embaudit.kernels.moments import gram_root, moments


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


def test_chunks_and_threads_change_nothing_beyond_rounding(monkeypatch, route):
    x = np.random.default_rng(1).standard_normal((5000, 8)).astype(np.float32)
    whole = moments(x)
    monkeypatch.setattr(workers, "BLOCK_BYTES", 8 * 8 * 700)
    monkeypatch.setattr(passes, "CACHE_BYTES", 8 * 8 * 90)
    monkeypatch.setattr(passes, "row_blocks", lambda n, k, budget=8 * 8 * 700: workers.row_blocks(n, k, budget=budget))
    parts = moments(x)
    np.testing.assert_allclose(parts.mean, whole.mean, atol=1e-14)
    np.testing.assert_allclose(parts.root.T @ parts.root, whole.root.T @ whole.root, rtol=1e-10, atol=1e-9)


def test_a_large_mean_does_not_drown_the_spread(route):
    draw = np.random.default_rng(2)
    x = (1e4 + draw.standard_normal((20_000, 3))).astype(np.float32)
    wide = x.astype(np.float64)
    expected = np.linalg.norm(wide - wide.mean(axis=0), axis=0)
    np.testing.assert_allclose(np.linalg.norm(moments(x).centred_root, axis=0), expected, rtol=1e-9)


def test_qr_keeps_singular_values_that_a_gram_matrix_loses():
    x = np.linalg.qr(np.random.default_rng(3).standard_normal((200, 2)))[0] @ np.array([[1.0, 1.0], [0.0, 1e-11]])
    assert np.linalg.svd(moments(x).root, compute_uv=False)[1] == pytest.approx(1e-11 / np.sqrt(2), rel=1e-4)
    lost = np.linalg.svd(gram_root(x.T @ x), compute_uv=False)[1]
    assert abs(lost - 1e-11 / np.sqrt(2)) > 1e-12


def test_constant_columns(route):
    x = np.random.default_rng(4).standard_normal((500, 4)).astype(np.float32)
    x[:, 1] = 0.1
    x[:, 3] = 0
    assert moments(x).constant_columns == (1,)
