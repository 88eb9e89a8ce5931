"""Figures of results: each class holds the numbers of a figure, and draws them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from embaudit.attacks import Attack
from embaudit.auditing.audit import Audit
from embaudit.auditing.wording import is_head
from embaudit.canonical import identified_cosines, in_span
from embaudit.core.checked import (
    RNG,
    Floats,
    as_count,
    as_generator,
    require_one_of,
)
from embaudit.core.sizes import MOST_COUNT
from embaudit.core.ties import largest_first
from embaudit.core.tolerances import FLOAT32_TIE, TIE
from embaudit.core.words import counted, cut, visible
from embaudit.errors import must_be
from embaudit.linalg.pairs import draw_pairs
from embaudit.linalg.pairs import n_pairs as n_all_pairs
from embaudit.model import FactorModel, Pairs, Role, SideName
from embaudit.model.sizes import require_ordinary_size
from embaudit.movements import Movement
from embaudit.ranges import CertifiedNeighbours
from embaudit.report.display import (
    LONGEST,
    POINTS,
    TITLE,
    Display,
    Palette,
    RowDisplay,
    TableDisplay,
    drawn,
    legend_above,
    name_rows,
)

if TYPE_CHECKING:
    import pandas as pd

    from embaudit.blocks import BlockCosines
    from embaudit.simpson import SimpsonReport

SEEN = 1e-3
"""Parts of a stack below this share of the longest bar are not drawn."""
LEAST_AXIS = 0.1
"""Least length of the axis of stacks: a change of cosines by 0.01 counts as none."""
LEVELS = (0.05, 0.25, 0.75, 0.95)
"""Quantiles of a movement that are drawn."""
MOST_POINTS, MENU = 1_000, 22
"""Largest number of points or bars that are shapes of a file; more become pixels. And
the most characters of the name of a group.
"""
INKED = 2_000
"""Sum of the opacity of all points of pairs."""


@dataclass(frozen=True, eq=False)
class IntervalDisplay(RowDisplay):
    """Values of rows with intervals, compared with one level. Some rows are marked.

    Parameters
    ----------
    columns : mapping of str to array of shape (m,)
        `name`, `value`, the ends `low` and `high` of its interval (the value, where
        there is none), and `marked`, True for rows that stand out.
    key : (str, str)
        Names of the values and of the marked ones in the legend.
    label : str
        Name of the axis.
    level : (str, float), optional
        Name and value of what all are compared with.
    """

    key: tuple[str, str] = ("value", "marked")
    label: str = ""
    level: tuple[str, float] | None = None

    def _draw(self, ax: Any, palette: Palette) -> None:
        """Draw values, intervals and the level on the axes."""
        values, low, high, marked = (
            self.columns[name] for name in ("value", "low", "high", "marked")
        )
        places = np.arange(len(values))
        if self.level is not None:
            ax.axvline(
                self.level[1],
                color=palette["teal"],
                linestyle="--",
                label=self.level[0],
            )
        # Only where values have both signs is 0 a place that they can be compared with.
        if min(low) < 0 < max(high):
            ax.axvline(0, color=palette["soft"], lw=0.8)
        ax.hlines(places, low, high, color=palette["blue"], lw=2)
        # Marked rows differ by shape as well as by colour, for those who do not tell
        # the colours apart.
        for rows, sign, colour, name in zip(
            (~marked, marked),
            "oD",
            (palette["blue"], palette["red"]),
            self.key,
            strict=True,
        ):
            if rows.any():
                ax.plot(
                    values[rows], places[rows], sign, ms=6, color=colour, label=name
                )
        name_rows(ax, self.names)
        # The legend stands between the axes and the title.
        ax.set_title(self.title, fontsize="medium", gid=TITLE, pad=22)
        ax.set(xlabel=self.label)
        # Labels of three decimals with a sign are wide, and more of them would overlap.
        ax.locator_params(axis="x", nbins=6)
        legend_above(ax)


@dataclass(frozen=True, eq=False)
class StackDisplay(RowDisplay):
    """Wholes as bars, a row each, and their parts, one behind the other.

    Parameters
    ----------
    columns : mapping of str to array of shape (m,)
        `name`, and the size of each part in each whole, by the name of the part.
    colours : sequence of str
        Name of the colour of each part in a palette.
    label : str
        Name of the axis.

    Examples
    --------
    >>> for size in (0.00004, 0.4):
    ...     columns = {"name": ["items"], "remains": np.array([size])}
    ...     drawn = StackDisplay(columns, "change", ("blue",)).plot()
    ...     print(drawn.ax_.get_xlim()[1].round(2))
    0.1
    0.42
    """

    colours: Sequence[str] = ()
    label: str = ""

    def _draw(self, ax: Any, palette: Palette) -> None:
        """Draw the parts of each bar, on an axis that is not shorter than 0.1."""
        parts = {name: sizes for name, sizes in self.columns.items() if name != "name"}
        start, least = (
            np.zeros(len(self.names)),
            SEEN * np.sum(list(parts.values()), axis=0).max(),
        )
        for colour, (name, sizes) in zip(self.colours, parts.items(), strict=True):
            if sizes.max() > least:
                ax.barh(
                    range(len(self.names)),
                    sizes,
                    0.6,
                    left=start,
                    color=palette[colour],
                    label=name,
                )
            start = start + sizes
        name_rows(ax, self.names)
        # An axis of its own scale would draw a change that nobody notices as a long
        # bar.
        ax.set(xlim=(0, max(LEAST_AXIS, 1.05 * start.max())), xlabel=self.label)
        legend_above(ax)


@dataclass(frozen=True, eq=False)
class MovementDisplay(RowDisplay):
    """The mean, the middle 50 % and the middle 90 % of |Δcos| over pairs.

    Each name has a row, which models of the same name share.

    Parameters
    ----------
    columns : mapping of str to array of shape (m,)
        `model`, the name of an equivalent model, its `mean` |Δcos|, and quantiles of
        it, `q0.05` to `q0.95`.
    label : str
        Name of the axis.

    Examples
    --------
    >>> from embaudit.gauges import Gauge
    >>> from embaudit.model import FactorModel
    >>> from embaudit.movements import movement
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> stretched = Gauge.diagonal([1.0, 4.0]).act(model)
    >>> display = MovementDisplay.from_movement(movement(model, stretched))
    >>> display.columns["mean"].round(3)
    array([0.277])

    The axis of a model that moves nothing reaches to 1.

    >>> MovementDisplay.from_movement(movement(model, model)).plot().ax_.get_xlim()
    (np.float64(0.0), np.float64(1.0))
    """

    label: str = ""

    @classmethod
    def from_movement(cls, movement: Movement) -> Self:
        """Show one movement."""
        return cls._of_rows([""], [movement], movement.role)

    @classmethod
    def of_audit(cls, audit: Audit, *, role: Role | None = None) -> Self:
        """Show the movement to every equivalent model, by default of the first role."""
        evidence = audit.evidence
        roles = (
            [record.role for record in evidence.movement[0]]
            if evidence.movement
            else []
        )
        if role is not None or not roles:
            require_one_of(role, "role", roles)
        index = 0 if role is None else roles.index(role)
        title = Pairs(roles[index]).titled(evidence.model)
        moves = [records[index] for records in evidence.movement]
        return cls._of_rows([e.name for e in evidence.equivalents], moves, title)

    @classmethod
    def of_families(
        cls, families: Mapping[str, Sequence[Movement]], title: str
    ) -> Self:
        """Show the models of each family in one row. Skip models without a cosine."""
        rows = [
            (name, movement)
            for name, movements in families.items()
            for movement in movements
            if np.isfinite(movement.mean_abs)
        ]
        return cls._of_rows(
            [name for name, _ in rows], [each for _, each in rows], title
        )

    @classmethod
    def _of_rows(
        cls, names: Sequence[str], moves: Sequence[Movement], title: str
    ) -> Self:
        columns: dict[str, Any] = {
            "model": [*names],
            "mean": np.array([record.mean_abs for record in moves]),
        }
        columns |= {
            f"q{level:g}": np.array([record.quantiles[level] for record in moves])
            for level in LEVELS
        }
        about = (
            f"how far cosines of {title} pairs move, a row for each kind of equivalent "
            "model"
        )
        return cls(columns, about, f"|Δcos| of {title} pairs")

    def _draw(self, ax: Any, palette: Palette) -> None:
        """Draw the middle of the pairs of each model as bars, and its mean as a dot."""
        rows = list(dict.fromkeys(self.names))
        places = np.array([rows.index(name) for name in self.names])
        low, lower, upper, high = (self.columns[f"q{level:g}"] for level in LEVELS)
        # Models that lie over each other add up to about the colour of one.
        shades = [
            (palette["blue"], 0.6 / self.names.count(name) ** 0.7)
            for name in self.names
        ]
        ax.hlines(
            places, low, high, colors=shades, lw=1.2, label="middle 90 % of pairs"
        )
        ax.hlines(places, lower, upper, colors=shades, lw=6, label="middle 50 %")
        # A mean of 0 is a whole dot, half of it outside the axes.
        ax.plot(
            self.columns["mean"],
            places,
            "o",
            ms=4,
            color=palette["ink"],
            label="mean",
            clip_on=False,
        )
        name_rows(ax, rows)
        # On an axis of its own, rounding alone would look like a movement.
        ax.set(
            xlim=(0, None if high.max(initial=0) > FLOAT32_TIE else 1),
            xlabel=self.label,
        )
        legend_above(ax)


@dataclass(frozen=True, eq=False)
class CertifiedCurveDisplay(TableDisplay):
    """The certified curve of a model, with attacks from the other side.

    Columns are `kind` ("certified" or "left by an attack"), `kappa` and `share`: of
    list entries that no linear gauge of that condition displaces, a lower bound of what
    stays, and of those that an attack left, an upper bound.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.ranges import certified_neighbours
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> lists = certified_neighbours(model, n=1)
    >>> display = CertifiedCurveDisplay.from_neighbours(lists, kappas=[1.1, 2.0])
    >>> display.columns["share"].round(3)
    array([0.667, 0.667])
    """

    CAPTION = (
        "The share of neighbours that is certain to stay, against the condition number "
        "κ: {title}."
    )

    @classmethod
    def from_neighbours(
        cls,
        lists: CertifiedNeighbours,
        *,
        kappas: ArrayLike | None = None,
        attacks: Iterable[Attack] = (),
        rows: str = "",
    ) -> Self:
        """Compute the curve at condition numbers, by default from 1 to 4.

        Attacks on objectives other than neighbour lists are ignored.
        """
        from embaudit.attacks import Attack

        attacks = list(attacks)
        if not all(isinstance(attack, Attack) for attack in attacks):
            raise must_be(
                "attacks", "a list of Attack", repr(attacks), "worst_gauge finds one"
            )
        # κ is a ratio: the grid is even in its logarithm.
        grid = (
            np.geomspace(1, 4, 121)
            if kappas is None
            else np.asarray(kappas, dtype=np.float64)
        )
        on_lists = [attack for attack in attacks if attack.objective == "neighbours"]
        # Every gauge of an attack is within the budget of its group.
        points = sorted(
            (attack.group.max_condition, 1 - attack.achieved) for attack in on_lists
        )
        # The shape makes two empty columns where there is no attack.
        budgets, survived = np.array(points).reshape(-1, 2).T
        columns = {
            "kind": np.repeat(
                ["certified", "left by an attack"], [len(grid), len(points)]
            ),
            "kappa": np.concatenate([grid, budgets]),
            "share": np.concatenate([lists.curve(grid), survived]),
        }
        shifts = (
            "any shift"
            if lists.max_shift is None
            else f"shifts up to {lists.max_shift:.3g} in the rows' units"
        )
        beside = "" if lists.max_shift == 0 else f", {shifts}"
        row_title = rows or f"{lists.role} rows"
        title = f"top {lists.n} lists of {len(lists.rows):,} {row_title}{beside}"
        return cls(columns, title)

    @classmethod
    def of_audit(cls, audit: Audit, *, role: Role | None = None) -> Self:
        """Take the certified lists of an audit, and the attacks on these lists.

        Raises
        ------
        InputError
            If no lists of that side were certified.
        """
        from embaudit.auditing.limits import holds_shifts

        limits, model = audit.evidence.limits, audit.evidence.model
        by_role = {
            certificate.role: certificate
            for certificate in limits.certificates
            if holds_shifts(model, certificate.role, certificate.group)
        }
        if not by_role or role not in (None, *by_role):
            raise must_be(
                "role",
                "a role with certified lists: "
                + (", ".join(by_role) or "the audit has no such role"),
                repr(role),
            )
        # The side that the answer speaks of, or the first with certified lists where
        # that one has none.
        about = (
            next(iter(by_role))
            if audit.evidence.role not in by_role
            else audit.evidence.role
        )
        certificate = by_role[about if role is None else role]
        attacks = [
            attack for attack in limits.attacks if attack.role == certificate.role
        ]
        return cls.from_neighbours(
            certificate.certified,
            attacks=attacks,
            rows=f"{model.title(certificate.role)}s",
        )

    def _draw(self, ax: Any, palette: Palette) -> None:
        proven = self.columns["kind"] == "certified"
        kappas, shares = self.columns["kappa"], self.columns["share"]
        ax.plot(
            kappas[proven],
            shares[proven],
            color=palette["blue"],
            label="proven to stay",
        )
        if not proven.all():
            ax.plot(
                kappas[~proven],
                shares[~proven],
                "v",
                color=palette["red"],
                label="left by the worst gauge found",
            )
        ax.set_title(self.title, fontsize="medium", gid=TITLE)
        ax.set(
            ylim=(-0.02, 1.02),
            xlabel="condition number κ of the gauge",
            ylabel="share of list entries",
        )
        ax.legend(loc="upper right")


@dataclass(frozen=True, eq=False)
class BlockDisplay(TableDisplay):
    """Local cosines as bars whose width is their weight: the area is the global cosine.

    Columns are `cosine`, the highest first, `weight` and, where blocks are few, `name`.
    The weights add up to ρ, so the strip from ρ to 1 stays empty: it is what the two
    norm profiles cost.

    Parameters
    ----------
    means : (float, float, float)
        Global cosine, weighted mean of the local ones, and cosine of the norm profiles
        (ρ).
    """

    MAX_NAMES: ClassVar[int] = 30
    CAPTION = (
        "Local cosines over the weights of their blocks, the highest first: the area "
        "is the global cosine."
    )

    means: tuple[float, float, float] = (1.0, 1.0, 1.0)

    @classmethod
    def from_blocks(cls, blocks: BlockCosines) -> Self:
        """Take the blocks that have a weight, the highest cosine first."""
        # A block without weight would be a bar without width.
        weighted = np.flatnonzero(blocks.weights > 0)
        order = weighted[largest_first(blocks.cosines[weighted], TIE)]
        columns: dict[str, Any] = {}
        if len(order) <= cls.MAX_NAMES:
            columns["name"] = [blocks.names[block] for block in order]
        columns["cosine"] = blocks.cosines[order]
        columns["weight"] = blocks.weights[order]
        return cls(
            columns,
            means=(blocks.global_cosine, blocks.mean_cosine, blocks.norm_cosine),
        )

    def _draw(self, ax: Any, palette: Palette) -> None:
        """Draw blocks as bars of the width of their weights, and the means as lines."""
        cosines, (overall, mean, norm_cosine) = self.columns["cosine"], self.means
        # Each bar begins where the one before it ends, so the areas add up to Σ weight
        # · cosine.
        edges = np.concatenate([[0.0], np.cumsum(self.columns["weight"])])
        ax.stairs(
            cosines,
            edges,
            fill=True,
            color=palette["blue"],
            alpha=0.4,
            label="local cosines",
            # A vector picture of thousands of bars would be slow to open.
            rasterized=len(cosines) > MOST_POINTS,
        )
        ax.axvspan(
            norm_cosine,
            1,
            color=palette["line"],
            label=f"norms differ: 1 − ρ = {1 - norm_cosine:.3g}",
        )
        ax.axhline(
            mean,
            color=palette["ink"],
            linestyle="--",
            label=f"weighted mean {mean:.4f}",
        )
        ax.axhline(overall, color=palette["red"], label=f"global {overall:.4f}")
        if "name" in self.columns:
            for name, cosine, left, right in zip(
                self.columns["name"], cosines, edges[:-1], edges[1:], strict=True
            ):
                # A narrower bar has no room for a line of text.
                if right - left > 0.04:
                    place = ((left + right) / 2, cosine / 2)
                    ax.text(
                        *place,
                        drawn(name),
                        rotation=90,
                        ha="center",
                        va="center",
                        fontsize="small",
                    )
        ax.set(xlim=(0, 1), ylim=(min(0.0, float(cosines.min(initial=0))) - 0.05, 1.05))
        ax.set(xlabel="weight of the blocks, up to ρ", ylabel="cosine")
        legend_above(ax)


@dataclass(frozen=True, eq=False)
class SimpsonDisplay(Display):
    """The line of all rows against the line of each group.

    Parameters
    ----------
    report : SimpsonReport
    draws_rows : bool
        Whether the sampled rows of the report are drawn, too.
    """

    MAX_GROUPS: ClassVar[int] = 12
    """Largest number of groups that the legend names; these are the largest ones."""

    report: SimpsonReport
    draws_rows: bool = True

    @property
    def title(self) -> str:
        """Kind of the reversal, with both correlations."""
        pooled, within = self.report.r_pooled, self.report.r_within
        return f"{self.report.kind}: r {pooled:+.2f} pooled, {within:+.2f} within"

    @property
    def caption(self) -> str:
        """Sentence on the lines and their names."""
        x = cut(visible(self.report.x), LONGEST)
        y = cut(visible(self.report.y), LONGEST)
        groups = cut(visible(self.report.name), LONGEST)
        return (
            f"{y} on {x}: the line of all {self.report.row_noun}s (dashed) and the "
            f"line of each group by {groups}. {self.title.capitalize()}."
        )

    def frame(self) -> pd.DataFrame:
        """Return one row per group: its size, means, spread of x, and slope."""
        columns = ["n", "mean_x", "mean_y", "std_x", "slope"]
        groups = self.report.by_group[columns].reset_index(drop=True)
        groups.insert(0, "group", list(self.report.by_group.index))
        return groups

    def _reach(self, code: int) -> Floats:
        """Return the ends of the line of a group.

        They are the ends of its rows that are drawn, or 1.5 standard deviations on
        either side of its mean.
        """
        if self.draws_rows and self.report.sample is not None:
            rows = self.report.sample
            x = rows["x"][rows["code"] == code]
            if len(x):
                return np.array([x.min(), x.max()])
        group = self.report.by_group.iloc[code]
        reach: Floats = group["mean_x"] + np.array([-1.5, 1.5]) * group["std_x"]
        return reach

    def _draw(self, ax: Any, palette: Palette) -> None:
        """Draw the rows, the line of each group, and the line of all rows."""
        import matplotlib as mpl

        groups = self.report.by_group
        n = groups["n"].to_numpy()
        # The palette of twenty colours has ten hues in two shades, so up to ten groups
        # are easier to tell apart in the palette of ten.
        colours = mpl.colormaps["tab10" if len(groups) <= 10 else "tab20"]
        if self.draws_rows and self.report.sample is not None:
            rows = self.report.sample
            ax.scatter(
                rows["x"],
                rows["y"],
                s=9,
                alpha=0.35,
                c=[colours(code % 20) for code in rows["code"]],
                linewidths=0,
                # A vector picture of thousands of points would be slow to open.
                rasterized=len(rows) > MOST_POINTS,
            )
        reach = [self._reach(code) for code in range(len(groups))]
        largest_first = np.argsort(-n, kind="stable")
        for rank, code in enumerate(largest_first.tolist()):
            group = groups.iloc[code]
            # A group in which x does not vary has no slope, and no line.
            if np.isnan(group["slope"]):
                continue
            label = None
            if rank < self.MAX_GROUPS:
                label = f"{drawn(str(groups.index[code]), MENU)} ({n[code]:,})"
            ax.plot(
                reach[code],
                group["mean_y"] + group["slope"] * (reach[code] - group["mean_x"]),
                color=colours(code % 20),
                linewidth=2,
                label=label,
            )
        # The pooled line runs through the means of all rows.
        mean_x = np.average(groups["mean_x"], weights=n)
        mean_y = np.average(groups["mean_y"], weights=n)
        ends = np.array([np.min(reach), np.max(reach)])
        ax.plot(
            ends,
            mean_y + self.report.slope_pooled * (ends - mean_x),
            color=palette["ink"],
            linestyle="--",
            linewidth=2,
            label=f"all {self.report.row_noun}s",
        )
        ax.set(xlabel=drawn(self.report.x), ylabel=drawn(self.report.y))
        ax.set_title(self.title, fontsize="medium", gid=TITLE)
        ax.legend(
            title=drawn(self.report.name, MENU),
            fontsize="small",
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
        )


def predicted_word(model: FactorModel, role: Role) -> str:
    """Return the name of the cosine of predictions.

    Labels of a softmax head have logit cosines. Items of two towers with a softmax
    have prediction cosines, as items of other models do.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> head = FactorModel.from_softmax([[1.0], [2.0]], embeddings=[[1.0]])
    >>> predicted_word(head, "right"), predicted_word(head, "left")
    ('logit cosine', 'prediction cosine')
    """
    if role == "right" and is_head(model):
        return "logit cosine"
    return "prediction cosine"


def shown_side(audit: Audit) -> SideName:
    """Return the side whose neighbours are shown."""
    return "left" if audit.options.role == "left" else "right"


@dataclass(frozen=True, eq=False)
class PredictionDisplay(TableDisplay):
    """Pairs of one side by the cosine at hand and by their prediction cosine.

    Parameters
    ----------
    columns : mapping of str to array of shape (m,)
        The rows of each pair, `first` and `second`, its `cosine` at hand, and its
        `prediction_cosine` (`logit_cosine`).
    title : str
        Name and number of the pairs.
    word : str
        "prediction cosine", or "logit cosine" of a softmax head.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> users, items = [[2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, -1.0], [0.0, 0.0]]
    >>> model = FactorModel.from_user_item(users, items)
    >>> PredictionDisplay.from_model(model).frame().round(9)
       first  second  cosine  prediction_cosine
    0      0       1     0.0                0.6
    """

    SIZE: ClassVar[tuple[float, float]] = (5.2, 4.4)

    word: str = "prediction cosine"

    @classmethod
    def from_model(
        cls,
        model: FactorModel,
        *,
        role: Role | str = "right",
        n_pairs: int = 100_000,
        rng: RNG = 0,
    ) -> Self:
        """Take all pairs of a side, or so many drawn ones where there are more.

        Raises
        ------
        InputError
            If the other side is missing, or the side has fewer than two rows with a
            direction.
        """
        side = model.side_name(role)
        require_ordinary_size(model)
        size = as_count(n_pairs, "n_pairs", most=MOST_COUNT)
        # Rows about which anybody asks, and that have a direction.
        rows = model.side(side).eligible_rows
        rows = rows[model.side(side).norms[rows] > 0]
        if len(rows) < 2:
            title = f"{model.title(side)} factors"
            raise must_be(
                title, "two or more nonzero rows", counted(len(rows), "nonzero row")
            )
        pairs = rows[draw_pairs(len(rows), size, rng=as_generator(rng))]
        model = in_span(model)
        predicted = identified_cosines(model, role=side, pairs=pairs)
        # A row that no prediction depends on has no such cosine; its pairs are counted
        # and left out.
        defined = ~np.isnan(predicted)
        kind, word = Pairs(side).titled(model), predicted_word(model, side)
        first, second = pairs[defined].T
        columns = {
            "first": first,
            "second": second,
            "cosine": model.cosines(side, pairs[defined]),
        }
        n_all, n_undefined = n_all_pairs(len(rows)), int((~defined).sum())
        some = (
            f"all {len(pairs):,}"
            if len(pairs) == n_all
            else f"a sample of {len(pairs):,} of {n_all:,}"
        )
        without = f", {n_undefined:,} without a {word} left out" if n_undefined else ""
        columns[word.replace(" ", "_")] = predicted[defined]
        return cls(columns, f"{some} {kind} pairs{without}", word)

    @classmethod
    def of_audit(
        cls, audit: Audit, *, role: Role | str | None = None, n_pairs: int = 100_000
    ) -> Self:
        """Draw pairs of the audited model by the seed of the audit.

        By default they are pairs of the side that the answer is about.
        """
        about = audit.evidence.role if audit.evidence.role != "cross" else "right"
        side = about if role is None else role
        return cls.from_model(
            audit.model, role=side, n_pairs=n_pairs, rng=audit.evidence.seed
        )

    @property
    def _cosines(self) -> tuple[Floats, Floats]:
        """Stored cosines, and prediction cosines."""
        *_, cosines, predicted = self.columns.values()
        return cosines, predicted

    @property
    def correlation(self) -> float:
        """Pearson's r of the two cosines; NaN if one of them does not vary."""
        cosines, predicted = self._cosines
        if len(cosines) < 2 or min(np.ptp(cosines), np.ptp(predicted)) == 0:
            return float("nan")
        return float(np.corrcoef(cosines, predicted)[0, 1])

    @property
    def caption(self) -> str:
        """Sentence on the pairs and their correlation."""
        r = (
            ""
            if np.isnan(self.correlation)
            else f" Pearson's r of these is {self.correlation:.2f}."
        )
        return f"Your cosine against {self.word}: {self.title}.{r}"

    def _draw(self, ax: Any, palette: Palette) -> None:
        """Draw the pairs as points, and the diagonal on which both cosines agree.

        The more points there are, the more transparent they are.
        """
        cosines, predicted = self._cosines
        ax.plot(
            [-1, 1],
            [-1, 1],
            color=palette["soft"],
            linestyle="--",
            linewidth=0.8,
            zorder=0,
        )
        # A vector picture of thousands of points would be slow to open.
        dense, alpha = (
            len(cosines) > MOST_POINTS,
            float(np.clip(INKED / max(1, len(cosines)), 0.03, 0.5)),
        )
        ax.scatter(
            predicted,
            cosines,
            s=8,
            color=POINTS,
            alpha=alpha,
            linewidths=0,
            rasterized=dense,
        )
        r = (
            ""
            if np.isnan(self.correlation)
            else f"\nPearson's r of these {self.correlation:.2f}"
        )
        ax.set_title(f"{self.title}{r}", fontsize="medium", gid=TITLE)
        ends, ticks = (-1.03, 1.03), (-1, -0.5, 0, 0.5, 1)
        ax.set(xlim=ends, ylim=ends, xticks=ticks, yticks=ticks, aspect="equal")
        ax.set(xlabel=self.word, ylabel="your cosine")
