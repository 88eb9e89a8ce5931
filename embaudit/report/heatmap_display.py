"""HeatmapDisplay: cosines between the rows of a side, in the model at hand and in equal ones side by side, drawn."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from embaudit.core.words import cut, two_decimals
from embaudit.errors import must_be
from embaudit.report.display import TITLE, Display, drawn
from embaudit.report.matrix_panel import draw_matrix, name_groups

if TYPE_CHECKING:
    import pandas as pd

    from embaudit.core.checked import Floats
    from embaudit.report.heatmap_rows import Taken

MOST_NAMES = 40
"""Rows up to which each is named."""
LONGEST = 24
"""Characters of a name beside a picture."""
LINE = 0.07
"""Height of a line above the panels, beside theirs."""


@dataclass(frozen=True, eq=False)
class Panel:
    """The cosines of one model."""

    name: str
    note: str
    """What is known of its predictions."""
    cosines: Floats
    """(m, m), NaN where a row has none."""


@dataclass(frozen=True, eq=False)
class HeatmapDisplay(Display):
    """Heatmaps of the same rows in the same order, on one scale from -1 to 1, white at 0.

    Parameters
    ----------
    panels : tuple of Panel
        The model at hand first.
    names : tuple of str of length m
        What the rows are called.
    taken : Taken
        Which rows these are.
    kind : str
        Which pairs, such as "item-item".

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.report.heatmaps import heatmap
    >>> shown = heatmap(FactorModel.from_vectors([[1.0, 0.0], [3.0, 4.0]], ids=["a", "b"]), beside=[])
    >>> shown.frame()
       first  second first_name second_name  model at hand
    0      0       1          a           b            0.6
    """

    SIZE: ClassVar[tuple[float, float]] = (3.1, 3.9)

    panels: tuple[Panel, ...]
    names: tuple[str, ...]
    taken: Taken
    kind: str

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a figure of its own: panels in a row, and room for names."""
        width, height = self.SIZE
        return width * len(self.panels) + 1.6, height

    @property
    def said(self) -> str:
        """Which cosines these are, in words."""
        grey = any(np.isnan(panel.cosines).any() for panel in self.panels)
        return f"{self.kind} cosines of {self.taken.said}{'; grey where there is none' if grey else ''}"

    @property
    def caption(self) -> str:
        """What the picture shows, of which rows and models."""
        shown = "; ".join(f"{panel.name} ({panel.note})" if panel.note else panel.name for panel in self.panels)
        return f"{self.said[0].upper()}{self.said[1:]}. Panels: {shown}."

    def frame(self) -> pd.DataFrame:
        """Return one row a pair: the numbers, names and groups of its rows, and its cosine in every panel."""
        import pandas as pd

        ends = dict(zip(("first", "second"), np.triu_indices(len(self.names), 1), strict=True))
        names, groups = np.array(self.names, dtype=object), np.array(self.taken.groups, dtype=object)
        columns: dict[str, Any] = {end: self.taken.rows[at] for end, at in ends.items()}
        columns |= {f"{end}_name": names[at] for end, at in ends.items()}
        columns |= {f"{end}_group": groups[at] for end, at in ends.items()} if len(groups) else {}
        first, second = ends.values()
        return pd.DataFrame({**columns, **{panel.name: panel.cosines[first, second] for panel in self.panels}})

    def means(self, panel: Panel) -> dict[str, float]:
        """Average over the pairs shown: within groups, between them, and how far they moved; what there is of these."""
        first, second = np.triu_indices(len(self.names), 1)
        values, groups = panel.cosines[first, second], np.array(self.taken.groups, dtype=object)
        parts: dict[str, Floats] = {}
        if len(groups):
            together = (groups[first] == groups[second]) & (groups[first] != "")
            apart = (groups[first] != groups[second]) & (groups[first] != "") & (groups[second] != "")
            parts |= {"within": values[together], "between": values[apart]}
        if panel is not self.panels[0]:
            parts["moved"] = np.abs(values - self.panels[0].cosines[first, second])
        return {name: float(np.nanmean(part)) for name, part in parts.items() if not np.isnan(part).all()}

    def _draw(self, ax: Any) -> None:
        place = ax.get_subplotspec()
        if place is None:
            raise must_be(
                "ax", "Axes of a grid, whose place panels can share", "free ones", "plt.subplots() makes some"
            )
        ax.set_axis_off()
        lines = wrap(self.said, 24 + 34 * len(self.panels))
        grid = place.subgridspec(2, len(self.panels), height_ratios=(LINE * len(lines), 1))
        above = ax.figure.add_subplot(grid[0, :])
        axes = [ax.figure.add_subplot(grid[1, at]) for at in range(len(self.panels))]
        above.set_axis_off()
        above.text(0.5, 0.5, "\n".join(lines), ha="center", va="center", transform=above.transAxes, gid=TITLE)
        for panel, one in zip(self.panels, axes, strict=True):
            image = draw_matrix(one, panel.cosines, f"{drawn(panel.name)}\n{panel.note}", self.taken.groups)
            one.title.set_fontsize("medium")
            one.set_xlabel(_said(self.means(panel)), fontsize="small")
        self._name_rows(axes[0])
        bar = ax.figure.colorbar(image, ax=axes, label="cosine", fraction=0.03, pad=0.02, shrink=0.8)
        bar.solids.set_rasterized(True)

    def _name_rows(self, ax: Any) -> None:
        """Name the groups that have room, else the rows where they are few."""
        if self.taken.groups:
            name_groups(ax, [group or "no group" for group in self.taken.groups], LONGEST, "small")
        elif len(self.names) <= MOST_NAMES:
            names = [drawn(cut(name, LONGEST)) for name in self.names]
            ax.set_yticks(range(len(names)), names, fontsize="xx-small" if len(names) > 25 else "x-small")


def _said(means: dict[str, float]) -> str:
    groups = [f"{name} {two_decimals(means[name])}" for name in ("within", "between") if name in means]
    lines = [f"mean {', '.join(groups)}"] if groups else []
    lines += [f"mean |Δcos| {means['moved']:.2f}"] if "moved" in means else []
    return "\n".join(lines)
