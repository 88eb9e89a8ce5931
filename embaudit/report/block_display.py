"""BlockDisplay: local cosines over their weights, drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from embaudit.report.display import BLUE, INK, LINE, RED, Display, drawn, legend_above

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd
    from numpy.typing import NDArray

    from embaudit.blocks import BlockCosines

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BlockDisplay(Display):
    """Local cosines as bars whose width is their weight: the area is the global cosine.

    The weights add up to ρ, so the strip from ρ to 1 stays empty: it is what the two norm profiles cost.
    """

    MAX_NAMES: ClassVar[int] = 30

    cosines: Floats
    """Local cosines, highest first."""
    weights: Floats
    """Their weights."""
    global_cosine: float
    mean_cosine: float
    norm_cosine: float
    names: list[str] | None = None
    """Names of the blocks, where they are few."""

    @classmethod
    def of(cls, found: BlockCosines) -> Self:
        """Take the blocks that have a weight, the highest cosine first."""
        shown = np.flatnonzero(found.weights > 0)
        order = shown[np.argsort(-found.cosines[shown], kind="stable")]
        names = found.names[order] if len(order) <= cls.MAX_NAMES else None
        values = found.global_cosine, found.mean_cosine, found.norm_cosine
        return cls(found.cosines[order], found.weights[order], *values, names)

    @property
    def caption(self) -> str:
        """What the picture shows."""
        return "Local cosines over the weights of their blocks, the highest first: the area is the global cosine."

    def frame(self) -> pd.DataFrame:
        """Return one row a block, the highest cosine first: cosine, weight and, where these are shown, name."""
        import pandas as pd

        named = {} if self.names is None else {"name": list(self.names)}
        return pd.DataFrame({**named, "cosine": self.cosines, "weight": self.weights})

    def _draw(self, ax: Any) -> None:
        edges = np.concatenate([[0.0], np.cumsum(self.weights)])
        ax.stairs(self.cosines, edges, fill=True, color=BLUE, alpha=0.4, label="local cosines")
        ax.axvspan(self.norm_cosine, 1, color=LINE, label=f"norms differ: 1 − ρ = {1 - self.norm_cosine:.3g}")
        ax.axhline(self.mean_cosine, color=INK, linestyle="--", label=f"weighted mean {self.mean_cosine:.3f}")
        ax.axhline(self.global_cosine, color=RED, label=f"global {self.global_cosine:.3f}")
        if self.names is not None:
            self._write_names(ax, self.names, edges)
        ax.set(xlim=(0, 1), ylim=(min(0.0, float(self.cosines.min(initial=0))) - 0.05, 1.05))
        ax.set(xlabel="weight of the blocks, up to ρ", ylabel="cosine")
        legend_above(ax)

    def _write_names(self, ax: Any, names: list[str], edges: Floats) -> None:
        """Name the blocks that are wide enough to carry a name."""
        for name, cosine, left, right in zip(names, self.cosines, edges[:-1], edges[1:], strict=True):
            if right - left > 0.04:
                ax.text(
                    (left + right) / 2, cosine / 2, drawn(name), rotation=90, ha="center", va="center", fontsize="small"
                )
