"""Cosines under gauges that scale blocks of columns, such as the planes of RoPE.

A rotary embedding turns pairs of columns, each at a speed of its own. A linear map of
queries and keys keeps all scores only if it commutes with all these rotations: it turns
each plane and scales it. A turn within a plane changes no cosine, and the scales give
the planes weights `w`. So the cosine of two rows x and y is

    Σ w r / √(Σ w p · Σ w q),   with r = x_b·y_b, p = ‖x_b‖², q = ‖y_b‖² per block b.

A block of one column is a coordinate under a diagonal gauge, where r² = p q; in a block
of more columns r² <= p q.

Without a budget the largest cosine is the largest `r/√(p q)` of a block, if that is not
negative, because one block can have nearly all weight. If all blocks have negative
products, it is minus the smallest cosine of x and -y: the largest γ for which one s has
`cosh(ln s - ln √(q/p)) <= c/γ` in every block, with `c = |r|/√(p q)`. Otherwise weights
exist that bring the cosine below γ. For weights within a budget see
`largest_block_cosine`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from embaudit.core.checked import Flags, Floats, Indices
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.core.tolerances import ROW_ROUNDING
from embaudit.linalg.rows import unit_rows
from embaudit.ranges.weights import saddle_weights

_Terms: TypeAlias = "tuple[Floats, Floats, Floats]"
"""(m, b) the products r, p and q of each block of each pair."""
N_HALVINGS = 200
"""Steps that narrow an interval to the rounding of its ends."""


@dataclass(frozen=True, eq=False)
class BlockRanges:
    """The smallest and the largest cosine of pairs of rows."""

    lower: Floats
    """(m,) infimum; NaN if a row is zero."""
    upper: Floats
    """(m,) supremum."""

    @property
    def width(self) -> Floats:
        """Difference of both ends, from 0 to 2."""
        width: Floats = self.upper - self.lower
        return width


def block_ranges(
    x: Floats,
    y: Floats,
    blocks: Sequence[Indices],
    max_condition: float | None = None,
) -> BlockRanges:
    """Compute the range of each cosine under all scales of blocks of columns.

    Parameters
    ----------
    x, y : array of shape (m, k)
        Both rows of each pair.
    blocks : sequence of arrays of int
        Columns of each block. A column belongs to at most one block. Columns outside
        of all blocks are ignored.
    max_condition : float, optional
        Largest ratio of two scales, κ. There is no limit by default.

    Examples
    --------
    One plane has one scale, so that no cosine moves. Two planes have two.

    >>> x, y = np.array([[1.0, 0.0, 1.0, 0.0]]), np.array([[0.0, 1.0, 1.0, 0.0]])
    >>> fixed = block_ranges(x, y, [np.arange(4)])
    >>> fixed.lower, fixed.upper
    (array([0.5]), array([0.5]))
    >>> free = block_ranges(x, y, [np.array([0, 1]), np.array([2, 3])])
    >>> free.lower, free.upper
    (array([0.]), array([1.]))
    >>> within = block_ranges(x, y, [np.array([0, 1]), np.array([2, 3])], 2.0)
    >>> within.lower, within.upper
    (array([0.2]), array([0.8]))
    """
    width = len(blocks)

    def ends(rows: slice) -> BlockRanges:
        terms = _terms(x[rows], y[rows], blocks)
        mirrored = (-terms[0], terms[1], terms[2])
        if max_condition is None:
            return BlockRanges(0 - _supremum(mirrored), _supremum(terms))
        square = max_condition**2
        return BlockRanges(
            -largest_block_cosine(mirrored, square), largest_block_cosine(terms, square)
        )

    # Each pair compares 2 b sets of weights, each of b blocks, in several arrays.
    parts = list(parallel_map(ends, row_blocks(len(x), 6 * width**2 + x.shape[1])))
    if not parts:
        return BlockRanges(np.empty(0), np.empty(0))
    return BlockRanges(
        np.concatenate([part.lower for part in parts]),
        np.concatenate([part.upper for part in parts]),
    )


def _terms(x: Floats, y: Floats, blocks: Sequence[Indices]) -> _Terms:
    """Compute r, p and q per block and pair, after dividing rows by their lengths."""
    columns = np.concatenate([np.asarray(block, dtype=np.intp) for block in blocks])
    starts = np.cumsum([0, *(len(block) for block in blocks[:-1])])
    x, y = unit_rows(x[:, columns]), unit_rows(y[:, columns])

    def block_sums(products: Floats) -> Floats:
        return np.add.reduceat(products, starts, axis=1)

    p, q = block_sums(x * x), block_sums(y * y)
    # Rounding must not make a cosine within a block larger than 1.
    most = np.sqrt(p * q)
    r = np.clip(block_sums(x * y), -most, most)
    return r, p, q


def _supremum(terms: _Terms) -> Floats:
    """Return the supremum of each cosine over all positive weights."""
    r, p, q = terms
    size = np.sqrt(p * q)
    counts = p + q > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        cosines = np.where(size > 0, r / size, 0.0)
    # A block in which only one row has numbers takes the cosine to 0.
    best = np.where(counts, cosines, -np.inf).max(axis=1)
    is_zero = np.abs(r) <= ROW_ROUNDING * size
    undefined = np.isnan(r).any(axis=1)
    is_negative = (best < 0) & ~(is_zero & counts).any(axis=1) & ~undefined
    supremum = np.where(is_negative, 0.0, np.maximum(best, 0.0))
    rows = np.flatnonzero(is_negative)
    if len(rows):
        supremum[rows] = -_smallest_acute(-r[rows], p[rows], q[rows], counts[rows])
    return np.where(undefined, np.nan, supremum)


def _smallest_acute(r: Floats, p: Floats, q: Floats, counts: Flags) -> Floats:
    """Return the infimum γ of cosines whose blocks all have positive products.

    `1/γ` is the minimum over u of the largest `cosh(u - u_b)/c_b`, a convex function.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        cosines = np.where(counts, r / np.sqrt(p * q), 1.0)
        centres = np.where(counts, (np.log(q) - np.log(p)) / 2, np.nan)
    low, high = np.nanmin(centres, axis=1), np.nanmax(centres, axis=1)
    centres = np.where(counts, centres, low[:, None])
    # Blocks without numbers must not be the largest.
    weights = np.where(counts, 1 / cosines, 0.0)
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2
        distance = middle[:, None] - centres
        values = weights * np.cosh(distance)
        largest = values.argmax(axis=1)[:, None]
        rises = np.take_along_axis(distance, largest, axis=1)[:, 0] > 0
        high = np.where(rises, middle, high)
        low = np.where(rises, low, middle)
    ends = [
        (weights * np.cosh(end[:, None] - centres)).max(axis=1) for end in (low, high)
    ]
    # Both ends are within rounding of the minimum, and neither lies below it.
    return np.asarray(1 / np.minimum(*ends))


def largest_block_cosine(terms: _Terms, square: float) -> Floats:
    """Maximise each cosine over weights between 1 and κ².

    If weights exist that make the cosine positive, the best weights are κ² in the
    blocks with `r > λ (s p + q / s) / 2` at the best s, and 1 elsewhere, where λ is the
    largest cosine (see `embaudit.ranges.weights`). Each block is in this set for s in
    an interval. So the sets at both ends of all intervals are compared, and the best of
    them gives the next λ, until no set gives more.

    If no weights do, the largest cosine is minus the smallest one of x and -y.

    Parameters
    ----------
    terms : three arrays of shape (m, b)
        The products r, p and q of each block, of unit rows.
    square : float
        κ².
    """
    r, p, q = terms
    if square == 1:
        return np.asarray(np.clip(r.sum(axis=1), -1, 1))
    can_be_positive = np.where(r > 0, square * r, r).sum(axis=1) > 0
    is_defined = ~np.isnan(r).any(axis=1)
    best = np.full(len(r), np.nan)
    rows = np.flatnonzero(is_defined & can_be_positive)
    best[rows] = _largest_positive((r[rows], p[rows], q[rows]), square)
    rows = np.flatnonzero(is_defined & ~can_be_positive)
    acute = (-r[rows], p[rows], q[rows])
    best[rows] = -_weighted_cosine(acute, saddle_weights(acute, square))
    return np.asarray(np.clip(best, -1, 1))


def _weighted_cosine(terms: _Terms, weights: Floats) -> Floats:
    """Compute `Σ w r / √(Σ w p · Σ w q)` for the weights (m, b) of each pair."""
    r, p, q = (np.vecdot(weights, term) for term in terms)
    return np.asarray(r / np.sqrt(p * q))


def _largest_positive(terms: _Terms, square: float) -> Floats:
    """Maximise cosines that some weights make positive."""
    r, p, q = terms
    level = _weighted_cosine(terms, np.where(r > 0, square, 1.0))
    growing = np.arange(len(r))
    while len(growing):
        part = (r[growing], p[growing], q[growing])
        weights = np.where(_high_sets(part, level[growing]), square, 1.0)
        sums = [np.vecdot(weights, term[:, None]) for term in part]
        cosines = (sums[0] / np.sqrt(sums[1] * sums[2])).max(axis=1)
        is_higher = cosines > level[growing]
        growing = growing[is_higher]
        level[growing] = cosines[is_higher]
    return level


def _high_sets(terms: _Terms, level: Floats) -> Flags:
    """Return the blocks of high weight at both ends of the interval of each block.

    The interval of a block holds the s with `λ p s² - 2 r s + λ q < 0`.

    Returns
    -------
    array of bool of shape (m, 2 b, b)
    """
    r, p, q = terms
    a, c = level[:, None] * p, level[:, None] * q
    root = np.sqrt(np.maximum(r * r - a * c, 0))
    is_high = (r > 0) & (r * r >= a * c)
    # Neither end is a difference of nearly equal numbers.
    with np.errstate(divide="ignore", invalid="ignore"):
        start = np.where(is_high, c / (r + root), np.inf)
        stop = np.where(is_high, (r + root) / a, -np.inf)
    after_start = (start[:, None] <= start[:, :, None]) & (
        start[:, :, None] < stop[:, None]
    )
    after_stop = (start[:, None] <= stop[:, :, None]) & (
        stop[:, :, None] < stop[:, None]
    )
    return np.concatenate([after_start, after_stop], axis=1)
