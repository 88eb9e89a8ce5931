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
class RangeEnd:
    """One end of the ranges of m pairs."""

    tangent: Floats
    """(m,) tan(θ/2) of the cosine at the end."""
    is_attained: Flags
    """(m,) False where gauges come as near as desired, but none reaches the end."""

    def with_fixed(self, is_fixed: Flags, tangent: Floats) -> RangeEnd:
        """Replace the ends of flagged pairs by their cosine, which cannot move."""
        return RangeEnd(
            np.where(is_fixed, tangent, self.tangent), self.is_attained | is_fixed
        )


@dataclass(frozen=True)
class RangeEnds:
    """Both ends of the ranges of m pairs."""

    lower: RangeEnd
    """The smallest cosines, so the larger tangents."""
    upper: RangeEnd
    """The largest cosines."""

    def at(self, end: End) -> RangeEnd:
        """Return the end of that name."""
        return self.lower if end == "lower" else self.upper

    def with_fixed(self, is_fixed: Flags, tangent: Floats) -> RangeEnds:
        """Replace the ranges of flagged pairs by their cosine, which cannot move."""
        return RangeEnds(
            self.lower.with_fixed(is_fixed, tangent),
            self.upper.with_fixed(is_fixed, tangent),
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
    """Bounds on a shift of one side and on the linear gauge that follows it.

    None means that there is no bound.
    """

    side: SideName = "right"
    """The side that is shifted."""
    max_condition: float | None = 1.0
    """Largest condition number of the linear gauge; 1 means that there is no gauge."""
    max_shift: float | None = 0.0
    """Largest length of the shift; 0 means that there is no shift."""


def point(tangent: Floats) -> RangeEnds:
    """Return the ranges of cosines that cannot move."""
    cosine = RangeEnd(tangent, np.ones(len(tangent), dtype=np.bool_))
    return RangeEnds(lower=cosine, upper=cosine)


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
    return RangeEnds(
        lower=_joined([part.lower for part in parts]),
        upper=_joined([part.upper for part in parts]),
    )


def _joined(parts: list[RangeEnd]) -> RangeEnd:
    """Join the ends of all blocks."""
    tangent = np.concatenate([part.tangent for part in parts])
    is_attained = np.concatenate([part.is_attained for part in parts])
    # A pair without a cosine has no range, so no gauge reaches its ends.
    return RangeEnd(tangent, is_attained & ~np.isnan(tangent))
