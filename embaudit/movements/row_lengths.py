"""Whether the lengths of rows tell something that their cosines leave out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from embaudit.kernels.ranks import rank_correlation
from embaudit.model.side import Side

Known: TypeAlias = Literal["counts", "bias"]


@dataclass(frozen=True)
class LengthTrend:
    """How far the order of the rows by length is their order by something that is known of them."""

    known: Known
    """What: the interactions behind them, or their bias."""
    spearman: float
    """Rank correlation over all rows with a direction, exact; NaN where lengths, or what is known, are all equal."""
    n_rows: int
    """Rows compared."""


def length_trend(side: Side) -> LengthTrend | None:
    """Correlate the lengths of rows with their counts, else with their bias; None where neither is known.

    Examples
    --------
    >>> from embaudit.model.side import Side
    >>> length_trend(Side([[1.0], [-3.0], [2.0]], "item", counts=[5, 70, 8]))
    LengthTrend(known='counts', spearman=1.0, n_rows=3)
    """
    known: dict[Known, object] = {"counts": side.counts, "bias": side.bias}
    for name, values in known.items():
        if values is not None:
            rows = side.directed
            return LengthTrend(name, rank_correlation(side.norms[rows], values[rows]), len(rows))  # type: ignore[index]
    return None
