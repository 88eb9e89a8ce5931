"""Factorisation with a penalty on each factor, which fixes the cosines (Eq. 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from embaudit.core.checked import Floats
from embaudit.errors import must_be
from embaudit.gauges import GeneralLinear, Orthogonal
from embaudit.solvers.linear_embedding import LinearEmbedding, dot, squared_error


def factor_objective(X: Any, A: ArrayLike, B: ArrayLike, *, alpha: float) -> float:
    """Compute `‖X − X A Bᵀ‖² + α (‖X A‖² + ‖B‖²)` without an n×p matrix.

    Rotations `(A M, B M)` keep its value. At the optimum and for α > 0 every other
    gauge increases it.

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
    Steck, Ekanadham & Kallus, "Is Cosine-Similarity of Embeddings Really About
    Similarity?", 2024, Eq. 2.
    """
    a = np.asarray(A, dtype=np.float64)
    b = np.asarray(B, dtype=np.float64)
    left = X @ a
    return squared_error(X, a, b) + alpha * (dot(left, left) + dot(b, b))


class FactorPenaltyMF(LinearEmbedding):
    """Minimise `‖X − X A Bᵀ‖² + α (‖X A‖² + ‖B‖²)` over A, B of shape (p, k).

    With `X = U Σ Vᵀ` the solution is

        A = V_k diag((σ − α)₊^½ / σ),  B = V_k diag((σ − α)₊^½),

    so `P = X A = U_k diag((σ − α)₊^½)`. It is unique up to rotations, which change no
    cosine. Directions with `σ ≤ α` are zero, so the rank can be below k.

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
        The k largest singular values of X.
    effective_rank_ : int
        Number of these singular values that exceed α.
    residual_ : float
        Certificate of the SVD, largest `‖XᵀX v − σ² v‖ / σ₁²`; see `TruncatedSVD`.
    svd_solver_ : {"lapack", "gram", "krylov"}
        How the SVD was computed.
    n_features_in_ : int
        Number of items p.

    Raises
    ------
    InputError
        By `fit`, if a parameter is out of range, or α is not below σ₁.

    References
    ----------
    Steck, Ekanadham & Kallus, "Is Cosine-Similarity of Embeddings Really About
    Similarity?", 2024, Eq. 2 and section 2.3.

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
    embaudit.errors.InputError: alpha must be below the largest singular value of X, σ₁
    = 3; got 3.0; ...
    """

    _objective_name = "factors"

    def _objective(self, X: Any, A: NDArray[Any], B: NDArray[Any]) -> float:
        return factor_objective(X, A, B, alpha=self.alpha)

    def _column_scales(self, sigma: Floats) -> tuple[Floats, Floats]:
        """Compute `(σ − α)₊^½ / σ` for A and `(σ − α)₊^½` for B.

        The least `‖P‖² + ‖B‖²` of a given product `P Bᵀ` is twice its nuclear norm. So
        the product has the singular values (σ − α)₊, and P and B share them evenly.
        """
        if self.alpha >= sigma[0]:
            raise must_be(
                "alpha",
                f"below the largest singular value of X, σ₁ = {sigma[0]:.6g}",
                self.alpha,
                "choose a smaller alpha, because all factors would be zero",
            )
        scales_b = np.sqrt(np.maximum(sigma - self.alpha, 0.0))
        scales_a = np.zeros_like(sigma)
        np.divide(scales_b, sigma, out=scales_a, where=scales_b > 0)
        return scales_a, scales_b

    @property
    def symmetry(self) -> Orthogonal | GeneralLinear:
        """Rotations of the effective rank; without a penalty every invertible gauge."""
        check_is_fitted(self)
        if self.alpha == 0:
            return GeneralLinear(self.effective_rank_)
        return Orthogonal(self.effective_rank_)
