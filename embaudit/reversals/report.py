"""Grouping and SimpsonReport: the effect of each way to group the rows on an association, ranked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Flags, Floats, as_count
from embaudit.core.plain import plain_dict
from embaudit.core.results import Drawn, Picture
from embaudit.core.ties import exceeds, reaches
from embaudit.core.words import counted, percent
from embaudit.reversals.statistics import Association, GroupMoments

if TYPE_CHECKING:
    import pandas as pd

MOST_GROUPS = 1_000
"""Groups of a grouping that JSON holds, the largest."""
FADED = 0.25
"""An association below this share of the other one counts as vanished, or as masked."""


class ReversalKind(StrEnum):
    """Kind of change from the pooled association to those in the groups."""

    REVERSAL = "reversal"
    """Pooled and within-group signs oppose, in every group with a vote."""
    PARTIAL = "partial reversal"
    """The association within groups opposes the pooled one, and so does the sign in half of the rows or more."""
    VANISHING = "vanishing"
    """Pooled there is an association, within groups next to none."""
    MASKED = "masked"
    """Within groups there is an association, pooled next to none."""
    NONE = "no reversal"
    """The groups tell much the same as the pooled rows; the correlation may still be another beyond chance."""
    UNDECIDED = "undecided"
    """Fewer than two groups have a vote, or nothing varies within groups."""


@dataclass(frozen=True, eq=False)
class PlottedRows:
    """Sample of the rows, for a picture."""

    x: Floats
    y: Floats
    codes: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Grouping:
    """An association pooled, within groups, and between them, for one way to group the rows."""

    columns: tuple[str, ...]
    """The columns it is made of."""
    levels: tuple[str, ...]
    """(G,) names of the groups."""
    moments: GroupMoments
    """Sizes, means and centred sums of the groups."""
    pooled: Association
    """Over all rows of these groups."""
    within: Association
    """Within groups, taken together: the common slope, and its correlation."""
    spearman: Floats
    """(G,) rank correlation of each group, NaN where there is none."""
    p_groups: Floats
    """(G,) permutation p-values of the groups' correlations, adjusted over the groups."""
    p_grouping: float
    """Permutation p-value: would a random grouping into the same sizes change the correlation that much?"""
    min_size: int = 1
    """A smaller group has no vote."""
    n_missing: int = 0
    """Rows left out because their group is missing."""
    alpha: float = 0.05
    """Level below which a p-value counts."""
    p_adjusted: float = math.nan
    """`p_grouping` adjusted over all groupings looked at."""
    sample: PlottedRows | None = None
    """Rows for a picture."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "columns": self.columns,
                "kind": self.kind,
                "pooled": self.pooled,
                "within": self.within,
                "effect": self.effect,
                "share_reversed": self.share_reversed,
                "covariance": self.covariance,
                "p_grouping": self.p_grouping,
                "p_adjusted": self.p_adjusted,
                "is_significant": self.is_significant,
                "is_confirmed": self.is_confirmed,
                "n_missing": self.n_missing,
                "n_groups": len(self),
                "groups": self.largest_groups,
            }
        )

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.levels)

    def __repr__(self) -> str:
        return (
            f"Grouping({self.name}: {self.kind}, r {self.pooled.r:+.3f} pooled and {self.within.r:+.3f} within "
            f"{counted(len(self), 'group')})"
        )

    @property
    def name(self) -> str:
        """The columns in a phrase."""
        return " × ".join(self.columns)

    @property
    def is_small(self) -> Flags:
        """Groups too small to vote; they stay in the decomposition."""
        return np.asarray(self.moments.n < self.min_size)

    @property
    def is_constant(self) -> Flags:
        """Groups in which x or y does not vary, so that there is no correlation."""
        return np.isnan(self.moments.r)

    @cached_property
    def votes(self) -> Flags:
        """Groups that have a say: large enough, with a correlation."""
        return np.asarray(~(self.is_small | self.is_constant))

    @cached_property
    def opposes(self) -> Flags:
        """Voting groups whose sign is the opposite of the pooled one."""
        return np.asarray(
            self.votes
            & (np.sign(np.nan_to_num(self.moments.r)) * np.sign(self.pooled.r) < 0)
        )

    @property
    def share_reversed(self) -> float:
        """Share of the rows in voting groups whose group opposes."""
        # By rows and not by groups, or one tiny group would make a reversal a partial one as easily as a large one.
        voting = self.moments.n[self.votes].sum()
        return float(self.moments.n[self.opposes].sum() / voting) if voting else 0.0

    @property
    def effect(self) -> float:
        """`r pooled − r within`, from −2 to 2; 0 where nothing varies within groups."""
        return 0.0 if math.isnan(self.within.r) else self.pooled.r - self.within.r

    @property
    def covariance(self) -> dict[str, float]:
        """The pooled covariance and its two terms, `within + between = pooled`."""
        n = self.moments.n.sum()
        parts = {
            "pooled": self.moments.total,
            "within": self.moments.within,
            "between": self.moments.between,
        }
        return {name: sums[2] / n for name, sums in parts.items()}

    @cached_property
    def kind(self) -> ReversalKind:
        """Kind of reversal that the grouping shows."""
        # From the strongest kind to the weakest. A p-value that was not computed is NaN, which excludes nothing.
        pooled, within = self.pooled.r, self.within.r
        if math.isnan(within) or self.votes.sum() < 2:
            return ReversalKind.UNDECIDED
        are_clear = exceeds(abs(pooled), 0) and exceeds(abs(within), 0)
        opposed = are_clear and pooled * within < 0
        if opposed and self.share_reversed == 1:
            return ReversalKind.REVERSAL
        if opposed and self.share_reversed >= 0.5:
            return ReversalKind.PARTIAL
        if reaches(FADED * abs(pooled), abs(within)) and not self.pooled.p > self.alpha:
            return ReversalKind.VANISHING
        if reaches(FADED * abs(within), abs(pooled)) and not self.within.p > self.alpha:
            return ReversalKind.MASKED
        return ReversalKind.NONE

    @property
    def is_finding(self) -> bool:
        """True if the grouping changes the answer."""
        return self.kind not in (ReversalKind.NONE, ReversalKind.UNDECIDED)

    @property
    def is_significant(self) -> bool:
        """True if a random grouping would hardly change the correlation as much, all groupings considered."""
        return self.p_adjusted <= self.alpha

    @property
    def is_confirmed(self) -> bool:
        """True if in addition the associations that the finding rests on are each beyond chance.

        Both signs of a reversal (the larger of two p-values tests the two together), the pooled one of a vanishing,
        the one within groups of a masked association.
        """
        if not (self.is_finding and self.is_significant):
            return False
        # Both signs at once hold at the level of the larger p-value (an intersection–union test).
        rests_on = {
            ReversalKind.VANISHING: (self.pooled,),
            ReversalKind.MASKED: (self.within,),
        }.get(self.kind, (self.pooled, self.within))
        return all(association.p <= self.alpha for association in rests_on)

    def explain(self, x: str, y: str) -> str:
        """Describe the reversal and its source."""
        cov, n_groups = self.covariance, int(self.votes.sum())
        text = (
            f"{self.kind.capitalize()} by {self.name}: over all {self.pooled.n:,} rows {x} and {y} correlate by "
            f"{self.pooled.r:+.3f}, within {counted(len(self), 'group')} by {self.within.r:+.3f}. The sign is the "
            f"opposite in {int(self.opposes.sum())} of {counted(n_groups, 'group')} large enough to count "
            f"({percent(self.share_reversed)} of their rows). "
            f"Covariance {cov['pooled']:+.4g}: {cov['within']:+.4g} within groups, {cov['between']:+.4g} between them"
        )
        if self.kind in (
            ReversalKind.REVERSAL,
            ReversalKind.PARTIAL,
            ReversalKind.VANISHING,
        ):
            # The sign of the term between groups says which way the group means go.
            tie = "higher" if cov["between"] > 0 else "lower"
            text += f". Where {x} is higher on average {y} is {tie}, and that outweighs what happens inside the groups"
        return text + "."

    def notes(self) -> list[str]:
        """Return a remark on every row or group left aside."""
        small, constant = (
            int(self.is_small.sum()),
            int((self.is_constant & ~self.is_small).sum()),
        )
        notes = [
            (
                self.n_missing,
                f"{counted(self.n_missing, 'row')} without a group left out",
            ),
            (
                small,
                f"{counted(small, 'group')} of fewer than {self.min_size} rows, too small to count",
            ),
            (
                constant,
                f"{counted(constant, 'group')} in which x or y is constant, without a correlation",
            ),
        ]
        return [f"{self.name}: {text}" for number, text in notes if number]

    @property
    def largest_groups(self) -> pd.DataFrame:
        """Groups, the largest first, 1,000 at most.

        Columns
        -------
        group : str
            Name of the group.
        n : int
            Number of rows.
        r : float
            Pearson's correlation.
        slope : float
            Least-squares change of y for one unit of x.
        spearman : float
            Rank correlation.
        p_adjusted : float
            Permutation p-value of r, adjusted over the groups.
        mean_x : float
            Mean of x.
        mean_y : float
            Mean of y.
        votes : bool
            True if it is large enough to have a vote.
        opposes : bool
            True if its sign is against that of all rows.
        covariance_within : float
            Part that it adds to the covariance within groups.
        covariance_between : float
            Part that it adds to the covariance between groups.
        """
        return self.to_frame().nlargest(MOST_GROUPS, "n").reset_index(names="group")

    def to_frame(self) -> pd.DataFrame:
        """Return one row a group."""
        import pandas as pd

        m = self.moments
        columns = {
            "n": m.n.astype(np.int64),
            "r": m.r,
            "slope": m.slope,
            "spearman": self.spearman,
            "p_adjusted": self.p_groups,
            "mean_x": m.mean_x,
            "mean_y": m.mean_y,
            "votes": self.votes,
            "opposes": self.opposes,
            "covariance_within": m.sxy / m.n.sum(),
            "covariance_between": m.n * m.shifts[0] * m.shifts[1] / m.n.sum(),
        }
        return pd.DataFrame(
            columns, index=pd.Index(self.levels, name=self.name, dtype=object)
        )


def shortened(lines: Sequence[str], limit: int | None) -> list[str]:
    """Cut a list short and say how much was cut.

    Examples
    --------
    >>> shortened(["a", "b", "c"], 1), shortened(["a"], 1), shortened(["a", "b"], None)
    (['a', '… and 2 more'], ['a'], ['a', 'b'])
    """
    if limit is not None:
        as_count(limit, "limit")
    head, n_more = (
        list(lines[:limit]),
        len(lines) - (len(lines) if limit is None else limit),
    )
    return [*head, f"… and {n_more:,} more"] if n_more > 0 else head


@dataclass(frozen=True, eq=False)
class SimpsonReport(Drawn):
    """Changes of an association when rows are grouped.

    `groupings` are ranked: a change beyond chance first, then by kind (reversal, partial reversal, vanishing, masked),
    then by its size.
    """

    x: str
    """Column on the horizontal axis."""
    y: str
    """Column on the vertical axis."""
    pooled: Association
    """Over all rows."""
    groupings: tuple[Grouping, ...]
    """Groupings, those that change the answer beyond chance first, then by kind, then by the size of the change."""
    n_missing: int = 0
    """Rows left out because x or y is missing."""
    notes: tuple[str, ...] = ()
    """Remarks: codes of categories, bins, columns and groups left aside."""
    alpha: float = 0.05
    """Level below which an adjusted p-value counts."""
    titles: tuple[str, str] | None = None
    """Titles of x and y in sentences and pictures, where they are not their names."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "x": self.x,
                "y": self.y,
                "n_missing": self.n_missing,
                "alpha": self.alpha,
                "pooled": self.pooled,
                "groupings": self.groupings,
                "notes": self.notes,
                "n_rows": self.pooled.n,
                "n_findings": len(self.findings),
                "n_undecided": len(self.undecided),
                "n_significant": self.n_significant,
            }
        )

    def __repr__(self) -> str:
        findings = self.findings
        best = f", first {findings[0]!r}" if findings else ""
        counts = f"{counted(len(findings), 'finding')} in {counted(len(self.groupings), 'grouping')}"
        return f"SimpsonReport({self.y} on {self.x}, {counted(self.pooled.n, 'row')}: {counts}{best})"

    @property
    def findings(self) -> tuple[Grouping, ...]:
        """Groupings that change the answer, ranked; `is_significant` tells which are beyond chance."""
        return tuple(grouping for grouping in self.groupings if grouping.is_finding)

    @property
    def n_significant(self) -> int:
        """Findings beyond chance."""
        return sum(grouping.is_significant for grouping in self.findings)

    def __getitem__(self, name: str) -> Grouping:
        """Return the grouping of a column, or of columns joined by " × "."""
        for grouping in self.groupings:
            if grouping.name == name:
                return grouping
        raise KeyError(name)

    @property
    def undecided(self) -> tuple[Grouping, ...]:
        """Groupings of which nothing can be said: fewer than two groups have a vote, or nothing varies within."""
        return tuple(
            grouping
            for grouping in self.groupings
            if grouping.kind is ReversalKind.UNDECIDED
        )

    def explain(self, *, limit: int | None = None) -> str:
        """Describe the findings, a line each.

        Parameters
        ----------
        limit : int, optional
            At most so many findings; a last line says how many more there are.
        """
        names = self.titles or (self.x, self.y)
        lines = shortened(
            [grouping.explain(*names) for grouping in self.findings], limit
        )
        n_decided = len(self.groupings) - len(self.undecided)
        if not lines and (n_decided or not self.groupings):
            lines = [
                f"No grouping changes the association of {self.x} and {self.y} ({n_decided} compared)."
            ]
        if self.undecided:
            undecided = ", ".join(
                shortened([grouping.name for grouping in self.undecided], limit)
            )
            lines.append(
                f"Undecided, as fewer than two groups are large enough to count: {undecided}."
            )
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a grouping, ranked."""
        import pandas as pd

        groupings = self.groupings
        columns = {
            "kind": [str(g.kind) for g in groupings],
            "n_groups": [len(g) for g in groupings],
            "r_pooled": [g.pooled.r for g in groupings],
            "r_within": [g.within.r for g in groupings],
            "slope_pooled": [g.pooled.slope for g in groupings],
            "slope_within": [g.within.slope for g in groupings],
            "effect": [g.effect for g in groupings],
            "share_reversed": [g.share_reversed for g in groupings],
            "covariance_within": [g.covariance["within"] for g in groupings],
            "covariance_between": [g.covariance["between"] for g in groupings],
            "p_pooled": [g.pooled.p for g in groupings],
            "p_within": [g.within.p for g in groupings],
            "p_grouping": [g.p_grouping for g in groupings],
            "p_adjusted": [g.p_adjusted for g in groupings],
            "significant": [g.is_significant for g in groupings],
            "confirmed": [g.is_confirmed for g in groupings],
        }
        return pd.DataFrame(
            columns, index=pd.Index([g.name for g in groupings], name="grouping")
        )

    def plot(
        self, ax: Any = None, *, grouping: Grouping | str | None = None
    ) -> Picture:
        """Draw the pooled line against the lines of the groups, for the first grouping by default."""
        return self._drawn(ax, grouping=grouping)
