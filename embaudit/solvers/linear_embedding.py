"""Base of both factorisations: estimators whose user factors are linear, `P = X A`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from embaudit.core.checked import Floats, as_generator, is_integer, is_number
from embaudit.core.parallel import row_blocks
from embaudit.errors import InputError, must_be
from embaudit.gauges import GaugeGroup
from embaudit.model import FactorModel
from embaudit.solvers.products import is_sparse
from embaudit.solvers.svd import truncated_svd, zero_below


def dot(x: NDArray[Any], y: NDArray[Any]) -> float:
    """Compute the inner product of two matrices, `Σ_ij x_ij y_ij`, in float64."""
    return float(np.einsum("ij,ij->", x, y, dtype=np.float64))


def squared_error(X: Any, A: ArrayLike, B: ArrayLike) -> float:
    """Compute `‖X − X A Bᵀ‖²` without an n×p matrix.

    For a sparse X this is `‖X‖² − 2 ⟨X B, P⟩ + ⟨PᵀP, BᵀB⟩` with `P = X A`, which is
    exact up to the rounding of `‖X‖²`. For a dense X it is summed over blocks of rows.

    Examples
    --------
    >>> squared_error(np.eye(2), [[1.0], [0.0]], [[1.0], [0.0]])
    1.0
    """
    a = np.asarray(A, dtype=np.float64)
    b = np.asarray(B, dtype=np.float64)
    if is_sparse(X):
        matrix = X.tocsr()
        if not matrix.has_canonical_format:
            # Several stored numbers in one place stand for their sum.
            matrix = matrix.copy()
            matrix.sum_duplicates()
        entries = matrix.data.astype(np.float64)
        left = X @ a
        squared_size = float(entries @ entries)
        error = squared_size - 2 * dot(X @ b, left) + dot(left.T @ left, b.T @ b)
        return max(0.0, error)
    dense = np.asarray(X)
    error = 0.0
    for rows in row_blocks(*dense.shape):
        block = dense[rows]
        gap = block - (block @ a) @ b.T
        error += dot(gap, gap)
    return error


class LinearEmbedding(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC
):
    """An estimator that fits `X ≈ X A Bᵀ` from the truncated SVD of X.

    Both matrices are right singular vectors of X, with columns scaled by functions of
    the singular values: `A = V diag(a)` and `B = V diag(b)`.
    """

    components_: NDArray[Any]
    projection_: NDArray[Any]
    singular_values_: Floats
    effective_rank_: int
    residual_: float
    svd_solver_: str
    n_features_in_: int

    _objective_name: ClassVar[str]
    """Name of the objective in a `FactorModel`."""

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
    def _column_scales(self, sigma: Floats) -> tuple[Floats, Floats]:
        """Return the scales a and b of the columns of A and B for singular values.

        Both are zero for directions that the model does not have.
        """

    @abstractmethod
    def _objective(self, X: Any, A: NDArray[Any], B: NDArray[Any]) -> float:
        """Compute the training objective at A and B."""

    @property
    @abstractmethod
    def symmetry(self) -> GaugeGroup:
        """Gauges that leave the objective unchanged at the fitted rank."""

    def objective(self, X: Any) -> float:
        """Compute the training objective on X at the fitted factors."""
        check_is_fitted(self)
        rows = self._validated(X, reset=False)
        return self._objective(rows, self.projection_, self.components_.T)

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002
        """Fit both factor matrices in closed form.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, p)
            Users × items.
        y : None
            Ignored; pipelines of scikit-learn pass it.

        Raises
        ------
        InputError
            If X or a parameter is out of range.

        Examples
        --------
        >>> from embaudit import ProductPenaltyMF
        >>> mf = ProductPenaltyMF(2).fit(np.eye(3))
        >>> mf.get_feature_names_out().tolist(), mf.transform(np.eye(3)).shape
        (['productpenaltymf0', 'productpenaltymf1'], (3, 2))
        >>> mf.fit(np.zeros((3, 3)))
        Traceback (most recent call last):
            ...
        embaudit.errors.InputError: X must be a matrix with a nonzero entry; got
        zeros only.
        """
        rows = self._validated(X, reset=True)
        if rows.shape[0] == 1:
            raise must_be(
                "X",
                "users × items with at least 2 users (rows)",
                "1 sample",
                "add the rows of other users",
            )
        self._require_parameters(*rows.shape)
        svd = truncated_svd(rows, self.n_components, rng=self._generator())
        largest = float(svd.singular_values[0])
        if largest == 0:
            raise must_be("X", "a matrix with a nonzero entry", "zeros only")
        sigma: Floats = np.array(svd.singular_values, dtype=np.float64)
        # Directions that X does not have would be scaled by 1/σ of rounding.
        is_rounding = sigma <= zero_below(rows.shape, largest)
        scales_a, scales_b = self._column_scales(np.where(is_rounding, 0.0, sigma))
        self.singular_values_ = sigma
        self.projection_ = (svd.right * scales_a).astype(rows.dtype)
        components = (svd.right * scales_b).T
        self.components_ = np.ascontiguousarray(components, dtype=rows.dtype)
        self.effective_rank_ = int(np.count_nonzero((scales_a != 0) | (scales_b != 0)))
        self.residual_ = svd.residual
        self.svd_solver_ = svd.solver
        return self

    def _generator(self) -> np.random.Generator:
        """Return a generator for any `random_state` that scikit-learn accepts."""
        state = self.random_state
        if isinstance(state, np.random.RandomState):
            state = state.randint(2**31)
        return as_generator(state, "random_state")

    def _validated(self, X: Any, *, reset: bool) -> Any:
        """Check X as scikit-learn does, and return it dense or in CSR."""
        try:
            rows = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse=["csr", "csc", "coo"],
                dtype=[np.float64, np.float32],
            )
        except (ValueError, OverflowError) as error:
            raise _input_error("X", error) from error
        return rows.tocsr() if is_sparse(rows) else rows

    def _require_parameters(self, n: int, p: int) -> None:
        """Raise InputError if a parameter is out of range for n users and p items."""
        k = self.n_components
        if not is_integer(k) or not 1 <= k <= min(n, p):
            allowed = f"from 1 to min(n, p) = {min(n, p)}"
            size = f"X has {n} sample(s) and {p} feature(s)"
            raise must_be("n_components", allowed, repr(k), size)
        if not is_number(self.alpha) or self.alpha < 0:
            allowed = "a finite number >= 0"
            remedy = "0 switches the penalty off"
            raise must_be("alpha", allowed, repr(self.alpha), remedy)

    def transform(self, X: Any) -> NDArray[Any]:
        """Embed the users of the fit or other users: `P = X A`.

        Parameters
        ----------
        X : array or sparse matrix of shape (m, p)
            Users × items, with the items of the fit.

        Returns
        -------
        array of shape (m, k)
            One row per user.
        """
        check_is_fitted(self)
        rows = self._validated(X, reset=False)
        return np.asarray(rows @ np.asarray(self.projection_, rows.dtype))

    def inverse_transform(self, Z: ArrayLike) -> NDArray[Any]:
        """Predict every score of embedded users: `Z Bᵀ`.

        Parameters
        ----------
        Z : array of shape (m, k)
            Embedded users, as `transform` returns them.

        Returns
        -------
        array of shape (m, p)
            The score of each item for each user.
        """
        check_is_fitted(self)
        try:
            embedded = check_array(Z, dtype=[np.float64, np.float32])
        except (TypeError, ValueError, OverflowError) as error:
            raise _input_error("Z", error) from error
        k = len(self.components_)
        if embedded.shape[1] != k:
            allowed = f"embedded users with {k} columns"
            raise must_be("Z", allowed, f"shape {embedded.shape}")
        return np.asarray(embedded @ self.components_)

    def model(
        self,
        X: Any,
        *,
        user_ids: ArrayLike | None = None,
        item_ids: ArrayLike | None = None,
        item_names: ArrayLike | None = None,
        user_counts: ArrayLike | None = None,
        item_counts: ArrayLike | None = None,
    ) -> FactorModel:
        """Return the model of these users with left factors `X A` and right factors B.

        Its rank is `effective_rank_`, because columns that are zero on both sides are
        dropped.

        Parameters
        ----------
        X : array or sparse matrix of shape (m, p)
            The users of the fit, or other ones.
        user_ids, item_ids, item_names, user_counts, item_counts : array, optional
            See `FactorModel.from_user_item`. The counts are numbers of interactions,
            such as `X.sum(axis=0)` of the items if X is binary.
        """
        # Singular values descend, so the zero columns are the last ones.
        rank = self.effective_rank_
        # Without a penalty the objective chooses none of the models of the same fit.
        objective = self._objective_name if self.alpha > 0 else "none"
        return FactorModel.from_user_item(
            self.transform(X)[:, :rank],
            self.components_[:rank].T,
            user_ids=user_ids,
            item_ids=item_ids,
            item_names=item_names,
            user_counts=user_counts,
            item_counts=item_counts,
            link="identity",
            objective=objective,
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _input_error(name: str, error: Exception) -> InputError:
    """Return the message of scikit-learn, which can have several lines, in one line."""
    message = " ".join(str(error).split()).rstrip(".")
    return InputError(f"{name} cannot be used: {message}.")
