"""Base of both factorisations: an estimator whose user factors are a linear map of the data, `P = X A`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from embaudit.core.checked import Floats, as_generator, is_number
from embaudit.core.parallel import row_blocks
from embaudit.errors import InputError, must_be
from embaudit.gauges import GaugeGroup
from embaudit.model import FactorModel
from embaudit.solvers.products import is_sparse
from embaudit.solvers.svd import TruncatedSVD, truncated_svd, zero_below


def dot(x: NDArray[Any], y: NDArray[Any]) -> float:
    """Inner product of two matrices in float64."""
    return float(np.einsum("ij,ij->", x, y, dtype=np.float64))


def squared_error(X: Any, A: ArrayLike, B: ArrayLike) -> float:
    """Compute `‖X − X A Bᵀ‖²` without an n×p matrix.

    A dense X is compared a block of rows at a time. A sparse one never leaves its entries:
    `‖X‖² − 2 ⟨X B, P⟩ + ⟨PᵀP, BᵀB⟩` with `P = X A`, exact to rounding of `‖X‖²`.

    Examples
    --------
    >>> squared_error(np.eye(2), [[1.0], [0.0]], [[1.0], [0.0]])
    1.0
    """
    a, b = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    if is_sparse(X):
        left = X @ a
        # ‖X − P Bᵀ‖² multiplied out: the product P Bᵀ would be dense.
        entries = X.tocsr().data.astype(np.float64)
        return max(
            0.0,
            float(entries @ entries)
            - 2 * dot(X @ b, left)
            + dot(left.T @ left, b.T @ b),
        )
    dense = np.asarray(X)
    # Row by row of blocks: Σ ‖x_b − (x_b A) Bᵀ‖².
    gaps = (dense[rows] - (dense[rows] @ a) @ b.T for rows in row_blocks(*dense.shape))
    return sum(dot(gap, gap) for gap in gaps)


class LinearEmbedding(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC
):
    """An estimator that fits `X ≈ X A Bᵀ` from the truncated SVD of X."""

    components_: NDArray[Any]
    projection_: NDArray[Any]
    singular_values_: Floats
    effective_rank_: int
    residual_: float
    svd_solver_: str
    n_features_in_: int

    _objective_name: ClassVar[str]
    _objective: ClassVar[Callable[..., float]]

    def __init__(
        self,
        n_components: int = 50,
        *,
        alpha: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.random_state = random_state

    @abstractmethod
    def _scales(self, sigma: Floats) -> tuple[Floats, Floats]:
        """Scale the right singular vectors into the columns of A and B; zero on both sides where one is empty."""

    @property
    @abstractmethod
    def symmetry(self) -> GaugeGroup:
        """The gauges that leave the objective unchanged at the fitted rank."""

    def objective(self, X: Any) -> float:
        """Compute the value of the training objective on X, at the fitted factors."""
        check_is_fitted(self)
        rows = self._validated(X, reset=False)
        return self._objective(
            rows, self.projection_, self.components_.T, alpha=self.alpha
        )

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002
        """Fit both factor matrices in closed form.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, p)
            Users × items.
        y : ignored

        Raises
        ------
        InputError
            If X or a parameter is out of range.

        Examples
        --------
        >>> from embaudit import ProductPenaltyMF
        >>> fitted = ProductPenaltyMF(2).fit(np.eye(3))
        >>> fitted.get_feature_names_out().tolist(), ProductPenaltyMF(1).fit(np.eye(3)).fit_transform(np.eye(3)).shape
        (['productpenaltymf0', 'productpenaltymf1'], (3, 1))
        >>> fitted.fit(np.zeros((3, 3)))
        Traceback (most recent call last):
            ...
        embaudit.errors.InputError: X must be a matrix with an entry other than 0; got zeros only.
        """
        rows = self._validated(X, reset=True)
        self._require_parameters(*rows.shape)
        state = self.random_state
        # What scikit-learn accepts, without drawing from the global source.
        drawn = (
            np.random.default_rng(state.randint(2**31))
            if isinstance(state, np.random.RandomState)
            else state
        )
        generator = as_generator(drawn, "random_state")
        svd = truncated_svd(rows, self.n_components, rng=generator)
        if svd.singular_values[0] == 0:
            raise must_be("X", "a matrix with an entry other than 0", "zeros only")
        return self._keep(svd, rows)

    def _keep(self, svd: TruncatedSVD, rows: Any) -> Self:
        """Set the fitted attributes from an SVD; singular values that are zero within rounding become 0."""
        # Directions that X does not have would be scaled by 1/σ of rounding.
        sigma = np.array(svd.singular_values, dtype=np.float64)
        sigma[sigma <= zero_below(rows.shape, float(sigma[0]))] = 0.0
        left, right = self._scales(sigma)
        self.singular_values_ = np.array(svd.singular_values, dtype=np.float64)
        self.projection_ = (svd.right * left).astype(rows.dtype)
        self.components_ = np.ascontiguousarray((svd.right * right).T, dtype=rows.dtype)
        self.effective_rank_ = int(np.count_nonzero((left != 0) | (right != 0)))
        self.residual_ = svd.residual
        self.svd_solver_ = svd.solver
        return self

    def _validated(self, X: Any, *, reset: bool) -> Any:
        """Check X as scikit-learn does, with errors in one sentence, and return it dense or in CSR."""
        try:
            rows = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse=["csr", "csc", "coo"],
                dtype=[np.float64, np.float32],
            )
        except (ValueError, OverflowError) as error:
            raise _refused("X", error) from error
        if reset and rows.shape[0] == 1:
            raise must_be(
                "X",
                "users × items with at least 2 users (rows)",
                "1 sample",
                "add the other users' rows",
            )
        return rows.tocsr() if is_sparse(rows) else rows

    def _require_parameters(self, n: int, p: int) -> None:
        k: Any = self.n_components
        if (
            isinstance(k, bool)
            or not isinstance(k, Integral)
            or not 1 <= int(k) <= min(n, p)
        ):
            allowed = f"from 1 to min(n, p) = {min(n, p)}"
            raise must_be(
                "n_components",
                allowed,
                repr(k),
                f"X has {n} sample(s) and {p} feature(s)",
            )
        alpha: Any = self.alpha
        if not is_number(alpha) or alpha < 0:
            raise must_be(
                "alpha",
                "a finite number >= 0",
                repr(alpha),
                "0 switches the penalty off",
            )

    def transform(self, X: Any) -> NDArray[Any]:
        """Embed users, those of the fit or new ones: `P = X A`.

        Parameters
        ----------
        X : array or sparse matrix of shape (m, p)

        Returns
        -------
        array of shape (m, k)
        """
        check_is_fitted(self)
        rows = self._validated(X, reset=False)
        return np.asarray(rows @ np.asarray(self.projection_, rows.dtype))

    def inverse_transform(self, Z: ArrayLike) -> NDArray[Any]:
        """Predict every score of embedded users: `Z Bᵀ`.

        Parameters
        ----------
        Z : array of shape (m, k)

        Returns
        -------
        array of shape (m, p)
        """
        check_is_fitted(self)
        try:
            embedded = check_array(Z, dtype=[np.float64, np.float32])
        except (TypeError, ValueError, OverflowError) as error:
            raise _refused("Z", error) from error
        if embedded.shape[1] != len(self.components_):
            raise must_be(
                "Z",
                f"embedded users with {len(self.components_)} columns",
                f"shape {embedded.shape}",
            )
        return np.asarray(embedded @ self.components_)

    def model(
        self,
        X: Any,
        *,
        user_ids: ArrayLike | None = None,
        item_ids: ArrayLike | None = None,
        item_names: ArrayLike | None = None,
    ) -> FactorModel:
        """Return the model of these users: left factors `X A`, right factors B.

        Columns that are zero on both sides carry no prediction and are left out, so its rank is `effective_rank_`.

        Parameters
        ----------
        X : array or sparse matrix of shape (m, p)
            The users of the fit, or new ones.
        user_ids, item_ids, item_names : array, optional
            See `FactorModel.from_user_item`.
        """
        # Singular values descend, so that the empty columns are the last ones.
        return FactorModel.from_user_item(
            self.transform(X)[:, : self.effective_rank_],
            self.components_[: self.effective_rank_].T,
            user_ids=user_ids,
            item_ids=item_ids,
            item_names=item_names,
            link="identity",
            # Without a penalty nothing is chosen among the models of the same fit.
            objective=self._objective_name if self.alpha > 0 else "none",
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _refused(name: str, error: Exception) -> InputError:
    """Put a message of scikit-learn, which may have several lines, into one sentence."""
    message = " ".join(str(error).split()).rstrip(".")
    return InputError(f"{name} cannot be used: {message}.")
