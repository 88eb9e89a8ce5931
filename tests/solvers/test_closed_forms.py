"""The closed forms against a numerical optimiser, and cosines against the paper."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from embaudit.errors import InputError
from embaudit.gauges import Diagonal, Gauge, GeneralLinear, Orthogonal
from embaudit.solvers import (
    RESCALINGS,
    FactorPenaltyMF,
    ProductPenaltyMF,
    factor_objective,
    product_objective,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, scope="module")
def one_blas_thread() -> Iterator[None]:
    # The optimiser's matrices are tiny: threads would only wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        yield


ESTIMATORS = [ProductPenaltyMF, FactorPenaltyMF]
OBJECTIVES = {ProductPenaltyMF: product_objective, FactorPenaltyMF: factor_objective}


def data(n: int = 12, p: int = 6, rank: int | None = None, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X if rank is None else X[:, :rank] @ rng.standard_normal((rank, p))


def cosines(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    x, y = (z / np.linalg.norm(z, axis=1, keepdims=True) for z in (x, y))
    return x @ y.T


def dense_value(
    kind: type, X: np.ndarray, A: np.ndarray, B: np.ndarray, alpha: float
) -> float:
    """The objectives as the paper writes them, with every matrix in full."""
    loss = np.linalg.norm(X - X @ A @ B.T) ** 2
    if kind is ProductPenaltyMF:
        return float(loss + alpha * np.linalg.norm(A @ B.T) ** 2)
    return float(loss + alpha * (np.linalg.norm(X @ A) ** 2 + np.linalg.norm(B) ** 2))


def value_and_gradient(
    flat: np.ndarray, kind: type, X: np.ndarray, k: int, alpha: float
) -> tuple[float, np.ndarray]:
    """Compute an objective and its gradient at the factors A and B, stacked in `flat`.

    With E = X A Bᵀ - X, the loss |E|² has the gradients 2 Xᵀ E B for A and 2 Eᵀ X A for
    B. The penalty α |A Bᵀ|² adds 2 α A BᵀB and 2 α B AᵀA. The penalty α (|X A|² + |B|²)
    adds 2 α Xᵀ X A and 2 α B.
    """
    A, B = flat.reshape(2, X.shape[1], k)
    XA = X @ A
    error = XA @ B.T - X
    loss_gradient_a = 2 * X.T @ (error @ B)
    loss_gradient_b = 2 * error.T @ XA
    if kind is ProductPenaltyMF:
        penalty_gradient_a = 2 * alpha * A @ (B.T @ B)
        penalty_gradient_b = 2 * alpha * B @ (A.T @ A)
    else:
        penalty_gradient_a = 2 * alpha * X.T @ XA
        penalty_gradient_b = 2 * alpha * B
    gradient_a = loss_gradient_a + penalty_gradient_a
    gradient_b = loss_gradient_b + penalty_gradient_b
    gradient = np.concatenate([gradient_a.ravel(), gradient_b.ravel()])
    return dense_value(kind, X, A, B, alpha), gradient


def best_of(kind: type, X: np.ndarray, k: int, alpha: float, starts: int = 6) -> float:
    """The smallest objective that a numerical optimiser finds from random starts."""
    rng = np.random.default_rng(1)
    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-10}
    values = []
    for _ in range(starts):
        found = minimize(
            value_and_gradient,
            rng.standard_normal(2 * X.shape[1] * k),
            (kind, X, k, alpha),
            "L-BFGS-B",
            jac=True,
            options=options,
        )
        values.append(found.fun)
    return min(values)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_gradient_of_these_tests_is_that_of_the_objective(kind: type) -> None:
    X, rng = data(), np.random.default_rng(2)
    flat, step = rng.standard_normal((2, 2 * 6 * 3))
    _, gradient = value_and_gradient(flat, kind, X, 3, 0.7)
    up, down = (
        value_and_gradient(flat + h * step, kind, X, 3, 0.7)[0] for h in (1e-6, -1e-6)
    )
    assert (up - down) / 2e-6 == pytest.approx(gradient @ step, rel=1e-6)


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize(
    ("X", "k", "alpha"),
    [
        (data(), 3, 0.8),
        (data(), 6, 0.3),
        (data(), 2, 0.0),
        (data(5, 8, seed=4), 4, 0.5),
        (data(10, 7, rank=3, seed=5), 5, 0.6),
        (0.1 * data(seed=6), 3, 0.3),
    ],
    ids=[
        "truncated",
        "full rank",
        "no penalty",
        "wide",
        "rank deficient",
        "large penalty",
    ],
)
def test_closed_form_is_the_optimum(
    kind: type, X: np.ndarray, k: int, alpha: float
) -> None:
    mf = kind(k, alpha=alpha).fit(X)
    ours, best = mf.objective(X), best_of(kind, X, k, alpha)
    scale = np.linalg.norm(X) ** 2
    assert ours <= best + 1e-9 * scale
    assert ours == pytest.approx(best, rel=1e-6, abs=1e-6 * scale)


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_objective_is_the_one_written_in_the_paper(kind: type, form: Any) -> None:
    rng = np.random.default_rng(0)
    X = data() * (rng.random((12, 6)) < 0.5)
    A, B = rng.standard_normal((2, 6, 3))
    assert OBJECTIVES[kind](form(X), A, B, alpha=0.7) == pytest.approx(
        dense_value(kind, X, A, B, 0.7), rel=1e-12
    )


def objective_after(gauge: Gauge, mf: Any, X: np.ndarray) -> float:
    """The objective of a fitted factorisation after a gauge."""
    A = gauge.apply(mf.projection_, "left")
    B = gauge.apply(mf.components_.T, "right")
    return float(OBJECTIVES[type(mf)](X, A, B, alpha=mf.alpha))


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("seed", range(4))
def test_the_symmetry_of_an_objective_and_rotations_keep_it(
    kind: type, seed: int
) -> None:
    X = data(15, 7, seed=seed)
    mf = kind(3, alpha=0.9).fit(X)
    for group in (mf.symmetry, Orthogonal(3)):
        after = objective_after(group.sample(rng=seed), mf, X)
        assert after == pytest.approx(mf.objective(X), rel=1e-10)


@pytest.mark.parametrize("group", [GeneralLinear, Diagonal])
@pytest.mark.parametrize("seed", range(4))
def test_other_gauges_keep_the_first_objective_and_increase_the_second(
    group: type, seed: int
) -> None:
    X = data(15, 7, seed=seed)
    gauge = group(3, max_condition=3.0).sample(rng=seed)
    first = ProductPenaltyMF(3, alpha=0.9).fit(X)
    assert objective_after(gauge, first, X) == pytest.approx(
        first.objective(X), rel=1e-10
    )
    # The optimum of the second objective is unique up to rotations.
    second = FactorPenaltyMF(3, alpha=0.9).fit(X)
    assert objective_after(gauge, second, X) > (1 + 1e-4) * second.objective(X)


@pytest.mark.parametrize(
    ("kind", "name"), [(ProductPenaltyMF, "product"), (FactorPenaltyMF, "factors")]
)
def test_a_model_names_its_objective_only_if_there_is_a_penalty(
    kind: type, name: str
) -> None:
    X = data(15, 7)
    assert kind(3, alpha=0.9).fit(X).model(X).objective == name
    assert kind(3, alpha=0).fit(X).model(X).objective == "none"
    assert kind(3, alpha=0).fit(X).symmetry == GeneralLinear(3)


def test_a_model_holds_the_ids_titles_and_counts_that_are_given():
    X = np.eye(4)[[0, 0, 1, 2, 3]]
    model = (
        ProductPenaltyMF(2)
        .fit(X)
        .model(
            X,
            user_ids=[5, 6, 7, 8, 9],
            item_ids=[10, 20, 30, 40],
            item_names=["a", "b", "c", "d"],
            user_counts=X.sum(axis=1),
            item_counts=X.sum(axis=0),
        )
    )
    assert model.left_ids.tolist() == [5, 6, 7, 8, 9]
    assert model.right_ids.tolist() == [10, 20, 30, 40]
    assert model.right_names.tolist() == ["a", "b", "c", "d"]
    assert model.left_counts.tolist() == [1, 1, 1, 1, 1]
    assert model.right_counts.tolist() == [2, 1, 1, 1]


@pytest.mark.parametrize("split", [0.0, 0.3, 0.5, 1.0, *RESCALINGS])
def test_every_split_of_factors_has_the_same_product(split: float | str) -> None:
    X, alpha, k = data(20, 8), 2.5, 4
    mf = ProductPenaltyMF(k, alpha=alpha, split=split).fit(X)
    _, sigma, right = np.linalg.svd(X)
    g = 1 / (1 + alpha / sigma[:k] ** 2)
    np.testing.assert_allclose(
        mf.projection_ @ mf.components_, (right[:k].T * g) @ right[:k], atol=1e-12
    )
    np.testing.assert_allclose(mf.singular_values_, sigma[:k])


def test_named_rescalings_are_those_of_the_paper() -> None:
    X, alpha = data(20, 8), 2.5
    _, sigma, right = np.linalg.svd(X)
    g = 1 / (1 + alpha / sigma**2)
    V = right.T
    expected = {
        "identity": (V * g**0.5, V * g**0.5),
        "g^1/2": (V * g, V),
        "g^-1/2": (V, V * g),
        "sigma^-1/2": (V * (g / sigma) ** 0.5, V * (g * sigma) ** 0.5),
    }
    assert set(RESCALINGS) == set(expected)
    for name, (A, B) in expected.items():
        mf = ProductPenaltyMF(8, alpha=alpha, split=name).fit(X)
        np.testing.assert_allclose(
            cosines(X @ mf.projection_, X @ mf.projection_),
            cosines(X @ A, X @ A),
            atol=1e-10,
        )
        np.testing.assert_allclose(
            mf.projection_ @ mf.projection_.T, A @ A.T, atol=1e-10
        )
        np.testing.assert_allclose(
            mf.components_.T @ mf.components_, B @ B.T, atol=1e-10
        )
    for name, e in (("identity", 0.5), ("g^1/2", 1.0), ("g^-1/2", 0.0)):
        named, numbered = (
            ProductPenaltyMF(8, alpha=alpha, split=x).fit(X) for x in (name, e)
        )
        np.testing.assert_allclose(named.projection_, numbered.projection_, atol=1e-14)


def test_at_full_rank_item_cosines_vanish_or_user_cosines_are_those_of_the_data() -> (
    None
):
    X, alpha = data(30, 8, seed=3), 3.0
    into_a = ProductPenaltyMF(8, alpha=alpha, split="g^1/2").fit(X)
    items, users = into_a.components_.T, into_a.transform(X)
    np.testing.assert_allclose(cosines(items, items), np.eye(8), atol=1e-12)
    order = np.argsort(cosines(users, items), axis=1)
    np.testing.assert_array_equal(order, np.argsort(users @ items.T, axis=1))
    into_b = ProductPenaltyMF(8, alpha=alpha, split="g^-1/2").fit(X)
    users = into_b.transform(X)
    np.testing.assert_allclose(cosines(users, users), cosines(X, X), atol=1e-12)
    # Neither holds for the symmetric split.
    both = ProductPenaltyMF(8, alpha=alpha).fit(X)
    items, users = both.components_.T, both.transform(X)
    assert np.abs(cosines(items, items) - np.eye(8)).max() > 0.01
    assert np.abs(cosines(users, users) - cosines(X, X)).max() > 0.01


def test_the_second_objective_shrinks_each_singular_value_by_its_penalty() -> None:
    X, alpha = data(20, 8), 2.0
    left, sigma, right = np.linalg.svd(X, full_matrices=False)
    mf = FactorPenaltyMF(8, alpha=alpha).fit(X)
    live = sigma > alpha
    assert mf.effective_rank_ == live.sum() < 8
    root = np.sqrt(sigma[live] - alpha)
    np.testing.assert_allclose(
        mf.transform(X) @ mf.components_,
        (left[:, live] * root**2) @ right[live],
        atol=1e-12,
    )
    model = mf.model(X)
    assert model.rank == live.sum()
    assert model.objective == "factors"
    np.testing.assert_allclose(
        model.scores(), mf.inverse_transform(mf.transform(X)), atol=1e-12
    )
    assert not mf.transform(X)[:, ~live].any()


@pytest.mark.parametrize("split", [0.0, 0.5, 1.0, *RESCALINGS])
def test_directions_without_data_are_zero(split: float | str) -> None:
    X = data(20, 9, rank=3)
    mf = ProductPenaltyMF(6, alpha=0.5, split=split).fit(X)
    assert mf.effective_rank_ == 3
    assert np.isfinite(mf.projection_).all()
    assert not mf.projection_[:, 3:].any()
    assert not mf.components_[3:].any()
    model = mf.model(X)
    assert model.rank == 3
    assert model.objective == "product"
    np.testing.assert_allclose(
        model.scores(), mf.inverse_transform(mf.transform(X)), atol=1e-12
    )
    assert FactorPenaltyMF(6, alpha=0.0).fit(X).effective_rank_ == 3


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize(
    "form", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.coo_matrix]
)
def test_sparse_and_dense_data_give_the_same_factors(kind: type, form: Any) -> None:
    X = np.round(2 * data(40, 15, seed=1)) * (
        np.random.default_rng(0).random((40, 15)) < 0.4
    )
    dense, sparse = kind(5, alpha=1.5).fit(X), kind(5, alpha=1.5).fit(form(X))
    np.testing.assert_allclose(sparse.projection_, dense.projection_, atol=1e-12)
    np.testing.assert_allclose(
        sparse.transform(form(X)), dense.transform(X), atol=1e-12
    )
    assert sparse.objective(form(X)) == pytest.approx(dense.objective(X), rel=1e-12)
    counts = kind(5, alpha=1.5).fit(form(X.astype(np.int64)))
    np.testing.assert_array_equal(counts.components_, sparse.components_)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_numbers_stored_in_one_place_stand_for_their_sum(kind: type) -> None:
    """The first entry of the matrix is stored as 1 + 1, and the objective counts 2."""
    values, columns, row_starts = [1.0, 1.0, 3.0], [0, 0, 1], [0, 2, 3]
    X = sp.csr_array((values, columns, row_starts), shape=(2, 2))
    mf = kind(1, alpha=0.5).fit(X)
    assert mf.objective(X) == pytest.approx(mf.objective(X.toarray()), rel=1e-12)
    assert X.nnz == 3


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize(
    ("shape", "solver"), [((40, 15), "lapack"), ((700, 510), "gram")]
)
def test_float32_gives_the_float64_answer(
    kind: type, shape: tuple[int, int], solver: str
) -> None:
    # A few strong directions beside noise, so that the leading ones are well apart.
    X = data(*shape, seed=1) / 50 + data(*shape, rank=4, seed=2)
    wide = kind(4, alpha=1.5).fit(X)
    narrow = kind(4, alpha=1.5).fit(X.astype(np.float32))
    for name in ("projection_", "components_"):
        assert getattr(narrow, name).dtype == np.float32
        np.testing.assert_allclose(
            getattr(narrow, name), getattr(wide, name), atol=2e-6
        )
    assert narrow.transform(X.astype(np.float32)).dtype == np.float32
    assert narrow.svd_solver_ == solver


@settings(max_examples=30)
@given(
    n=st.integers(2, 9),
    p=st.integers(1, 9),
    seed=st.integers(0, 10_000),
    log_alpha=st.floats(-6, 6),
)
def test_random_factors_are_never_better_than_the_closed_form(
    n: int, p: int, seed: int, log_alpha: float
) -> None:
    rng = np.random.default_rng(seed)
    X, alpha = rng.standard_normal((n, p)), 10**log_alpha
    k = int(rng.integers(1, min(n, p) + 1))
    top = np.linalg.svd(X, compute_uv=False)[0]
    for kind in ESTIMATORS:
        if kind is FactorPenaltyMF and alpha >= top:
            continue
        mf = kind(k, alpha=alpha).fit(X)
        A, B, value = mf.projection_, mf.components_.T, mf.objective(X)
        assert value == pytest.approx(
            dense_value(kind, X, A, B, alpha), rel=1e-9, abs=1e-9
        )
        for size in (1e-3, 0.1, 1.0):
            near = (
                A + size * rng.standard_normal(A.shape),
                B + size * rng.standard_normal(B.shape),
            )
            assert value <= dense_value(kind, X, *near, alpha) + 1e-9


@parametrize_with_checks(
    [
        ProductPenaltyMF(n_components=2),
        ProductPenaltyMF(n_components=1),
        FactorPenaltyMF(n_components=2),
        FactorPenaltyMF(n_components=1),
    ]
)
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


ALL_CHECKS = """
from sklearn.utils.estimator_checks import check_estimator
from embaudit.solvers import FactorPenaltyMF, ProductPenaltyMF
for estimator in (ProductPenaltyMF(n_components=2), FactorPenaltyMF(n_components=2)):
    results = check_estimator(estimator, on_skip=None)
    assert len(results) > 40
    assert {result["status"] for result in results} == {"passed"}, results
"""


def test_scikit_learn_contract_without_a_skip() -> None:
    # One check runs only if this variable was set before scipy was imported.
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALL_CHECKS],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


DRAW = np.random.default_rng(0)
NEGATIVE = -DRAW.integers(1, 6, size=(40, 25)).astype(np.float64)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_negative_data_of_1e99_are_fitted(estimator):
    fit = estimator(3, alpha=1e90).fit(NEGATIVE * 1e99)
    plain = estimator(3, alpha=0.0).fit(NEGATIVE)
    assert np.isfinite(fit.singular_values_).all()
    np.testing.assert_allclose(
        fit.singular_values_ / 1e99, plain.singular_values_, rtol=1e-9
    )


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("scale", [1e-320, 1e-170, 1e-103, 1e101, 1e200])
def test_ratings_too_small_or_too_large_to_multiply_are_refused(estimator, scale):
    with pytest.raises(
        InputError,
        match=r"largest entry of X must be from 1e-100 to 1e\+100, or 0; got \S+;",
    ):
        estimator(3).fit(NEGATIVE * scale)


def test_fitting_needs_two_users_but_embedding_only_one():
    X = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 1.0]])
    mf = ProductPenaltyMF(2, alpha=1.0).fit(X)
    assert mf.transform(X[:1]).shape == (1, 2)
    np.testing.assert_allclose(
        mf.inverse_transform(mf.transform(X)),
        X @ mf.projection_ @ mf.components_,
        rtol=1e-12,
    )
    with pytest.raises(InputError) as refused:
        ProductPenaltyMF(1).fit(X[:1])
    assert str(refused.value) == (
        "X must be users × items with at least 2 users (rows); got 1 sample; add the "
        "rows of other users."
    )
    with pytest.raises(InputError) as refused:
        mf.inverse_transform(np.ones((4, 3)))
    assert (
        str(refused.value)
        == "Z must be embedded users with 2 columns; got shape (4, 3)."
    )
