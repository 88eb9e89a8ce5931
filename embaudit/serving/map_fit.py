"""Rotation and linear map from the rows of one table to the same rows of another one.

Both are fitted from sums over blocks of rows: with rows x of the first table and y of
the second one, `Σ xᵀx`, `Σ xᵀy` and `Σ yᵀy`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from embaudit.core.checked import Floats, Indices
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.core.ties import first_largest
from embaudit.core.tolerances import TIE
from embaudit.linalg.procrustes import best_rotation
from embaudit.linalg.rows import in_order, unit_rows
from embaudit.linalg.transformed_rows import Rows

MapKind: TypeAlias = Literal["rotation", "linear"]
"""Kind of a map between two tables."""
BLOCK_BYTES = 2**24
"""Size in float64 of the rows of both tables that are read at a time."""
RIDGES = tuple(10.0**exponent for exponent in range(-8, 3))
"""Ridge penalties that are tried, as multiples of the mean square of a column."""
RIDGE_PART = 0.2
"""Share of the fitted rows on which the penalty is chosen."""
LENGTH_ROWS = 10_000
"""Largest number of rows that M is fitted to while the lengths are searched."""
MOST_ROUNDS = 30
"""Largest number of times that the map and the lengths are fitted in turn."""
MOST_ERROR_LEFT = 0.95
"""A further round is used if it leaves at most this share of the error."""


@dataclass(frozen=True, eq=False)
class PairedRows:
    """Rows of the same entities in two tables, with a direction in both."""

    old: Rows = field(repr=False)
    """(m, k₀) rows of the first table."""
    new: Rows = field(repr=False)
    """(m, k₁) rows of the second table."""
    of_unit_length: bool
    """True if rows are divided by their lengths, as they are compared by cosine."""

    def __len__(self) -> int:
        return len(self.old)

    @property
    def reversed(self) -> PairedRows:
        """The same rows with the tables in the other order."""
        return PairedRows(self.new, self.old, self.of_unit_length)

    def old_rows(self, places: slice | Indices) -> Floats:
        """Return some rows of the first table in float64."""
        return self._taken(self.old, places)

    def new_rows(self, places: slice | Indices) -> Floats:
        """Return the same rows of the second table."""
        return self._taken(self.new, places)

    def _taken(self, x: Rows, places: slice | Indices) -> Floats:
        rows = np.array(x[places], dtype=np.float64)
        if self.of_unit_length:
            return unit_rows(rows, none=0)
        return rows


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums of products of paired rows."""

    old: Floats
    """(k₀, k₀) `Σ xᵀx`."""
    cross: Floats
    """(k₀, k₁) `Σ xᵀy`."""
    new: Floats
    """(k₁, k₁) `Σ yᵀy`."""

    @classmethod
    def of(
        cls, rows: PairedRows, places: Indices, matrix: Floats | None = None
    ) -> PairSums:
        """Add up the products of some rows.

        Parameters
        ----------
        rows : PairedRows
            Rows of both tables.
        places : array of int
            Places of the rows to add up.
        matrix : array of shape (k₀, k₁), optional
            A matrix M. If given, each x gets the length at which xM is nearest to y. If
            the angle between xM and y exceeds 90°, this length is 0.
        """

        def of_block(block: slice) -> PairSums:
            x, y = rows.old_rows(places[block]), rows.new_rows(places[block])
            if matrix is not None:
                mapped = x @ matrix
                squares = np.vecdot(mapped, mapped)
                products = np.maximum(np.vecdot(mapped, y), 0)
                lengths = np.divide(
                    products, squares, out=np.zeros_like(squares), where=squares > 0
                )
                x = x * lengths[:, None]
            return cls(x.T @ x, x.T @ y, y.T @ y)

        n_columns = rows.old.shape[1] + rows.new.shape[1]
        blocks = row_blocks(len(places), n_columns, budget=BLOCK_BYTES)
        return in_order(parallel_map(of_block, blocks))

    def __add__(self, other: PairSums) -> PairSums:
        return PairSums(
            self.old + other.old, self.cross + other.cross, self.new + other.new
        )

    def error(self, matrix: Floats) -> float:
        """Return `Σ ‖xM − y‖²` for a matrix M of shape (k₀, k₁)."""
        squares = float(np.vdot(matrix, self.old @ matrix))
        products = float(np.vdot(matrix, self.cross))
        return squares - 2 * products + float(np.trace(self.new))


@dataclass(frozen=True, eq=False)
class FittedMap:
    """Matrices that carry rows between the two tables."""

    kind: MapKind
    forward: Floats = field(repr=False)
    """(k₀, k₁) carries rows of the first table to the second one: `x @ forward`."""
    backward: Floats = field(repr=False)
    """(k₁, k₀) carries rows of the second table to the first one."""


def rotation(sums: PairSums) -> FittedMap:
    """Fit the best rotation.

    The rows of the table with fewer columns are rotated in the space of the other
    table. The way back drops the directions that no rotated row has.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((9, 2))
    >>> turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    >>> rows = PairedRows(x, x @ turn, of_unit_length=False)
    >>> rotation(PairSums.of(rows, np.arange(9))).forward.round(12)
    array([[ 0.6,  0.8],
           [-0.8,  0.6]])
    """
    n_old, n_new = sums.cross.shape
    if n_old <= n_new:
        forward = best_rotation(sums.cross, n_old, n_new)
    else:
        forward = best_rotation(sums.cross.T, n_new, n_old).T
    return FittedMap("rotation", forward, forward.T)


def linear_map(rows: PairedRows, fitted: Indices, tuned: Indices) -> FittedMap:
    """Fit the linear map of least squares in both directions, each with a ridge.

    With rows x of one table and y of the other one, the matrix is
    `M = (Σ xᵀx + λ I)⁻¹ Σ xᵀy`. The penalty λ is the one with the smallest error on the
    tuned rows, and M is then fitted to all rows.

    If rows are compared by cosine, their lengths say nothing, so each x can be
    multiplied by any number. The best number for a given M is `(xM·y) / ‖xM‖²`. M and
    these numbers are fitted in turn while the error on the tuned rows falls by at least
    5 %. Without a penalty, no turn raises the sum of the squared sines of the angles
    between xM and y over the fitted rows.

    Parameters
    ----------
    rows : PairedRows
        Rows of both tables.
    fitted, tuned : array of int
        Places of the rows that M is fitted to, and of those that choose the penalty.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> x = draw.standard_normal((40, 2))
    >>> rows = PairedRows(x, x @ [[2.0, 0.0], [1.0, 1.0]], of_unit_length=False)
    >>> linear_map(rows, np.arange(30), np.arange(30, 40)).forward.round(6)
    array([[2., 0.],
           [1., 1.]])
    """
    return FittedMap(
        "linear",
        _least_squares(rows, fitted, tuned),
        _least_squares(rows.reversed, fitted, tuned),
    )


def _least_squares(rows: PairedRows, fitted: Indices, tuned: Indices) -> Floats:
    """Return the matrix of one direction."""
    if not rows.of_unit_length:
        return _ridge(PairSums.of(rows, fitted), PairSums.of(rows, tuned)).of_all
    # A part of the rows is enough for an M that finds good lengths.
    few = fitted[:: math.ceil(len(fitted) / LENGTH_ROWS)]
    tuned_sums = PairSums.of(rows, tuned)
    found = _ridge(PairSums.of(rows, few), tuned_sums)
    for _ in range(MOST_ROUNDS):
        matrix = found.of_fitted
        tuned_sums = PairSums.of(rows, tuned, matrix)
        following = _ridge(PairSums.of(rows, few, matrix), tuned_sums)
        if following.error > MOST_ERROR_LEFT * found.error:
            break
        found = following
    matrix = found.of_fitted
    return _ridge(
        PairSums.of(rows, fitted, matrix), PairSums.of(rows, tuned, matrix)
    ).of_all


@dataclass(frozen=True, eq=False)
class _Ridge:
    """Matrices of least squares with the best penalty."""

    of_fitted: Floats
    """(k₀, k₁) the matrix fitted without the tuned rows."""
    of_all: Floats
    """(k₀, k₁) the matrix fitted to all rows."""
    error: float
    """`Σ ‖xM − y‖²` over the tuned rows."""


def _ridge(fitted: PairSums, tuned: PairSums) -> _Ridge:
    """Fit by least squares, with the penalty of the smallest error on tuned rows."""
    values, vectors = np.linalg.eigh(fitted.old)
    turned_cross = vectors.T @ fitted.cross
    mean_square = float(np.trace(fitted.old)) / len(values)
    matrices = [
        vectors @ (turned_cross / (values + ridge * mean_square)[:, None])
        for ridge in RIDGES
    ]
    size = float(np.trace(tuned.new))
    errors = np.array([tuned.error(matrix) for matrix in matrices])
    # If only rounding tells errors apart, the smallest penalty is taken.
    best = first_largest(-errors, TIE * size)
    total = fitted + tuned
    mean_square = float(np.trace(total.old)) / len(values)
    penalised = total.old + RIDGES[best] * mean_square * np.eye(len(values))
    of_all = np.linalg.solve(penalised, total.cross)
    return _Ridge(matrices[best], np.asarray(of_all), float(errors[best]))
