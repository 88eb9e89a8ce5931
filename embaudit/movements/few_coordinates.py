"""Whether a few dimensions carry the cosines of a side (Timkey & van Schijndel, EMNLP 2021).

With unit rows U every cosine is a sum over dimensions, and so is the sum of all squared cosines:
`‖UUᵀ‖² = Σ_l ‖UᵀU e_l‖²`. The share of dimension l in it is what that dimension carries. Stored dimensions are those of
the basis at hand, which a rotation changes without changing a cosine; the principal axes of U are the same in every
basis.

Of very many long rows some are drawn. A row's cosine with itself is 1 whatever the others are, so the sum over such
pairs and the sum over pairs of two rows are carried over to all rows apart; each is then met on average.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.foundation.checked import Floats, Matrix
from embaudit.foundation.parallel import row_blocks
from embaudit.kernels.moments import WIDE_BYTES, add_gram, mirror
from embaudit.kernels.nearest import NeighbourLists, neighbours
from embaudit.kernels.rows import sample_rows, unit_rows
from embaudit.kernels.seen import Mapped
from embaudit.kernels.stretch import WIDE
from embaudit.model.side import Side
from embaudit.movements.nearest_changed import NearestChanged

MOST = 3
"""Dimensions at most that count as few."""
ONE_IN = 10
"""Of so many dimensions one counts among the few; with fewer there is nothing to tell."""
HALF = 0.5
"""Share of the squared cosines from which neighbours are also looked for without the few."""
DRAWN = 16_384
"""Rows drawn at least, where some are."""
DRAWN_A_COLUMN = 4
"""Rows drawn at least for each column."""
CLOSE = 1e-9
"""How close the eigenvalues of large matrices are, beside themselves: float32 products are off by a thousand times."""
WORTH = 2
"""Times the rows drawn from which drawing is worth it."""


@dataclass(frozen=True)
class FewCoordinates:
    """What a few dimensions carry, and who is near without them."""

    columns: tuple[int, ...]
    """The stored dimensions that carry most, the largest first."""
    stored: float
    """Share of the squared cosines that these carry."""
    without: NearestChanged | None
    """What leaving them out does to the nearest rows; None where they carry less than half."""
    principal: float
    """Share that as many principal axes carry, in whatever basis the rows are stored."""
    n_drawn: int | None = None
    """Rows drawn to estimate the shares; None where they are of all rows."""


def rows_drawn(n_rows: int, n_columns: int) -> int | None:
    """Return how many rows the shares are estimated from; None where all are looked at.

    Examples
    --------
    >>> rows_drawn(128_000, 4_096), rows_drawn(32_000, 4_096), rows_drawn(10_000_000, 64)
    (16384, None, None)
    """
    size = max(DRAWN, DRAWN_A_COLUMN * n_columns)
    return size if n_columns > WIDE and n_rows >= WORTH * size else None


def dimension_shares(x: Matrix, *, of: int | None = None) -> tuple[Floats, Floats]:
    """Compute the share of all squared cosines that each stored dimension carries, and each principal axis.

    The smaller of `UᵀU` and `UUᵀ` is made. Where m of p rows were drawn, sums over one row are multiplied by `p/m` and
    sums over two by `p(p - 1)/(m(m - 1))`: sums over all rows, on average over draws.

    Parameters
    ----------
    x : array of shape (m, k)
        The rows.
    of : int, optional
        Rows p that these were drawn from, m by default.

    Returns
    -------
    stored : array of shape (k,)
        In the order of the columns.
    principal : array of shape (min(p, k),)
        Largest first; only the first three where there are more than 256.

    Examples
    --------
    >>> stored, principal = dimension_shares(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]))
    >>> stored.round(3), principal.round(3)
    (array([0.8, 0.2]), array([0.8, 0.2]))
    """
    m, k = x.shape
    p = of or m
    if m < k:
        unit = unit_rows(x, none=0)
        square = unit @ unit.T
        stored, own = np.einsum("il,il->l", unit, square @ unit), np.einsum("il,il->l", unit, unit)
    else:
        square = _square(x)
        stored, own = np.einsum("ij,ij->j", square, square), square.diagonal()
    values = np.maximum(_largest(square), 0)
    apart = (p - 1) / max(1, m - 1)  # beyond p/m, which all have in common
    found, axes = own + apart * (stored - own), values + apart * (np.square(values) - values)
    return found / found.sum(), axes / found.sum()


def _square(x: Matrix) -> Floats:
    """Compute `UᵀU` of directions U; of very many columns in float32, to a millionth, summed up in float64."""
    p, k = x.shape
    square = np.zeros((k, k))
    if k <= WIDE:
        for rows in row_blocks(p, k):
            unit = unit_rows(x[rows], none=0)
            square += unit.T @ unit
        return square
    for rows in row_blocks(p, k, budget=WIDE_BYTES):
        add_gram(square, unit_rows(x[rows], none=0, dtype=np.float32))
    mirror(square)
    return square


def _largest(square: Floats) -> Floats:
    """Return the eigenvalues, the largest first; of very large matrices only as many as are asked for here."""
    if len(square) <= WIDE:
        return np.asarray(np.linalg.eigvalsh(square)[::-1])
    from scipy.linalg.blas import dsymv
    from scipy.sparse.linalg import LinearOperator, eigsh

    start = np.random.default_rng(0).standard_normal(len(square))
    # A symmetric matrix is its transpose, which is stored as the BLAS reads it; half of it tells all.
    product = LinearOperator(square.shape, matvec=lambda x: dsymv(1.0, square.T, x), dtype=np.float64)
    return np.asarray(eigsh(product, MOST, v0=start, tol=CLOSE, return_eigenvectors=False)[::-1])


def few_coordinates(side: Side, lists: NeighbourLists) -> FewCoordinates | None:
    """Measure what one in ten dimensions, three at most, carry of the cosines; None where there are fewer than ten.

    Parameters
    ----------
    side : Side
        The rows.
    lists : NeighbourLists
        The nearest rows of some of them, as they are.

    Examples
    --------
    >>> from embaudit.model.side import Side
    >>> side = Side(np.random.default_rng(0).normal(size=(40, 10)) + 50 * np.eye(10)[3], "item")
    >>> found = few_coordinates(side, neighbours(side.rows, 1))
    >>> found.columns, round(found.stored, 2), found.without.n_rows
    ((3,), 1.0, 40)
    """
    k = side.rows.shape[1]
    few = min(MOST, k // ONE_IN)
    if not few:
        return None
    n_drawn = rows_drawn(len(side.directed), k)
    if n_drawn is None:
        stored, principal = dimension_shares(side.rows)
    else:
        drawn = sample_rows(side.directed, n_drawn, np.random.default_rng(0))
        stored, principal = dimension_shares(side.rows[drawn], of=len(side.directed))
    columns = np.argsort(-stored, kind="stable")[:few]
    carried = float(stored[columns].sum())
    without = None
    if carried >= HALF:
        others = Mapped(side.rows, lambda block: np.delete(block, columns, axis=1), k - few)
        rest = neighbours(others, 1, rows=lists.rows)
        without = NearestChanged.of(lists, rest, exact=len(lists.rows) == len(side.directed))
    return FewCoordinates(tuple(columns.tolist()), carried, without, float(principal[:few].sum()), n_drawn)
