"""The picture of the label figures: three equal heads with different cosines, and the hull edges that decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from embaudit.foundation.checked import Floats, Indices
from embaudit.foundation.words import two_decimals
from embaudit.reproduce.pictures import COLOURS, MARKERS, STYLE, Picture, new_figure

TITLES = {"given": "as given", "made opposite": "labels 0 and 1 made opposite", "made parallel": "… made parallel"}


@dataclass(eq=False, repr=False)
class NielsenDisplay(Picture):
    """Figure 1 above Figure 2; labels are told apart by colour, marker and number.

    Examples
    --------
    >>> from embaudit.reproduce import nielsen
    >>> len(nielsen().plot().figure_.axes)
    5
    """

    rows: dict[str, Floats]
    inputs: Floats
    most_probable: Indices
    translations: pd.DataFrame
    heads: dict[str, Floats]
    pairs: pd.DataFrame
    contrasts: dict[str, tuple[tuple[int, int], tuple[int, int]]]

    def plot(self) -> Self:
        """Draw on a new figure."""
        from matplotlib import rc_context

        with rc_context(STYLE):
            self.figure_ = new_figure(10.0, 7.4)
            upper, lower = self.figure_.subfigures(2, 1, height_ratios=[1, 1.05])
            table: Any = self.translations
            for ax, row in zip(upper.subplots(1, 3), table.itertuples(), strict=True):
                self._panel(ax, row)
            for ax, name in zip(lower.subplots(1, 2), self.heads, strict=True):
                self._hull(ax, name)
        return self

    def _panel(self, ax: Any, row: Any) -> None:
        for label in range(len(self.rows[row.panel])):
            mine = self.inputs[self.most_probable == label]
            colour, marker = COLOURS[label], MARKERS[label]
            ax.scatter(*mine.T, s=7, color=colour, marker=marker, alpha=0.45, linewidths=0)
        _arrows(ax, self.rows[row.panel])
        shift = f"v = ({row.shift_x:g}, {row.shift_y:g})"
        ax.set_title(f"{TITLES[row.panel]}: cos = {two_decimals(row.cosine)}\n{shift}, same probabilities")
        ax.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal", xlabel="first coordinate", ylabel="second coordinate")

    def _hull(self, ax: Any, name: str) -> None:
        rows, table = self.heads[name], self.pairs[self.pairs["head"] == name]
        records: Any = table
        for row in records.itertuples():
            if row.edge_of_hull:
                ax.plot(*rows[[row.first, row.second]].T, color="#888888", linewidth=1.2, zorder=1)
        lines = []
        for pair, style in zip(self.contrasts[name], ("-", ":"), strict=True):
            found: Any = table[(table["first"] == pair[0]) & (table["second"] == pair[1])].iloc[0]
            colour = "#0072b2" if found.edge_of_hull else "#d55e00"
            reach = "can share ½/½" if found.edge_of_hull else f"never both above {two_decimals(found.both_reach)}"
            text = f"{pair[0]}–{pair[1]}: cos {found.cosine:.3f}, {reach}"
            lines += ax.plot(*rows[list(pair)].T, style, color=colour, linewidth=2.6, zorder=2, label=text)
        _arrows(ax, rows)
        ax.legend(handles=lines, loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False, ncols=1)
        ax.set_title(f"{name}: the edges of the hull decide")
        ax.set(xlim=(-1.75, 1.75), ylim=(-1.3, 1.3), aspect="equal")
        ax.set(xlabel="first coordinate", ylabel="second coordinate")


def _arrows(ax: Any, rows: Floats) -> None:
    """Draw every row as an arrow from the origin, with its marker and number at the tip."""
    box = {"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    for label, vector in enumerate(rows):
        arrow = {"arrowstyle": "-|>", "color": "#222222", "linewidth": 1.1, "shrinkA": 0, "shrinkB": 2}
        ax.annotate("", vector, (0, 0), arrowprops=arrow, zorder=3)
        ax.plot(*vector, MARKERS[label], color=COLOURS[label], markersize=7, markeredgecolor="white", zorder=4)
        offset = tuple(11 * _free_direction(vector, rows))
        ax.annotate(
            str(label), vector, offset, textcoords="offset points", ha="center", va="center", bbox=box, weight="bold"
        )


def _free_direction(vector: Floats, rows: Floats) -> Floats:
    """Point outwards, or sideways where a longer arrow passes in the same direction."""
    outwards = vector / np.linalg.norm(vector)
    beyond = rows @ outwards > 1.05 * np.linalg.norm(vector)
    passing = beyond & (rows @ outwards > 0.98 * np.linalg.norm(rows, axis=1))
    return np.array([outwards[1], -outwards[0]]) if passing.any() else outwards
