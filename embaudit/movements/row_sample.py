"""The rows of a side that stand for all of them: their directions in a model, and sums over groups of these rows.

Sums of cosines over all pairs of such rows are U-statistics of the rows drawn; what they are without each group of rows
in turn tells how far they may lie from the sums over all rows (delete-a-group jackknife).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices, Matrix
from embaudit.core.parallel import row_blocks
from embaudit.linalg.intervals import draw_groups, jackknife_margin
from embaudit.linalg.pair_sums import CosineSums, RowSums, cross_gram, pair_sums
from embaudit.linalg.passes import CACHE_BYTES, A, in_order
from embaudit.linalg.rows import sample_rows, unit_rows
from embaudit.linalg.transformed_rows import Mapped, Rows, TransformedRows
from embaudit.model import SideName

WHOLE = 50_000
"""Rows of a side up to which all of them are held; products of more take longer than all the rest of an audit."""
SUMMED = 20_000
"""Rows over which sums are taken where not all are held."""


@dataclass(frozen=True, eq=False)
class RowSample:
    """Rows of a side that are held, and the groups of them that sums leave out in turn."""

    x: Matrix
    """(p, k) the rows of the side."""
    rows: Indices | None = None
    """Row numbers in order; None for all."""
    groups: Sequence[Indices] = ()
    """Places among them; none where sums run over all rows of the side."""

    @classmethod
    def of(cls, x: Matrix, wanted: Indices, rng: np.random.Generator) -> RowSample:
        """Hold the rows wanted, and sum over some of them."""
        rows = np.unique(wanted)
        summed = sample_rows(len(rows), SUMMED, rng)
        group = draw_groups(len(summed), rng)
        return cls(x, rows, [summed[group == number] for number in range(int(group.max()) + 1)])

    @cached_property
    def held(self) -> Matrix:
        """The rows held."""
        return self.x if self.rows is None else self.x[self.rows]

    def places(self, rows: Indices) -> Indices:
        """Find rows among those held."""
        return rows if self.rows is None else np.searchsorted(self.rows, rows)

    def units(self, rows: Rows) -> Matrix:
        """Divide the rows held, as another model has them, by their lengths; as precise as they are stored."""
        if self.rows is not None and isinstance(rows, TransformedRows | Mapped) and rows.x is self.x:
            return unit_rows(replace(rows, x=self.held), dtype=rows.dtype)
        return unit_rows(rows if self.rows is None else rows[self.rows], dtype=rows.dtype)

    def parts(self, unit: Matrix) -> Iterator[Matrix]:
        """Yield the directions that are summed, group by group."""
        yield from (unit[group] for group in self.groups) if self.groups else (unit,)


class SampleSnapshot:
    """The directions of a model's rows and their sums, computed once for every role that needs them."""

    def __init__(
        self, samples: Mapping[SideName, RowSample], rows: Mapping[SideName, Rows], before: SampleSnapshot | None = None
    ) -> None:
        self.samples, self.rows = samples, rows
        self.unit = {side: sample.units(rows[side]) for side, sample in samples.items()}
        self.before = before

    @cached_property
    def sums(self) -> dict[SideName, list[RowSums]]:
        """Sums of the directions of each group, by side."""
        return {
            side: [RowSums.of(group) for group in self.samples[side].parts(unit)] for side, unit in self.unit.items()
        }

    @cached_property
    def cross(self) -> dict[SideName, list[Floats]]:
        """Products of the sums with those before."""
        return {} if self.before is None else {side: self._cross(self.before, side) for side in self.samples}

    def _cross(self, before: SampleSnapshot, side: SideName) -> list[Floats]:
        both = (self.samples[side].parts(snapshot.unit[side]) for snapshot in (before, self))
        return [cross_gram(*parts) for parts in zip(*both, strict=True)]

    def searched(self, side: SideName) -> Rows:
        """Return all rows, divided by their lengths where they are held so."""
        return self.unit[side] if self.samples[side].rows is None else self.rows[side]

    def places(self, sides: tuple[SideName, ...], pairs: NDArray[np.intp]) -> list[Indices]:
        """Find both ends of pairs among the rows held."""
        # In order of the first ends, which are then near each other in memory.
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        return [self.samples[side].places(pairs[:, column]) for side, column in ((sides[0], 0), (sides[-1], 1))]

    def table(self, sides: tuple[SideName, ...]) -> Floats:
        """Cosines of all rows held, of one side with each other or of the first with the second; NaN without one."""
        x, *second = (self.unit[side].astype(np.float64, copy=False) for side in sides)
        return np.asarray(x @ (second[0] if second else x).T)

    def cosines(self, sides: tuple[SideName, ...], ends: Sequence[Indices]) -> Floats:
        """Cosines of pairs of rows held."""
        x, y = self.unit[sides[0]], self.unit[sides[-1]]
        first, other = ends
        cosines = np.empty(len(first))
        for block in row_blocks(len(first), 4 * x.shape[1], budget=CACHE_BYTES):  # beside the rows they are of
            both = (
                rows.take(ends[block], axis=0).astype(np.float64, copy=False) for rows, ends in ((x, first), (y, other))
            )
            cosines[block] = np.einsum("ij,ij->i", *both)
        return np.clip(cosines, -1, 1, out=cosines)

    def sums_from(self, before: SampleSnapshot, sides: tuple[SideName, ...]) -> tuple[CosineSums, list[CosineSums]]:
        """Sum the cosines of all pairs of the rows summed, before and here, and the same without each group."""

        def without(group: int | None) -> CosineSums:
            there, here = ([_total(snapshot.sums[side], group) for side in sides] for snapshot in (before, self))
            return pair_sums(there, here, [_total(self.cross[side], group) for side in sides])

        return without(None), [without(group) for group in range(len(self.samples[sides[0]].groups))]


def _total(parts: Sequence[A], without: int | None) -> A:
    return in_order(term for number, term in enumerate(parts) if number != without)


def margins(without: Sequence[CosineSums]) -> dict[str, float]:
    """Compute half the widths of the 95 % intervals of mean, RMS and correlation; empty where they are exact."""
    if not without:
        return {}
    names = ("mean", "rms", "pearson")
    replicates = np.array([[getattr(sums, name) for name in names] for sums in without])
    return dict(zip(names, jackknife_margin(replicates).tolist(), strict=True))
