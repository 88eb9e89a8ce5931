"""Fits at the edge of what floating point holds, and of what was fitted."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError
from embaudit.solvers.krylov import block_krylov
from embaudit.solvers.svd import truncated_svd

DRAW = np.random.default_rng(0)
NEGATIVE = -DRAW.integers(1, 6, size=(40, 25)).astype(np.float64)
SOLVERS = ("lapack", "gram", "krylov", "lanczos", "randomized")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", [1e200, 1.0, 1e-80])
def test_singular_values_of_negative_data_are_positive_at_any_scale(solver, scale):
    expected = np.linalg.svd(NEGATIVE)[1][:3]
    found = truncated_svd(NEGATIVE * scale, 3, solver=solver, rng=0)
    rough = 1e-3 if solver == "randomized" else 1e-6
    np.testing.assert_allclose(found.singular_values / scale, expected, rtol=rough)
    assert (found.singular_values > 0).all()


@pytest.mark.parametrize("estimator", [ea.ProductPenaltyMF, ea.FactorPenaltyMF])
def test_negative_data_of_1e200_are_fitted(estimator):
    fit = estimator(3, alpha=1e190).fit(NEGATIVE * 1e200)
    plain = estimator(3, alpha=0.0).fit(NEGATIVE)
    assert np.isfinite(fit.singular_values_).all()
    np.testing.assert_allclose(fit.singular_values_ / 1e200, plain.singular_values_, rtol=1e-9)


@pytest.mark.parametrize("estimator", [ea.ProductPenaltyMF, ea.FactorPenaltyMF])
@pytest.mark.parametrize("scale", [1e-320, 1e-170, 1e-103])
def test_ratings_that_vanish_get_a_sentence(estimator, scale):
    with pytest.raises(
        InputError, match=r"X must be of a largest singular value of at least 1e-100; got \S+; multiply"
    ):
        estimator(3).fit(NEGATIVE * scale)


@pytest.mark.parametrize("width", [24, 26, 1])
def test_the_objective_of_another_width_is_refused(width):
    fit = ea.ProductPenaltyMF(3).fit(NEGATIVE)
    assert np.isfinite(fit.objective(NEGATIVE[:7]))
    with pytest.raises(InputError, match=f"X has {width} features, but ProductPenaltyMF is expecting 25 features"):
        fit.objective(DRAW.normal(size=(40, width)))


def test_the_iteration_goes_on_from_what_it_has_when_its_basis_is_full(monkeypatch):
    """Clustered values need a basis larger than the memory allowed: what is found is still orthonormal and ranked."""
    values = np.concatenate([np.linspace(1.0, 0.99, 30), np.linspace(0.5, 0.0, 170)])
    turn = np.linalg.qr(DRAW.normal(size=(200, 200)))[0]
    gram = (turn * values) @ turn.T
    monkeypatch.setattr("embaudit.solvers.krylov.BASIS_BYTES", 0)
    start = DRAW.normal(size=(200, 6))
    found = block_krylov(lambda v: gram @ v, start, 6, 5, tolerance=1e-14)
    np.testing.assert_allclose(found.T @ found, np.eye(6), atol=1e-12)
    ritz = np.einsum("ij,ij->j", found, gram @ found)
    assert (np.diff(ritz) <= 1e-12).all()
    assert ritz[0] <= 1 + 1e-12
    assert ritz[0] > 0.99
    again = block_krylov(lambda v: gram @ v, found, 6, 5, tolerance=1e-14)
    assert (np.einsum("ij,ij->j", again, gram @ again) >= ritz - 1e-12).all()
