"""The ways libraries split the scores between the two sides, recognised by their Gram matrices."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from embaudit.canonical.balance import BALANCED
from embaudit.canonical.form import CanonicalForm
from embaudit.core.checked import Matrix

SAME_SHAPE = 1e-3
"""Relative distance of a Gram matrix from a shape that a library writes exactly (float32 stays below)."""
NEAR = float(np.log(1.25))
"""A gauge of condition below 1.25 moves no cosine by more than 0.22: it counts as near."""


class FactorScaling(StrEnum):
    """Split of the scores between the two factor matrices by which a library can be recognised."""

    TRUNCATED_SVD = "UΣ, V"
    """Scaled left and orthonormal right factors: scikit-learn TruncatedSVD, LensKit BiasedSVD."""
    PURE_SVD = "U, VΣ"
    """Orthonormal left and scaled right factors: RecTools PureSVD."""
    BALANCED = "balanced"
    """`PᵀP ∝ QᵀQ`: weight decay on both sides, such as alternating least squares at convergence."""
    ALIGNED = "U D, V D'"
    """Singular directions with scales of their own: a closed form of the product penalty with some D."""
    UNKNOWN = "none known"
    """Unknown shape, written by none of these libraries."""


def log_condition(form: CanonicalForm, exponent: float) -> float:
    """Compute ln κ of the step from the model to exponent e, on the directions that the predictions see.

    With full rank `κ = ‖A‖ ‖B‖`, since `AᵀB = I`: no small singular value has to be found. Otherwise one side
    holds directions that the other lacks, and the map of the other side is free of them.
    """
    if form.is_full_rank:
        distance = (
            _log_largest(form.left_metric, form, exponent - 1) + _log_largest(form.right_metric, form, -exponent)
        ) / 2
    else:
        maps = (form.left_map(exponent), form.right_map(exponent))
        spectra = [np.linalg.svd(m, compute_uv=False) for m in maps]
        distance = min(float(np.log(s[0] / s[-1])) for s in spectra)
    # κ = 1 is computed as 1 + rounding.
    return distance if distance > 64 * form.rank * np.finfo(np.float64).eps else 0.0


def _log_largest(metric: Matrix, form: CanonicalForm, power: float) -> float:
    """Compute the logarithm of the largest eigenvalue of `s^power metric s^power`."""
    scale = (form.singular_values[: form.rank] / form.singular_values[0]) ** power
    # All of them: LAPACK's search for one alone fails on some multiples of the identity, which balanced factors give.
    largest = np.linalg.eigvalsh(scale[:, None] * metric * scale)[-1]
    return float(np.log(largest) + 2 * power * np.log(form.singular_values[0]))


def recognise(form: CanonicalForm) -> FactorScaling:
    """Recognise a split of the scores by the two Gram matrices of the factors as they are, not centred."""
    grams = [side.root.T @ side.root for side in (form.left, form.right)]
    # Columns of zeros say nothing of a split; libraries leave them where a rank was not reached.
    used = (np.diag(grams[0]) > 0) & (np.diag(grams[1]) > 0)
    left, right = (g[np.ix_(used, used)] for g in grams)
    if used.sum() < 2:
        return FactorScaling.UNKNOWN
    aligned = _is_diagonal(left) and _is_diagonal(right)
    if aligned and _is_level(right) and not _is_level(left):
        return FactorScaling.TRUNCATED_SVD
    if aligned and _is_level(left) and not _is_level(right):
        return FactorScaling.PURE_SVD
    if log_condition(form, 0.5) <= np.log(BALANCED):
        return FactorScaling.BALANCED
    return FactorScaling.ALIGNED if aligned else FactorScaling.UNKNOWN


def _is_diagonal(gram: Matrix) -> bool:
    lengths = np.sqrt(np.diag(gram))
    return bool(np.abs(gram / lengths[:, None] / lengths - np.eye(len(gram))).max() <= SAME_SHAPE)


def _is_level(gram: Matrix) -> bool:
    squares = np.diag(gram)
    return bool(np.ptp(squares) <= SAME_SHAPE * squares.max())
