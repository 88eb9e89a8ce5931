"""Factorisation with a penalty on the product of the factors: its cosines are free (Netflix paper, Eq. 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from embaudit.core.checked import Floats
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
"""The diagonal D(g, σ) of each rescaling `A = V g^½ D, B = V g^½ D⁻¹` that the paper looks at.

"identity" is the symmetric solution; "g^1/2" puts all of g into A (at full rank items are then similar to themselves
only); "g^-1/2" puts it into B (at full rank users are then as similar as their rows of data); "sigma^-1/2" gives the
factors the shape of those of Eq. 2.
"""


def product_objective(X: Any, A: ArrayLike, B: ArrayLike, *, alpha: float) -> float:
    """Compute `‖X − X A Bᵀ‖² + α ‖A Bᵀ‖²`, without an n×p or p×p matrix.

    It depends on A and B through `A Bᵀ` only, so every `(A M, B M⁻ᵀ)` has the same value.

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
    Steck, Ekanadham & Kallus, "Is Cosine-Similarity of Embeddings Really About Similarity?", 2024, Eq. 1.
    """
    a, b = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    return squared_error(X, a, b) + alpha * dot(a.T @ a, b.T @ b)


class ProductPenaltyMF(LinearEmbedding):
    """Minimise `‖X − X A Bᵀ‖² + α ‖A Bᵀ‖²` over A, B of shape (p, k).

    With `X = U Σ Vᵀ` and `g = 1 / (1 + α/σ²)` the product is `A Bᵀ = V_k diag(g) V_kᵀ`, unique where
    `σ_k > σ_{k+1}`. How it is split into A and B the objective leaves open, up to any invertible matrix: here it is
    `A = V_k diag(g)^s`, `B = V_k diag(g)^(1−s)`, and cosines depend on the split s.

    Parameters
    ----------
    n_components : int
        Rank k, from 1 to min(n, p).
    alpha : float
        Weight α of the penalty, at least 0; the same as denoising with noise of variance α/n in every entry.
    split : float or str
        s, from 0 to 1; or the name of a rescaling of the symmetric solution, see `RESCALINGS`.
    random_state : int, RandomState, Generator or None
        Random numbers for the start of the SVD of a large matrix.

    Attributes
    ----------
    components_ : array of shape (k, p)
        Bᵀ.
    projection_ : array of shape (p, k)
        A.
    singular_values_ : array of shape (k,)
        Those of X.
    effective_rank_ : int
        Directions that X has at all: singular values above `eps · max(n, p) · σ₁`. Others are zero in A and B.
    residual_ : float
        Certificate of the SVD, largest `‖XᵀX v − σ² v‖ / σ₁²`; see `TruncatedSVD`.
    svd_solver_ : str
        How the SVD was computed: lapack, gram or krylov.
    n_features_in_ : int

    Raises
    ------
    InputError
        At the fit, if a parameter is out of range.

    References
    ----------
    Steck, Ekanadham & Kallus, "Is Cosine-Similarity of Embeddings Really About Similarity?", 2024, Eq. 1 and
    sections 2.1 and 2.2.

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
    _objective = staticmethod(product_objective)

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
        s: Any = self.split
        is_valid = (
            s in RESCALINGS
            if isinstance(s, str)
            else isinstance(s, Real) and not isinstance(s, bool)
        )
        if not is_valid or (not isinstance(s, str) and not 0 <= s <= 1):
            raise must_be(
                "split", "from 0 to 1 or one of " + ", ".join(RESCALINGS), repr(s)
            )

    def _scales(self, sigma: Floats) -> tuple[Floats, Floats]:
        """Compute the diagonal factors of `P` and `Q` from the shrinkage σ²/(σ² + α) of each singular value."""
        # Ridge regression of X on itself: A Bᵀ = V diag(g) Vᵀ with g = σ²/(σ² + α), at rank k of the k largest (Section
        # 2.1). The objective sees this product only, so that the split into A and B is a choice (Section 2.2).
        left, right = np.zeros_like(sigma), np.zeros_like(sigma)
        live = sigma > 0
        # α/σ may exceed the largest float before it is divided again, but never the second σ of a ratio.
        g = 1 / (1 + (np.sqrt(float(self.alpha)) / sigma[live]) ** 2)
        if isinstance(self.split, str):
            d = RESCALINGS[self.split](g, sigma[live])
            left[live], right[live] = np.sqrt(g) * d, np.sqrt(g) / d
        else:
            left[live], right[live] = g**self.split, g ** (1 - self.split)
        return left, right

    @property
    def symmetry(self) -> GeneralLinear:
        """Group of every invertible change of the latent coordinates."""
        check_is_fitted(self)
        return GeneralLinear(self.effective_rank_)
