"""Alignment of two second moments: do two sets of rows lie in one coordinate system?

Sets A and B of rows in d dimensions have the second moments S_A and S_B, which are
Σ xxᵀ over the rows, up to any scale. Their alignment is

    a = d · tr(S_A S_B) / (tr S_A · tr S_B).

If the coordinate systems are unrelated, that is, if B was turned by a random rotation
(of the Haar measure), then E a = 1 exactly, and the standard deviation of a is

    sd a = d · √(2 tr(A₀²) tr(B₀²) / ((d − 1)(d + 2))) / (tr S_A · tr S_B)

with the traceless parts A₀ = S_A − (tr S_A / d) I and B₀ of the moments. Within one
system, S_B is close to a multiple of S_A. Then a is close to d divided by the effective
rank `(tr S)² / tr(S²)`, which is larger than 1 unless all directions weigh alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from embaudit.core.checked import Floats, Indices, Vector
from embaudit.core.parallel import row_blocks
from embaudit.core.tolerances import TIE

MOMENT_BYTES = 2**28
"""Memory up to which the second moments of all blocks are kept at once."""


@dataclass(frozen=True)
class Alignment:
    """Alignment of two second moments, and its distribution for unrelated systems."""

    value: float
    """The alignment a; 1 on average if the coordinate systems are unrelated."""
    deviation: float
    """Standard deviation of a over random rotations of one of the two sets."""

    @property
    def z(self) -> float:
        """Distance of a from 1 in standard deviations.

        It is 0 if a moment weighs all directions alike. Such a moment has alignment 1
        with every other moment, so nothing can be concluded.
        """
        if self.deviation <= TIE:
            return 0.0
        return (self.value - 1) / self.deviation


def alignment(first: Floats, second: Floats) -> Alignment:
    """Compute the alignment of two second moments.

    Parameters
    ----------
    first, second : array of shape (d, d)
        Symmetric, with a positive trace, and d of at least 2.

    Examples
    --------
    Both moments have the first axis only, so a = 2 · 1 / (1 · 1); for moments of
    different axes it is 0.

    >>> x, y = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    >>> alignment(x, x).value, alignment(x, y).value
    (2.0, 0.0)

    Turned by an angle t, a is 2 cos² t = 1 + cos 2t, whose standard deviation over all
    angles is √½.

    >>> round(alignment(x, y).deviation, 6)
    0.707107
    """
    return _alignment(
        len(first),
        products=(
            float(np.vdot(first, second)),
            float(np.vdot(first, first)),
            float(np.vdot(second, second)),
        ),
        traces=(float(np.trace(first)), float(np.trace(second))),
    )


def _alignment(
    n_columns: int, products: tuple[float, float, float], traces: tuple[float, float]
) -> Alignment:
    """Compute a from tr(S_A S_B), tr(S_A²), tr(S_B²), and the traces of S_A and S_B."""
    between, own_first, own_second = products
    scale = traces[0] * traces[1]
    if scale <= 0:
        return Alignment(1.0, 0.0)
    traceless_first = max(own_first / traces[0] ** 2 - 1 / n_columns, 0.0)
    traceless_second = max(own_second / traces[1] ** 2 - 1 / n_columns, 0.0)
    variance = 2 * traceless_first * traceless_second
    variance /= (n_columns - 1) * (n_columns + 2)
    return Alignment(n_columns * between / scale, n_columns * sqrt(variance))


@dataclass(frozen=True, eq=False)
class BlockMoments:
    """Inner products of the second moments of blocks of rows.

    The inner products of pooled blocks are sums of these.
    """

    n_columns: int
    """Number of columns d of the rows."""
    products: Floats
    """(m, m), tr(S_b S_c) for blocks b and c. S_b is the sum of xxᵀ over the rows of b.
    """
    traces: Vector
    """(m,), tr S_b: the sum of the squared lengths of the rows of b."""

    @classmethod
    def from_blocks(cls, blocks: Sequence[Floats]) -> BlockMoments:
        """Compute the inner products from blocks of rows.

        If the moments of all blocks fit into `MOMENT_BYTES`, they are computed, at a
        cost of n d² for n rows. Otherwise, (x·y)² is summed over the rows x of b and y
        of c, which gives tr(S_b S_c) without the moments, at a cost of n² d / 2.

        Examples
        --------
        >>> first, second = np.array([[1.0, 0.0]]), np.array([[3.0, 4.0]])
        >>> blocks = BlockMoments.from_blocks([first, second])
        >>> blocks.products.tolist(), blocks.traces.tolist()
        ([[1.0, 9.0], [9.0, 625.0]], [1.0, 25.0])
        """
        n_blocks, n_columns = len(blocks), blocks[0].shape[1]
        traces = np.array([np.vdot(block, block) for block in blocks])
        if n_blocks * n_columns**2 * 8 <= MOMENT_BYTES:
            moments = np.array([(block.T @ block).ravel() for block in blocks])
            return cls(n_columns, moments @ moments.T, traces)
        products = np.zeros((n_blocks, n_blocks))
        for b in range(n_blocks):
            for c in range(b, n_blocks):
                products[b, c] = _squared_products(blocks[b], blocks[c])
                products[c, b] = products[b, c]
        return cls(n_columns, products, traces)

    def pooled(self, groups: Sequence[Indices]) -> BlockMoments:
        """Pool blocks: each group of blocks becomes one block.

        Examples
        --------
        >>> products = np.array([[1.0, 9.0], [9.0, 625.0]])
        >>> blocks = BlockMoments(2, products, np.array([1.0, 25.0]))
        >>> blocks.pooled([np.array([0, 1])]).products.tolist()
        [[644.0]]
        """
        member = np.zeros((len(groups), len(self.traces)))
        for number, group in enumerate(groups):
            member[number, group] = 1
        products = member @ self.products @ member.T
        return BlockMoments(self.n_columns, products, member @ self.traces)

    def alignment(self, first: Indices, second: Indices) -> Alignment:
        """Compute the alignment of the pooled moments of two sets of blocks."""
        pooled = self.pooled([first, second])
        (own_first, between), (_, own_second) = pooled.products.tolist()
        traces = pooled.traces.tolist()
        return _alignment(
            self.n_columns,
            products=(between, own_first, own_second),
            traces=(traces[0], traces[1]),
        )

    def effective_rank(self, group: Indices) -> float:
        """Compute the effective rank `(tr S)² / tr(S²)` of the pooled moment of blocks.

        It is infinite if the moment is 0.
        """
        pooled = self.pooled([group])
        own = float(pooled.products[0, 0])
        if own <= 0:
            return inf
        return float(pooled.traces[0]) ** 2 / own


def _squared_products(first: Floats, second: Floats) -> float:
    """Sum (x·y)² over all rows x of one block and y of another."""
    total = 0.0
    for rows in row_blocks(len(first), len(second)):
        products = first[rows] @ second.T
        total += float(np.vdot(products, products))
    return total
