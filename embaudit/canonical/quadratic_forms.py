"""Quadratic forms that vanish on unit rows.

The lengths of the rows leave these forms free. A symmetric matrix T has k(k+1)/2
numbers. The value `rᵀ T r` is the inner product of T with the lift `r rᵀ`, so the forms
that vanish on all rows are orthogonal to the span of the lifts. If the lifts span
everything, only `T = 0` vanishes on all rows.

Up to `LARGEST` numbers the dimensions of the span are counted by singular values. Up to
`LARGEST_SHOWN` numbers a least-squares problem tells whether the lifts span everything.
Above that nothing is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from embaudit.core.checked import Floats, Matrix, frozen
from embaudit.core.progress import track
from embaudit.core.tolerances import EPS, FULL_SPAN, SPAN_RESIDUAL
from embaudit.linalg.duplicates import spaced_places, spacing_of
from embaudit.linalg.rows import float64_blocks, unit_rows

LARGEST = 1_300
"""Most numbers of a form for which the dimensions of a span are counted (k = 50).

Counting takes about a second per 2,600 rows.
"""
LARGEST_SHOWN = 8_400
"""Most numbers of a form for which a full span is recognised (k = 129).

This takes two to three seconds on one core.
"""
ROUNDED = 1.25
"""Largest change of a form of norm 1 at a unit row, over the spacing s of a format.

Rounding to the format moves the row by at most s/2, hence `rᵀ T r + g · r` by
s/2 (2‖T‖ + ‖g‖) ≤ 1.12 s. The rest is for its new length and for s².
"""
ROWS_PER_NUMBER = 2
"""Rows per number of a form that the least-squares problem draws.

With fewer rows it converges slowly, and with more each step takes longer.
"""
STEPS = 300
"""Most steps of conjugate gradients.

With 5/4 rows per number in general position about 170 are needed, with 2 rows per
number about 55.
"""


def lift(block: Floats) -> Floats:
    """List the entries of `r rᵀ` on and above the diagonal.

    Those above the diagonal are multiplied by √2, so that inner products are kept.

    Examples
    --------
    >>> lift(np.array([[1.0, 1.0]])).round(4)
    array([[1.    , 1.4142, 1.    ]])
    """
    i, j = np.triu_indices(block.shape[1])
    return np.asarray(block[:, i] * block[:, j] * np.where(i == j, 1, np.sqrt(2)))


def pack(form: Floats) -> Floats:
    """List the entries of symmetric matrices (..., k, k) in the order of `lift`.

    Entries above the diagonal are multiplied by √2, too.
    """
    i, j = np.triu_indices(form.shape[-1])
    return np.asarray(form[..., i, j] * np.where(i == j, 1, np.sqrt(2)))


def unpack(entries: Floats, k: int) -> Floats:
    """Return the symmetric matrices (..., k, k) of packed entries.

    Examples
    --------
    >>> unpack(pack(np.array([[1.0, 2.0], [2.0, 5.0]])), 2).round(12)
    array([[1., 2.],
           [2., 5.]])
    """
    i, j = np.triu_indices(k)
    values = entries / np.where(i == j, 1, np.sqrt(2))
    result = np.zeros((*entries.shape[:-1], k, k))
    result[..., i, j] = values
    result[..., j, i] = values
    return result


@dataclass(frozen=True, eq=False)
class Span:
    """The span of the lifts of the unit rows r of one or more sides.

    The lift of r is `r rᵀ`, or `r rᵀ` and `r` together for forms with a linear part.
    """

    rank: int
    """Dimension of the span; 0 if it was not counted and is not known to be full."""
    needed: int
    """N, the dimension of all forms."""
    is_clear: bool
    """True if every singular value is either rounding or firm.

    Firm values are larger than `FULL_SPAN` times the largest one and than the rounding
    of the stored rows.
    """
    factor: Matrix | None = None
    """Triangle of the QR decomposition of the lifts, with N columns; None if the
    dimensions were not counted."""
    vanishing: Floats | None = None
    """(N,) a form of norm 1 that vanishes on every row; known only for a span that was
    not counted."""

    @property
    def is_full(self) -> bool:
        """True if no form but 0 vanishes on every row, beyond doubt."""
        return self.is_clear and self.rank == self.needed

    @property
    def is_nearly_full(self) -> bool:
        """True if rounding decides whether a form other than 0 vanishes on every row.

        The values of some form at the rows are as small as rounding.
        """
        return not self.is_clear and self.rank == self.needed

    @cached_property
    def free(self) -> Matrix:
        """(N, m) orthonormal forms that vanish on every row.

        If the span was counted, these are all such forms. Otherwise at most one is
        known.
        """
        if self.factor is not None:
            _, _, directions = np.linalg.svd(self.factor)
            return np.asarray(frozen(directions[self.rank :].T))
        if self.vanishing is not None:
            return self.vanishing[:, None]
        return np.zeros((self.needed, 0))


def n_forms(k: int, *, affine: bool = False) -> int:
    """Count the numbers of a form: k(k+1)/2, or k(k+3)/2 with a linear part."""
    n_quadratic = k * (k + 1) // 2
    if affine:
        return n_quadratic + k
    return n_quadratic


def span_of(
    *sides: Matrix, affine: bool = False, rounding: float | None = None
) -> Span:
    """Find the span of the lifts of all unit rows of one or more sides together.

    The lifts are decomposed by QR, block by block. Their Gram matrix is not used,
    because it would square singular values and hide those below 1e-8.

    Parameters
    ----------
    *sides : arrays of shape (n, k)
        Rows of any length. A zero row has no lift.
    affine : bool
        Forms `rᵀ T r + g · r`, k(k+3)/2 numbers. A constant is the trace of T on rows
        of length 1.
    rounding : float, optional
        The `form_rounding` of the rows as stored, if these rows are rotated stored
        rows. By default that of `sides`.

    Returns
    -------
    Span
        Above `LARGEST` numbers only a full span of a single side is recognised.
    """
    needed = n_forms(sides[0].shape[1], affine=affine)
    if rounding is None:
        rounding = max(form_rounding(x) for x in sides)
    if needed > LARGEST:
        if needed > LARGEST_SHOWN or len(sides) > 1:
            return Span(0, needed, False)
        return _recognise_full_span(sides[0], needed, rounding, affine=affine)
    # Blocks have twice as many rows as the factor, so that each QR works mostly on new
    # rows.
    size = 2 * needed
    blocks: list[Matrix] = []
    for x in sides:
        blocks += [x[start : start + size] for start in range(0, len(x), size)]
    factor = np.zeros((0, needed))
    for block in track(blocks, "counting what unit rows fix", len(blocks)):
        units = unit_rows(block, none=0)
        lifts = lift(units)
        if affine:
            lifts = np.hstack([lifts, units])
        factor = np.asarray(np.linalg.qr(np.vstack([factor, lifts]), mode="r"))
    return _count_span(factor, rounding)


def on_no_hyperplane(x: Matrix, *, rounding: float | None = None) -> bool:
    """Return True if, beyond doubt, no hyperplane holds every unit row.

    A hyperplane, through the origin or not, is an affine function `w · r + c` that
    vanishes on every row. These functions have k + 1 numbers, and they are counted with
    the tolerances of `Span`: neither rounding nor a thickness below `FULL_SPAN` takes
    rows off a hyperplane.

    Parameters
    ----------
    x : array of shape (n, k)
        Rows of any length. Zero rows are skipped.
    rounding : float, optional
        The `form_rounding` of the rows as stored. By default that of x.

    Examples
    --------
    >>> on_no_hyperplane(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]))
    True
    >>> on_no_hyperplane(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    False
    """
    k = x.shape[1]
    factor = np.zeros((0, k + 1))
    for _, block in float64_blocks(x):
        directed = block[block.any(axis=1)]
        rows = np.hstack([unit_rows(directed), np.ones((len(directed), 1))])
        factor = np.asarray(np.linalg.qr(np.vstack([factor, rows]), mode="r"))
    if len(factor) <= k:
        return False
    if rounding is None:
        rounding = form_rounding(x)
    return _count_span(factor, rounding).is_full


def form_rounding(x: Matrix) -> float:
    """Bound what the rounding of stored numbers adds to a form at each unit row.

    The form has norm 1 and vanished on all rows before rounding.

    Only bfloat16, float16 and float32 are recognised. Rows that were rounded in another
    way, for example to whole numbers, count as exact.
    """
    some_rows = np.asarray(x[spaced_places(len(x))], dtype=np.float64)
    return ROUNDED * spacing_of(some_rows)


def _count_span(factor: Floats, rounding: float) -> Span:
    """Count the dimensions of a span by singular values of the triangle of lifts."""
    needed = factor.shape[1]
    s = np.linalg.svd(factor, compute_uv=False)
    rank = int((s > needed * EPS * s[0]).sum())
    if rank == 0:
        return Span(0, needed, True, frozen(factor))
    # The lifts of n unit rows have length 1, so that the length of s is √n. Rounding
    # changes the values of a form at n rows by a vector of length `rounding √n` at
    # most. The values of a unit form of the span have at least the length s_rank. If
    # this length is not larger, rounding alone may have made the last dimension.
    least = s[rank - 1]
    largest_rounding = rounding * np.linalg.norm(s)
    is_clear = bool(least > FULL_SPAN * s[0] and least > largest_rounding)
    return Span(rank, needed, is_clear, frozen(factor))


@dataclass(frozen=True, eq=False)
class _Lifts:
    """The lifts L of some rows as an operator on symmetric matrices.

    No matrix of N columns is built.

    Rows are rotated and stretched to equal second moments. This keeps the rank, and
    conjugate gradients need fewer steps. An affine form `rᵀ T r + g · r` is `r̃ᵀ T̃ r̃`
    for `r̃ = (r, c)`, if the last entry of T̃ is 0.
    """

    units: Floats
    """(n, k) unit rows."""
    whitening: Floats
    """(k, k) matrix that makes their second moments equal."""
    affine: bool

    @property
    def constant(self) -> float:
        """The entry c.

        It gives quadratic and linear parts about the same singular values.
        """
        return 1 / float(np.sqrt(self.units.shape[1]))

    @cached_property
    def rows(self) -> Floats:
        """Whitened rows, extended by the constant for affine forms."""
        rows = self.units @ self.whitening
        if self.affine:
            rows = np.hstack([rows, np.full((len(rows), 1), self.constant)])
        return np.asarray(rows)

    def without_constant(self, form: Floats) -> Floats:
        """Set the entry to 0 that an affine form does not have."""
        if self.affine:
            form[-1, -1] = 0
        return form

    def draw(self, rng: np.random.Generator) -> Floats:
        """Draw a Gaussian form."""
        width = self.rows.shape[1]
        form = rng.standard_normal((width, width))
        return self.without_constant(form + form.T)

    def values(self, form: Floats) -> Floats:
        """Compute L T, the value of a form at each row."""
        return np.asarray(np.einsum("ij,ij->i", self.rows @ form, self.rows))

    def combine(self, weights: Floats) -> Floats:
        """Compute Lᵀ w, the sum of the lifts with weights."""
        return self.without_constant(self.rows.T @ (self.rows * weights[:, None]))

    def on_units(self, form: Floats) -> Floats:
        """Return the entries of a form in the coordinates of the unit rows."""
        k = self.units.shape[1]
        entries = pack(self.whitening @ form[:k, :k] @ self.whitening.T)
        if self.affine:
            linear = 2 * self.constant * self.whitening @ form[:k, k]
            entries = np.hstack([entries, linear])
        return entries

    def size(self, form: Floats) -> float:
        """Compute the root mean square of the values of a form, relative to its norm.

        The norm is that of the form on the unit rows.
        """
        mean_square = np.mean(self.values(form) ** 2)
        return float(np.sqrt(mean_square) / np.linalg.norm(self.on_units(form)))


def _recognise_full_span(
    x: Matrix, needed: int, rounding: float, *, affine: bool
) -> Span:
    """Find by least squares whether the lifts L of some drawn rows span everything.

    A Gaussian form Y is a combination `Lᵀ w` of the lifts for almost every Y if they
    span everything, and for almost no Y otherwise. Once the problem is solved, the
    residual vanishes on every row. If the residual is 0, a form z with `Lᵀ L z = Y` was
    found. This is one step of inverse iteration, so the values of z show the least
    singular value of L.
    """
    rng = np.random.default_rng(0)
    n = min(len(x), ROWS_PER_NUMBER * needed)
    chosen = np.sort(rng.choice(len(x), n, replace=False))
    units = unit_rows(x[chosen], none=0)
    unknown = Span(0, needed, False)
    values, vectors = np.linalg.eigh(units.T @ units / n)
    if values[0] <= FULL_SPAN * values[-1]:
        return unknown
    whitening = vectors / np.sqrt(units.shape[1] * values)
    lifts = _Lifts(units, whitening, affine)
    target = lifts.draw(rng)
    solved = _least_squares(lifts, target)
    if solved is None:
        return unknown
    solution, residual = solved
    if np.linalg.norm(residual) > SPAN_RESIDUAL * np.linalg.norm(target):
        vanishing = lifts.on_units(residual)
        unit_form = frozen(vanishing / np.linalg.norm(vanishing))
        return Span(0, needed, False, vanishing=unit_form)
    # One step of inverse iteration may stay above the least singular value by a small
    # factor.
    if lifts.size(solution) <= 4 * max(FULL_SPAN, rounding):
        return unknown
    return Span(needed, needed, True)


def _least_squares(lifts: _Lifts, target: Floats) -> tuple[Floats, Floats] | None:
    """Solve `Lᵀ L z = Y` in the sense of least squares, by conjugate gradients (CGLS).

    Returns
    -------
    (z, Y − Lᵀ L z), or None
        None if `STEPS` steps did not suffice. Each step takes two products of (n, k)
        with (k, k).
    """
    residual, solution = target, np.zeros_like(target)
    values = lifts.values(residual)
    # `along` is L times the direction, by the same recurrence.
    direction, along = residual, values
    rounding = 64 * EPS * np.sqrt(len(values))
    for _ in track(range(STEPS), "testing what unit rows fix", STEPS):
        change = lifts.combine(along)
        size = values @ values
        step = size / np.vdot(change, change)
        solution = solution + step * direction
        residual = residual - step * change
        values = lifts.values(residual)
        left = np.linalg.norm(residual)
        is_in_span = left <= SPAN_RESIDUAL * np.linalg.norm(target)
        if is_in_span or np.linalg.norm(values) <= rounding * left:
            return solution, residual
        ratio = values @ values / size
        direction = residual + ratio * direction
        along = values + ratio * along
    return None
