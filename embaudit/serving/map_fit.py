"""Rotation and linear map from the rows of one table to the same rows of another one.

Both are fitted from sums over blocks of rows: with rows x of the first table and y of
the second one, `Σ xᵀx` and `Σ xᵀy`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from embaudit.core.checked import Floats, Indices
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.core.ties import first_largest
from embaudit.core.tolerances import TIE
from embaudit.linalg.procrustes import best_rotation
from embaudit.linalg.rows import ordered_sum, unit_rows
from embaudit.linalg.transformed_rows import Rows

MapKind: TypeAlias = Literal["rotation", "linear"]
"""Kind of a map between two tables."""
BLOCK_BYTES = 2**24
"""Size in float64 of the rows of both tables that are read at a time."""
RIDGES = tuple(10.0**exponent for exponent in range(-8, 3))
"""Ridge penalties that are tried, as multiples of the mean square of a column."""
RIDGE_PART = 0.2
"""Share of the fitted rows that choose the penalty, before M is fitted to all."""
LENGTH_ROWS = 10_000
"""Largest number of rows that M is fitted to while the lengths are searched."""
LENGTH_RIDGE_ROWS = 2_500
"""Largest number of rows that choose the penalty while the lengths are searched."""
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
    new_squares: float
    """`Σ ‖y‖²`."""

    @classmethod
    def from_rows(
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
                x *= lengths[:, None]
            return cls(x.T @ x, x.T @ y, float(np.vdot(y, y)))

        n_columns = rows.old.shape[1] + rows.new.shape[1]
        blocks = row_blocks(len(places), n_columns, budget=BLOCK_BYTES)
        return ordered_sum(parallel_map(of_block, blocks))

    def __add__(self, other: PairSums) -> PairSums:
        return PairSums(
            self.old + other.old,
            self.cross + other.cross,
            self.new_squares + other.new_squares,
        )


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
    >>> rotation(PairSums.from_rows(rows, np.arange(9))).forward.round(12)
    array([[ 0.6,  0.8],
           [-0.8,  0.6]])
    """
    n_old, n_new = sums.cross.shape
    if n_old <= n_new:
        forward = best_rotation(sums.cross, n_old, n_new)
    else:
        forward = best_rotation(sums.cross.T, n_new, n_old).T
    return FittedMap("rotation", forward, forward.T)


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Linear maps of least squares in both directions."""

    forward: LeastSquares
    """Fit of the rows of the second table by those of the first one."""
    backward: LeastSquares
    """Fit of the rows of the first table by those of the second one."""

    @property
    def map(self) -> FittedMap:
        """The matrices of both directions."""
        return FittedMap("linear", self.forward.matrix, self.backward.matrix)

    def with_rows(self, rows: PairedRows, places: Indices) -> LinearFit:
        """Fit the maps to further rows, too, at the penalties that were chosen.

        Parameters
        ----------
        rows : PairedRows
            Rows of both tables.
        places : array of int
            Places of rows that took no part in the fit.
        """
        return LinearFit(
            self.forward.with_rows(rows, places),
            self.backward.with_rows(rows.reversed, places),
        )


def linear_fit(
    rows: PairedRows, fit_places: Indices, ridge_places: Indices
) -> LinearFit:
    """Fit the linear map of least squares in both directions, each with a ridge.

    With rows x of one table and y of the other one, the matrix is
    `M = (Σ xᵀx + λ I)⁻¹ Σ xᵀy`. The penalty λ is the one with the smallest error on the
    rows at `ridge_places`, and M is then fitted to all rows.

    If rows are compared by cosine, their lengths say nothing, so each x can be
    multiplied by any number. The best number for a given M is `(xM·y) / ‖xM‖²`. M and
    these numbers are fitted in turn while the error on the rows at `ridge_places` falls
    by at least 5 %. Without a penalty, no turn raises the sum of the squared sines of
    the angles between xM and y over the rows at `fit_places`.

    Parameters
    ----------
    rows : PairedRows
        Rows of both tables.
    fit_places, ridge_places : array of int
        Places of the rows that M is fitted to, and of other rows, which choose the
        penalty.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> x = draw.standard_normal((40, 2))
    >>> rows = PairedRows(x, x @ [[2.0, 0.0], [1.0, 1.0]], of_unit_length=False)
    >>> linear_fit(rows, np.arange(30), np.arange(30, 40)).map.forward.round(6)
    array([[2., 0.],
           [1., 1.]])
    """
    return LinearFit(
        _least_squares(rows, fit_places, ridge_places),
        _least_squares(rows.reversed, fit_places, ridge_places),
    )


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """A linear map of least squares with a ridge, in one direction."""

    sums: PairSums
    """Sums over all rows that the map is fitted to."""
    ridge: float
    """The penalty, as a multiple of the mean square of a column."""
    length_matrix: Floats | None
    """(k₀, k₁) the matrix for which each row has its best length; None if rows keep
    their own lengths."""

    @cached_property
    def matrix(self) -> Floats:
        """(k₀, k₁) the matrix M."""
        n_columns = len(self.sums.old)
        mean_square = float(np.trace(self.sums.old)) / n_columns
        penalty = self.ridge * mean_square * np.eye(n_columns)
        return np.asarray(np.linalg.solve(self.sums.old + penalty, self.sums.cross))

    def with_rows(self, rows: PairedRows, places: Indices) -> LeastSquares:
        """Fit the map to further rows, too, with the same penalty and length matrix."""
        further = PairSums.from_rows(rows, places, self.length_matrix)
        return replace(self, sums=self.sums + further)


def _least_squares(
    rows: PairedRows, fit_places: Indices, ridge_places: Indices
) -> LeastSquares:
    """Fit one direction."""
    matrix = None
    if rows.of_unit_length:
        matrix = _length_matrix(
            rows,
            _thinned(fit_places, LENGTH_ROWS),
            _thinned(ridge_places, LENGTH_RIDGE_ROWS),
        )
    fit_sums = PairSums.from_rows(rows, fit_places, matrix)
    ridge_sums = PairSums.from_rows(rows, ridge_places, matrix)
    ridge = _best_ridge(fit_sums, ridge_sums).ridge
    return LeastSquares(fit_sums + ridge_sums, ridge, matrix)


def _length_matrix(
    rows: PairedRows, fit_places: Indices, ridge_places: Indices
) -> Floats:
    """Fit a matrix and the lengths of the rows in turn, and return the matrix."""
    best = _best_ridge(
        PairSums.from_rows(rows, fit_places), PairSums.from_rows(rows, ridge_places)
    )
    for _ in range(MOST_ROUNDS):
        if best.error <= TIE * best.new_squares:
            break
        following = _best_ridge(
            PairSums.from_rows(rows, fit_places, best.matrix),
            PairSums.from_rows(rows, ridge_places, best.matrix),
        )
        if following.error > MOST_ERROR_LEFT * best.error:
            break
        best = following
    return best.matrix


def _thinned(places: Indices, most: int) -> Indices:
    """Take places at equal steps, so that no more than `most` of them are left.

    Examples
    --------
    >>> _thinned(np.arange(10), 4)
    array([0, 3, 6, 9])
    """
    return places[:: math.ceil(len(places) / most)]


@dataclass(frozen=True, eq=False)
class _Ridge:
    """The matrix of least squares with the best penalty."""

    matrix: Floats
    """(k₀, k₁) the matrix."""
    ridge: float
    """The penalty, as a multiple of the mean square of a column."""
    error: float
    """`Σ ‖xM − y‖²` over the rows that chose the penalty."""
    new_squares: float
    """`Σ ‖y‖²` over these rows."""


def _best_ridge(fit_sums: PairSums, ridge_sums: PairSums) -> _Ridge:
    """Fit by least squares, with the penalty of the smallest error on other rows.

    With the eigenvectors V and eigenvalues of the first `Σ xᵀx`, and `C = Vᵀ Σ xᵀy`,
    the matrix is `M = V D C` with a diagonal matrix D that depends on the penalty. So
    with the sums S and T of products xᵀx and xᵀy over the other rows, the error
    `tr(Mᵀ S M) − 2 tr(Mᵀ T) + Σ ‖y‖²` is a quadratic polynomial in the diagonal of D.
    """
    values, vectors = np.linalg.eigh(fit_sums.old)
    turned_cross = vectors.T @ fit_sums.cross
    turned_old = vectors.T @ ridge_sums.old @ vectors
    quadratic = turned_old * (turned_cross @ turned_cross.T)
    linear = np.vecdot(turned_cross, vectors.T @ ridge_sums.cross)
    mean_square = float(np.trace(fit_sums.old)) / len(values)
    errors = []
    for ridge in RIDGES:
        diagonal = 1 / (values + ridge * mean_square)
        explained = 2 * diagonal @ linear - diagonal @ quadratic @ diagonal
        errors.append(ridge_sums.new_squares - explained)
    # If only rounding tells errors apart, the smallest penalty is taken.
    best = first_largest(-np.array(errors), TIE * ridge_sums.new_squares)
    diagonal = 1 / (values + RIDGES[best] * mean_square)
    matrix = vectors @ (turned_cross * diagonal[:, None])
    return _Ridge(matrix, RIDGES[best], float(errors[best]), ridge_sums.new_squares)
