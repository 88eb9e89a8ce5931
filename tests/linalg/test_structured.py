"""Maps of rows of very many columns: they are the matrices they say they are."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import product

import numpy as np
import pytest
from scipy.fft import dct

from embaudit.linalg.structured import (
    Spanned,
    StructuredLinearMap,
    StructuredRotation,
    stretches,
)
from embaudit.linalg.transformed_rows import TransformedRows

K = 37


def turn(seed: int = 0, rank: int = K) -> StructuredRotation:
    return StructuredRotation.sample(rank, np.random.default_rng(seed))


def full(seed: int = 0) -> StructuredLinearMap:
    draw = np.random.default_rng(seed)
    return StructuredLinearMap(
        draw.uniform(0.5, 3, K) * np.sign(draw.standard_normal(K)),
        turn(seed + 1),
        turn(seed + 2),
    )


def test_a_turn_is_the_product_of_its_signs_and_cosine_transforms() -> None:
    one = turn()
    transform = dct(np.eye(K), norm="ortho")
    a, b, c = (np.diag(signs.astype(float)) for signs in one.signs)
    expected = reduce(np.matmul, [a, transform, b, transform, c])
    assert np.abs(one.of(np.eye(K)) - expected).max() < 1e-14
    assert np.abs(one.T.of(np.eye(K)) - expected.T).max() < 1e-14
    assert one.T.T.back is one.back
    assert abs(abs(np.linalg.det(expected)) - 1) < 1e-12


def test_products_are_those_of_the_matrix() -> None:
    one, other, draw = full(), full(9), np.random.default_rng(3)
    first, last = (
        np.asarray(t.of(np.eye(K))) for t in (one.first, one.last) if t is not None
    )
    matrix = np.asarray(one)
    assert np.abs(matrix - first @ np.diag(one.scales) @ last).max() < 1e-13
    x, v = draw.standard_normal((4, K)), draw.standard_normal(K)
    lefts, rights = (one, replace(one, last=None)), (other, replace(other, first=None))
    for found, expected in (
        (x @ one, x @ matrix),
        (v @ one, v @ matrix),
        (one @ x.T, matrix @ x.T),
        (one @ v, matrix @ v),
        (np.asarray(one.T), matrix.T),
        *(
            (np.asarray(a @ b), np.asarray(a) @ np.asarray(b))
            for a, b in product(lefts, rights)
        ),
    ):
        assert np.abs(found - expected).max() < 1e-12
    assert one.shape == matrix.shape == (K, K)
    assert len(one) == K


def test_what_float32_rounds_stays_within_what_the_search_allows_for() -> None:
    rank = 512
    one = StructuredLinearMap(
        np.random.default_rng(2).uniform(0.5, 2, rank), turn(0, rank), turn(1, rank)
    )
    x = np.random.default_rng(1).standard_normal((50, rank)).astype(np.float32)
    seen = TransformedRows(x, one, np.zeros(rank))
    block, growth = seen.single(slice(0, 50))
    off = np.linalg.norm(block - seen[:50], axis=1) / np.linalg.norm(seen[:50], axis=1)
    allowed = (rank + 8) * 2.0**-24 * growth
    assert (off < allowed / 100).all()
    assert (off > allowed / 1e7).all()
    assert np.allclose(growth, np.linalg.norm(one.scales) / one.scales.min())


def spanned(k=K, r=4, rest=1.3, seed=0):
    draw = np.random.default_rng(seed)
    axes = np.linalg.qr(draw.standard_normal((k, r)))[0]
    return Spanned(axes, draw.uniform(0.5, 3, r), rest)


@pytest.mark.parametrize("r", [1, 4, K])
def test_scales_in_a_span_are_those_of_the_matrix(r: int) -> None:
    one = spanned(r=r)
    w, draw = one.axes, np.random.default_rng(1)
    matrix = one.rest * (np.eye(K) - w @ w.T) + w @ np.diag(one.scales) @ w.T
    x = draw.standard_normal((3, K))
    assert np.abs(np.asarray(one) - matrix).max() < 1e-14
    assert np.abs(x @ one - x @ matrix).max() < 1e-13
    assert np.abs(one @ x.T - matrix @ x.T).max() < 1e-13
    assert one.T is one
    assert one.is_undone_by(Spanned(w, 1 / one.scales, 1 / one.rest))
    assert not one.is_undone_by(one)
    assert one.shape == (K, K)
    expected = np.linalg.svd(matrix, compute_uv=False)
    assert np.allclose(stretches(one)[[0, -1]], expected[[0, -1]])
    assert len(one.sizes) == (r if r == K else r + 1)
    assert (x.astype(np.float32) @ one).dtype == np.float32


def test_what_float32_rounds_of_scaled_and_shifted_columns_is_no_sum() -> None:
    rank, draw = 600, np.random.default_rng(0)
    x = (draw.standard_normal((40, rank)) + 1).astype(np.float32)
    for one, shift in (
        (StructuredLinearMap(np.ones(rank)), -np.ones(rank)),
        (StructuredLinearMap(draw.uniform(0.5, 2, rank)), np.zeros(rank)),
        (StructuredLinearMap(draw.uniform(0.5, 2, rank)), draw.standard_normal(rank)),
    ):
        seen = TransformedRows(x, one, shift)
        block, growth = seen.single(slice(0, 40))
        off = np.linalg.norm(block - seen[:40], axis=1) / np.linalg.norm(
            seen[:40], axis=1
        )
        allowed = (rank + 8) * 2.0**-24 * growth
        assert (off < allowed).all()
        if not shift.any():
            assert np.allclose(growth, 4 * one.scales.max() / one.scales.min() / rank)
        # Far below what sums of k products would need.
        assert (growth < 3).all()
