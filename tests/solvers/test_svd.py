"""Every route of the truncated SVD against a full one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from embaudit.solvers import truncated_svd
from embaudit.solvers.svd import value_errors

EXACT_ROUTES = ("auto", "lapack", "gram", "krylov", "lanczos")
SHAPES = {"tall": (300, 90), "wide": (90, 300), "square": (120, 120)}


def with_spectrum(n: int, p: int, sigma: np.ndarray, seed: int = 0) -> np.ndarray:
    """A matrix with these singular values and random vectors."""
    rng = np.random.default_rng(seed)
    r = len(sigma)
    left, right = (np.linalg.qr(rng.standard_normal((size, r)))[0] for size in (n, p))
    return (left * sigma) @ right.T


def sparse_matrix(n: int, p: int, seed: int = 0) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    return sp.csr_array(sp.random_array((n, p), density=0.1, rng=rng))


def projector_gap(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.linalg.norm(x @ x.T - y @ y.T, 2))


@pytest.mark.parametrize("solver", EXACT_ROUTES)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_route_agrees_with_a_full_svd(
    solver: str, shape: tuple[int, int], kind: str
) -> None:
    X = (
        sparse_matrix(*shape)
        if kind == "sparse"
        else with_spectrum(*shape, np.geomspace(10, 0.1, 80))
    )
    dense = X.toarray() if sp.issparse(X) else X
    found = truncated_svd(X, 6, solver=solver, rng=0)
    _, sigma, right = np.linalg.svd(dense)
    np.testing.assert_allclose(found.singular_values, sigma[:6], rtol=1e-8)
    np.testing.assert_allclose(found.right.T @ found.right, np.eye(6), atol=1e-12)
    assert projector_gap(found.right, right[:6].T) < 1e-4
    assert found.solver == ("lapack" if solver == "auto" else solver)
    gap = np.linalg.norm(
        dense.T @ (dense @ found.right) - found.right * found.singular_values**2, axis=0
    )
    assert found.residual == pytest.approx(
        gap.max() / sigma[0] ** 2, rel=0.05, abs=1e-15
    )


def test_the_randomized_route_is_near_and_reports_its_residual() -> None:
    X = with_spectrum(200, 100, 0.5 ** np.arange(20))
    found = truncated_svd(X, 5, solver="randomized", rng=0)
    np.testing.assert_allclose(found.singular_values, 0.5 ** np.arange(5), rtol=1e-4)
    flat = with_spectrum(200, 100, np.linspace(1.0, 0.9, 100))
    poor, good = (
        truncated_svd(flat, 5, solver=s, rng=0).residual
        for s in ("randomized", "lapack")
    )
    assert good < 1e-14 < 1e-4 < poor


@pytest.mark.parametrize(
    "solver",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "lanczos" else name
        for name in EXACT_ROUTES
    ],
)
def test_sparse_data_give_the_dense_result_in_float32_and_float64(solver: str) -> None:
    X = sparse_matrix(150, 60, seed=3)
    expected = truncated_svd(X.toarray(), 5, solver="lapack")
    for same in (X, X.tocsc(), X.tocoo(), sp.csr_matrix(X), sp.csc_matrix(X)):
        found = truncated_svd(same, 5, solver=solver, rng=1)
        np.testing.assert_allclose(
            found.singular_values, expected.singular_values, rtol=1e-9
        )
        np.testing.assert_allclose(found.right, expected.right, atol=1e-4)
    narrow = truncated_svd(X.astype(np.float32), 5, solver=solver, rng=1)
    np.testing.assert_allclose(
        narrow.singular_values, expected.singular_values, rtol=1e-6
    )


def test_signs_do_not_depend_on_the_route_or_the_start() -> None:
    X = with_spectrum(300, 80, np.geomspace(10, 0.01, 80), seed=5)
    expected = truncated_svd(X, 8, solver="lapack").right
    assert (expected[np.abs(expected).argmax(axis=0), np.arange(8)] > 0).all()
    for solver in EXACT_ROUTES[1:]:
        for seed in (0, 1):
            np.testing.assert_allclose(
                truncated_svd(X, 8, solver=solver, rng=seed).right, expected, atol=2e-5
            )


@pytest.mark.parametrize("solver", EXACT_ROUTES)
def test_clustered_and_repeated_singular_values_are_found(solver: str) -> None:
    sigma = np.array([5.0, 5.0, 5.0, 5.0 - 1e-9, 2.0, 2.0, 1.0, *np.full(40, 0.5)])
    X = with_spectrum(200, 100, sigma, seed=2)
    found = truncated_svd(X, 7, solver=solver, rng=0)
    np.testing.assert_allclose(found.singular_values, sigma[:7], rtol=1e-8)
    _, _, right = np.linalg.svd(X)
    for group in (slice(0, 4), slice(4, 6), slice(6, 7)):
        assert projector_gap(found.right[:, group], right[group].T) < 1e-4
    # A rank that cuts a cluster has right values and orthonormal vectors within it.
    cut = truncated_svd(X, 2, solver=solver, rng=0)
    np.testing.assert_allclose(cut.singular_values, 5.0, rtol=1e-8)
    assert np.linalg.norm(right[:4] @ cut.right, axis=0) == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("solver", ["auto", "lapack", "gram", "krylov"])
def test_rank_deficiency_shows_as_zeros(shape: tuple[int, int], solver: str) -> None:
    X = with_spectrum(*shape, np.array([3.0, 2.0, 1.0]))
    found = truncated_svd(X, 6, solver=solver, rng=0)
    np.testing.assert_allclose(found.singular_values[:3], [3.0, 2.0, 1.0], rtol=1e-8)
    assert (found.singular_values[3:] < 1e-13).all()
    np.testing.assert_allclose(found.right.T @ found.right, np.eye(6), atol=1e-12)


def test_auto_takes_a_full_svd_where_a_gram_matrix_would_lose_small_values() -> None:
    sigma = np.array([1.0, 1e-2, 1e-4, 1e-7, 3e-9, 1e-9, 1e-11])
    X = with_spectrum(900, 600, sigma)
    found = truncated_svd(X, 7)
    assert found.solver == "lapack"
    np.testing.assert_allclose(found.singular_values, sigma, rtol=1e-4)
    assert truncated_svd(X, 3).solver == "gram"


def test_auto_warns_of_small_values_of_a_matrix_too_large_for_a_full_svd() -> None:
    sigma = [1.0, 1e-2, 1e-4, 1e-7, 3e-9, 1e-9, 1e-11]
    X = sp.csr_array((sigma, (np.arange(7), np.arange(7))), shape=(80_000, 600))
    with pytest.warns(
        RuntimeWarning, match="below 1e-6 of the largest and are not resolved"
    ):
        assert truncated_svd(X, 7).solver == "gram"


def test_zero_matrix_and_full_rank() -> None:
    zero = truncated_svd(np.zeros((4, 3)), 2)
    assert (zero.singular_values == 0).all()
    assert zero.residual == 0
    X = np.random.default_rng(0).standard_normal((7, 4))
    for solver in ("auto", "lapack", "gram", "krylov"):
        full = truncated_svd(X, 4, solver=solver, rng=0)
        np.testing.assert_allclose(
            full.singular_values, np.linalg.svd(X, compute_uv=False), rtol=1e-9
        )


@pytest.mark.parametrize("solver", EXACT_ROUTES)
@pytest.mark.parametrize("scale", [1e-310, 1e-160, 1e-20, 1e20, 1e200])
def test_scale_of_the_data_does_not_matter(solver: str, scale: float) -> None:
    X = with_spectrum(60, 40, np.geomspace(1.0, 0.01, 20))
    for form in (np.asarray, sp.csr_array):
        found = truncated_svd(form(scale * X), 3, solver=solver, rng=0)
        # At 1e-310 the data themselves have but 12 digits.
        np.testing.assert_allclose(
            found.singular_values / scale, np.geomspace(1.0, 0.01, 20)[:3], rtol=1e-8
        )


@pytest.mark.parametrize("shape", [(300, 90), (90, 300)])
def test_the_krylov_route_is_exact_beyond_float32(shape: tuple[int, int]) -> None:
    sigma = np.geomspace(1.0, 1e-5, 60)
    found = truncated_svd(with_spectrum(*shape, sigma), 40, solver="krylov", rng=0)
    np.testing.assert_allclose(found.singular_values, sigma[:40], rtol=1e-8)


def test_error_estimate_bounds_the_error() -> None:
    rng = np.random.default_rng(0)
    sigma = np.linspace(2.0, 0.1, 40)
    G = np.diag(sigma**2)
    Q = np.linalg.qr(np.eye(40)[:, :8] + 1e-4 * rng.standard_normal((40, 8)))[0]
    theta, turn = np.linalg.eigh(Q.T @ G @ Q)
    theta, V = theta[::-1], (Q @ turn)[:, ::-1]
    residuals = np.linalg.norm(G @ V - V * theta, axis=0)
    error = np.abs(np.sqrt(theta[:5]) / sigma[:5] - 1)
    estimate = value_errors(theta, residuals, 5)
    assert (error <= estimate).all()
    assert (estimate < 1e3 * error).all()


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 3, 8])
def test_equal_singular_values_do_not_defeat_the_gram_route(k: int) -> None:
    for seed in range(100):
        draw = np.random.default_rng(seed)
        X = np.linalg.qr(draw.standard_normal((40, 8)))[0] * (
            1 + 1e-16 * draw.standard_normal(8)
        )
        found = truncated_svd(X, k, solver="gram")
        np.testing.assert_allclose(found.singular_values, 1, atol=1e-7)
