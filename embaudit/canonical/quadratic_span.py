"""Quadratic forms as vectors: what rows of length 1 leave free of a form that must be 1 on each of them.

A symmetric T has k(k+1)/2 numbers. `rᵀ T r` is the inner product of T with `r rᵀ`, so the forms that vanish on all rows
are orthogonal to the span of those products; only where it is everything is `T = 0` the one form left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import Floats, Matrix, frozen
from embaudit.linalg.duplicates import spacing_of, spread
from embaudit.linalg.rows import unit_rows

EPS = float(np.finfo(np.float64).eps)
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
        factor = np.asarray(np.linalg.qr(np.vstack([factor, _lifts(rows, affine=affine)]), mode="r"))
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
