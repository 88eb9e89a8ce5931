"""Statistics of many pairs of cosines, gathered tile by tile: every pair is visited, none is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.foundation.checked import Floats, Indices, frozen
from embaudit.foundation.compiled import has_numba
from embaudit.foundation.parallel import parallel_map
from embaudit.kernels.intervals import Z95
from embaudit.kernels.nearest import TIE
from embaudit.kernels.pair_sums import CosineSums
from embaudit.kernels.passes import in_order

COMPILED = 2_000_000
"""Products from which the compiled pass is taken, where numba is installed: loading it takes half a second."""
TILE = 256
"""Rows of a square tile: a handful of them in float64 stay in the second-level cache."""
BINS = 2048
"""Bins of |Δ| from 0 to 2."""
LEVELS = 256
"""Rank bins a side, for Spearman's correlation."""
GRID = 2**16
"""Cells from which a cosine's rank bin is looked up."""
SEARCHED = 2**12
"""Sampled cosines up to which a search among them replaces the table of all cells."""
CHANGES = (BINS - 1) / 2
"""Bins of |Δ| a unit."""
EDGES = np.arange(BINS + 1) / CHANGES
ROUNDING = 1e-12
"""A sign flip counts where the product of the two cosines is below minus this."""


@dataclass(frozen=True, eq=False)
class _RankBins:
    """Puts cosines into `LEVELS` bins that hold about equally many of a sample, by way of a grid over its range."""

    lowest: float
    scale: float
    cells: Indices
    """Of the sample, sorted where it is small."""
    table: Indices | None
    """The bin of each cell; None where searching a small sample takes less time than filling it."""

    @classmethod
    def of(cls, sample: Floats) -> _RankBins:
        lowest, width = float(sample.min()), float(np.ptp(sample))
        # Cosines that differ by rounding only have one rank.
        scale = (GRID - 1) / width if width > TIE else 0.0
        cells = ((sample - lowest) * scale).astype(np.intp)
        if len(cells) <= SEARCHED:
            return cls(lowest, scale, np.sort(cells), None)
        return cls(lowest, scale, cells, _table_of(cells))

    @property
    def filled(self) -> Indices:
        """The bin of each cell."""
        return _table_of(self.cells) if self.table is None else self.table

    def of_cosines(self, cosines: Floats, *, value: Floats, cell: Indices, out: Indices) -> None:
        """Write the bin of each cosine to `out`; the other two are scratch."""
        np.subtract(cosines, self.lowest, out=value)
        np.multiply(value, self.scale, out=cell, casting="unsafe")
        if self.table is not None:
            self.table.take(cell, out=out, mode="clip")
        else:
            np.clip(cell, 0, GRID - 1, out=cell)
            twice = self.cells.searchsorted(cell) + self.cells.searchsorted(cell, side="right")
            out[:] = _bins(twice, len(self.cells))


def _table_of(cells: Indices) -> Indices:
    counts = np.bincount(cells, minlength=GRID)
    twice = np.cumsum(counts)
    twice *= 2
    twice -= counts
    return _bins(twice, len(cells))


def _bins(twice: Indices, size: int) -> Indices:
    """Bins of cells, from twice the number of the sample below each, where those in it count half."""
    middle = np.multiply(twice, LEVELS / 2, dtype=np.float64)
    middle /= size
    np.minimum(middle, LEVELS - 1, out=middle)
    return middle.astype(np.intp)


@dataclass(frozen=True, eq=False)
class PairTally:
    """Counts and sums over pairs (before, after), which add up from tile to tile."""

    count: int
    sum_abs: float
    max_abs: float
    flips: int
    histogram: NDArray[np.int64]
    """Counts of |Δ|."""
    joint: NDArray[np.int64]
    """Counts of (rank bin before, rank bin after), flattened."""
    totals: Floats
    """Sums of the cosines before and after, of their squares, and of their products."""

    def __add__(self, other: PairTally) -> PairTally:
        return PairTally(
            self.count + other.count,
            self.sum_abs + other.sum_abs,
            max(self.max_abs, other.max_abs),
            self.flips + other.flips,
            self.histogram + other.histogram,
            self.joint + other.joint,
            self.totals + other.totals,
        )

    @property
    def sums(self) -> CosineSums:
        """Sums of the cosines."""
        return CosineSums(self.count, *self.totals.tolist())

    @property
    def mean_abs(self) -> float:
        """Mean of |Δ|."""
        return self.sum_abs / self.count

    @property
    def sign_flips(self) -> float:
        """Share of pairs whose cosine changed sign."""
        return self.flips / self.count

    def quantile(self, level: float) -> float:
        """Quantile of |Δ|, interpolated within its bin."""
        return float(min(np.interp(level, self._below, EDGES), self.max_abs))

    @cached_property
    def _below(self) -> Floats:
        """Share of |Δ| below each edge of a bin."""
        return np.asarray(np.concatenate([[0], np.cumsum(self.histogram)]) / self.count)

    @property
    def spearman(self) -> float:
        """Correlation of mid-ranks; NaN where one side has one rank only."""
        table = self.joint.reshape(LEVELS, LEVELS).astype(np.float64)
        rows, columns = table.sum(axis=1), table.sum(axis=0)
        x, y = (np.cumsum(margin) - margin / 2 - self.count / 2 for margin in (rows, columns))
        scale = np.sqrt((rows @ x**2) * (columns @ y**2))
        return float(x @ table @ y / scale) if scale > 0 else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the mean of |Δ|, where the pairs are a sample."""
        centres = (np.arange(BINS) + 0.5) / CHANGES
        # The histogram's own mean is off by part of a bin; its spread is what counts here.
        square, mean = (float(self.histogram @ values) / self.count for values in (centres**2, centres))
        half = Z95 * float(np.sqrt(max(0.0, square - mean**2) / self.count))
        return max(0.0, self.mean_abs - half), self.mean_abs + half


@lru_cache(maxsize=8)
def _above_diagonal(n: int) -> Indices:
    """Number the places above the diagonal of a square, row by row."""
    return frozen(np.flatnonzero(np.triu(np.ones((n, n), dtype=np.bool_), 1)))


class _Sheet:
    """Adds pairs to a tally, with scratch arrays made once: fresh ones for every tile cost more than the arithmetic."""

    def __init__(self, bins: tuple[_RankBins, ...], size: int = TILE**2) -> None:
        self.rows, self.bins = TILE, bins
        self.value = np.empty(size)
        self.cells = np.empty((3, size), dtype=np.intp)
        histogram, joint = np.zeros(BINS, dtype=np.int64), np.zeros(LEVELS**2, dtype=np.int64)
        self.tally = PairTally(0, 0.0, 0.0, 0, histogram, joint, np.zeros(5))

    def add(self, before: Floats, after: Floats, *, upper: bool = False) -> None:
        """Add cosines, or what of two square tiles is above the diagonal."""
        above = _above_diagonal(len(before)) if upper else slice(None)
        before, after = before.ravel()[above], after.ravel()[above]
        n = before.size
        value, (cell, joint, column) = self.value[:n], self.cells[:, :n]
        squares = (float(x @ y) for x, y in ((before, before), (after, after), (before, after)))
        totals = np.array([before.sum(), after.sum(), *squares])
        flips = np.count_nonzero(np.multiply(before, after, out=value) < -ROUNDING)
        for cosines, bins, out in zip((before, after), self.bins, (joint, column), strict=True):
            bins.of_cosines(cosines, value=value, cell=cell, out=out)
        np.add(np.multiply(joint, LEVELS, out=joint), column, out=joint)
        np.abs(np.subtract(after, before, out=value), out=value)
        np.multiply(value, CHANGES, out=cell, casting="unsafe")
        self.tally += PairTally(
            count=n,
            sum_abs=float(value.sum()),
            max_abs=float(value.max(initial=0.0)),
            flips=int(flips),
            histogram=np.bincount(cell, minlength=BINS)[:BINS],
            joint=np.bincount(joint, minlength=LEVELS**2),
            totals=totals,
        )


class _FusedSheet:
    """Adds tiles to a tally in one compiled pass, with the counts that `_Sheet` has."""

    rows = 128
    """Of a tile: both tiles, the tables and the counts stay in the second-level cache."""

    def __init__(self, bins: tuple[_RankBins, ...]) -> None:
        # Loading it loads numba, which takes half a second.
        from embaudit.kernels.fused import SUMS, tally_tile

        self.add_tile, self.count = tally_tile, 0
        self.lowest, self.scale = (np.array([getattr(one, name) for one in bins]) for name in ("lowest", "scale"))
        self.tables = np.stack([one.filled for one in bins]).astype(np.uint8)
        self.histogram, self.joint = np.zeros(BINS, dtype=np.int64), np.zeros(LEVELS**2, dtype=np.int64)
        self.sums, self.largest = np.zeros(SUMS), np.zeros(1, dtype=np.int64)

    def add(self, before: Floats, after: Floats, *, upper: bool) -> None:
        """Add tiles, or what of them is above the diagonal."""
        m, n = before.shape
        self.count += m * n - upper * m * (m + 1) // 2
        self.add_tile(
            before, after, upper, self.lowest, self.scale, self.tables, CHANGES, ROUNDING,
            self.histogram, self.joint, self.sums, self.largest,
        )  # fmt: skip

    @property
    def tally(self) -> PairTally:
        """What was added."""
        *totals, gap, flips = self.sums.tolist()
        largest = float(self.largest.view(np.float64)[0])
        return PairTally(self.count, gap, largest, int(flips), self.histogram, self.joint, np.array(totals))


def tally_pairs(before: Floats, after: Floats) -> PairTally:
    """Tally given pairs by their cosines in the two models, (m,) each.

    Examples
    --------
    >>> tally = tally_pairs(np.array([0.5, -0.5]), np.array([0.25, 0.5]))
    >>> tally.mean_abs, tally.sign_flips
    (0.625, 0.5)
    """
    sheet = _Sheet((_RankBins.of(before), _RankBins.of(after)), len(before))
    sheet.add(before, after)
    return sheet.tally


def _sampled_bins(sides: tuple[Floats, ...], others: tuple[Floats, ...]) -> tuple[_RankBins, ...]:
    """Rank bins from about 65,000 pairs spread evenly over the rows."""
    rows, columns = _spread_evenly(len(sides[0]), len(others[0]))
    samples = (x[rows] @ y[columns].T for x, y in zip(sides, others, strict=True))
    return tuple(_RankBins.of(sample.ravel()) for sample in samples)


def _spread_evenly(n_rows: int, n_columns: int) -> tuple[slice, slice]:
    step, step_other = max(1, n_rows // TILE), max(1, n_columns // TILE)
    return slice(None, None, step), slice(step_other // 2, None, step_other)


Tiles: TypeAlias = Callable[[slice, slice], list[Floats]]
"""Cosines before and after, of some rows and some columns."""


def tally_all_pairs(
    before: Floats, after: Floats, before_other: Floats | None = None, after_other: Floats | None = None
) -> PairTally:
    """Tally all pairs i < j of one side, or all pairs of two sides, in square tiles over several threads.

    Parameters
    ----------
    before, after : array of shape (p, k) and (p, k')
        Unit rows in the two models.
    before_other, after_other : array of shape (q, k) and (q, k'), optional
        Unit rows of the other side.

    Examples
    --------
    >>> x = np.eye(3)
    >>> tally_all_pairs(x, x).count
    3
    """
    symmetric = before_other is None
    sides = (before, after)
    others = sides if before_other is None or after_other is None else (before_other, after_other)

    def tiles(rows: slice, columns: slice) -> list[Floats]:
        return [x[rows] @ y[columns].T for x, y in zip(sides, others, strict=True)]

    return _tally(tiles, (len(before), len(others[0])), _sampled_bins(sides, others), symmetric=symmetric)


def tally_tables(before: Floats, after: Floats, *, symmetric: bool) -> PairTally:
    """Tally cosines that are at hand, as `tally_all_pairs` does those that it multiplies.

    Parameters
    ----------
    before, after : array of shape (p, q)
        Cosines of all pairs in the two models.
    symmetric : bool
        Whether rows and columns are of one side: then pairs i < j count.

    Examples
    --------
    >>> [tally_tables(np.eye(3), np.eye(3), symmetric=symmetric).count for symmetric in (True, False)]
    [3, 9]
    """
    tables, (n_rows, n_columns) = (before, after), before.shape
    evenly = _spread_evenly(n_rows, n_columns)

    def tiles(rows: slice, columns: slice) -> list[Floats]:
        # The compiled pass is compiled for tiles that are contiguous.
        return [np.ascontiguousarray(table[rows, columns]) for table in tables]

    bins = tuple(_RankBins.of(table[evenly].ravel()) for table in tables)
    return _tally(tiles, (n_rows, n_columns), bins, symmetric=symmetric)


def _tally(tiles: Tiles, shape: tuple[int, int], bins: tuple[_RankBins, ...], *, symmetric: bool) -> PairTally:
    n_rows, n_columns = shape
    compiled = n_rows * n_columns >= COMPILED and has_numba()

    def strip(start: int) -> PairTally:
        sheet = _FusedSheet(bins) if compiled else _Sheet(bins)
        for top in range(start, min(start + TILE, n_rows), sheet.rows):
            for column in range(top if symmetric else 0, n_columns, TILE):
                both = tiles(slice(top, min(top + sheet.rows, start + TILE)), slice(column, column + TILE))
                sheet.add(*both, upper=symmetric and column == top)
        return sheet.tally

    return in_order(parallel_map(strip, range(0, n_rows, TILE)))
