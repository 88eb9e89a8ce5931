"""Fits at the edge of what floating point holds, and of what was fitted."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import embaudit as ea
from embaudit.errors import InputError
from embaudit.gauges import GeneralLinear, Orthogonal
from embaudit.solvers import FactorPenaltyMF, ProductPenaltyMF, truncated_svd
from embaudit.solvers.krylov import block_krylov

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


def test_parameters_are_taken_up_to_their_bounds():
    X = np.diag([3.0, 2.0, 0.0])[:, :2]
    assert FactorPenaltyMF(1, alpha=0).fit(X).symmetry == GeneralLinear(1)
    assert FactorPenaltyMF(2, alpha=0.5).fit(X).symmetry == Orthogonal(2)
    assert FactorPenaltyMF(2, alpha=2.0).fit(X).effective_rank_ == 1
    assert FactorPenaltyMF(2, alpha=2.5).fit(X).singular_values_.tolist() == pytest.approx([3.0, 2.0])
    lame = FactorPenaltyMF(2, alpha=0.0).fit(np.ones((3, 2)))
    assert lame.effective_rank_ == 1
    assert np.isfinite(lame.projection_).all()
    for split in (0, 1, 0.0, 1.0, 0.25):
        mf = ProductPenaltyMF(2, alpha=1.0, split=split).fit(X)
        g = np.array([0.9, 0.8])
        np.testing.assert_allclose(np.linalg.norm(mf.projection_, axis=0), g**split, rtol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(mf.components_, axis=1), g ** (1 - split), rtol=1e-12)


def test_one_user_is_none_to_fit_and_enough_to_embed():
    X = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 1.0]])
    mf = ProductPenaltyMF(2, alpha=1.0).fit(X)
    assert mf.transform(X[:1]).shape == (1, 2)
    np.testing.assert_allclose(mf.inverse_transform(mf.transform(X)), X @ mf.projection_ @ mf.components_, rtol=1e-12)
    with pytest.raises(InputError) as refused:
        ProductPenaltyMF(1).fit(X[:1])
    assert str(refused.value) == (
        "X must be users × items with at least 2 users (rows); got 1 sample; add the other users' rows."
    )
    with pytest.raises(InputError) as refused:
        mf.inverse_transform(np.ones((4, 3)))
    assert str(refused.value) == "Z must be embedded users with 2 columns; got shape (4, 3)."


def test_a_model_of_an_estimator_has_the_names_it_is_given():
    X = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 1.0]])
    model = (
        ProductPenaltyMF(2, alpha=1.0).fit(X).model(X, user_ids=[8, 9], item_ids=[3, 4, 5], item_names=["a", "b", "c"])
    )
    assert model.side("left").ids.tolist() == [8, 9]
    assert model.side("right").ids.tolist() == [3, 4, 5]
    assert model.side("right").labels.tolist() == ["a", "b", "c"]
    assert model.objective == "product"


def test_what_others_refuse_is_refused_in_their_words():
    class Refusing:
        def __array__(self, dtype=None, copy=None):
            raise InputError("in its own words.")

    mf = ProductPenaltyMF(2, alpha=1.0).fit(np.eye(3))
    with pytest.raises(InputError, match=r"^in its own words\.$"):
        mf.transform(Refusing())
    with pytest.raises(InputError, match=r"^Expected 2D array, got 1D array instead"):
        mf.inverse_transform(np.ones(3))
    for bad in (np.inf, -np.inf, np.nan):
        for given in (np.array([[1.0, bad]]), sp.csr_array([[1.0, bad]])):
            with pytest.raises(InputError) as refused:
                truncated_svd(given, 1)
            assert str(refused.value) == "X must be finite; got entries that are not; repair or drop their rows."


@pytest.mark.parametrize("given", [np.ones(3), np.array([["a"]]), np.ones((2, 2, 2)), np.ones((2, 2), dtype=complex)])
def test_what_is_no_matrix_of_real_numbers_is_refused(given):
    with pytest.raises(InputError, match=r"^X must be a matrix of real numbers, dense or sparse; got "):
        truncated_svd(given, 1)
