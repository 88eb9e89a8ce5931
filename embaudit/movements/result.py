"""Movement: how far the cosines of one role moved."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from embaudit.core.results import Drawn
from embaudit.core.words import counted, drawn_of, percent
from embaudit.linalg.nearest import NeighbourLists
from embaudit.model import Role


@dataclass(frozen=True, eq=False)
class Movement(Drawn):
    """Movement of the cosines of one role between two models; Δ is after less before."""

    role: Role
    """left, right or cross (left-right)."""
    mean_abs: float
    """Mean of ``|Δ|``."""
    max_abs: float
    """Largest ``|Δ|`` among the pairs visited: where these are some, others may have moved further."""
    rms: float
    """Root mean square of Δ over all pairs."""
    mean: float
    """Mean of Δ over all pairs; of very many rows, over those of some (see `margins`)."""
    pearson: float
    """Correlation of the cosines before and after over all pairs; NaN where one side does not vary."""
    spearman: float
    """Rank correlation, from 65,536 cells of cosines a side."""
    sign_flips: float
    """Share of pairs whose cosine changed sign by more than rounding."""
    top_n: int
    """N of the neighbour lists; 0 where there are none (left-right pairs)."""
    top_n_overlap: float
    """Mean share of a row's N nearest rows that stay among its N nearest, ties counted as kept; NaN without lists.

    Lists are of one row of each group of copies, and hold such rows alone.
    """
    n_lists: int
    """Rows whose lists were compared: one of each group of copies."""
    tied_lists: float
    """Share of the lists that end in a tie, so that another choice of neighbours would be as good; NaN without."""
    n_pairs: int
    """Pairs behind the figures that need pairs, drawn without replacement."""
    n_all_pairs: int
    """Pairs there are."""
    exact: bool
    """True if these were all pairs."""
    ci_low: float
    """Lower end of the 95 % interval of `mean_abs`; the mean itself where exact."""
    ci_high: float
    """Upper end."""
    n_zero: int
    """Rows without direction, left out."""
    quantiles: dict[float, float]
    """Quantiles of ``|Δ|``."""
    margins: dict[str, float] = field(default_factory=dict)
    """Half the widths of the 95 % intervals of `mean`, `rms` and `pearson`, where these are of some rows; else none."""
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    """95 % intervals of `sign_flips`, `spearman` and `quantiles`, by name or level, where pairs are sampled."""
    pairs: NDArray[np.intp] | None = field(default=None, repr=False)
    """The pairs, where they are sampled."""
    lists: NeighbourLists | None = field(default=None, repr=False)
    """The lists before."""

    def explain(self) -> str:
        """Describe how far the cosines moved, and how many neighbours stayed."""
        pairs, among = (
            drawn_of(self.n_pairs, self.n_all_pairs, f"{self.role} pair"),
            "" if self.exact else " among these",
        )
        overlap = f" and {percent(self.top_n_overlap)} of the {self.top_n} nearest rows stay" if self.top_n else ""
        zero = f" {counted(self.n_zero, 'row')} without direction left out." if self.n_zero else ""
        return (
            f"Over {pairs} cosines moved by {self.mean_abs:.3f} on average and by at most "
            f"{self.max_abs:.2f}{among}; {percent(self.sign_flips)} change their sign{overlap}.{zero}"
        )
