"""SimpsonDisplay: the pooled line against the line of each group, drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from embaudit.core.words import cut, visible
from embaudit.errors import must_be
from embaudit.report.display import INK, LONGEST, TITLE, Display, drawn

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd
    from numpy.typing import NDArray

    from embaudit.reversals import Grouping, SimpsonReport

    Floats = NDArray[np.float64]


MOST_POINTS, MENU = 1_000, 22
"""Rows up to which each is a mark of its own in a file, and characters of the name of a group."""


@dataclass(frozen=True, eq=False)
class SimpsonDisplay(Display):
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

    @classmethod
    def of(cls, report: SimpsonReport, *, grouping: Grouping | str | None = None) -> Self:
        """Take one grouping of a report, the first by default."""
        if not report.groupings:
            raise must_be("a report to draw", "of at least one grouping", "none")
        known = {one.name: one for one in report.groupings}
        grouping = report.groupings[0] if grouping is None else grouping
        chosen = known.get(grouping) if isinstance(grouping, str) else grouping
        if not isinstance(chosen, type(report.groupings[0])):
            raise must_be("grouping", "one of " + ", ".join(known), repr(grouping))
        m, sample = chosen.moments, chosen.sample
        return cls(
            labels=(*(report.titles or (report.x, report.y)), chosen.name),
            levels=chosen.levels,
            n=m.n,
            means=(m.mean_x, m.mean_y),
            spreads=(m.sxx / m.n) ** 0.5,
            slopes=m.slope,
            pooled_slope=chosen.pooled.slope,
            title=f"{chosen.kind}: r {chosen.pooled.r:+.2f} pooled, {chosen.within.r:+.2f} within",
            points=None if sample is None else (sample.x, sample.y, sample.codes),
        )

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

    def frame(self) -> pd.DataFrame:
        """Return one row a group: its rows, means, the standard deviation of x, and the slope of its line."""
        import pandas as pd

        x, y = self.means
        columns = {"n": self.n, "mean_x": x, "mean_y": y, "std_x": self.spreads, "slope": self.slopes}
        return pd.DataFrame({"group": list(self.levels), **columns})

    @property
    def caption(self) -> str:
        """What the picture shows."""
        x, y, groups = (cut(visible(label), LONGEST) for label in self.labels)
        return (
            f"{y} on {x}: the line of all rows, dashed, and that of each group by {groups}. {self.title.capitalize()}."
        )

    def _draw(self, ax: Any) -> None:
        import matplotlib as mpl

        colours = mpl.colormaps["tab10" if len(self.levels) <= 10 else "tab20"]
        if self.points is not None:
            x, y, codes = self.points
            shades = [colours(code % 20) for code in codes]
            ax.scatter(x, y, s=9, alpha=0.35, c=shades, linewidths=0, rasterized=len(x) > MOST_POINTS)
        for rank, group in enumerate(np.argsort(-self.n, kind="stable")):
            name = f"{drawn(self.levels[group], MENU)} ({int(self.n[group]):,})" if rank < self.MAX_GROUPS else None
            if not np.isnan(self.slopes[group]):
                ax.plot(*self.group_line(int(group)), color=colours(int(group) % 20), linewidth=2, label=name)
        ax.plot(*self.pooled_line(), color=INK, linestyle="--", linewidth=2, label="all rows")
        ax.set(xlabel=drawn(self.labels[0]), ylabel=drawn(self.labels[1]))
        ax.set_title(self.title, fontsize="medium", gid=TITLE)
        ax.legend(title=drawn(self.labels[2], MENU), fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
