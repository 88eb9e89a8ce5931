"""Which route is taken where, how large a basis may grow, and what counts as exact."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from records import open_records

from embaudit.errors import InputError
from embaudit.solvers import krylov, svd
from embaudit.solvers.krylov import _capacity, _Subspace, value_errors
from embaudit.solvers.products import as_interactions
from embaudit.solvers.svd import RESOLVED, _auto_route, _gram_is_cheap, _in_range, _Triplets, truncated_svd, zero_below


def test_records_are_closed():
    assert open_records("solvers") == {"_Subspace"}, "which grows"


class Shaped:
    """As much of a matrix as a choice looks at."""

    def __init__(self, n, p):
        self.shape = (n, p)


@pytest.mark.parametrize(
    ("shape", "route"),
    [
        ((4_000, 500), "lapack"),
        ((4_001, 500), "gram"),
        ((500, 4_000), "lapack"),
        ((501, 501), "gram"),
        ((9_000, 4_000), "gram"),
        ((9_000, 4_001), "krylov"),
    ],
)
def test_the_route_of_a_dense_matrix(shape, route, monkeypatch):
    monkeypatch.setattr(svd, "_gram_is_cheap", lambda X, k: True)
    assert _auto_route(Shaped(*shape), 10) == route
    monkeypatch.setattr(svd, "_gram_is_cheap", lambda X, k: False)
    assert _auto_route(Shaped(*shape), 10) == ("lapack" if route == "lapack" else "krylov")


def test_a_gram_matrix_is_cheap_beside_so_many_products_with_what_is_stored(monkeypatch):
    monkeypatch.setattr(svd.routes, "OVERSAMPLE", 6)
    # Dense: n p m against 16 (k + 6) n p and 4e10, here m against 160 + 400 / p.
    assert _gram_is_cheap(Shaped(10**8, 162), 4)
    assert not _gram_is_cheap(Shaped(10**8, 163), 4)
    assert _gram_is_cheap(Shaped(162, 10**8), 4)
    assert _gram_is_cheap(Shaped(10**8, 163), 5)


def test_a_sparse_matrix_is_judged_by_what_is_stored(monkeypatch):
    stored = sp.csr_array(np.eye(3))
    stored.resize((100_000, 4_000))
    # n p m = 1.6e12 against 20 · 16 (k + oversample) · nnz + 4e10.
    monkeypatch.setattr(svd.routes, "OVERSAMPLE", 10)
    monkeypatch.setattr(type(stored), "nnz", property(lambda self: 243_749_999))
    assert not _gram_is_cheap(stored, 10)
    monkeypatch.setattr(type(stored), "nnz", property(lambda self: 243_750_000))
    assert _gram_is_cheap(stored, 10)


def test_values_are_exact_resolved_or_zero():
    draw = np.array([2.0, 1.0, 1e-7])
    found = _Triplets(draw, np.eye(3), np.array([1e-9, 1e-9, 1.0]))
    assert found.is_exact(2)
    assert found.is_exact(3), "what is dead beside the largest need not be exact"
    assert _Triplets(np.array([1.0, RESOLVED]), np.eye(2), np.ones(2) * [0, 1]).is_exact(2)
    assert not _Triplets(np.array([1.0, 2 * RESOLVED]), np.eye(2), np.ones(2) * [0, 1]).is_exact(2)
    assert not _Triplets(draw, np.eye(3), np.array([1e-9, 1e-1, 0.0])).is_exact(2)
    assert not found.resolves(3, 1e-9)
    assert found.resolves(2, 1e-9)
    assert found.resolves(3, 1e-7), "zero within rounding"
    assert _Triplets(np.array([1.0, 1e-6]), np.eye(2), np.zeros(2)).resolves(2, 0.0)
    assert zero_below((30, 50), 2.0) == 100 * np.finfo(float).eps


def test_errors_are_the_residual_or_its_square_over_the_gap():
    found = value_errors(np.array([4.0, 1.0, 0.5, 0.0]), np.array([0.1, 0.6, 0.1, 0.0]), 4)
    np.testing.assert_allclose(found[:3], [0.01 / 4 / 8, 0.36 / 1 / 2, 0.01 / 0.5 / 1])
    assert found[3] == np.inf
    same = value_errors(np.array([1.0, 1.0]), np.array([0.1, 0.1]), 2)
    np.testing.assert_allclose(same, [0.05, 0.05])


def test_matrices_beyond_float32_are_scaled_by_a_power_of_two():
    for largest, scale in (
        (3e12, 2.0**41),
        (1.5e12, 2.0**40),
        (1e12, 1.0),
        (1e-12, 1.0),
        (9e-13, 2.0**-41),
        (0.0, 1.0),
    ):
        for x in (
            np.array([[largest, -largest / 2]]),
            np.array([[largest / 2, -largest]]),
            sp.csr_array(np.array([[-largest, 0.0]])),
        ):
            scaled, found = _in_range(x)
            assert found == scale
            dense = scaled.toarray() if sp.issparse(scaled) else scaled
            whole = x.toarray() if sp.issparse(x) else x
            np.testing.assert_array_equal(dense * scale, whole)


def test_a_basis_keeps_to_its_memory_and_to_a_few_times_the_vectors_wanted(monkeypatch):
    monkeypatch.setattr(krylov, "BASIS_BYTES", 8 * 10_000 * 60)
    monkeypatch.setattr(krylov, "MAX_COLUMNS", 50)
    double = np.dtype(np.float64)
    assert _capacity(10_000, 5, 6, double) == 50
    assert _capacity(20_000, 5, 6, double) == 30
    assert _capacity(20_000, 5, 6, np.dtype(np.float32)) == 50
    assert _capacity(20_000, 5, 9, double) == 36
    assert _capacity(20, 5, 9, double) == 20
    assert _capacity(20, 25, 9, double) == 25
    assert _capacity(4, 2, 9, double) == 9


def test_a_subspace_grows_orthonormal_and_projects():
    draw = np.random.default_rng(0)
    turn = np.linalg.qr(draw.standard_normal((8, 8)))[0]
    gram = (turn * np.arange(8.0)) @ turn.T
    space = _Subspace.of(8, 5, np.dtype(np.float64))
    first = np.linalg.qr(draw.standard_normal((8, 3)))[0]
    rest = space.append(first, gram @ first)
    np.testing.assert_allclose(first.T @ rest, 0, atol=1e-14)
    second = space.fresh(rest)
    assert second.shape == (8, 2)
    space.append(second, gram @ second)
    basis = space.rows[:5].T
    np.testing.assert_allclose(basis.T @ basis, np.eye(5), atol=1e-14)
    np.testing.assert_allclose(space.projected, basis.T @ gram @ basis, atol=1e-13)
    values, coordinates = space.ritz()
    np.testing.assert_allclose(values, np.linalg.eigvalsh(basis.T @ gram @ basis)[::-1], atol=1e-13)
    np.testing.assert_allclose(space.vectors(coordinates), basis @ coordinates)
    assert space.fresh(rest).shape == (8, 0)


def test_a_result_shows_its_size_and_points_up():
    found = truncated_svd(np.diag([3.0, 2.0, -1.0]), 2)
    assert repr(found).startswith("TruncatedSVD(3 columns, rank 2, lapack, residual ")
    assert found.residual < 1e-15
    assert (found.right.max(axis=0) == 1).all()
    signs = svd._positive_signs(np.array([[-0.5, 0.5], [0.5, -0.9]]))
    np.testing.assert_array_equal(signs, [[0.5, -0.5], [-0.5, 0.9]])
    for bad in (0, 4):
        with pytest.raises(InputError, match=rf"k must be from 1 to min\(n, p\) = 3; got {bad}"):
            truncated_svd(np.eye(3), bad)
    with pytest.raises(InputError) as refused:
        truncated_svd(np.eye(3), 3, solver="lanczos")
    assert str(refused.value) == ('k must be below min(n, p) = 3 for the lanczos route; got 3; use "lapack".')
    for shape in ((5, 3), (3, 5)):
        with pytest.raises(InputError, match=r"^k must be below min\(n, p\) = 3 for the lanczos route; got 3; use "):
            truncated_svd(np.ones(shape), 3, solver="lanczos")
    for shape, k in (((5, 3), 4), ((3, 5), 4), ((3, 5), 0)):
        with pytest.raises(InputError) as refused:
            truncated_svd(np.ones(shape), k)
        assert str(refused.value) == f"k must be from 1 to min(n, p) = 3; got {k}."
    with pytest.raises(InputError, match="solver must be one of auto, lapack, gram, krylov, lanczos, randomized; got"):
        truncated_svd(np.eye(3), 1, solver="power")


def test_what_is_left_of_an_image_is_cleaned_twice():
    draw = np.random.default_rng(0)
    space = _Subspace.of(20, 6, np.dtype(np.float64))
    first = np.linalg.qr(draw.standard_normal((20, 3)))[0]
    image = first @ draw.standard_normal((3, 3)) + 1e-10 * draw.standard_normal((20, 3))
    rest = space.append(first, image)
    assert np.abs(first.T @ rest).max() <= 1e-13 * np.abs(rest).max()


def test_the_last_place_of_a_basis_is_filled():
    space = _Subspace.of(8, 4, np.dtype(np.float64))
    first = np.eye(8)[:, :3]
    space.append(first, first)
    assert space.fresh(np.eye(8)[:, 2:5]).shape == (8, 1)


@pytest.mark.parametrize(
    ("solver", "exact", "k", "asked"),
    [
        ("krylov", False, 3, ["krylov", "lanczos"]),
        ("krylov", True, 3, ["krylov"]),
        ("krylov", False, 4, ["krylov"]),
        ("gram", False, 3, ["gram"]),
    ],
)
def test_what_is_not_exact_is_asked_of_a_stronger_route(monkeypatch, solver, exact, k, asked):
    seen = []

    def by_name(X, k, name, rng):
        seen.append(name)
        return _Triplets(np.ones(4), np.eye(4), np.full(4, 0.0 if exact else 1.0))

    monkeypatch.setattr(svd, "_auto_route", lambda X, k: solver)
    monkeypatch.setattr(svd, "_by_name", by_name)
    _, used = svd._automatic(Shaped(9, 4), k, np.random.default_rng(0))
    assert (seen, used) == (asked, asked[-1])


def test_small_values_survive_the_square_of_a_matrix():
    draw = np.random.default_rng(0)
    left, right = (np.linalg.qr(draw.standard_normal((n, 3)))[0] for n in (20, 8))
    values = np.array([1.0, 1e-7, 1e-8])
    found = svd._polished((left * values) @ right.T, right)
    np.testing.assert_allclose(found.values, values, rtol=1e-6)


@pytest.mark.parametrize("given", [np.ones(3), np.array([["a"]]), np.ones((2, 2, 2)), np.ones((2, 2), dtype=complex)])
def test_what_is_no_matrix_of_real_numbers_is_refused(given):
    with pytest.raises(InputError, match=r"^X must be a matrix of real numbers, dense or sparse; got "):
        as_interactions(given)
