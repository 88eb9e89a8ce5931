"""The picture of local against global: an example, a sweep, a reversal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from embaudit.foundation.words import two_decimals
from embaudit.reproduce.pictures import STYLE, Picture, new_figure

GROUP_STYLE = (("#0072b2", "o"), ("#e69f00", "s"))
LINE_STYLES = ("-", "--", ":")


@dataclass(eq=False, repr=False)
class SimpsonDisplay(Picture):
    """Three panels: two vectors, the global cosine against the ratio of norms, two groups.

    Examples
    --------
    >>> from embaudit.reproduce import simpson
    >>> len(simpson().plot().figure_.axes)
    3
    """

    example: pd.DataFrame
    global_cosine: float
    sweep: pd.DataFrame
    points: pd.DataFrame
    groups: pd.DataFrame

    def plot(self) -> Self:
        """Draw on a new figure."""
        from matplotlib import rc_context

        with rc_context(STYLE):
            self.figure_ = new_figure(10.5, 3.5)
            first, second, third = self.figure_.subplots(1, 3)
            self._vectors(first)
            self._sweep(second)
            self._reversal(third)
        return self

    def _vectors(self, ax: Any) -> None:
        positions = np.arange(len(self.example))
        ax.bar(positions - 0.18, self.example["x"], 0.34, color="#0072b2", label="x")
        ax.bar(
            positions + 0.18,
            self.example["y"],
            0.34,
            color="#e69f00",
            hatch="//",
            edgecolor="white",
            linewidth=0,
            label="y",
        )
        cosines = [f"block {i + 1}\nlocal cosine {c:g}" for i, c in enumerate(self.example["cosine"])]
        ax.set_xticks(positions, labels=cosines)
        ax.set(ylabel="entry", ylim=(0, 2.5), title=f"every block agrees, global cosine {self.global_cosine:.4f}")
        ax.legend(loc="upper left", frameon=False, ncols=2)

    def _sweep(self, ax: Any) -> None:
        for (local, part), style in zip(self.sweep.groupby("local_cosine", sort=False), LINE_STYLES, strict=True):
            label = f"local cosines {local:g}"
            ax.plot(part["ratio"], part["global_cosine"], style, color="#222222", linewidth=1.5, label=label)
        ax.axhline(0, color="#999999", linewidth=0.7)
        ax.set(xscale="log", xlabel="ratio of block norms, opposite in x and y", ylabel="global cosine")
        ax.set_title("norms alone drive it to 0")
        ax.legend(loc="upper right", frameon=False)

    def _reversal(self, ax: Any) -> None:
        groups: Any = self.groups.iloc[:-1]
        for row, (colour, marker) in zip(groups.itertuples(), GROUP_STYLE, strict=True):
            mine = self.points[self.points["group"] == row.group]
            label = f"group {row.group}: r = {two_decimals(row.r)}"
            ax.scatter(mine["x"], mine["y"], s=13, color=colour, marker=marker, alpha=0.75, linewidths=0, label=label)
            self._line(ax, mine, row.slope, color="#222222", linewidth=1.2)
        whole: Any = self.groups.iloc[-1]
        style = {"color": "#d55e00", "linewidth": 1.8, "linestyle": "--"}
        self._line(ax, self.points, whole.slope, label=f"all: r = {two_decimals(whole.r)}", **style)
        ax.set(xlabel="x", ylabel="y", title="up inside each group, down over all")
        # Room for the legend above the points.
        ax.set_ylim(top=self.points["y"].max() + 0.3 * np.ptp(self.points["y"]))
        ax.legend(loc="upper right", frameon=False)

    def _line(self, ax: Any, points: pd.DataFrame, slope: float, **style: Any) -> None:
        """Draw the least-squares line over the range of some points."""
        ends = np.array([points["x"].min(), points["x"].max()])
        ax.plot(ends, points["y"].mean() + slope * (ends - points["x"].mean()), **style)
