"""Search for a metric S other than I that two sides of unit rows leave, or a proof that there is none.

A linear gauge with `S = M Mᵀ` keeps predicted cosines if `pᵀ S p = 1` for unit left rows and `qᵀ S⁻¹ q = 1` for unit
right ones. Where some G ≻ 0 lies in the span of the `p pᵀ` and in that of the `q qᵀ`, every such S has
`tr G(S + S⁻¹) = 2 tr G`; as `s + 1/s ≥ 2` with equality at 1 only, S = I: a proof for both sides together.

That is a proof for rows as they are stored. Before they were rounded to be stored, forms were off by shares δ of their
sizes, so that `tr G(S + S⁻¹ − 2) ≤ ‖G‖ (δ ‖S − I‖ + δ' ‖S⁻¹ − I‖)`. With eigenvalues `exp(±t_j)` of S, the largest t_j
called t, `a² = Σ 4 sinh²(t_j/2)` and g the least eigenvalue of G, the left side is at least `g a²`, and both norms are
at most `a exp(t/2)`. As `a ≥ 2 sinh(t/2)`, it follows that `1 − exp(−t) ≤ (δ + δ') ‖G‖/g`, which bounds t.
"""

from __future__ import annotations

import numpy as np

from embaudit.canonical.quadratic_span import EPS, Span, form_rounding, lifted, packed, symmetric, tangent
from embaudit.core.checked import Floats, Matrix
from embaudit.linalg.rows import unit_rows

STARTS = 9
"""Random starts of the search."""
STRETCHES = (0.3, 0.6, 0.9)
"""Distances of the starts from I, as a share of the way to a singular metric."""
SHARED = 1e-9
"""Sine of the angle up to which a form counts as one of both spans; log S is then 0 up to this over the least of G."""


def certified_stretch(left: Span, right: Span, k: int) -> float:
    """Bound `|ln s|` for every eigenvalue s of a metric that both sides leave; infinite where nothing is proven.

    Examples
    --------
    >>> from embaudit.canonical.quadratic_span import span_of
    >>> corner = span_of(np.eye(2), np.eye(2))
    >>> corner.rank, corner.needed, certified_stretch(corner, corner, 2) < 1e-8
    (2, 3, True)
    """
    form = shared_form(left, right, k)
    if form is None:
        return np.inf
    least, size = np.linalg.eigvalsh(form)[0], np.linalg.norm(form)
    return _stretch(float((left.rounding + right.rounding + SHARED) * size / least))


def _stretch(share: float) -> float:
    """Solve `1 − exp(−t) = share`; infinite from a share of 1 on."""
    return float(-np.log1p(-share)) if share < 1 else np.inf


def shared_form(left: Span, right: Span, k: int) -> Floats | None:
    """Search a G ≻ 0 that both spans hold, or None where none was found.

    Alternating projections between the forms that both spans hold and the matrices `G ⪰ I`.
    """
    if left.held is None or right.held is None:
        return None
    outside = left.held - right.held @ (right.held.T @ left.held)
    _, sines, vt = np.linalg.svd(outside, full_matrices=False)
    shared = left.held @ vt[sines <= SHARED].T
    g = np.eye(k)
    # Alternate between the subspace of shared forms and the cone G ⪰ I; its limit is in both where they meet.
    for _ in range(300 if shared.size else 0):
        g = symmetric(shared @ (shared.T @ packed(g)), k)
        values, vectors = np.linalg.eigh(g)
        if values[0] > 1e-3 * values[-1]:
            return g
        g = (vectors * np.maximum(values, 1.0)) @ vectors.T
    return None


def cone_stretch(left: Matrix, right: Matrix, basis: Floats) -> float:
    """Bound `|ln s|` where models may also use directions in which no row lies; infinite where nothing is proven.

    Of such a model only `pᵀ S p ≤ 1` and `qᵀ S⁻¹ q ≤ 1` are known. Where I is a sum of `p pᵀ`, and one of `q qᵀ`, with
    weights ≥ 0, these sum to m, and `tr(S + S⁻¹ − 2) ≤ 0` for rows as they are stored. Rounding by δ and δ' at each row
    adds `m (δ ‖S − I‖ + δ' ‖S⁻¹ − I‖)`, so that `1 − exp(−t) ≤ m (δ + δ')` as above. A row is then at most `√t` long
    in other directions, which moves a cosine by t once more.
    """
    from scipy.optimize import nnls

    m, share = basis.shape[1], 0.0
    target = packed(np.eye(m))
    for x in (left, right):
        # Nonnegative least squares finds the weights; a residual of rounding means that I lies in the cone.
        lifts = lifted(unit_rows(x, none=0) @ basis)
        if nnls(lifts.T, target)[1] > 64 * m * EPS:
            return np.inf
        share += m * (form_rounding(x) + 64 * EPS)
    return _stretch(share)


def second_metrics(left: Span, right: Span, k: int, rng: np.random.Generator, most: float) -> list[Floats]:
    """Search metrics S ≠ I that keep the length of every row of both sides, by Gauss–Newton from random starts.

    Parameters
    ----------
    left, right : Span
        The constraints of either side, as many equations as they have dimensions.
    k : int
        Dimensions.
    rng : numpy Generator
        Draws the starts: along the forms that keep all lengths to first order, or any where there are none.
    most : float
        Largest condition number of M.

    Returns
    -------
    list of (k, k) arrays
        Those that converged; some may be I.
    """
    metrics, along = [], tangent(left, right)
    along = along if len(along) else np.eye(left.needed)
    for start in range(STARTS):
        # Along the tangent of the constraints, where there is one, lengths change to second order only, so that
        # Gauss–Newton does not fall back to I.
        direction = symmetric(rng.standard_normal(len(along)) @ along, k)
        stretch = STRETCHES[start % len(STRETCHES)] / np.linalg.norm(direction, 2)
        metric, gap = _solved(np.eye(k) + stretch * direction, left, right)
        values = np.linalg.eigvalsh(metric)
        if gap <= 64 * k * EPS * values[-1] / values[0] and values[-1] <= most**2 * values[0]:
            metrics.append(metric)
    return metrics


def _solved(metric: Floats, left: Span, right: Span) -> tuple[Floats, float]:
    """Gauss–Newton with least steps, shortened so that S stays positive; ends where steps no longer help."""
    from scipy.linalg import solve

    k = len(metric)
    assert left.held is not None
    assert right.held is not None
    identity, rows = packed(np.eye(k)), symmetric(np.asarray(right.held.T), k)
    gap, best = np.inf, metric
    for _ in range(40):
        inverse = np.linalg.inv(metric)
        inverse = (inverse + inverse.T) / 2
        misses = np.concatenate(
            [left.held.T @ (packed(metric) - identity), right.held.T @ (packed(inverse) - identity)]
        )
        size = float(np.abs(misses).max())
        if size < gap:
            gap, best = size, metric
        elif size < 1e-12:
            break
        # Left constraints are linear in S; right ones in S⁻¹, whose derivative along H is −S⁻¹ H S⁻¹.
        jacobian = np.vstack([left.held.T, -packed(inverse @ rows @ inverse)])
        normal = jacobian @ jacobian.T
        # Constraints may depend on each other: a trace's 1e-12 keeps the system solvable.
        normal[np.diag_indices_from(normal)] += 1e-12 * np.trace(normal)
        step = symmetric(jacobian.T @ solve(normal, -misses, assume_a="pos"), k)
        metric = _advanced(metric, step)
    return best, gap


def _advanced(metric: Floats, step: Floats) -> Floats:
    # Halve the step until no eigenvalue falls below a fifth of the least: S stays positive and S⁻¹ bounded.
    least = np.linalg.eigvalsh(metric)[0]
    for _ in range(40):
        if np.linalg.eigvalsh(metric + step)[0] >= 0.2 * least:
            return metric + step
        step = step / 2
    return metric
