"""The split of the scores between two factor matrices that a library writes."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from embaudit.canonical.balance import BALANCED
from embaudit.canonical.distances import log_condition
from embaudit.canonical.form import CanonicalForm
from embaudit.core.checked import Matrix
from embaudit.core.ties import exceeds
from embaudit.core.tolerances import EXACT_SHAPE


class FactorScaling(StrEnum):
    """Split of the scores between two sides, from which a library can be recognised."""

    TRUNCATED_SVD = "UΣ, V"
    """Scaled left and orthonormal right factors: scikit-learn TruncatedSVD, LensKit
    BiasedSVD."""
    PURE_SVD = "U, VΣ"
    """Orthonormal left and scaled right factors: RecTools PureSVD."""
    BALANCED = "balanced"
    """`PᵀP ∝ QᵀQ`: weight decay on both sides, such as alternating least squares at
    convergence."""
    ALIGNED = "U D, V D'"
    """Singular directions with scales of their own: a closed form of the product
    penalty with some D."""
    UNKNOWN = "none known"
    """Unknown shape, written by none of these libraries."""


def factor_scaling(form: CanonicalForm) -> FactorScaling:
    """Recognise the split by the Gram matrices of the stored, uncentred factors."""
    left = form.left.root.T @ form.left.root
    right = form.right.root.T @ form.right.root
    # Libraries leave columns of zeros if a rank was not reached.
    used = (np.diag(left) > 0) & (np.diag(right) > 0)
    if used.sum() < 2:
        return FactorScaling.UNKNOWN
    left, right = left[np.ix_(used, used)], right[np.ix_(used, used)]
    is_aligned = _is_diagonal(left) and _is_diagonal(right)
    left_is_level, right_is_level = _is_level(left), _is_level(right)
    if is_aligned and right_is_level and not left_is_level:
        return FactorScaling.TRUNCATED_SVD
    if is_aligned and left_is_level and not right_is_level:
        return FactorScaling.PURE_SVD
    if not exceeds(log_condition(form, 0.5), np.log(BALANCED)):
        return FactorScaling.BALANCED
    if is_aligned:
        return FactorScaling.ALIGNED
    return FactorScaling.UNKNOWN


def _is_diagonal(gram: Matrix) -> bool:
    """Return True if columns are orthogonal."""
    lengths = np.sqrt(np.diag(gram))
    cosines = gram / lengths[:, None] / lengths
    return bool(np.abs(cosines - np.eye(len(gram))).max() <= EXACT_SHAPE)


def _is_level(gram: Matrix) -> bool:
    """Return True if columns have equal lengths."""
    squares = np.diag(gram)
    return bool(np.ptp(squares) <= EXACT_SHAPE * squares.max())
