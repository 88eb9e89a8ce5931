"""The pictures of the Netflix figure: heatmaps in a row, and the remedies as ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embaudit.foundation.checked import Indices
from embaudit.foundation.words import two_decimals
from embaudit.report.matrix_panel import Scale, draw_matrix, name_groups
from embaudit.reproduce.pictures import STYLE, Picture, new_figure

TITLES = {
    "g^1/2": r"Eq. 1, $D = g^{\,1/2}$",
    "identity": r"Eq. 1, $D = 1$ (symmetric)",
    "g^-1/2": r"Eq. 1, $D = g^{\,-1/2}$",
    "sigma^-1/2": r"Eq. 1, $D = \sigma^{\,-1/2}$",
    "Eq. 2": "Eq. 2",
}
SCALE = Scale("cividis", -0.25, 1.0)
"""Cosines below are drawn alike: they are few, and the scale serves the many."""
LONGEST_NAME = 14
"""Characters of the name of a cluster at most."""


@dataclass(eq=False, repr=False)
class NetflixDisplay(Picture):
    """Heatmaps of item-item cosines in one row, on one colour scale.

    Examples
    --------
    >>> from embaudit.reproduce import NetflixSetting, netflix
    >>> little = NetflixSetting(800, 80, rank=10, alpha_product=200.0, alpha_factors=14.0)
    >>> display = netflix(size=little, n_seeds=1).plot()
    >>> len(display.figure_.axes)
    7
    """

    cosines: dict[str, NDArray[np.float32]]
    clusters: Indices
    numbers: pd.DataFrame
    labels: tuple[str, ...] = ()
    """What the clusters are called, where they have names."""

    def plot(self) -> Self:
        """Draw on a new figure."""
        from matplotlib import rc_context

        with rc_context(STYLE):
            self.figure_ = new_figure(13.0, 2.75)
            axes = self.figure_.subplots(1, len(self.cosines) + 1)
            truth = (self.clusters[:, None] == self.clusters).astype(np.float32)
            image = self._heatmap(axes[0], truth, "first labels" if self.labels else "true clusters")
            axes[0].set_xlabel("same cluster: 1\ndifferent: 0")
            if self.labels:
                name_groups(axes[0], [self.labels[cluster] for cluster in self.clusters], LONGEST_NAME, 6)
            for ax, (name, cosines) in zip(axes[1:], self.cosines.items(), strict=True):
                image = self._heatmap(ax, cosines, TITLES.get(name, name))
                row: Any = self.numbers.set_index("model").loc[name]
                means = f"mean within {two_decimals(row.within_mean)}, between {two_decimals(row.between_mean)}"
                ax.set_xlabel(f"{means}\nAUC of same cluster {row.auc:.3f}")
            bar = self.figure_.colorbar(image, ax=axes, extend="min", fraction=0.02, pad=0.01)
            bar.set_label("item-item cosine")
        return self

    def _heatmap(self, ax: Any, values: NDArray[np.float32], title: str) -> Any:
        return draw_matrix(ax, values, title, self.clusters, SCALE)


@dataclass(eq=False, repr=False)
class RemedyDisplay(Picture):
    """How well each remedy recovers the clusters: a point where it is unique, a range where a gauge can move it."""

    remedies: pd.DataFrame
    is_mean: bool = True
    """Whether the numbers are means over seeds."""

    def plot(self) -> Self:
        """Draw on a new figure."""
        from matplotlib import rc_context

        with rc_context(STYLE):
            self.figure_ = new_figure(7.2, 0.9 + 0.27 * len(self.remedies))
            ax = self.figure_.subplots()
            for y, row in enumerate(self.remedies.itertuples()):
                if row.unique:
                    ax.plot(row.auc_low, y, "D", color="black", markersize=5, zorder=3)
                else:
                    ax.plot([row.auc_low, row.auc_high], [y, y], "-|", color="#0072b2", linewidth=3, markersize=9)
            names = [f"{row.remedy} – {row.similarity}" for row in self.remedies.itertuples()]
            ax.set_yticks(range(len(names)), labels=names)
            ax.invert_yaxis()
            ax.grid(axis="x", color="#cccccc", linewidth=0.5)
            ax.set_axisbelow(True)
            ax.set_xlabel("AUC of same cluster" + " (mean over seeds)" * self.is_mean)
            self._legend()
        return self

    def _legend(self) -> None:
        from matplotlib.lines import Line2D

        point = Line2D([], [], marker="D", color="black", linestyle="none", markersize=5)
        line = Line2D([], [], marker="|", color="#0072b2", linewidth=3, markersize=9)
        labels = ["unique", "range over four rescalings with equal predictions"]
        self.figure_.legend([point, line], labels, loc="outside lower right", ncols=2, frameon=False)
