"""RangeDisplay: how far each cosine can move, drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.report.display import BLUE, INK, SOFT, TITLE, Display

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd
    from numpy.typing import NDArray

    from embaudit.ranges import CosineRange

MOST_PAIRS = 400


@dataclass(frozen=True, eq=False)
class RangeDisplay(Display):
    """The ranges of some pairs in order of their cosine.

    Parameters
    ----------
    before, lower, upper : array of shape (m,)
        The cosine of each pair and the ends of its range, in ascending order of `before`.
    title : str
        Which pairs and which gauges.

    Examples
    --------
    >>> from embaudit.gauges import GeneralLinear
    >>> from embaudit.model import FactorModel
    >>> from embaudit.ranges import cosine_range
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> found = cosine_range(model, GeneralLinear(2, max_condition=2.0), pairs=[[0, 2], [0, 1]])
    >>> RangeDisplay.of(found).lower.round(3)
    array([-0.6  ,  0.186])
    """

    before: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    title: str = ""

    @classmethod
    def of(cls, found: CosineRange, *, max_pairs: int = MOST_PAIRS) -> Self:
        """Take the ranges of pairs spread evenly over the cosines; pairs without a cosine are left out."""
        before = found.before
        known = np.flatnonzero(~np.isnan(found.lower))
        order = known[np.argsort(before[known], kind="stable")]
        places = np.unique(np.linspace(0, max(len(order) - 1, 0), min(max_pairs, len(order))).round().astype(np.intp))
        chosen = order[places]
        budget = getattr(found.group, "max_condition", None)
        kind = type(found.group).__name__ + ("" if budget is None else f", κ ≤ {budget:g}")
        return cls(before[chosen], found.lower[chosen], found.upper[chosen], f"{found.role} pairs, {kind}")

    def frame(self) -> pd.DataFrame:
        """Return one row a pair: its cosine, and the ends of the range."""
        import pandas as pd

        return pd.DataFrame({"cosine": self.before, "lower": self.lower, "upper": self.upper})

    @property
    def caption(self) -> str:
        """What the picture shows."""
        return f"Cosines of pairs inside their exact ranges, in ascending order: {self.title}."

    def _draw(self, ax: Any) -> None:
        place = np.arange(len(self.before))
        ax.vlines(place, self.lower, self.upper, color=BLUE, lw=1.0, alpha=0.5)
        ax.plot(place, self.before, ".", ms=3, color=INK, label="cosine of the model")
        ax.axhline(0, lw=0.5, color=SOFT)
        ax.set_title(self.title, fontsize="medium", gid=TITLE)
        ax.set(ylim=(-1.02, 1.02), xlabel="pairs in order of their cosine", ylabel="cosine with the same predictions")
        ax.legend(loc="upper left")
