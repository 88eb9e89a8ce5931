"""Quadratic forms as vectors: what unit rows leave free of a metric, whether that is none, and a search for another.

A symmetric T has k(k+1)/2 numbers. `rᵀ T r` is the inner product of T with `r rᵀ`, so the forms that vanish on all rows
are orthogonal to the span of those products; only where it is everything is `T = 0` the one form left.

A linear gauge with `S = M Mᵀ` keeps predicted cosines if `pᵀ S p = 1` for unit left rows and `qᵀ S⁻¹ q = 1` for unit
right ones. Where some G ≻ 0 lies in the span of the `p pᵀ` and in that of the `q qᵀ`, every such S has
`tr G(S + S⁻¹) = 2 tr G`; as `s + 1/s ≥ 2` with equality at 1 only, S = I: a proof for both sides together.

That is a proof for rows as they are stored. Before they were rounded to be stored, forms were off by shares δ of their
sizes, so that `tr G(S + S⁻¹ − 2) ≤ ‖G‖ (δ ‖S − I‖ + δ' ‖S⁻¹ − I‖)`. With eigenvalues `exp(±t_j)` of S, the largest t_j
called t, `a² = Σ 4 sinh²(t_j/2)` and g the least eigenvalue of G, the left side is at least `g a²`, and both norms are
at most `a exp(t/2)`. As `a ≥ 2 sinh(t/2)`, it follows that `1 − exp(−t) ≤ (δ + δ') ‖G‖/g`, which bounds t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import EPS, Floats, Matrix, frozen
from embaudit.linalg.duplicates import spacing_of, spread
from embaudit.linalg.rows import unit_rows

LARGEST = 2_200
"""Most numbers of a form for which the span is decomposed (k = 65): some ten seconds."""
LARGEST_SHOWN = 8_400
"""Most numbers for which a full span is recognised (k = 129). At k = 128 a process of 20,000 rows took 0.70 gigabytes
at its peak and 18 seconds, with one thread of BLAS."""
BLOCK = 256
"""Rows whose lifts are made at a time."""
FIRM = 1e-5
"""A span whose least singular value is below this share of the largest is neither full nor short of it: some metric
keeps every length to five digits, which is more than training in float32 shows, whatever the rows are stored in."""
ROUNDED = 1.25
"""Largest change that rounding to a format of spacing s makes to a form of norm 1 at a unit row, over s. The row moves
by at most s/2, hence `rᵀ T r + g · r` by s/2 (2‖T‖ + ‖g‖) ≤ 1.12 s; the rest is for its new length and for s²."""
STARTS = 9
"""Random starts of the search."""
STRETCHES = (0.3, 0.6, 0.9)
"""Distances of the starts from I, as a share of the way to a singular metric."""
SHARED = 1e-9
"""Sine of the angle up to which a form counts as one of both spans; log S is then 0 up to this over the least of G."""


def lifted(block: Floats) -> Floats:
    """List the entries of `r rᵀ` on and above the diagonal, the latter times √2, so that lengths are kept.

    Examples
    --------
    >>> lifted(np.array([[1.0, 1.0]])).round(4)
    array([[1.    , 1.4142, 1.    ]])
    """
    i, j = np.triu_indices(block.shape[1])
    return np.asarray(block[:, i] * block[:, j] * np.where(i == j, 1, np.sqrt(2)))


def packed(form: Floats) -> Floats:
    """List the entries of symmetric matrices (..., k, k) as `lifted` does, inner products kept."""
    i, j = np.triu_indices(form.shape[-1])
    return np.asarray(form[..., i, j] * np.where(i == j, 1, np.sqrt(2)))


def symmetric(entries: Floats, k: int) -> Floats:
    """Undo `packed`.

    Examples
    --------
    >>> symmetric(packed(np.array([[1.0, 2.0], [2.0, 5.0]])), 2).round(12)
    array([[1., 2.],
           [2., 5.]])
    """
    i, j = np.triu_indices(k)
    result = np.zeros((*entries.shape[:-1], k, k))
    result[..., i, j] = result[..., j, i] = entries / np.where(i == j, 1, np.sqrt(2))
    return result


@dataclass(frozen=True, eq=False)
class Span:
    """The span of `r rᵀ` (or of `r rᵀ` and `r` together) over the unit rows of a side."""

    rank: int
    """Dimension of the span."""
    needed: int
    """N, the dimension of all forms."""
    clear: bool
    """True if no singular value lies between what rounding explains and what is firm."""
    held: Matrix | None
    """(N, rank) orthonormal basis of it, None where it is everything."""
    free: Matrix | None
    """(N, N − rank) orthonormal basis of the forms that vanish on every row, None where that is 0 only."""
    rounding: float = 0.0
    """Largest inner product of a unit form of the span with a unit form that vanishes on the rows before they were
    rounded to be stored."""

    @property
    def is_full(self) -> bool:
        """True if no form but 0 vanishes on every row, beyond doubt."""
        return self.clear and self.rank == self.needed

    @property
    def is_nearly_full(self) -> bool:
        """True if some form vanishes on every row but for what may be rounding, and none beyond doubt."""
        return not self.clear and self.rank == self.needed


def span_of(x: Matrix, basis: Floats, *, affine: bool = False) -> Span:
    """Find the span over the unit rows of `x`, in coordinates of an orthonormal basis (k, m).

    A Gram matrix of random rows may show at once that it is full. If not, streamed QR: a Gram matrix would leave forms
    that vanish up to 1e-8 only. Beyond 2,200 numbers only a full span is recognised.

    Parameters
    ----------
    x : array of shape (n, k)
        A zero row says nothing.
    basis : array of shape (k, m)
        Rows are taken in these coordinates.
    affine : bool
        Forms `rᵀ T r + g · r`, m(m+3)/2 numbers; a constant is the trace of T on rows of length 1.
    """
    needed = n_forms(basis.shape[1], affine=affine)
    if _spans(x, basis, needed, affine=affine):
        return Span(needed, needed, True, None, None)
    if needed > LARGEST:
        return Span(0, needed, False, None, None)
    factor = np.zeros((0, needed))
    # Blocks of twice the width: each QR then works on as many new rows as old ones or more.
    for start in range(0, len(x), 2 * needed):
        rows = _units(x[start : start + 2 * needed], basis)
        factor = np.asarray(
            np.linalg.qr(np.vstack([factor, _lifts(rows, affine=affine)]), mode="r")
        )
    return _split(factor, form_rounding(x))


def n_forms(k: int, *, affine: bool = False) -> int:
    """Count the numbers of a form."""
    return k * (k + 1) // 2 + (k if affine else 0)


def _units(rows: Matrix, basis: Floats) -> Floats:
    return unit_rows(rows, none=0) @ basis


def _lifts(rows: Floats, *, affine: bool) -> Floats:
    return np.hstack([lifted(rows), rows]) if affine else lifted(rows)


def form_rounding(x: Matrix) -> float:
    """Bound what the rounding of stored numbers adds, at each unit row, to a form of norm 1 that vanished on all.

    Only bfloat16, float16 and float32 are recognised: rows rounded otherwise, as to whole numbers, count as exact.
    """
    return ROUNDED * spacing_of(np.asarray(x[spread(len(x))], dtype=np.float64))


def _spans(x: Matrix, basis: Floats, needed: int, *, affine: bool) -> bool:
    """Show that some rows, drawn at random, span everything: a sufficient test, and fast.

    A Cholesky decomposition of the Gram matrix of their lifts, less what cannot be told from zero, exists only if no
    form vanishes on them.
    """
    from scipy.linalg import LinAlgError, cholesky
    from scipy.linalg.blas import dsyrk

    if len(x) < needed or needed > LARGEST_SHOWN:
        return False
    # More rows only add to the span. A fourth more than there are numbers: of N random rows the least singular value is
    # about 1/N, which from N = 2,200 on is below FIRM √N.
    n = min(len(x), needed + needed // 4)
    drawn = np.sort(np.random.default_rng(0).choice(len(x), n, replace=False))
    gram = np.zeros((needed, needed), order="F")
    for start in range(0, n, BLOCK):
        lifts = _lifts(_units(x[drawn[start : start + BLOCK]], basis), affine=affine)
        gram = dsyrk(1.0, lifts.T, beta=1.0, c=gram, overwrite_c=True)
    # The smallest eigenvalue must exceed the squares that a form of norm 1 may leave on n rows; Cholesky fails if any
    # is below. Rounding here moves eigenvalues by N n eps or so, a fiftieth of n FIRM² at most.
    gram[np.diag_indices_from(gram)] -= n * max(FIRM, form_rounding(x)) ** 2
    try:
        cholesky(gram, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True


def _split(factor: Floats, rounded: float) -> Span:
    """Split all forms by the singular values of the lifts, from the triangle of their QR decomposition."""
    needed = factor.shape[1]
    s, vt = np.linalg.svd(factor)[1:]
    rank = int((s > needed * EPS * s[0]).sum())
    # The lifts of n unit rows have length 1, so that the length of s is the root of n: what rounding adds to the values
    # of a form at n rows is at most `rounded √n` long, and a unit form of the span is at least s_rank long there.
    rounding = float(rounded * np.linalg.norm(s) / s[rank - 1]) if rank else 0.0
    clear = bool(rank == 0 or (s[rank - 1] > FIRM * s[0] and rounding < 1))
    if rank == needed:
        return Span(rank, needed, clear, None, None, rounding)
    return Span(rank, needed, clear, frozen(vt[:rank].T), frozen(vt[rank:].T), rounding)


def tangent(left: Span, right: Span) -> Floats:
    """Return an orthonormal basis, as rows, of the forms that vanish on the rows of both sides."""
    if left.held is None or right.held is None:
        return np.zeros((0, left.needed))
    _, s, vt = np.linalg.svd(np.vstack([left.held.T, right.held.T]))
    return np.asarray(vt[int((s > 1e-9).sum()) :])


def certified_stretch(left: Span, right: Span, k: int) -> float:
    """Bound `|ln s|` for every eigenvalue s of a metric that both sides leave; infinite where nothing is proven.

    Examples
    --------
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


def second_metrics(
    left: Span, right: Span, k: int, rng: np.random.Generator, most: float
) -> list[Floats]:
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
    if left.held is None or right.held is None:
        return []
    metrics, along = [], tangent(left, right)
    along = along if len(along) else np.eye(left.needed)
    for start in range(STARTS):
        # Along the tangent of the constraints, where there is one, lengths change to second order only, so that
        # Gauss–Newton does not fall back to I.
        direction = symmetric(rng.standard_normal(len(along)) @ along, k)
        stretch = STRETCHES[start % len(STRETCHES)] / np.linalg.norm(direction, 2)
        metric, gap = _solved(np.eye(k) + stretch * direction, left.held, right.held)
        values = np.linalg.eigvalsh(metric)
        if (
            gap <= 64 * k * EPS * values[-1] / values[0]
            and values[-1] <= most**2 * values[0]
        ):
            metrics.append(metric)
    return metrics


def _solved(metric: Floats, left: Matrix, right: Matrix) -> tuple[Floats, float]:
    """Gauss–Newton with least steps, shortened so that S stays positive; ends where steps no longer help."""
    from scipy.linalg import solve

    k = len(metric)
    identity, rows = packed(np.eye(k)), symmetric(np.asarray(right.T), k)
    gap, best = np.inf, metric
    for _ in range(40):
        inverse = np.linalg.inv(metric)
        inverse = (inverse + inverse.T) / 2
        misses = np.concatenate(
            [
                left.T @ (packed(metric) - identity),
                right.T @ (packed(inverse) - identity),
            ]
        )
        size = float(np.abs(misses).max())
        if size < gap:
            gap, best = size, metric
        elif size < 1e-12:
            break
        # Left constraints are linear in S; right ones in S⁻¹, whose derivative along H is −S⁻¹ H S⁻¹.
        jacobian = np.vstack([left.T, -packed(inverse @ rows @ inverse)])
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
