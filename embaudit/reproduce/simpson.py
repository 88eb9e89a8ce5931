"""Local and global cosine, and Simpson's paradox: what every part shares, the whole need not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from embaudit.blocks import block_cosines
from embaudit.core.checked import Floats, as_count
from embaudit.core.plain import plain_dict
from embaudit.core.words import two_decimals
from embaudit.reproduce.pictures import (
    BLUE,
    INK,
    ORANGE,
    RED,
    PaperFigure,
    new_figure,
    rounded,
    styled,
)
from embaudit.simpson import simpson as compare_groups

X, Y = (1.0, 1.0), (1.0, 2.0)
"""The example of the source: local cosines 1, global 3/√10."""
LOCAL = (1.0, 0.5, -0.5)
"""The local cosines that the sweep holds fixed."""
SLOPE, SPREAD, STEP = 0.8, 0.45, 2.0
"""Inside a group y rises with x; from one group to the next it falls."""


@dataclass(frozen=True, eq=False)
class SimpsonFigure(PaperFigure):
    """The example, the sweep and the reversal in numbers."""

    NAME = "simpson"
    TABLES = ("sweep", "groups", "points")

    seed: int
    example: pd.DataFrame
    """One row a block of x = (1, 1), y = (1, 2): local cosine, weight, contribution."""
    global_cosine: float
    norm_cosine: float
    """ρ of the example: the cosine of the two profiles of block norms."""
    sweep: pd.DataFrame
    """Global cosine against the ratio of block norms, for fixed local cosines."""
    points: pd.DataFrame
    """x, y and the group of every point of the reversal."""
    groups: pd.DataFrame
    """One row a group, and one for all together: size, r, slope, and the two terms of the covariance."""

    x: ClassVar = X
    y: ClassVar = Y

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "figure": self.NAME,
                "embaudit_version": self.embaudit_version,
                "caption": self.caption,
                "seed": self.seed,
                "example": {
                    "x": self.x,
                    "y": self.y,
                    "global_cosine": self.global_cosine,
                    "norm_cosine": self.norm_cosine,
                    "blocks": self.example,
                },
                "sweep": self.sweep,
                "groups": self.groups,
                "points": self.points,
            }
        )

    def __repr__(self) -> str:
        return f"SimpsonFigure(global cosine {self.global_cosine:.4f}, {len(self.points)} points, seed {self.seed})"

    @property
    def caption(self) -> str:
        """Describe the figure in the numbers of the tables."""
        last = self.sweep[self.sweep["local_cosine"] == 1.0].iloc[-1]
        whole = self.groups.iloc[-1]
        inside = " and ".join(two_decimals(r) for r in self.groups["r"].iloc[:-1])
        return (
            f"x = (1, 1) and y = (1, 2) agree in every block (local cosines 1), yet their global cosine is "
            f"{self.global_cosine:.4f}. With block norms in ratio {last['ratio']:,.0f} it is "
            f"{last['global_cosine']:.4f}: fixed local cosines do not keep it from 0. In grouped data r is {inside} "
            f"inside the groups and "
            f"{two_decimals(whole['r'])} over all."
        )

    @styled
    def plot(self) -> Any:
        """Draw the two vectors, the global cosine against the ratio of norms, and the groups."""
        figure = new_figure(10.5, 3.5)
        first, second, third = figure.subplots(1, 3)
        at, example = np.arange(len(self.example)), self.example
        first.bar(at - 0.18, example["x"], 0.34, color=BLUE, label="x")
        first.bar(
            at + 0.18,
            example["y"],
            0.34,
            color=ORANGE,
            hatch="//",
            edgecolor="white",
            linewidth=0,
            label="y",
        )
        first.set_xticks(
            at,
            labels=[
                f"block {i + 1}\nlocal cosine {c:g}"
                for i, c in enumerate(example["cosine"])
            ],
        )
        first.set(
            ylabel="entry",
            ylim=(0, 2.5),
            title=f"every block agrees, global cosine {self.global_cosine:.4f}",
        )
        first.legend(loc="upper left", frameon=False, ncols=2)

        for (local, members), style in zip(
            self.sweep.groupby("local_cosine", sort=False),
            ("-", "--", ":"),
            strict=True,
        ):
            line = {"color": INK, "linewidth": 1.5, "label": f"local cosines {local:g}"}
            second.plot(members["ratio"], members["global_cosine"], style, **line)
        second.axhline(0, color="#999999", linewidth=0.7)
        second.set(
            xscale="log",
            xlabel="ratio of block norms, opposite in x and y",
            ylabel="global cosine",
        )
        second.set_title("norms alone drive it to 0")
        second.legend(loc="upper right", frameon=False)

        points = self.points
        groups: Any = self.groups.set_index("group")
        for (name, members), colour, marker in zip(
            points.groupby("group"), (BLUE, ORANGE), ("o", "s"), strict=True
        ):
            label = f"group {name}: r = {two_decimals(groups.loc[name, 'r'])}"
            dots = {
                "s": 13,
                "color": colour,
                "marker": marker,
                "alpha": 0.75,
                "linewidths": 0,
                "label": label,
            }
            third.scatter(members["x"], members["y"], **dots)
            third.plot(
                *_fitted_line(members, groups.loc[name, "slope"]),
                color=INK,
                linewidth=1.2,
            )
        whole = groups.loc["all"]
        dashed = {"color": RED, "linewidth": 1.8, "linestyle": "--"}
        third.plot(
            *_fitted_line(points, whole.slope),
            **dashed,
            label=f"all: r = {two_decimals(whole.r)}",
        )
        # Room for the legend above the points.
        room = points["y"].max() + 0.3 * np.ptp(points["y"])
        third.set(
            xlabel="x",
            ylabel="y",
            title="up inside each group, down over all",
            ylim=(None, room),
        )
        third.legend(loc="upper right", frameon=False)
        return figure


def _fitted_line(points: pd.DataFrame, slope: Any) -> tuple[Floats, Floats]:
    """Compute the ends of the least-squares line over the range of some points."""
    # It passes through the two means.
    ends = np.array([points["x"].min(), points["x"].max()])
    return ends, points["y"].mean() + slope * (ends - points["x"].mean())


def simpson(*, n_points: int = 80, seed: int = 0) -> SimpsonFigure:
    """Reproduce the local and global cosine, drive it to 0, and show a reversal between two groups.

    Global cosine = ρ × weighted mean of the local cosines, where ρ is the cosine of the two profiles of block norms.
    With norms (1, s) against (s, 1) it is `2s/(1 + s²)` times the local cosine: as small as one likes.

    Parameters
    ----------
    n_points : int
        Points of each group, at least 3.
    seed : int
        Of the points.

    Returns
    -------
    SimpsonFigure
        With `example`, `sweep`, `groups` and `points`; `plot()` and `save(out_dir)`.

    Raises
    ------
    InputError
        If `n_points` is below 3.

    References
    ----------
    Su, kexue.fm 9931, for the example; see `embaudit.block_cosines` and `embaudit.simpson` for the tools.

    Examples
    --------
    >>> figure = simpson()
    >>> round(figure.global_cosine, 4), figure.example["cosine"].tolist()
    (0.9487, [1.0, 1.0])
    """
    as_count(n_points, "n_points", least=3, most=1_000_000)
    compared = block_cosines(list(X), list(Y))
    example = compared.to_frame()[["cosine", "weight", "contribution"]].reset_index()
    # Norms (1, 1/s) and (1/s, 1): ρ is that of the two profiles; the local cosines are the same in both blocks.
    s = np.logspace(0, 4, 41)
    rho = 2 * s / (1 + s**2)
    sweep = [
        pd.DataFrame({"local_cosine": local, "ratio": s, "global_cosine": local * rho})
        for local in LOCAL
    ]
    # Inside a group y = 0.8 x + noise rises; the second group lies further right and twice as far down.
    rng, drawn = np.random.default_rng(as_count(seed, "seed", least=0)), []
    for i, name in enumerate("AB"):
        x = rng.standard_normal(n_points)
        y = SLOPE * x + SPREAD * rng.standard_normal(n_points)
        drawn.append(
            pd.DataFrame({"x": x + i * STEP, "y": y - 2 * i * STEP, "group": name})
        )
    points = pd.concat(drawn, ignore_index=True)
    report = compare_groups(points, x="x", y="y", groups="group", n_permutations=0)
    columns = ["n", "r", "slope", "covariance_within", "covariance_between"]
    groups = report.to_frame()[columns].reset_index()
    # The last row is all points together, with both terms of their covariance.
    whole = {
        "group": "all",
        "n": report.n_rows,
        "r": report.r_pooled,
        "slope": report.slope_pooled,
        "covariance_within": report.covariance_within,
        "covariance_between": report.covariance_between,
    }
    groups = pd.concat([groups, pd.DataFrame([whole])], ignore_index=True)
    return SimpsonFigure(
        seed=seed,
        example=rounded(example.assign(x=X, y=Y)),
        global_cosine=round(compared.global_cosine, 6),
        norm_cosine=round(compared.norm_cosine, 6),
        sweep=rounded(pd.concat(sweep, ignore_index=True)),
        points=rounded(points),
        groups=rounded(groups),
    )
