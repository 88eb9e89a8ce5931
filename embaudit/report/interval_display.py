"""IntervalDisplay: a value a row, with its interval, drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.report.display import BLUE, RED, SOFT, TEAL, TITLE, RowDisplay, legend_above, name_rows

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class IntervalDisplay(RowDisplay):
    """Values of rows along one axis, some of them marked, beside a level that all are compared with.

    Parameters
    ----------
    values : array of shape (m,)
    ends : array of shape (m, 2)
        Of the intervals; a row without one has its value twice.
    marked : array of bool of shape (m,)
        Rows that stand out.
    key : (str, str)
        What values and marked ones are.
    label : str
        What the axis shows.
    level : (str, float), optional
        What all are compared with.
    """

    values: NDArray[np.float64]
    ends: NDArray[np.float64]
    marked: NDArray[np.bool_]
    key: tuple[str, str]
    label: str
    level: tuple[str, float] | None = None

    def frame(self) -> pd.DataFrame:
        """Return one row a value: its name, it, the ends of its interval, and whether it is marked."""
        import pandas as pd

        low, high = self.ends.T
        columns = {"value": self.values, "low": low, "high": high, "marked": self.marked}
        return pd.DataFrame({"name": list(self.names), **columns})

    def _draw(self, ax: Any) -> None:
        places = np.arange(len(self.values))
        if self.level is not None:
            ax.axvline(self.level[1], color=TEAL, linestyle="--", label=self.level[0])
        if self.ends.min() < 0 < self.ends.max():
            ax.axvline(0, color=SOFT, lw=0.8)
        ax.hlines(places, *self.ends.T, color=BLUE, lw=2)
        for shown, sign, colour, name in zip((~self.marked, self.marked), "oD", (BLUE, RED), self.key, strict=True):
            if shown.any():
                ax.plot(self.values[shown], places[shown], sign, ms=6, color=colour, label=name)
        name_rows(ax, self.names)
        ax.set_title(self.title, fontsize="medium", gid=TITLE, pad=22)
        ax.set(xlabel=self.label)
        legend_above(ax)
