"""Factorisation with a penalty on the product, which leaves cosines free (Eq. 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from embaudit.core.checked import Floats, is_number
from embaudit.errors import must_be
from embaudit.gauges import GeneralLinear
from embaudit.solvers.linear_embedding import LinearEmbedding, dot, squared_error

Rescaling = Callable[[Floats, Floats], Floats]

RESCALINGS: Mapping[str, Rescaling] = MappingProxyType(
    {
        "identity": lambda g, sigma: np.ones_like(g),  # noqa: ARG005
        "g^1/2": lambda g, sigma: np.sqrt(g),  # noqa: ARG005
        "g^-1/2": lambda g, sigma: 1 / np.sqrt(g),  # noqa: ARG005
        "sigma^-1/2": lambda g, sigma: 1 / np.sqrt(sigma),  # noqa: ARG005
    }
)
"""The diagonal D(g, σ) of each rescaling `A = V g^½ D, B = V g^½ D⁻¹` of the paper.

- "identity" is the symmetric solution.
- "g^1/2" puts all of g into A. At full rank each item is then similar to itself only.
- "g^-1/2" puts all of g into B. At full rank users are then as similar as their rows of
  data.
- "sigma^-1/2" gives both factors the shape of those of Eq. 2.
"""


def product_objective(X: Any, A: ArrayLike, B: ArrayLike, *, alpha: float) -> float:
    """Compute `‖X − X A Bᵀ‖² + α ‖A Bᵀ‖²` without an n×p or p×p matrix.

    It depends on A and B only through `A Bᵀ`, so every `(A M, B M⁻ᵀ)` has the same
    value.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, p)
    A, B : array of shape (p, k)
    alpha : float
        At least 0.

    Examples
    --------
    >>> product_objective(np.eye(2), [[0.5], [0.0]], [[1.0], [0.0]], alpha=1.0)
    1.5
    >>> product_objective(np.eye(2), [[5.0], [0.0]], [[0.1], [0.0]], alpha=1.0)
    1.5

    References
    ----------
    Steck, Ekanadham & Kallus, "Is Cosine-Similarity of Embeddings Really About
    Similarity?", 2024, Eq. 1.
    """
    a = np.asarray(A, dtype=np.float64)
    b = np.asarray(B, dtype=np.float64)
    return squared_error(X, a, b) + alpha * dot(a.T @ a, b.T @ b)


class ProductPenaltyMF(LinearEmbedding):
    """Minimise `‖X − X A Bᵀ‖² + α ‖A Bᵀ‖²` over A, B of shape (p, k).

    With `X = U Σ Vᵀ` the product is `A Bᵀ = V_k diag(g) V_kᵀ`, where
    `g = 1 / (1 + α/σ²)`. It is unique if `σ_k > σ_{k+1}`. The objective does not say
    how the product is split into A and B: any invertible matrix can be between them.
    Here `A = V_k diag(g)^s` and `B = V_k diag(g)^(1−s)`, so cosines depend on the
    split s.

    Parameters
    ----------
    n_components : int
        Rank k, from 1 to min(n, p).
    alpha : float
        Weight α of the penalty, at least 0. It has the effect of training on data with
        noise of variance α/n in every entry.
    split : float or str
        s, from 0 to 1, or the name of a rescaling of the symmetric solution; see
        `RESCALINGS`.
    random_state : int, RandomState, Generator or None
        Random numbers for the start of the SVD of a large matrix.

    Attributes
    ----------
    components_ : array of shape (k, p)
        Bᵀ.
    projection_ : array of shape (p, k)
        A.
    singular_values_ : array of shape (k,)
        The k largest singular values of X.
    effective_rank_ : int
        Number of these singular values above `eps · max(n, p) · σ₁`. The columns of A
        and B for the other ones are zero.
    residual_ : float
        Certificate of the SVD, largest `‖XᵀX v − σ² v‖ / σ₁²`; see `TruncatedSVD`.
    svd_solver_ : {"lapack", "gram", "krylov"}
        How the SVD was computed.
    n_features_in_ : int
        Number of items p.

    Raises
    ------
    InputError
        By `fit`, if a parameter is out of range.

    References
    ----------
    Steck, Ekanadham & Kallus, "Is Cosine-Similarity of Embeddings Really About
    Similarity?", 2024, Eq. 1 and sections 2.1 and 2.2.

    Examples
    --------
    >>> X = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> mf = ProductPenaltyMF(2, alpha=1.0).fit(X)
    >>> mf.inverse_transform(mf.transform(X)).round(3)
    array([[1.6, 0. ],
           [0. , 0.5],
           [0. , 0. ]])
    >>> mf.symmetry
    GeneralLinear(rank=2, max_condition=None)
    """

    _objective_name = "product"

    def __init__(
        self,
        n_components: int = 50,
        *,
        alpha: float = 1.0,
        split: float | str = 0.5,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_components, alpha=alpha, random_state=random_state)
        self.split = split

    def _require_parameters(self, n: int, p: int) -> None:
        super()._require_parameters(n, p)
        if not _is_split(self.split):
            allowed = "from 0 to 1 or one of " + ", ".join(RESCALINGS)
            raise must_be("split", allowed, repr(self.split))

    def _objective(self, X: Any, A: NDArray[Any], B: NDArray[Any]) -> float:
        return product_objective(X, A, B, alpha=self.alpha)

    def _column_scales(self, sigma: Floats) -> tuple[Floats, Floats]:
        """Compute `g^s` for A and `g^(1−s)` for B, where `g = 1 / (1 + α/σ²)`.

        The product `V_k diag(g) V_kᵀ` is the ridge regression of X on itself, in the k
        leading directions. Both scales are zero where σ is zero.
        """
        is_positive = sigma > 0
        positive = sigma[is_positive]
        # α/σ² is computed as the square of α^½/σ, because σ² can underflow.
        g = 1 / (1 + (np.sqrt(float(self.alpha)) / positive) ** 2)
        scales_a = np.zeros_like(sigma)
        scales_b = np.zeros_like(sigma)
        if isinstance(self.split, str):
            d = RESCALINGS[self.split](g, positive)
            scales_a[is_positive] = np.sqrt(g) * d
            scales_b[is_positive] = np.sqrt(g) / d
        else:
            scales_a[is_positive] = g**self.split
            scales_b[is_positive] = g ** (1 - self.split)
        return scales_a, scales_b

    @property
    def symmetry(self) -> GeneralLinear:
        """Every invertible gauge of the effective rank."""
        check_is_fitted(self)
        return GeneralLinear(self.effective_rank_)


def _is_split(split: Any) -> bool:
    """Return True for a number from 0 to 1 and for the name of a rescaling."""
    if isinstance(split, str):
        return split in RESCALINGS
    return is_number(split) and 0 <= split <= 1
