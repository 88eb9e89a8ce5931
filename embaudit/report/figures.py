"""Figures of results: each class holds the numbers of one, and matplotlib is loaded only to draw them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from embaudit.canonical import EXPONENTS
from embaudit.canonical.library_scaling import log_condition
from embaudit.core.words import cut, visible
from embaudit.errors import must_be
from embaudit.model import Pairs
from embaudit.report.display import (
    BLUE,
    INK,
    LINE,
    LONGEST,
    RED,
    SOFT,
    TEAL,
    TITLE,
    Display,
    RowDisplay,
    drawn,
    legend_above,
    name_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Self

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from embaudit.attacks import Attack
    from embaudit.auditing import Audit
    from embaudit.blocks import BlockCosines
    from embaudit.canonical import Position
    from embaudit.core.checked import Floats, Indices
    from embaudit.model import Role
    from embaudit.movements import Movement
    from embaudit.ranges import CertifiedNeighbours, CosineRange
    from embaudit.reversals import Grouping, SimpsonReport

SEEN = 1e-3
"""Parts of a stack below this share of the longest bar are not drawn."""
LEVELS = (0.05, 0.25, 0.75, 0.95)
"""Quantiles of a movement that are drawn."""
MOST_PAIRS = 400
"""Pairs whose ranges are drawn."""
TICKS = {0.0: "0\nleft-whitened", 0.5: "½\nbalanced", 1.0: "1\nright-whitened"}
"""Names of canonical exponents on an axis."""
MOST_POINTS, MENU = 1_000, 22
"""Rows up to which each is a mark of its own in a file, and characters of the name of a group."""


@dataclass(frozen=True, eq=False)
class IntervalDisplay(RowDisplay):
    """Values of rows along one axis, some of them marked, beside a level that all are compared with.

    Parameters
    ----------
    values : array of shape (m,)
    ends : array of shape (m, 2)
        Ends of the interval of each row; a row without one has its value twice.
    marked : array of bool of shape (m,)
        Rows that stand out.
    key : (str, str)
        Names of the values and of the marked ones in the legend.
    label : str
        Name of the axis.
    level : (str, float), optional
        Name and value of what all are compared with.
    """

    values: Floats
    ends: Floats
    marked: NDArray[np.bool_]
    key: tuple[str, str]
    label: str
    level: tuple[str, float] | None = None

    def frame(self) -> pd.DataFrame:
        """Return one row a value: its name, it, the ends of its interval, and whether it is marked."""
        import pandas as pd

        low, high = self.ends.T
        columns = {"value": self.values, "low": low, "high": high, "marked": self.marked}
        return pd.DataFrame({"name": list(self.names), **columns})

    def _draw(self, ax: Any) -> None:
        """Draw values, intervals and the level on the axes."""
        places = np.arange(len(self.values))
        if self.level is not None:
            ax.axvline(self.level[1], color=TEAL, linestyle="--", label=self.level[0])
        if self.ends.min() < 0 < self.ends.max():
            ax.axvline(0, color=SOFT, lw=0.8)
        ax.hlines(places, *self.ends.T, color=BLUE, lw=2)
        for rows, sign, colour, name in zip((~self.marked, self.marked), "oD", (BLUE, RED), self.key, strict=True):
            if rows.any():
                ax.plot(self.values[rows], places[rows], sign, ms=6, color=colour, label=name)
        name_rows(ax, self.names)
        ax.set_title(self.title, fontsize="medium", gid=TITLE, pad=22)
        ax.set(xlabel=self.label)
        legend_above(ax)


@dataclass(frozen=True, eq=False)
class StackDisplay(RowDisplay):
    """Wholes as bars, a row each, and their parts, one behind the other.

    Parameters
    ----------
    parts : mapping of str to array of shape (m,)
        Name of each part, and its size in each whole.
    colours : sequence of str
        Colour of each part.
    label : str
        Name of the axis.
    """

    parts: Mapping[str, Floats]
    colours: Sequence[str]
    label: str

    def frame(self) -> pd.DataFrame:
        """Return one row a whole: its name, and a column for each part."""
        import pandas as pd

        return pd.DataFrame({"name": list(self.names), **self.parts})

    def _draw(self, ax: Any) -> None:
        start, least = np.zeros(len(self.names)), SEEN * np.sum(list(self.parts.values()), axis=0).max()
        for colour, (name, sizes) in zip(self.colours, self.parts.items(), strict=True):
            if sizes.max() > least:
                ax.barh(range(len(self.names)), sizes, 0.6, left=start, color=colour, label=name)
            start = start + sizes
        name_rows(ax, self.names)
        ax.set(xlim=(0, None), xlabel=self.label)
        legend_above(ax)


@dataclass(frozen=True, eq=False)
class MovementDisplay(RowDisplay):
    """The middle 90 % and 50 % of |Δcos| over pairs, and its mean, a row for each name; models of one name share it.

    Parameters
    ----------
    quantiles : array of shape (m, 4)
        The quantiles 5 %, 25 %, 75 % and 95 % of |Δcos|.
    means : array of shape (m,)
        Mean |Δcos|.
    label : str
        Name of the axis.

    Examples
    --------
    >>> from embaudit.gauges import Gauge
    >>> from embaudit.model import FactorModel
    >>> from embaudit.movements import movement
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> MovementDisplay.of(movement(model, Gauge.diagonal([1.0, 4.0]).act(model))).means.round(3)
    array([0.277])
    """

    quantiles: Floats
    means: Floats
    label: str

    @classmethod
    def of(cls, movement: Movement) -> Self:
        """Show one movement."""
        return cls._of_rows([""], [movement], movement.role)

    @classmethod
    def of_audit(cls, audit: Audit, *, role: Role | None = None) -> Self:
        """Show the movement to every equivalent model, of the first role measured by default."""
        evidence = audit.evidence
        roles = [record.role for record in evidence.movement[0]] if evidence.movement else []
        if not roles or role not in (None, *roles):
            raise must_be("role", "one of " + ", ".join(roles), repr(role))
        index = 0 if role is None else roles.index(role)
        title = Pairs(roles[index]).titled(evidence.model)
        moves = [records[index] for records in evidence.movement]
        return cls._of_rows([e.name for e in evidence.equivalents], moves, title)

    @classmethod
    def of_families(cls, families: Mapping[str, Sequence[Movement]], title: str) -> Self:
        """Show the models of each family in one row; those without a cosine are left out."""
        rows = [(name, each) for name, moves in families.items() for each in moves if np.isfinite(each.mean_abs)]
        return cls._of_rows([name for name, _ in rows], [each for _, each in rows], title)

    @classmethod
    def _of_rows(cls, names: Sequence[str], moves: Sequence[Movement], title: str) -> Self:
        quantiles = np.array([[record.quantiles[level] for level in LEVELS] for record in moves])
        means = np.array([record.mean_abs for record in moves])
        about = f"how far cosines of {title} pairs move, a row for each kind of equivalent model"
        return cls(names, about, quantiles, means, f"|Δcos| of {title} pairs")

    def frame(self) -> pd.DataFrame:
        """Return one row an equivalent model: its name, mean |Δcos| and four quantiles."""
        import pandas as pd

        quantiles = {f"q{level:g}": values for level, values in zip(LEVELS, self.quantiles.T, strict=True)}
        return pd.DataFrame({"model": list(self.names), "mean": self.means, **quantiles})

    def _draw(self, ax: Any) -> None:
        """Draw the middle 90 % and 50 % of each model as bars, and its mean as a dot."""
        rows = list(dict.fromkeys(self.names))
        places = np.array([rows.index(name) for name in self.names])
        low, lower, upper, high = self.quantiles.reshape(-1, len(LEVELS)).T
        # Models that lie over each other add up to about the colour of one.
        shades = [(BLUE, 0.6 / self.names.count(name) ** 0.7) for name in self.names]
        ax.hlines(places, low, high, colors=shades, lw=1.2, label="middle 90 % of pairs")
        ax.hlines(places, lower, upper, colors=shades, lw=6, label="middle 50 %")
        ax.plot(self.means, places, "o", ms=4, color=INK, label="mean")
        name_rows(ax, rows)
        ax.set(xlim=(0, None), xlabel=self.label)
        legend_above(ax)


def _lists_title(lists: CertifiedNeighbours, rows: str) -> str:
    """Name some certified lists, and the shifts beside which they are certified."""
    shifts = "any shift" if lists.max_shift is None else f"shifts up to {lists.max_shift:.3g}"
    return f"top {lists.n} lists of {len(lists.rows):,} {rows}{'' if lists.max_shift == 0 else f', beside {shifts}'}"


@dataclass(frozen=True, eq=False)
class CertifiedCurveDisplay(Display):
    """The certified curve of a model, with attacks from the other side.

    Parameters
    ----------
    kappas : array of shape (m,)
        Condition numbers.
    certified : array of shape (m,)
        Share of list entries that no linear gauge of that condition displaces: a lower bound of what stays.
    attack_kappas, survived : array of shape (a,)
        Budgets of attacks and the share of entries each left in place: upper bounds of what stays.
    title : str
        Name of the lists.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.ranges import certified_neighbours
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> CertifiedCurveDisplay.of(certified_neighbours(model, n=1), kappas=[1.1, 2.0]).certified.round(3)
    array([0.667, 0.667])
    """

    kappas: Floats
    certified: Floats
    attack_kappas: Floats = field(default_factory=lambda: np.empty(0))
    survived: Floats = field(default_factory=lambda: np.empty(0))
    title: str = ""
    CAPTION = "The share of neighbours that is certain to stay, against the condition number κ: {title}."

    @classmethod
    def of(cls, lists: CertifiedNeighbours, *, kappas: ArrayLike | None = None, attacks: Iterable[Attack] = ()) -> Self:
        """Compute the curve at some condition numbers (1 to 4 by default); attacks on other objectives are ignored."""
        from embaudit.attacks import Attack

        attacks = list(attacks)
        if not all(isinstance(attack, Attack) for attack in attacks):
            raise must_be("attacks", "a list of Attack", repr(attacks), "worst_gauge finds one")
        grid = np.geomspace(1, 4, 121) if kappas is None else np.asarray(kappas, dtype=np.float64)
        points = [
            (attack.group.max_condition, 1 - attack.achieved)  # type: ignore[attr-defined]
            for attack in attacks
            if attack.objective == "neighbours"
        ]
        budgets, survived = np.array(sorted(points)).reshape(-1, 2).T
        return cls(grid, lists.curve(grid), budgets, survived, _lists_title(lists, f"{lists.role} rows"))

    @classmethod
    def of_audit(cls, audit: Audit, *, role: Role | None = None) -> Self:
        """Take the lists that an audit certified against all gauges that are free, and the attacks on them.

        Raises
        ------
        InputError
            If no lists of that side were certified.
        """
        from embaudit.auditing.limits import holds_shifts

        limits, model = audit.evidence.limits, audit.evidence.model
        by_role = {each.role: each for each in limits.certificates if holds_shifts(model, each.role, each.group)}
        if not by_role or role not in (None, *by_role):
            raise must_be("role", "one of " + (", ".join(by_role) or "those with certified lists (none)"), repr(role))
        about = next(iter(by_role)) if audit.evidence.role not in by_role else audit.evidence.role
        certificate = by_role[about if role is None else role]
        attacks = [attack for attack in limits.attacks if attack.role == certificate.role]
        curve, rows = cls.of(certificate.certified, attacks=attacks), f"{model.title(certificate.role)}s"
        return replace(curve, title=_lists_title(certificate.certified, rows))

    def frame(self) -> pd.DataFrame:
        """Return one row a point: its kind ("certified" or "left by an attack"), κ and the share of entries."""
        import pandas as pd

        kinds = ["certified"] * len(self.kappas) + ["left by an attack"] * len(self.attack_kappas)
        kappas = np.concatenate([self.kappas, self.attack_kappas])
        return pd.DataFrame({"kind": kinds, "kappa": kappas, "share": np.concatenate([self.certified, self.survived])})

    def _draw(self, ax: Any) -> None:
        ax.plot(self.kappas, self.certified, color=BLUE, label="proven to stay")
        if len(self.attack_kappas):
            ax.plot(self.attack_kappas, self.survived, "v", color=RED, label="left by the worst gauge found")
        ax.set_title(self.title, fontsize="medium", gid=TITLE)
        ax.set(ylim=(-0.02, 1.02), xlabel="condition number κ of the gauge", ylabel="share of list entries")
        ax.legend(loc="upper right")


@dataclass(frozen=True, eq=False)
class RangeDisplay(Display):
    """The ranges of some pairs in order of their cosine.

    Parameters
    ----------
    before, lower, upper : array of shape (m,)
        The cosine of each pair and the ends of its range, in ascending order of `before`.
    title : str
        Name of the pairs and of the gauges.

    Examples
    --------
    >>> from embaudit.gauges import GeneralLinear
    >>> from embaudit.model import FactorModel
    >>> from embaudit.ranges import cosine_range
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> found = cosine_range(model, GeneralLinear(2, max_condition=2.0), pairs=[[0, 2], [0, 1]])
    >>> RangeDisplay.of(found).lower.round(3)
    array([-0.6  ,  0.186])
    """

    before: Floats
    lower: Floats
    upper: Floats
    title: str = ""
    CAPTION = "Cosines of pairs inside their exact ranges, in ascending order: {title}."

    @classmethod
    def of(cls, ranges: CosineRange, *, max_pairs: int = MOST_PAIRS) -> Self:
        """Take the ranges of pairs spread evenly over the cosines; pairs without a cosine are left out."""
        before = ranges.before
        defined = np.flatnonzero(~np.isnan(ranges.lower))
        order = defined[np.argsort(before[defined], kind="stable")]
        places = np.unique(np.linspace(0, max(len(order) - 1, 0), min(max_pairs, len(order))).round().astype(np.intp))
        pairs = order[places]
        budget = getattr(ranges.group, "max_condition", None)
        kind = type(ranges.group).__name__ + ("" if budget is None else f", κ ≤ {budget:g}")
        return cls(before[pairs], ranges.lower[pairs], ranges.upper[pairs], f"{ranges.role} pairs, {kind}")

    def frame(self) -> pd.DataFrame:
        """Return one row a pair: its cosine, and the ends of the range."""
        import pandas as pd

        return pd.DataFrame({"cosine": self.before, "lower": self.lower, "upper": self.upper})

    def _draw(self, ax: Any) -> None:
        place = np.arange(len(self.before))
        ax.vlines(place, self.lower, self.upper, color=BLUE, lw=1.0, alpha=0.5)
        ax.plot(place, self.before, ".", ms=3, color=INK, label="cosine of the model")
        ax.axhline(0, lw=0.5, color=SOFT)
        ax.set_title(self.title, fontsize="medium", gid=TITLE)
        ax.set(ylim=(-1.02, 1.02), xlabel="pairs in order of their cosine", ylabel="cosine with the same predictions")
        ax.legend(loc="upper left")


@dataclass(frozen=True, eq=False)
class PositionDisplay(Display):
    """Size of the gauge between a model and each exponent of the canonical family.

    Parameters
    ----------
    exponents, conditions : array of shape (m,)
        Exponents from 0 to 1, and the condition number of the gauge from the model to each.
    exponent, condition : float
        The nearest exponent and the condition number that remains there.
    title : str
        Size of the model.

    Examples
    --------
    >>> from embaudit.canonical import position
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_user_item(np.diag([9.0, 4.0, 1.0]), np.eye(3))
    >>> PositionDisplay.of(position(model), n_points=3).conditions.round(6)
    array([9., 3., 1.])
    """

    exponents: Floats
    conditions: Floats
    exponent: float
    condition: float
    title: str = ""
    CAPTION = "The size of the gauge from the model to each exponent of the canonical family: {title}."

    @classmethod
    def of(cls, where: Position, *, n_points: int = 41) -> Self:
        """Compute the curve at evenly spaced exponents."""
        exponents = np.linspace(0, 1, n_points)
        conditions = np.exp([log_condition(where.form, e) for e in exponents])
        users, items = where.roles
        n_left, n_right = where.form.left.n_rows, where.form.right.n_rows
        title = f"{n_left:,} {users}s × {n_right:,} {items}s, {where.rank} dimensions"
        return cls(exponents, conditions, where.exponent, float(np.exp(where.distance)), title)

    def frame(self) -> pd.DataFrame:
        """Return one row an exponent: it, and κ of the gauge that leads there."""
        import pandas as pd

        return pd.DataFrame({"exponent": self.exponents, "condition_number": self.conditions})

    def _draw(self, ax: Any) -> None:
        """Draw the curve on a logarithmic axis, and the nearest exponent."""
        from matplotlib.ticker import LogFormatter

        ax.plot(self.exponents, self.conditions, color=BLUE, label="gauge from the model")
        label = f"nearest: {self.exponent:.2f}, κ = {self.condition:.3g}"
        ax.plot([self.exponent], [self.condition], "o", color=RED, label=label)
        ax.set(yscale="log", xlabel="exponent", ylabel="condition number κ of the gauge")
        ax.set_title(self.title, fontsize="medium", gid=TITLE)
        ax.set_xticks(list(EXPONENTS.values()), [TICKS[e] for e in EXPONENTS.values()])
        # 3 instead of 3 × 10⁰, and nothing that would overlap.
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.5)))
        ax.legend(loc="best")


@dataclass(frozen=True, eq=False)
class BlockDisplay(Display):
    """Local cosines as bars whose width is their weight: the area is the global cosine.

    The weights add up to ρ, so the strip from ρ to 1 stays empty: it is what the two norm profiles cost.
    """

    MAX_NAMES: ClassVar[int] = 30
    CAPTION = "Local cosines over the weights of their blocks, the highest first: the area is the global cosine."

    cosines: Floats
    """Local cosines, highest first."""
    weights: Floats
    """Weights of the blocks, in the same order."""
    global_cosine: float
    mean_cosine: float
    norm_cosine: float
    names: list[str] | None = None
    """Names of the blocks, where they are few."""

    @classmethod
    def of(cls, blocks: BlockCosines) -> Self:
        """Take the blocks that have a weight, the highest cosine first."""
        weighted = np.flatnonzero(blocks.weights > 0)
        order = weighted[np.argsort(-blocks.cosines[weighted], kind="stable")]
        names = blocks.names[order] if len(order) <= cls.MAX_NAMES else None
        values = blocks.global_cosine, blocks.mean_cosine, blocks.norm_cosine
        return cls(blocks.cosines[order], blocks.weights[order], *values, names)

    def frame(self) -> pd.DataFrame:
        """Return one row a block, the highest cosine first: cosine, weight and, where these are shown, name."""
        import pandas as pd

        named = {} if self.names is None else {"name": list(self.names)}
        return pd.DataFrame({**named, "cosine": self.cosines, "weight": self.weights})

    def _draw(self, ax: Any) -> None:
        """Draw blocks as bars as wide as their weights, and lines for the means."""
        edges = np.concatenate([[0.0], np.cumsum(self.weights)])
        ax.stairs(self.cosines, edges, fill=True, color=BLUE, alpha=0.4, label="local cosines")
        ax.axvspan(self.norm_cosine, 1, color=LINE, label=f"norms differ: 1 − ρ = {1 - self.norm_cosine:.3g}")
        ax.axhline(self.mean_cosine, color=INK, linestyle="--", label=f"weighted mean {self.mean_cosine:.3f}")
        ax.axhline(self.global_cosine, color=RED, label=f"global {self.global_cosine:.3f}")
        if self.names is not None:
            self._write_names(ax, self.names, edges)
        ax.set(xlim=(0, 1), ylim=(min(0.0, float(self.cosines.min(initial=0))) - 0.05, 1.05))
        ax.set(xlabel="weight of the blocks, up to ρ", ylabel="cosine")
        legend_above(ax)

    def _write_names(self, ax: Any, names: list[str], edges: Floats) -> None:
        """Name the blocks that are wide enough to carry a name."""
        for name, cosine, left, right in zip(names, self.cosines, edges[:-1], edges[1:], strict=True):
            if right - left > 0.04:
                ax.text(
                    (left + right) / 2, cosine / 2, drawn(name), rotation=90, ha="center", va="center", fontsize="small"
                )


@dataclass(frozen=True, eq=False)
class SimpsonDisplay(Display):
    """The pooled line against the line of each group, over the rows."""

    MAX_GROUPS: ClassVar[int] = 12
    """Only so many groups, the largest, are named."""

    labels: tuple[str, str, str]
    """Names of x, y and the groups."""
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
    points: tuple[Floats, Floats, Indices] | None = None
    """Some rows: x, y, group."""

    @classmethod
    def of(cls, report: SimpsonReport, *, grouping: Grouping | str | None = None) -> Self:
        """Take one grouping of a report, the first by default."""
        if not report.groupings:
            raise must_be("a report to draw", "of at least one grouping", "none")
        by_name = {each.name: each for each in report.groupings}
        grouping = report.groupings[0] if grouping is None else grouping
        groups = by_name.get(grouping) if isinstance(grouping, str) else grouping
        if not isinstance(groups, type(report.groupings[0])):
            raise must_be("grouping", "one of " + ", ".join(by_name), repr(grouping))
        m, sample = groups.moments, groups.sample
        return cls(
            labels=(*(report.titles or (report.x, report.y)), groups.name),
            levels=groups.levels,
            n=m.n,
            means=(m.mean_x, m.mean_y),
            spreads=(m.sxx / m.n) ** 0.5,
            slopes=m.slope,
            pooled_slope=groups.pooled.slope,
            title=f"{groups.kind}: r {groups.pooled.r:+.2f} pooled, {groups.within.r:+.2f} within",
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
            x = self.points[0][self.points[2] == group]
            if len(x):
                return np.array([x.min(), x.max()])
        return np.asarray(self.means[0][group] + np.array([-1.5, 1.5]) * self.spreads[group])

    def frame(self) -> pd.DataFrame:
        """Return one row a group: its rows, means, the standard deviation of x, and the slope of its line."""
        import pandas as pd

        x, y = self.means
        columns = {"n": self.n, "mean_x": x, "mean_y": y, "std_x": self.spreads, "slope": self.slopes}
        return pd.DataFrame({"group": list(self.levels), **columns})

    @property
    def caption(self) -> str:
        """Sentence on the lines and their names."""
        x, y, groups = (cut(visible(label), LONGEST) for label in self.labels)
        return (
            f"{y} on {x}: the line of all rows, dashed, and that of each group by {groups}. {self.title.capitalize()}."
        )

    def _draw(self, ax: Any) -> None:
        """Draw rows, the line of each group and that of all rows."""
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
