"""Protocol of every kind of range, and the pairs of rows that are read for it."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Flags, Floats, Matrix
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.gauges import Gauge
from embaudit.model import SideName

End: TypeAlias = Literal["lower", "upper"]


class RangeEnds(NamedTuple):
    """The ends of many ranges."""

    lower: Floats
    """tan(θ/2) of the smallest cosine, so the larger of the two."""
    upper: Floats
    """tan(θ/2) of the largest cosine."""
    lower_attained: Flags
    """False where the end is only approached."""
    upper_attained: Flags


class RangeSolver(Protocol):
    """Solver for the range of one kind of pair under one set of gauges."""

    @property
    def block_bytes(self) -> int:
        """Bytes of rows to treat at once."""
        ...

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends for each pair of rows of two (m, k) arrays."""
        ...

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Find a gauge that takes one pair of rows, of shape (k,), to an end or within `tol` of it."""
        ...


class AffineBudget(NamedTuple):
    """A shift of one side by at most `max_shift`, then a linear gauge of `κ(M) <= max_condition`.

    None is no bound; 0 and 1 leave a part out.
    """

    side: SideName
    max_condition: float | None = 1.0
    max_shift: float | None = 0.0
    block_bytes: int = 2**21


def point(tangent: Floats) -> RangeEnds:
    """Range of a cosine that cannot move."""
    fixed = np.ones(len(tangent), dtype=np.bool_)
    return RangeEnds(tangent, tangent, fixed, fixed)


def paired_rows(x: Matrix, y: Matrix, table: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Gather both rows of each pair in float64; of four columns, the differences `x_i - x_j` and `x_k - x_l`."""
    sides = (x, y) if table.shape[1] == 2 else (x, x, x, x)
    rows = [
        np.asarray(side[column], dtype=np.float64)
        for side, column in zip(sides, table.T, strict=True)
    ]
    return (
        (rows[0], rows[1]) if len(rows) == 2 else (rows[0] - rows[1], rows[2] - rows[3])
    )


def ranges_of_pairs(
    solver: RangeSolver, x: Matrix, y: Matrix, table: NDArray[np.intp]
) -> RangeEnds:
    """Apply `solver.ends` to all pairs, a block at a time, by all workers."""
    blocks = list(row_blocks(len(table), x.shape[1], budget=solver.block_bytes))
    parts = list(
        parallel_map(lambda rows: solver.ends(*paired_rows(x, y, table[rows])), blocks)
    )
    if not parts:
        return point(np.empty(0))
    lower, upper, *attained = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    # Nothing reaches the end of a range that is not there.
    return RangeEnds(
        lower, upper, attained[0] & ~np.isnan(lower), attained[1] & ~np.isnan(upper)
    )
