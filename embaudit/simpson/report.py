"""SimpsonReport: an association over all rows, within groups, and between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.core.plain import plain_dict
from embaudit.core.results import PlottableResult
from embaudit.core.ties import exceeds, reaches
from embaudit.core.tolerances import TIE
from embaudit.core.words import counted, percent
from embaudit.simpson.association import correlation

if TYPE_CHECKING:
    import pandas as pd

MOST_GROUPS = 1_000
"""Largest number of groups that the JSON holds."""
NEGLIGIBLE_SHARE = 0.25
"""Of two correlations, the smaller one is negligible up to this share of the larger.

The association has vanished within groups then, or is masked over all rows.
"""


class ReversalKind(StrEnum):
    """Kind of change from the pooled association to the one within groups."""

    REVERSAL = "reversal"
    """The signs of pooled and within differ, and every voting group opposes."""
    PARTIAL = "partial reversal"
    """The signs differ, and groups with at least half of the voting rows oppose."""
    VANISHING = "vanishing"
    """There is a pooled association, and next to none within groups."""
    MASKED = "masked"
    """There is an association within groups, and next to none over all rows."""
    NONE = "no reversal"
    """The grouping neither reverses nor removes nor uncovers the association."""
    UNDECIDED = "undecided"
    """Fewer than two groups have a vote."""


CHANGES = (
    ReversalKind.REVERSAL,
    ReversalKind.PARTIAL,
    ReversalKind.VANISHING,
    ReversalKind.MASKED,
)
"""Kinds that change the conclusion about x and y."""


@dataclass(frozen=True, eq=False)
class SimpsonReport(PlottableResult):
    """Change of an association when rows are grouped.

    Examples
    --------
    >>> import embaudit as ea
    >>> table = {
    ...     "dose": [1, 2, 3, 6, 7, 8],
    ...     "health": [7, 6, 5, 9, 8, 7],
    ...     "young": [0, 0, 0, 1, 1, 1],
    ... }
    >>> found = ea.simpson(table, x="dose", y="health", groups="young", min_size=3)
    >>> found.kind.value, round(found.r_pooled, 3), round(found.r_within, 3)
    ('reversal', 0.54, -1.0)
    """

    x: str
    """Name of x. For a column of two categories it names the one that counts as 1."""
    y: str
    """Name of y."""
    groups: tuple[str, ...]
    """Columns that group the rows."""
    kind: ReversalKind
    """Kind of the change."""
    n_rows: int
    """Rows that have x, y and a group."""
    n_missing: int
    """Rows that lack x, y or a group; they are skipped."""
    r_pooled: float
    """Pearson's correlation over all rows."""
    r_within: float
    """Correlation of the deviations from group means.

    NaN if x or y is constant in every group.
    """
    slope_pooled: float
    """Least-squares change of y per unit of x, over all rows."""
    slope_within: float
    """Common slope of the groups: the one for deviations from group means."""
    covariance_within: float
    """Part of the pooled covariance that lies within groups."""
    covariance_between: float
    """Covariance of the group means. The pooled covariance is the sum of both parts."""
    share_reversed: float
    """Share of the rows of voting groups that are in groups of the opposite sign."""
    p_value: float
    """Permutation p-value: probability that a random grouping into groups of the same
    sizes changes the correlation as much. NaN without permutations."""
    n_permutations: int
    """Number of random groupings behind the p-value."""
    seed: int | None
    """Seed of these groupings: `simpson` with `rng=seed` gives the same p-value.

    None for `similarity_reversal`, which draws nothing.
    """
    alpha: float
    """Largest p-value that counts as significant."""
    min_size: int
    """Smallest number of rows with which a group has a vote."""
    by_group: pd.DataFrame
    """One row per group; see `to_frame`."""
    notes: tuple[str, ...] = ()
    """Remarks on categories that became numbers, and on skipped rows and groups."""
    row_noun: str = "row"
    """What a row is called in sentences."""
    sample: pd.DataFrame | None = field(default=None, repr=False)
    """Columns `x`, `y` and `code` (position of the group) of some rows, for plots."""

    def __repr__(self) -> str:
        return (
            f"SimpsonReport({self.y} on {self.x} by {self.name}: {self.kind}, r "
            f"{self.r_pooled:+.3f} pooled and {self.r_within:+.3f} within "
            f"{counted(len(self.by_group), 'group')})"
        )

    @property
    def name(self) -> str:
        """The grouping columns, joined by " × "."""
        return " × ".join(self.groups)

    @property
    def effect(self) -> float:
        """Change of the correlation, `r_pooled - r_within`; NaN without `r_within`."""
        return self.r_pooled - self.r_within

    @property
    def is_finding(self) -> bool:
        """True if the grouping reverses, removes or uncovers the association."""
        return self.kind in CHANGES

    @property
    def is_significant(self) -> bool:
        """True if random groupings seldom change the correlation as much."""
        return reaches(self.alpha, self.p_value)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, with the 1,000 largest groups.

        Numbers that do not exist are None.
        """
        largest = self.by_group.nlargest(MOST_GROUPS, "n").reset_index(names="group")
        return plain_dict(
            {
                "x": self.x,
                "y": self.y,
                "groups": self.groups,
                "kind": self.kind,
                "n_rows": self.n_rows,
                "n_missing": self.n_missing,
                "r_pooled": self.r_pooled,
                "r_within": self.r_within,
                "effect": self.effect,
                "slope_pooled": self.slope_pooled,
                "slope_within": self.slope_within,
                "covariance_within": self.covariance_within,
                "covariance_between": self.covariance_between,
                "share_reversed": self.share_reversed,
                "p_value": self.p_value,
                "n_permutations": self.n_permutations,
                "seed": self.seed,
                "alpha": self.alpha,
                "is_significant": self.is_significant,
                "min_size": self.min_size,
                "n_groups": len(self.by_group),
                "by_group": largest,
                "notes": self.notes,
            }
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per group.

        Returns
        -------
        DataFrame
            With the name of the group as index, and the columns

            - `n`: number of rows
            - `r`, `slope`: Pearson's correlation, and the least-squares change of y
              per unit of x; NaN if x or y is constant in the group
            - `mean_x`, `mean_y`, `std_x`: means, and the standard deviation of x
            - `votes`: whether the group is large enough and has a correlation
            - `opposes`: whether it votes and has the opposite sign of `r_pooled`
            - `covariance_within`, `covariance_between`: its parts of the covariance
        """
        return self.by_group.copy()

    def explain(self) -> str:
        """Describe the change of the association and what causes it."""
        if self.kind is ReversalKind.UNDECIDED:
            return (
                f"Undecided by {self.name}: fewer than two groups have at least "
                f"{counted(self.min_size, self.row_noun)} and vary in both {self.x} "
                f"and {self.y}."
            )
        pooled = f"over all {counted(self.n_rows, self.row_noun)}"
        within = f"within {counted(len(self.by_group), 'group')}"
        correlations = (
            f"{pooled} {self.x} and {self.y} correlate by {self.r_pooled:+.3f}, "
            f"{within} by {self.r_within:+.3f}."
        )
        if self.is_finding:
            change = f"{self.kind.capitalize()} by {self.name}"
            return f"{change}: {correlations} {self._cause()}"
        return (
            f"Grouping by {self.name} does not reverse, remove or uncover the "
            f"association: {correlations}{self._test()}"
        )

    def _cause(self) -> str:
        """Describe the groups, the parts of the covariance, and the test."""
        votes = int(self.by_group["votes"].sum())
        opposes = int(self.by_group["opposes"].sum())
        covariance = self.covariance_within + self.covariance_between
        return (
            f"The sign is the opposite in {opposes} of {counted(votes, 'group')} large "
            f"enough to count ({percent(self.share_reversed)} of their "
            f"{self.row_noun}s). Covariance {covariance:+.4g}: "
            f"{self.covariance_within:+.4g} within groups, "
            f"{self.covariance_between:+.4g} between them.{self._test()}"
        )

    def _test(self) -> str:
        """Describe the permutation test, if there was one."""
        if np.isnan(self.p_value):
            return ""
        verdict = "significant" if self.is_significant else "not significant"
        return (
            " A random grouping of the same sizes changes the correlation as much with "
            f"probability {self._written_p_value()} "
            f"({counted(self.n_permutations, 'permutation')}), which is {verdict} at "
            f"{self.alpha:g}."
        )

    def _written_p_value(self) -> str:
        """Write the p-value with three digits, or more if alpha is as near as that."""
        for digits in range(3, 17):
            written = f"{self.p_value:.{digits}g}"
            if reaches(self.alpha, float(written)) == self.is_significant:
                return written
        return repr(self.p_value)


def report_from_sums(
    sums: pd.DataFrame,
    *,
    x: str,
    y: str,
    groups: tuple[str, ...],
    n_missing: int = 0,
    p_value: float = np.nan,
    n_permutations: int = 0,
    seed: int | None = None,
    alpha: float = 0.05,
    min_size: int = 1,
    notes: tuple[str, ...] = (),
    row_noun: str = "row",
    sample: pd.DataFrame | None = None,
) -> SimpsonReport:
    """Build a report from the sums of each group.

    Parameters
    ----------
    sums : DataFrame
        One row per group with the columns of `group_sums`, and its name as index.

    Other parameters are fields of `SimpsonReport`.
    """
    n = sums["n"]
    n_rows = n.sum()
    shift_x = sums["mean_x"] - np.average(sums["mean_x"], weights=n)
    shift_y = sums["mean_y"] - np.average(sums["mean_y"], weights=n)
    within_xx, within_yy, within_xy = sums[["sxx", "syy", "sxy"]].sum().tolist()
    between_xy = (n * shift_x * shift_y).sum()
    pooled_xx = within_xx + (n * shift_x**2).sum()
    pooled_yy = within_yy + (n * shift_y**2).sum()
    pooled_xy = within_xy + between_xy
    r_pooled = float(correlation(pooled_xx, pooled_yy, pooled_xy))
    r_within = float(correlation(within_xx, within_yy, within_xy))
    slope_within = within_xy / within_xx if within_xx > 0 else np.nan

    by_group = _group_table(sums, r_pooled, min_size)
    by_group["covariance_within"] = sums["sxy"] / n_rows
    by_group["covariance_between"] = n * shift_x * shift_y / n_rows
    n_voting = n[by_group["votes"]].sum()
    n_opposing = n[by_group["opposes"]].sum()
    share_reversed = float(n_opposing / n_voting) if n_voting else 0.0
    n_votes = int(by_group["votes"].sum())
    return SimpsonReport(
        x=x,
        y=y,
        groups=groups,
        kind=kind_of_change(r_pooled, r_within, share_reversed, n_votes),
        n_rows=int(n_rows),
        n_missing=n_missing,
        r_pooled=r_pooled,
        r_within=r_within,
        slope_pooled=float(pooled_xy / pooled_xx),
        slope_within=slope_within,
        covariance_within=float(within_xy / n_rows),
        covariance_between=float(between_xy / n_rows),
        share_reversed=share_reversed,
        p_value=p_value,
        n_permutations=n_permutations,
        seed=seed,
        alpha=alpha,
        min_size=min_size,
        by_group=by_group.rename_axis(" × ".join(groups)),
        notes=notes + _group_notes(by_group, min_size),
        row_noun=row_noun,
        sample=sample,
    )


def _group_table(sums: pd.DataFrame, r_pooled: float, min_size: int) -> pd.DataFrame:
    """Return the size, correlation, line and vote of each group."""
    import pandas as pd

    n, sxx, syy, sxy = sums[["n", "sxx", "syy", "sxy"]].to_numpy().T
    table = pd.DataFrame(
        {
            "n": sums["n"].astype(np.int64),
            "r": correlation(sxx, syy, sxy),
            "slope": sums["sxy"] / sums["sxx"].where(sums["sxx"] > 0),
            "mean_x": sums["mean_x"],
            "mean_y": sums["mean_y"],
            "std_x": np.sqrt(sxx / n),
        }
    )
    # Without a pooled association no group can oppose it.
    pooled_sign = np.sign(r_pooled) if exceeds(abs(r_pooled), 0) else 0.0
    table["votes"] = (table["n"] >= min_size) & table["r"].notna()
    table["opposes"] = table["votes"] & (table["r"] * pooled_sign < -TIE)
    return table


def kind_of_change(
    r_pooled: float, r_within: float, share_reversed: float, n_votes: int
) -> ReversalKind:
    """Name the change from the pooled correlation to the one within groups.

    Parameters
    ----------
    r_pooled, r_within : float
        `r_within` is NaN if x or y is constant in every group.
    share_reversed : float
        Share of the rows of voting groups that are in groups of the opposite sign.
    n_votes : int
        Number of groups with a vote.

    Examples
    --------
    >>> str(kind_of_change(0.5, -0.4, 1.0, 3)), str(kind_of_change(0.5, 0.1, 0.0, 3))
    ('reversal', 'vanishing')
    """
    if n_votes < 2:
        return ReversalKind.UNDECIDED
    pooled, within = abs(r_pooled), abs(r_within)
    has_pooled, has_within = exceeds(pooled, 0), exceeds(within, 0)
    signs_differ = has_pooled and has_within and r_pooled * r_within < 0
    if signs_differ and reaches(share_reversed, 1):
        return ReversalKind.REVERSAL
    if signs_differ and reaches(share_reversed, 0.5):
        return ReversalKind.PARTIAL
    if has_pooled and reaches(NEGLIGIBLE_SHARE * pooled, within):
        return ReversalKind.VANISHING
    if has_within and reaches(NEGLIGIBLE_SHARE * within, pooled):
        return ReversalKind.MASKED
    return ReversalKind.NONE


def _group_notes(by_group: pd.DataFrame, min_size: int) -> tuple[str, ...]:
    """Return remarks on groups without a vote."""
    is_small = by_group["n"] < min_size
    is_constant = by_group["r"].isna() & ~is_small
    notes = []
    if is_small.any():
        small = counted(int(is_small.sum()), "group")
        notes.append(f"{small} of fewer than {min_size} rows, too small to count")
    if is_constant.any():
        constant = counted(int(is_constant.sum()), "group")
        notes.append(f"{constant} in which x or y is constant, without a correlation")
    return tuple(notes)
