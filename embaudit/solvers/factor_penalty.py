"""Factorisation with a penalty on each factor: its cosines are unique, chosen by the penalty (Netflix paper, Eq. 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from embaudit.core.checked import Floats
from embaudit.errors import must_be
from embaudit.gauges import GeneralLinear, Orthogonal
from embaudit.solvers.linear_embedding import LinearEmbedding, dot, squared_error


def factor_objective(X: Any, A: ArrayLike, B: ArrayLike, *, alpha: float) -> float:
    """Compute `‖X − X A Bᵀ‖² + α (‖X A‖² + ‖B‖²)`, without an n×p matrix.

    For α > 0 rotations `(A M, B M)` keep its value; any other gauge of the optimum changes it.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, p)
    A, B : array of shape (p, k)
    alpha : float
        At least 0.

    Examples
    --------
    >>> factor_objective(np.eye(2), [[0.5], [0.0]], [[1.0], [0.0]], alpha=1.0)
    2.5
    >>> factor_objective(np.eye(2), [[5.0], [0.0]], [[0.1], [0.0]], alpha=1.0)
    26.26

    References
    ----------
    Steck, Ekanadham & Kallus, "Is Cosine-Similarity of Embeddings Really About Similarity?", 2024, Eq. 2.
    """
    a, b = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    left = X @ a
    return squared_error(X, a, b) + alpha * (dot(left, left) + dot(b, b))


class FactorPenaltyMF(LinearEmbedding):
    """Minimise `‖X − X A Bᵀ‖² + α (‖X A‖² + ‖B‖²)` over A, B of shape (p, k).

    With `X = U Σ Vᵀ` and `h = (1 − α/σ)₊`: `A = V_k diag(h/σ)^½`, `B = V_k diag(σ h)^½`, so that
    `P = X A = U_k diag((σ − α)₊)^½`. Only rotations keep the objective, which no cosine sees. Directions with
    `σ <= α` are switched off: the rank is soft.

    Parameters
    ----------
    n_components : int
        Largest rank k, from 1 to min(n, p).
    alpha : float
        Weight α of the penalty, at least 0 and below the largest singular value of X.
    random_state : int, RandomState, Generator or None
        Random numbers for the start of the SVD of a large matrix.

    Attributes
    ----------
    components_ : array of shape (k, p)
        Bᵀ; rows beyond the effective rank are zero.
    projection_ : array of shape (p, k)
        A; columns beyond the effective rank are zero.
    singular_values_ : array of shape (k,)
        Those of X.
    effective_rank_ : int
        How many of them exceed α.
    residual_ : float
        Certificate of the SVD, largest `‖XᵀX v − σ² v‖ / σ₁²`; see `TruncatedSVD`.
    svd_solver_ : str
        How the SVD was computed: lapack, gram or krylov.
    n_features_in_ : int

    Raises
    ------
    InputError
        At the fit, if a parameter is out of range; also where α switches every direction off.

    References
    ----------
    Steck, Ekanadham & Kallus, "Is Cosine-Similarity of Embeddings Really About Similarity?", 2024, Eq. 2 and
    section 2.3.

    Examples
    --------
    >>> X = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> mf = FactorPenaltyMF(2, alpha=1.0).fit(X)
    >>> mf.effective_rank_, mf.symmetry
    (1, Orthogonal(rank=1))
    >>> mf.inverse_transform(mf.transform(X)).round(3)
    array([[1., 0.],
           [0., 0.],
           [0., 0.]])
    >>> FactorPenaltyMF(1, alpha=3.0).fit(np.diag([3.0, 1.0]))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: alpha must be below the largest singular value of X, σ₁ = 3; got 3.0; ...
    """

    _objective_name = "factors"
    _objective = staticmethod(factor_objective)

    def _scales(self, sigma: Floats) -> tuple[Floats, Floats]:
        """Compute the lengths of the columns of A and B, h^½ σ^-½ and (σ h)^½."""
        if self.alpha >= sigma[0]:
            allowed = f"below the largest singular value of X, σ₁ = {sigma[0]:.6g}"
            raise must_be(
                "alpha",
                allowed,
                self.alpha,
                "every factor would be zero: choose a smaller one",
            )
        # The least ‖P‖² + ‖B‖² of a product P Bᵀ is twice its nuclear norm: α comes off each singular value of X, and
        # those below it vanish. P and B share what is left evenly, √(σ − α) each; A = P / σ (Section 2.3).
        left, right = np.zeros_like(sigma), np.zeros_like(sigma)
        live = sigma > self.alpha
        sigma_live = sigma[live]
        left[live] = np.sqrt(sigma_live - self.alpha) / sigma_live
        right[live] = np.sqrt(sigma_live - self.alpha)
        return left, right

    @property
    def symmetry(self) -> Orthogonal | GeneralLinear:
        """Rotations of the effective rank; without a penalty (α = 0) every invertible change."""
        check_is_fitted(self)
        return (
            Orthogonal(self.effective_rank_)
            if self.alpha > 0
            else GeneralLinear(self.effective_rank_)
        )
