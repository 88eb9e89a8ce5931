"""StackDisplay: what wholes consist of, drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.report.display import RowDisplay, legend_above, name_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray


SEEN = 1e-3
"""Parts below this share of the longest bar are not drawn."""


@dataclass(frozen=True, eq=False)
class StackDisplay(RowDisplay):
    """Wholes as bars, a row each, and their parts, one behind the other.

    Parameters
    ----------
    parts : mapping of str to array of shape (m,)
        What each part is called, and how large it is in each whole.
    colours : sequence of str
        Of the parts.
    label : str
        What the axis shows.
    """

    parts: Mapping[str, NDArray[np.float64]]
    colours: Sequence[str]
    label: str

    def frame(self) -> pd.DataFrame:
        """Return one row a whole: its name, and a column for each part."""
        import pandas as pd

        return pd.DataFrame({"name": list(self.names), **self.parts})

    def _draw(self, ax: Any) -> None:
        start, least = np.zeros(len(self.names)), SEEN * np.sum(list(self.parts.values()), axis=0).max()
        for colour, (name, sizes) in zip(self.colours, self.parts.items(), strict=True):
            if sizes.max() > least:
                ax.barh(range(len(self.names)), sizes, 0.6, left=start, color=colour, label=name)
            start = start + sizes
        name_rows(ax, self.names)
        ax.set(xlim=(0, None), xlabel=self.label)
        legend_above(ax)
