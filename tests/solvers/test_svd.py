"""The truncated SVD against known singular values.

The size and the storage of a matrix decide the method: LAPACK if the smaller side has
at most 500 rows, the Gram matrix if the smaller side has at most 4,000 rows and the
matrix is dense or not large, and Krylov iteration otherwise.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from embaudit.errors import InputError
from embaudit.solvers import truncated_svd
from embaudit.solvers.krylov import value_errors

SHAPES = {
    "lapack": {"tall": (300, 90), "wide": (90, 300), "square": (120, 120)},
    "gram": {"tall": (900, 600), "wide": (600, 900), "square": (600, 600)},
    "krylov": {"tall": (5000, 3000), "wide": (3000, 5000), "square": (3500, 3500)},
}
CASES = [(solver, kind) for solver in SHAPES for kind in ("tall", "wide", "square")]
SOLVERS = tuple(SHAPES)
DECAYING = np.geomspace(10, 0.1, 80)


def sparse_rotation(n: int, rng: np.random.Generator) -> sp.csr_array:
    """An orthogonal matrix with at most 5 entries per row: rotations of 5 axes each."""
    sizes = [5] * (n // 5) + [1] * (n % 5)
    blocks = [np.linalg.qr(rng.standard_normal((size, size)))[0] for size in sizes]
    sparse_blocks = [sp.coo_array(block) for block in blocks]
    return sp.csr_array(sp.block_diag(sparse_blocks, format="csr"))[rng.permutation(n)]


def with_spectrum(
    shape: tuple[int, int], sigma: np.ndarray, seed: int = 0
) -> tuple[sp.csr_array, np.ndarray]:
    """A sparse matrix with these singular values, and its right singular vectors."""
    rng = np.random.default_rng(seed)
    n, p = shape
    left, right = sparse_rotation(n, rng), sparse_rotation(p, rng)
    # The leading vectors are any of the columns, not the first ones.
    rows, columns = rng.permutation(n)[: len(sigma)], rng.permutation(p)[: len(sigma)]
    middle = sp.csr_array((sigma, (rows, columns)), shape=shape)
    return sp.csr_array(left @ middle @ right.T), right[:, columns].toarray()


def example(
    solver: str, sigma: np.ndarray, kind: str = "tall", seed: int = 0
) -> tuple[Any, np.ndarray]:
    """A matrix that this solver decomposes, and its right singular vectors."""
    X, right = with_spectrum(SHAPES[solver][kind], sigma, seed)
    return X.toarray() if solver == "gram" else X, right


def projector_gap(x: np.ndarray, y: np.ndarray) -> float:
    """The sine of the largest angle between the spans of orthonormal columns."""
    return float(np.linalg.norm(x - y @ (y.T @ x), 2))


@pytest.mark.parametrize(("solver", "kind"), CASES)
def test_values_and_vectors_are_those_of_the_construction(
    solver: str, kind: str
) -> None:
    X, right = example(solver, DECAYING, kind)
    found = truncated_svd(X, 6)
    assert found.solver == solver
    np.testing.assert_allclose(found.singular_values, DECAYING[:6], rtol=1e-8)
    np.testing.assert_allclose(found.right.T @ found.right, np.eye(6), atol=1e-12)
    assert projector_gap(found.right, right[:, :6]) < 1e-4


@pytest.mark.parametrize("shape", [(4600, 4100), (4100, 4600), (4100, 4100)])
def test_a_matrix_with_more_than_4000_rows_and_columns_is_iterated_over(
    shape: tuple[int, int],
) -> None:
    X, right = with_spectrum(shape, DECAYING)
    found = truncated_svd(X, 6)
    assert found.solver == "krylov"
    np.testing.assert_allclose(found.singular_values, DECAYING[:6], rtol=1e-8)
    assert projector_gap(found.right, right[:, :6]) < 1e-4


def test_so_is_a_dense_one() -> None:
    sigma = np.array([5.0, 4.0, 3.0, 1.0])
    X, right = with_spectrum((4050, 4010), sigma)
    found = truncated_svd(X.toarray().astype(np.float32), 3)
    assert found.solver == "krylov"
    np.testing.assert_allclose(found.singular_values, sigma[:3], rtol=1e-6)
    assert projector_gap(found.right, right[:, :3]) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize(("k", "solver"), [(374, "krylov"), (375, "gram")])
def test_a_sparse_matrix_has_a_gram_matrix_if_an_eighth_of_all_vectors_is_wanted(
    k: int, solver: str
) -> None:
    sigma = np.geomspace(10, 0.1, 400)
    X, right = with_spectrum((5000, 3000), sigma)
    found = truncated_svd(X, k)
    assert found.solver == solver
    np.testing.assert_allclose(found.singular_values, sigma[:k], rtol=1e-8)
    assert projector_gap(found.right, right[:, :k]) < 1e-4


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_residual_is_the_one_of_its_definition(solver: str) -> None:
    X, _ = example(solver, DECAYING)
    found = truncated_svd(X, 6)
    assert found.solver == solver
    image = X.T @ (X @ found.right)
    gaps = np.linalg.norm(image - found.right * found.singular_values**2, axis=0)
    assert found.residual == pytest.approx(gaps.max() / 10**2, rel=0.05, abs=1e-15)


@pytest.mark.parametrize(
    ("solver", "tolerance"), [("lapack", 1e-9), ("gram", 1e-9), ("krylov", 1e-4)]
)
def test_dense_data_give_the_result_of_sparse_data(
    solver: str, tolerance: float
) -> None:
    """Vectors of the Krylov iteration agree to fewer digits with those of the Gram
    matrix.
    """
    X, _ = with_spectrum(SHAPES[solver]["tall"], DECAYING)
    sparse, dense = truncated_svd(X, 5), truncated_svd(X.toarray(), 5)
    np.testing.assert_allclose(dense.singular_values, sparse.singular_values, rtol=1e-9)
    np.testing.assert_allclose(dense.right, sparse.right, atol=tolerance)


@pytest.mark.parametrize("kind", ["tall", "wide"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_items_with_the_same_interactions_get_the_same_vector(
    solver: str, kind: str
) -> None:
    """Equal columns of X have equal rows of V, as `v = Xᵀ u / σ` shows."""
    X, _ = example(solver, DECAYING, kind)
    columns = np.arange(X.shape[1])
    columns[[0, 1, 2]] = [10, 20, 30]
    found = truncated_svd(X[:, columns], 5)
    assert found.solver == solver
    np.testing.assert_allclose(
        found.right[[0, 1, 2]], found.right[[10, 20, 30]], rtol=0, atol=1e-14
    )


@pytest.mark.parametrize("solver", ["lapack", "krylov"])
@pytest.mark.parametrize(
    "form", [sp.csc_array, sp.coo_array, sp.csr_matrix, sp.csc_matrix]
)
def test_every_sparse_format_gives_the_same_result(form: type, solver: str) -> None:
    X, _ = example(solver, DECAYING, seed=3)
    expected, found = truncated_svd(X, 5), truncated_svd(form(X), 5)
    assert found.solver == solver
    np.testing.assert_allclose(
        found.singular_values, expected.singular_values, rtol=1e-9
    )
    np.testing.assert_allclose(found.right, expected.right, atol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_float32_data_give_the_result_of_float64_data(solver: str) -> None:
    X, _ = example(solver, DECAYING, seed=3)
    found = truncated_svd(X.astype(np.float32), 5)
    assert found.solver == solver
    assert found.singular_values.dtype == found.right.dtype == np.float64
    np.testing.assert_allclose(found.singular_values, DECAYING[:5], rtol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_largest_entry_of_each_vector_is_positive_for_every_start(
    solver: str,
) -> None:
    X, right = example(solver, np.geomspace(10, 0.01, 80), seed=5)
    signs = np.sign(right[np.abs(right).argmax(axis=0), np.arange(80)])
    for seed in (0, 1):
        found = truncated_svd(X, 8, rng=seed)
        assert found.solver == solver
        np.testing.assert_allclose(found.right, (right * signs)[:, :8], atol=2e-5)


# Clusters: columns 0 to 3 (equal up to 1e-9), columns 4 and 5, and column 6 alone.
CLUSTERED = np.array([5.0, 5.0, 5.0, 5.0 - 1e-9, 2.0, 2.0, 1.0, *np.full(40, 0.5)])


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_rank_of_whole_clusters_gives_the_span_of_each_cluster(solver: str) -> None:
    X, right = example(solver, CLUSTERED, seed=2)
    found = truncated_svd(X, 7)
    assert found.solver == solver
    np.testing.assert_allclose(found.singular_values, CLUSTERED[:7], rtol=1e-8)
    for cluster in (slice(0, 4), slice(4, 6), slice(6, 7)):
        found_columns = found.right[:, cluster]
        true_columns = right[:, cluster]
        assert projector_gap(found_columns, true_columns) < 1e-4


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_rank_that_cuts_a_cluster_gives_vectors_within_the_cluster(
    solver: str,
) -> None:
    X, right = example(solver, CLUSTERED, seed=2)
    found = truncated_svd(X, 2)
    assert found.solver == solver
    np.testing.assert_allclose(found.singular_values, 5.0, rtol=1e-8)
    # A unit vector lies in the span of the cluster if its projection has length 1.
    first_cluster = right[:, :4]
    projected = first_cluster.T @ found.right
    lengths = np.linalg.norm(projected, axis=0)
    assert lengths == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize(("solver", "kind"), CASES)
def test_rank_deficiency_shows_as_zeros(solver: str, kind: str) -> None:
    X, _ = example(solver, np.array([3.0, 2.0, 1.0]), kind)
    found = truncated_svd(X, 6)
    assert found.solver == solver
    np.testing.assert_allclose(found.singular_values[:3], [3.0, 2.0, 1.0], rtol=1e-8)
    assert (found.singular_values[3:] < 1e-13).all()
    np.testing.assert_allclose(found.right.T @ found.right, np.eye(6), atol=1e-12)


TINY_VALUES = np.array([1.0, 1e-2, 1e-4, 1e-7, 3e-9, 1e-9, 1e-11])


@pytest.mark.parametrize("solver", ["gram", "krylov"])
def test_values_below_1e_6_of_the_largest_come_with_a_warning(solver: str) -> None:
    X, _ = example(solver, TINY_VALUES)
    with pytest.warns(RuntimeWarning, match="below 1e-6 of the largest and are not"):
        assert truncated_svd(X, 7).solver == solver
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = truncated_svd(X, 3)
    np.testing.assert_allclose(found.singular_values, TINY_VALUES[:3], rtol=1e-8)


def test_a_small_matrix_has_no_such_limit() -> None:
    X, _ = with_spectrum((500, 450), TINY_VALUES)
    found = truncated_svd(X, 7)
    assert found.solver == "lapack"
    np.testing.assert_allclose(found.singular_values, TINY_VALUES, rtol=1e-4)


def test_a_zero_matrix_has_zeros_and_no_residual() -> None:
    for form in (np.asarray, sp.csr_array):
        zero = truncated_svd(form(np.zeros((600, 550))), 2)
        assert (zero.singular_values == 0).all()
        assert zero.residual == 0


@pytest.mark.parametrize("shape", [(7, 4), (700, 550)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_all_singular_values_can_be_wanted(form: type, shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).standard_normal(shape)
    found = truncated_svd(form(X), shape[1])
    expected = np.linalg.svd(X, compute_uv=False)
    np.testing.assert_allclose(found.singular_values, expected, rtol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", [1e-98, 1e-20, 1e20, 1e98])
def test_scale_of_the_data_does_not_matter(scale: float, solver: str) -> None:
    sigma = np.geomspace(1.0, 0.01, 20)
    X, _ = example(solver, sigma)
    found = truncated_svd(scale * X, 3)
    assert found.solver == solver
    np.testing.assert_allclose(found.singular_values / scale, sigma[:3], rtol=1e-8)


@pytest.mark.parametrize("size", [1e-310, 1e-101, 1e101, 1e200])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_entries_beyond_the_range_of_sizes_are_refused(form: type, size: float) -> None:
    with pytest.raises(InputError, match="largest entry of X must be from 1e-100 to"):
        truncated_svd(form(size * np.eye(3)), 1)


@pytest.mark.parametrize("kind", ["tall", "wide"])
def test_the_iteration_is_exact_beyond_float32(kind: str) -> None:
    sigma = np.geomspace(1.0, 1e-5, 60)
    X, _ = example("krylov", sigma, kind)
    found = truncated_svd(X, 40)
    assert found.solver == "krylov"
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
def test_equal_singular_values_do_not_defeat_the_gram_matrix(k: int) -> None:
    for seed in range(5):
        draw = np.random.default_rng(seed)
        X = np.linalg.qr(draw.standard_normal((800, 510)))[0]
        X *= 1 + 1e-16 * draw.standard_normal(510)
        found = truncated_svd(X, k)
        assert found.solver == "gram"
        np.testing.assert_allclose(found.singular_values, 1, atol=1e-7)
