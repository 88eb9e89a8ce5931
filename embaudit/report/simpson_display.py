"""Picture and table of a Simpson report: they hold numbers, matplotlib is loaded only to draw."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from embaudit.report.block_display import html_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(eq=False)
class SimpsonDisplay:
    """The pooled line against the line of each group, over the rows."""

    MAX_GROUPS: ClassVar[int] = 12
    """Only so many groups, the largest, are named."""

    labels: tuple[str, str, str]
    """What x, y and the groups are called."""
    levels: tuple[str, ...]
    n: Floats
    """Rows of each group."""
    means: tuple[Floats, Floats]
    spreads: Floats
    """Standard deviation of x within each group."""
    slopes: Floats
    """NaN where a group has no line."""
    pooled_slope: float
    title: str
    points: tuple[Floats, Floats, NDArray[np.intp]] | None = None
    """Some rows: x, y, group."""
    ax_: Any = None
    """The axes drawn on, once plotted."""
    figure_: Any = None
    """Their figure."""

    def pooled_line(self) -> tuple[Floats, Floats]:
        """Return two points of the pooled line, as wide as the groups reach."""
        x, y = (float(np.average(mean, weights=self.n)) for mean in self.means)
        reach = np.concatenate([self._reach(group) for group in range(len(self.levels))])
        ends = np.array([reach.min(), reach.max()])
        return ends, y + self.pooled_slope * (ends - x)

    def group_line(self, group: int) -> tuple[Floats, Floats]:
        """Return two points of a group's line, as far as its rows reach."""
        ends = self._reach(group)
        return ends, self.means[1][group] + self.slopes[group] * (ends - self.means[0][group])

    def _reach(self, group: int) -> Floats:
        """Return the ends of a group's line: its rows at hand, else 1.5 standard deviations around its mean."""
        if self.points is not None:
            own = self.points[0][self.points[2] == group]
            if len(own):
                return np.array([own.min(), own.max()])
        return np.asarray(self.means[0][group] + np.array([-1.5, 1.5]) * self.spreads[group])

    def plot(self, ax: Any = None) -> SimpsonDisplay:
        """Draw on the axes given, or on new ones."""
        import matplotlib as mpl

        if ax is None:
            from matplotlib import pyplot as plt

            _, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
        colours = mpl.colormaps["tab10" if len(self.levels) <= 10 else "tab20"]
        if self.points is not None:
            x, y, codes = self.points
            ax.scatter(x, y, s=9, alpha=0.35, c=[colours(code % 20) for code in codes], linewidths=0)
        for rank, group in enumerate(np.argsort(-self.n, kind="stable")):
            name = f"{self.levels[group]} ({int(self.n[group]):,})" if rank < self.MAX_GROUPS else None
            if not np.isnan(self.slopes[group]):
                ax.plot(*self.group_line(int(group)), color=colours(int(group) % 20), linewidth=2, label=name)
        ax.plot(*self.pooled_line(), color="black", linestyle="--", linewidth=2, label="all rows")
        ax.set(xlabel=self.labels[0], ylabel=self.labels[1], title=self.title)
        ax.legend(title=self.labels[2], fontsize="small", loc="best")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def simpson_html(summary: dict[str, Any], rows: list[dict[str, Any]], text: str) -> str:
    """Write a report (`SimpsonReport.to_dict`, rows of its frame, its explanation) for a notebook."""
    columns = ["grouping", "kind", "n_groups", "r_pooled", "r_within", "share_reversed", "p_adjusted", "significant"]
    head = (
        f"<p><b>{escape(summary['y'])} on {escape(summary['x'])}</b>: {summary['n_rows']:,} rows, "
        f"{summary['n_findings']} findings, {summary['n_significant']} of them significant.</p>"
    )
    lines = "".join(f"<p>{escape(line)}</p>" for line in text.splitlines()[:5])
    notes = "".join(f"<li>{escape(note)}</li>" for note in summary["notes"][:20])
    return (
        head + lines + html_table(columns, ([row.get(c) for c in columns] for row in rows[:20])) + f"<ul>{notes}</ul>"
    )
