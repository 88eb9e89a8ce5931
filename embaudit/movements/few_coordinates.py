"""Whether a few dimensions carry the cosines of a side (Timkey & van Schijndel, EMNLP 2021).

With unit rows U every cosine is a sum over dimensions, and so is the sum of all squared cosines:
`‖UUᵀ‖² = Σ_l ‖UᵀU e_l‖²`. The share of dimension l in it is what that dimension carries. Stored dimensions are those of
the basis at hand, which a rotation changes without changing a cosine; the principal axes of U are the same in every
basis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.foundation.checked import Floats, Matrix
from embaudit.foundation.workers import row_blocks
from embaudit.kernels.moments import WIDE_BYTES, add_gram, mirror
from embaudit.kernels.nearest import NeighbourLists, neighbours
from embaudit.kernels.rows import unit_rows
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


def dimension_shares(x: Matrix) -> tuple[Floats, Floats]:
    """Compute the share of all squared cosines that each stored dimension carries, and each principal axis.

    The smaller of `UᵀU` and `UUᵀ` is made.

    Parameters
    ----------
    x : array of shape (p, k)
        The rows.

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
    p, k = x.shape
    if p < k:
        unit = unit_rows(x, none=0)
        square = unit @ unit.T
        stored = np.einsum("il,il->l", unit, square @ unit)
    else:
        square = _square(x)
        stored = np.einsum("ij,ij->j", square, square)
    total = float(np.einsum("ij,ij->", square, square))
    values = np.maximum(_largest(square), 0)
    return stored / total, np.square(values) / total


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
    from scipy.sparse.linalg import eigsh

    if len(square) <= WIDE:
        return np.asarray(np.linalg.eigvalsh(square)[::-1])
    start = np.random.default_rng(0).standard_normal(len(square))
    return np.asarray(eigsh(square, MOST, v0=start, return_eigenvectors=False)[::-1])


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
    stored, principal = dimension_shares(side.rows)
    columns = np.argsort(-stored, kind="stable")[:few]
    carried = float(stored[columns].sum())
    without = None
    if carried >= HALF:
        others = Mapped(side.rows, lambda block: np.delete(block, columns, axis=1), k - few)
        rest = neighbours(others, 1, rows=lists.rows)
        without = NearestChanged.of(lists, rest, exact=len(lists.rows) == len(side.directed))
    return FewCoordinates(tuple(columns.tolist()), carried, without, float(principal[:few].sum()))
