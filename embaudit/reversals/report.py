"""SimpsonReport: every grouping looked at, ranked, with what each does to the association of x and y."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from embaudit.foundation.checked import as_count
from embaudit.foundation.results import Drawn
from embaudit.foundation.typed import typed
from embaudit.foundation.words import counted
from embaudit.reversals.grouped import Association
from embaudit.reversals.grouping import Grouping, Kind

if TYPE_CHECKING:
    import pandas as pd

    from embaudit.report.display import Display

EXPLAINED = 10
"""Findings spelled out on a page."""
COLUMNS = (
    "grouping",
    "kind",
    "n_groups",
    "r_pooled",
    "r_within",
    "slope_pooled",
    "slope_within",
    "effect",
    "share_reversed",
    "covariance_within",
    "covariance_between",
    "p_pooled",
    "p_within",
    "p_grouping",
    "p_adjusted",
    "significant",
    "confirmed",
)
"""Of the table of groupings."""


def shortened(lines: Sequence[str], limit: int | None) -> list[str]:
    """Cut a list short and say how much was cut.

    Examples
    --------
    >>> shortened(["a", "b", "c"], 1), shortened(["a"], 1), shortened(["a", "b"], None)
    (['a', '… and 2 more'], ['a'], ['a', 'b'])
    """
    if limit is not None:
        as_count(limit, "limit")
    kept, n_more = list(lines[:limit]), len(lines) - (len(lines) if limit is None else limit)
    return [*kept, f"… and {n_more:,} more"] if n_more > 0 else kept


@dataclass(frozen=True, eq=False)
class SimpsonReport(Drawn):
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
            f"SimpsonReport({self.y} on {self.x}, {counted(self.pooled.n, 'row')}: {counted(len(found), 'finding')} in "
            f"{counted(len(self.groupings), 'grouping')}{best})"
        )

    @property
    def findings(self) -> tuple[Grouping, ...]:
        """Groupings that change the answer, ranked; `is_significant` tells which are beyond chance."""
        return tuple(grouping for grouping in self.groupings if grouping.is_finding)

    def __getitem__(self, name: str) -> Grouping:
        """Return the grouping of a column, or of columns joined by " × "."""
        for grouping in self.groupings:
            if grouping.name == name:
                return grouping
        raise KeyError(name)

    @property
    def undecided(self) -> tuple[Grouping, ...]:
        """Groupings of which nothing can be said: fewer than two groups have a vote, or nothing varies within."""
        return tuple(grouping for grouping in self.groupings if grouping.kind is Kind.UNDECIDED)

    @typed
    def explain(self, *, limit: int | None = None) -> str:
        """Say what was found, a line each.

        Parameters
        ----------
        limit : int, optional
            At most so many findings; a last line says how many more there are.
        """
        names = self.titles or (self.x, self.y)
        lines = shortened([grouping.explain(*names) for grouping in self.findings], limit)
        n_decided = len(self.groupings) - len(self.undecided)
        if not lines and n_decided == 1:
            lines = [f"The one grouping does not change the association of {self.x} and {self.y}."]
        elif not lines and (n_decided or not self.groupings):
            lines = [f"None of {n_decided} groupings changes the association of {self.x} and {self.y}."]
        if self.undecided:
            undecided = ", ".join(shortened([grouping.name for grouping in self.undecided], limit))
            lines.append(f"Undecided, for want of two groups with a vote: {undecided}.")
        return "\n".join(lines)

    @typed
    def listed_notes(self, *, limit: int | None = None) -> list[str]:
        """Return `notes`, at most so many; a last one says how many more there are."""
        return shortened(self.notes, limit)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a grouping, ranked."""
        import pandas as pd

        rows = [
            (
                g.name,
                str(g.kind),
                len(g),
                g.pooled.r,
                g.within.r,
                g.pooled.slope,
                g.within.slope,
                g.effect,
                g.share_reversed,
                g.covariance["within"],
                g.covariance["between"],
                g.pooled.p,
                g.within.p,
                g.p_grouping,
                g.p_adjusted,
                g.is_significant,
                g.is_confirmed,
            )
            for g in self.groupings
        ]
        return pd.DataFrame(rows, columns=list(COLUMNS)).set_index("grouping")

    @typed
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
            "n_undecided": len(self.undecided),
            "n_significant": sum(g.is_significant for g in self.findings),
            "groupings": [g.to_dict(limit=limit) for g in self.groupings],
            "notes": list(self.notes),
        }

    @typed
    def plot(self, ax: Any = None, *, grouping: Grouping | str | None = None) -> Display:
        """Draw the pooled line against the lines of the groups, for the first grouping by default."""
        return self._drawn(ax, grouping=grouping)
