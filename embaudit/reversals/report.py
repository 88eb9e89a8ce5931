"""SimpsonReport: every grouping looked at, ranked, with what each does to the association of x and y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from embaudit.errors import must_be
from embaudit.reversals.grouping import Grouping, Kind, plain

if TYPE_CHECKING:
    import pandas as pd

    from embaudit.report.simpson_display import SimpsonDisplay
    from embaudit.reversals.grouped import Association


@dataclass(frozen=True, eq=False, repr=False)
class SimpsonReport:
    """How an association changes when rows are grouped.

    `groupings` are ranked: a change beyond chance first, then by kind (reversal, partial reversal, vanishing, masked),
    then by its size.
    """

    x: str
    """What is on the horizontal axis."""
    y: str
    """What is on the vertical axis."""
    pooled: Association
    """Over all rows."""
    groupings: tuple[Grouping, ...]
    """Ranked."""
    n_missing: int = 0
    """Rows left out because x or y is missing."""
    notes: tuple[str, ...] = ()
    """What was noticed on the way: codes of categories, bins, columns and groups left aside."""
    alpha: float = 0.05
    """Level below which an adjusted p-value counts."""
    titles: tuple[str, str] | None = None
    """What to call x and y in sentences and pictures, where not by their names."""

    def __repr__(self) -> str:
        found = self.findings
        best = f", first {found[0]!r}" if found else ""
        return (
            f"SimpsonReport({self.y} on {self.x}, {self.pooled.n:,} rows: {len(found)} findings in "
            f"{len(self.groupings)} groupings{best})"
        )

    @property
    def findings(self) -> tuple[Grouping, ...]:
        """Groupings that change the answer, ranked; `is_significant` tells which are beyond chance."""
        return tuple(grouping for grouping in self.groupings if grouping.kind is not Kind.NONE)

    def __getitem__(self, name: str) -> Grouping:
        """Return the grouping of a column, or of columns joined by " × "."""
        for grouping in self.groupings:
            if grouping.name == name:
                return grouping
        raise KeyError(name)

    def explain(self) -> str:
        """Say what was found, a line each."""
        if not self.findings:
            return f"None of {len(self.groupings)} groupings changes the association of {self.x} and {self.y}."
        return "\n".join(grouping.explain(*(self.titles or (self.x, self.y))) for grouping in self.findings)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a grouping, ranked."""
        import pandas as pd

        rows: list[dict[str, Any]] = [
            {
                "grouping": g.name,
                "kind": str(g.kind),
                "n_groups": len(g),
                "r_pooled": g.pooled.r,
                "r_within": g.within.r,
                "slope_pooled": g.pooled.slope,
                "slope_within": g.within.slope,
                "effect": g.effect,
                "share_reversed": g.share_reversed,
                "covariance_within": g.covariance["within"],
                "covariance_between": g.covariance["between"],
                "p_pooled": g.pooled.p,
                "p_within": g.within.p,
                "p_grouping": g.p_grouping,
                "p_adjusted": g.p_adjusted,
                "significant": g.is_significant,
                "confirmed": g.is_confirmed,
            }
            for g in self.groupings
        ]
        return pd.DataFrame(rows or {"grouping": [], "kind": []}).set_index("grouping")

    def to_dict(self, *, limit: int = 1000) -> dict[str, Any]:
        """Return plain values ready for JSON, with at most `limit` groups of each grouping."""
        return {
            "x": self.x,
            "y": self.y,
            "n_rows": self.pooled.n,
            "n_missing": self.n_missing,
            "alpha": self.alpha,
            "pooled": self.pooled.to_dict(),
            "n_findings": len(self.findings),
            "n_significant": sum(g.is_significant for g in self.findings),
            "groupings": [g.to_dict(limit=limit) for g in self.groupings],
            "notes": list(self.notes),
        }

    def display(self, grouping: Grouping | str | None = None) -> SimpsonDisplay:
        """Return the numbers of the picture of one grouping, the first by default."""
        from embaudit.report.simpson_display import SimpsonDisplay

        if not self.groupings:
            raise must_be("a report to draw", "of at least one grouping", "none")
        chosen = self[grouping] if isinstance(grouping, str) else grouping or self.groupings[0]
        m, sample = chosen.moments, chosen.sample
        return SimpsonDisplay(
            labels=(*(self.titles or (self.x, self.y)), chosen.name),
            levels=chosen.levels,
            n=m.n,
            means=(m.mean_x, m.mean_y),
            spreads=(m.sxx / m.n) ** 0.5,
            slopes=m.slope,
            pooled_slope=chosen.pooled.slope,
            title=f"{chosen.kind}: r {chosen.pooled.r:+.2f} pooled, {chosen.within.r:+.2f} within",
            points=None if sample is None else (sample.x, sample.y, sample.codes),
        )

    def plot(self, grouping: Grouping | str | None = None, *, ax: Any = None) -> SimpsonDisplay:
        """Draw the pooled line against the lines of the groups, for the first grouping by default."""
        return self.display(grouping).plot(ax)

    def _repr_html_(self) -> str:
        from embaudit.report.simpson_display import simpson_html

        frame = self.to_frame().reset_index()
        rows = [{str(key): plain(value) for key, value in row.items()} for row in frame.to_dict("records")]
        return simpson_html(self.to_dict(limit=0), rows, self.explain())
