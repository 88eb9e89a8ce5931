"""The share of rows that get another nearest row where something is taken away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from embaudit.linalg.intervals import wilson_interval
from embaudit.linalg.nearest import TIE, NeighbourLists


@dataclass(frozen=True)
class NearestChanged:
    """Rows that get another nearest one; ties count as kept."""

    share: float
    """Share of the rows asked."""
    ci_low: float
    """Lower end of its 95 % interval (Wilson); the share itself where all rows were asked."""
    ci_high: float
    """Upper end."""
    n_rows: int
    """Rows asked."""

    @property
    def is_of_all(self) -> bool:
        """True if the share needs no interval, since all rows were compared."""
        return self.ci_low == self.ci_high

    @classmethod
    def of(cls, before: NeighbourLists, after: NeighbourLists, *, exact: bool, tie: float = TIE) -> Self:
        """Compare the first of each list with the first of the same row elsewhere, up to a `tie` of cosines.

        Examples
        --------
        >>> import numpy as np
        >>> from embaudit.linalg.nearest import neighbours
        >>> x = np.array([[9.0, 1.0], [9.0, -1.0], [11.0, 1.2], [11.0, -0.8]])
        >>> NearestChanged.of(neighbours(x, 1), neighbours(x - x.mean(axis=0), 1), exact=True).share
        1.0
        """
        share = float((~before.first(1).kept_in(after.first(1), tie=tie)).mean())
        low, high = (share, share) if exact else wilson_interval(share, len(before.rows))
        return cls(share, low, high, len(before.rows))
