"""Protocol of every kind of range, and the pairs of rows that are read for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Flags, Floats, Matrix
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.gauges import Gauge
from embaudit.model import SideName

End: TypeAlias = Literal["lower", "upper"]


@dataclass(frozen=True)
class RangeEnds:
    """The ends of the ranges of m pairs."""

    lower: Floats
    """(m,) tan(θ/2) of the smallest cosine, so the larger tangent of the two."""
    upper: Floats
    """(m,) tan(θ/2) of the largest cosine."""
    lower_attained: Flags
    """(m,) False where the end is an infimum that no gauge reaches."""
    upper_attained: Flags
    """(m,) False where the end is a supremum that no gauge reaches."""

    def tangent(self, end: End) -> Floats:
        """Return the tangents of one end."""
        return self.lower if end == "lower" else self.upper

    def attained(self, end: End) -> Flags:
        """Return the flags of one end."""
        return self.lower_attained if end == "lower" else self.upper_attained

    def with_fixed(self, is_fixed: Flags, tangent: Floats) -> RangeEnds:
        """Replace the ranges of flagged pairs by their cosine, which cannot move."""
        return RangeEnds(
            np.where(is_fixed, tangent, self.lower),
            np.where(is_fixed, tangent, self.upper),
            self.lower_attained | is_fixed,
            self.upper_attained | is_fixed,
        )


class RangeSolver(Protocol):
    """Solver for the range of one kind of pair under one set of gauges."""

    block_bytes: ClassVar[int]
    """Bytes of rows to treat at once."""

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends for each pair of rows of two (m, k) arrays."""
        ...

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Find a gauge that takes two rows of shape (k,) within `tol` of an end.

        An end that is attained is reached up to rounding, whatever `tol` is.
        """
        ...


@dataclass(frozen=True)
class AffineBudget:
    """A shift of one side by at most `max_shift`, then a linear gauge of `κ(M) <= max_condition`.

    None means that there is no bound. A shift of 0 or a condition number of 1 means
    that the part is missing.
    """

    side: SideName = "right"
    max_condition: float | None = 1.0
    max_shift: float | None = 0.0


def point(tangent: Floats) -> RangeEnds:
    """Return the ranges of cosines that cannot move."""
    is_attained = np.ones(len(tangent), dtype=np.bool_)
    return RangeEnds(tangent, tangent, is_attained, is_attained)


def paired_rows(x: Matrix, y: Matrix, table: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Gather both rows of each pair in float64.

    A table of four columns i, j, k, l asks for the differences `x_i - x_j` and
    `x_k - x_l`.
    """
    if table.shape[1] == 2:
        first, second = table.T
        return _float64_rows(x, first), _float64_rows(y, second)
    i, j, k, l = table.T  # noqa: E741
    return (
        _float64_rows(x, i) - _float64_rows(x, j),
        _float64_rows(x, k) - _float64_rows(x, l),
    )


def _float64_rows(x: Matrix, rows: NDArray[np.intp]) -> Floats:
    return np.asarray(x[rows], dtype=np.float64)


def ranges_of_pairs(
    solver: RangeSolver, x: Matrix, y: Matrix, table: NDArray[np.intp]
) -> RangeEnds:
    """Apply `solver.ends` to all pairs, a block at a time, by all workers."""
    if len(table) == 0:
        return point(np.empty(0))

    def block_ends(rows: slice) -> RangeEnds:
        return solver.ends(*paired_rows(x, y, table[rows]))

    blocks = row_blocks(len(table), x.shape[1], budget=solver.block_bytes)
    parts = list(parallel_map(block_ends, blocks))
    lower = np.concatenate([part.lower for part in parts])
    upper = np.concatenate([part.upper for part in parts])
    lower_attained = np.concatenate([part.lower_attained for part in parts])
    upper_attained = np.concatenate([part.upper_attained for part in parts])
    # A pair without a cosine has no range, so no gauge reaches its ends.
    return RangeEnds(
        lower,
        upper,
        lower_attained & ~np.isnan(lower),
        upper_attained & ~np.isnan(upper),
    )
