"""Local and global cosine, and Simpson's paradox: parts agree, the whole does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from embaudit.blocks import BlockCosines, block_cosines
from embaudit.core.checked import as_count
from embaudit.core.words import two_decimals
from embaudit.reproduce.pictures import (
    BLUE,
    INK,
    ORANGE,
    RED,
    PaperFigure,
    new_picture,
    rounded,
)
from embaudit.simpson import simpson as compare_groups

X = (1.0, 1.0)
Y = (1.0, 2.0)
"""The example of the source: local cosines 1, global cosine 3/√10."""
LOCAL_COSINES = (1.0, 0.5, -0.5)
"""Local cosines that the sweep holds fixed."""
SLOPE_WITHIN = 0.8
"""Rise of y per unit of x within a group."""
NOISE = 0.45
"""Standard deviation of y around the line of its group."""
GROUP_SHIFT = (2.0, -4.0)
"""Shift of the second group in x and in y: to the right of the first, and below it."""


@dataclass(frozen=True, eq=False)
class SimpsonFigure(PaperFigure):
    """The example, the sweep and the reversal in numbers.

    Examples
    --------
    >>> from embaudit.reproduce import simpson
    >>> figure = simpson()
    >>> round(figure.norm_cosine, 4), list(figure.tables)
    (0.9487, ['sweep', 'groups', 'points'])
    """

    NAME = "simpson"

    seed: int
    """Seed of the points."""
    example: pd.DataFrame
    """Local cosine, weight and contribution of each block of x = (1, 1), y = (1, 2)."""
    global_cosine: float
    """Cosine of x and y."""
    norm_cosine: float
    """Cosine ρ between the block norms of x and those of y."""
    sweep: pd.DataFrame
    """Global cosine against the ratio of block norms, for fixed local cosines."""
    points: pd.DataFrame
    """x, y and the group of every point of the reversal."""
    groups: pd.DataFrame
    """Size, r, slope and both parts of the covariance: one row per group, and one for
    all points together."""

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The sweep, the groups and the points."""
        return {"sweep": self.sweep, "groups": self.groups, "points": self.points}

    @property
    def _details(self) -> dict[str, Any]:
        example = {
            "x": X,
            "y": Y,
            "global_cosine": self.global_cosine,
            "norm_cosine": self.norm_cosine,
            "blocks": self.example,
        }
        return {"seed": self.seed, "example": example}

    def __repr__(self) -> str:
        return (
            f"SimpsonFigure(global cosine {self.global_cosine:.4f}, "
            f"{len(self.points)} points, seed {self.seed})"
        )

    @property
    def caption(self) -> str:
        """Describe the figure in the numbers of its tables."""
        last = self.sweep[self.sweep["local_cosine"] == 1.0].iloc[-1]
        *within, pooled = [two_decimals(r) for r in self.groups["r"]]
        return (
            "x = (1, 1) and y = (1, 2) agree in every block (local cosines 1), yet "
            f"their global cosine is {self.global_cosine:.4f}. With block norms in "
            f"ratio {last['ratio']:,.0f} it is {last['global_cosine']:.4f}: fixed "
            "local cosines do not keep it from 0. In grouped data r is "
            f"{' and '.join(within)} inside the groups and {pooled} over all."
        )

    def plot(self) -> Figure:
        """Draw the two vectors, the global cosine against the ratio, and the groups."""
        with new_picture(10.5, 3.5) as picture:
            first, second, third = picture.subplots(1, 3)
            self._draw_example(first)
            self._draw_sweep(second)
            self._draw_groups(third)
        return picture

    def _draw_example(self, ax: Axes) -> None:
        """Draw the entries of x and y in each block as bars."""
        block = np.arange(len(self.example))
        width = 0.34
        ax.bar(block - 0.18, self.example["x"], width, color=BLUE, label="x")
        ax.bar(
            block + 0.18,
            self.example["y"],
            width,
            color=ORANGE,
            hatch="//",
            edgecolor="white",
            linewidth=0,
            label="y",
        )
        names = [
            f"block {i + 1}\nlocal cosine {cosine:g}"
            for i, cosine in enumerate(self.example["cosine"])
        ]
        ax.set_xticks(block, labels=names)
        ax.set_ylim(0, 2.5)
        ax.set_ylabel("entry")
        ax.set_title(f"every block agrees, global cosine {self.global_cosine:.4f}")
        ax.legend(loc="upper left", frameon=False, ncols=2)

    def _draw_sweep(self, ax: Axes) -> None:
        """Draw the global cosine against the ratio of block norms."""
        lines = self.sweep.groupby("local_cosine", sort=False)
        for (local, line), style in zip(lines, ("-", "--", ":"), strict=True):
            ax.plot(
                line["ratio"],
                line["global_cosine"],
                style,
                color=INK,
                linewidth=1.5,
                label=f"local cosines {local:g}",
            )
        ax.axhline(0, color="#999999", linewidth=0.7)
        ax.set_xscale("log")
        ax.set_xlabel("ratio of block norms, opposite in x and y")
        ax.set_ylabel("global cosine")
        ax.set_title("norms alone drive it to 0")
        ax.legend(loc="upper right", frameon=False)

    def _draw_groups(self, ax: Axes) -> None:
        """Draw the points with the line of each group and the line of all points."""
        rows: Any = self.groups.set_index("group")
        styles = [(BLUE, "o"), (ORANGE, "s")]
        groups = self.points.groupby("group")
        for (name, members), (colour, marker) in zip(groups, styles, strict=True):
            row = rows.loc[name]
            ax.scatter(
                members["x"],
                members["y"],
                s=13,
                color=colour,
                marker=marker,
                alpha=0.75,
                linewidths=0,
                label=f"group {name}: r = {two_decimals(row.r)}",
            )
            _draw_line(ax, members, row.slope, color=INK, linewidth=1.2)
        pooled = rows.loc["all"]
        _draw_line(
            ax,
            self.points,
            pooled.slope,
            color=RED,
            linewidth=1.8,
            linestyle="--",
            label=f"all: r = {two_decimals(pooled.r)}",
        )
        # The legend stands above the points.
        y = self.points["y"]
        ax.set_ylim(top=y.max() + 0.3 * (y.max() - y.min()))
        ax.set_xlabel("x")
        ax.set_ylabel("y")
        ax.set_title("up inside each group, down over all")
        ax.legend(loc="upper right", frameon=False)


def _draw_line(ax: Axes, points: pd.DataFrame, slope: float, **style: Any) -> None:
    """Draw the least-squares line of this slope, which passes through the means."""
    x = np.array([points["x"].min(), points["x"].max()])
    y = points["y"].mean() + slope * (x - points["x"].mean())
    ax.plot(x, y, **style)


def simpson(*, n_points: int = 80, seed: int = 0) -> SimpsonFigure:
    """Show local cosines that a global one denies, and groups that the whole denies.

    The global cosine is ρ times the weighted mean of the local cosines, where ρ is the
    cosine between the block norms of x and those of y. For norms (1, s) and (s, 1) ρ is
    `2s / (1 + s²)`, so the global cosine tends to 0 for any local cosines.

    Parameters
    ----------
    n_points : int
        Points of each of the two groups, at least 3.
    seed : int
        Seed of the points.

    Returns
    -------
    SimpsonFigure
        With `example`, `sweep`, `groups` and `points`; `plot()` and `save(out_dir)`.

    Raises
    ------
    InputError
        If `n_points` is below 3, or `seed` is below 0.

    References
    ----------
    Su, kexue.fm 9931, for the example; see `embaudit.block_cosines` and
    `embaudit.simpson` for the tools.

    Examples
    --------
    >>> figure = simpson()
    >>> round(figure.global_cosine, 4), figure.example["cosine"].tolist()
    (0.9487, [1.0, 1.0])
    """
    as_count(n_points, "n_points", least=3, most=1_000_000)
    as_count(seed, "seed", least=0)
    compared = block_cosines(list(X), list(Y))
    points = _grouped_points(n_points, np.random.default_rng(seed))
    return SimpsonFigure(
        seed=seed,
        example=rounded(_example_table(compared)),
        global_cosine=round(compared.global_cosine, 6),
        norm_cosine=round(compared.norm_cosine, 6),
        sweep=rounded(_norm_sweep()),
        points=rounded(points),
        groups=rounded(_group_table(points)),
    )


def _example_table(compared: BlockCosines) -> pd.DataFrame:
    """Tabulate the blocks of the example with their entries."""
    columns = ["cosine", "weight", "contribution"]
    table = compared.to_frame()[columns].reset_index()
    return table.assign(x=X, y=Y)


def _norm_sweep() -> pd.DataFrame:
    """Compute the global cosine for block norms (1, s) and (s, 1), over s."""
    s = np.logspace(0, 4, 41)
    # The norms (1, s) and (s, 1) have the cosine ρ = 2 s / (1 + s²).
    rho = 2 * s / (1 + s**2)
    parts = [
        pd.DataFrame({"local_cosine": local, "ratio": s, "global_cosine": local * rho})
        for local in LOCAL_COSINES
    ]
    return pd.concat(parts, ignore_index=True)


def _grouped_points(n_points: int, rng: np.random.Generator) -> pd.DataFrame:
    """Draw two groups in which y rises with x, the second to the right and below."""
    parts = []
    for i, name in enumerate("AB"):
        x = rng.standard_normal(n_points)
        y = SLOPE_WITHIN * x + NOISE * rng.standard_normal(n_points)
        shift_x, shift_y = GROUP_SHIFT
        part = {"x": x + i * shift_x, "y": y + i * shift_y, "group": name}
        parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)


def _group_table(points: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the association in each group, and over all points in the last row."""
    report = compare_groups(points, x="x", y="y", groups="group", n_permutations=0)
    columns = ["n", "r", "slope", "covariance_within", "covariance_between"]
    groups = report.to_frame()[columns].reset_index()
    pooled = {
        "group": "all",
        "n": report.n_rows,
        "r": report.r_pooled,
        "slope": report.slope_pooled,
        "covariance_within": report.covariance_within,
        "covariance_between": report.covariance_between,
    }
    return pd.concat([groups, pd.DataFrame([pooled])], ignore_index=True)
