"""How far a model is from its canonical forms.

The distance between two gauges is ln κ of the gauge that leads from one to the other,
because rotations and common scales, which move no cosine, do not count in it. This is
half of Hilbert's projective metric between the metrics `S = M Mᵀ` of the two gauges.
"""

from __future__ import annotations

import numpy as np

from embaudit.canonical.form import EXPONENTS, CanonicalForm
from embaudit.core.checked import Floats, Matrix, Vector
from embaudit.core.ties import first_best
from embaudit.core.tolerances import EPS, EXPONENT_ERROR, TIE


def log_condition(form: CanonicalForm, exponent: float) -> float:
    """Compute ln κ of the step from the model to exponent e.

    Only directions that the predictions see count. With full rank `κ = ‖A‖ ‖B‖`,
    because `AᵀB = I`, so that no small singular value has to be computed. Otherwise one
    side holds directions that the other side lacks. The map of the other side does not
    contain these directions, so the smaller of the two condition numbers is returned.
    """
    if form.is_full_rank:
        s = form.singular_values
        left_metric, right_metric = form.metrics
        left_scales = (s / s[0]) ** (exponent - 1)
        right_scales = (s / s[0]) ** -exponent
        # These are ‖A‖² and ‖B‖² times powers of s₁ whose product is s₁².
        squared_left = _largest_eigenvalue(left_metric, left_scales)
        squared_right = _largest_eigenvalue(right_metric, right_scales)
        norms = (np.log(squared_left) + np.log(squared_right)) / 2
        distance = float(norms - np.log(s[0]))
    else:
        by_left = _log_condition_number(form.left_map(exponent))
        by_right = _log_condition_number(form.right_map(exponent))
        distance = min(by_left, by_right)
    # κ = 1 is computed as 1 + rounding.
    rounding = 64 * form.rank * EPS
    if distance <= rounding:
        return 0.0
    return distance


def _largest_eigenvalue(metric: Matrix, scales: Vector) -> float:
    """Return the largest eigenvalue of a metric whose axes are scaled."""
    # All eigenvalues are computed, because the search of LAPACK for the largest one
    # alone fails on some multiples of the identity, and balanced factors have such a
    # metric.
    return float(np.linalg.eigvalsh(scales[:, None] * metric * scales)[-1])


def _log_condition_number(linear: Floats) -> float:
    """Return ln κ of a matrix of full column rank."""
    s = np.linalg.svd(linear, compute_uv=False)
    return float(np.log(s[0] / s[-1]))


def nearest_exponent(form: CanonicalForm) -> tuple[float, float]:
    """Minimise ln κ over the exponents e in [0, 1].

    ln κ is convex in e, because the norms of `A sᵉ` and of its inverse are log-convex.

    Returns
    -------
    exponent, ln κ
    """
    s = form.singular_values[: form.rank]
    # With equal singular values every exponent is the same gauge.
    if s[0] - s[-1] <= 64 * form.rank * EPS * s[0]:
        return 0.5, log_condition(form, 0.5)
    from scipy.optimize import minimize_scalar

    minimum = minimize_scalar(
        lambda e: log_condition(form, e),
        bounds=(0, 1),
        method="bounded",
        options={"xatol": EXPONENT_ERROR},
    )
    # A bounded search ends near the minimum, not at it. A named exponent comes first,
    # so it is returned if it is as near as the end of the search.
    candidates = [(e, log_condition(form, e)) for e in EXPONENTS.values()]
    candidates.append((float(minimum.x), float(minimum.fun)))
    return first_best(candidates, lambda pair: -pair[1], TIE)
