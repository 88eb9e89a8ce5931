"""The papers' figures, drawn with matplotlib from the tables of each figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from embaudit.core.words import two_decimals
from embaudit.report.matrix_panel import Scale, draw_matrix, name_groups
from embaudit.reproduce.pictures import styled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from embaudit.core.checked import Floats, Indices

# Okabe and Ito's colours, ordered so that neighbours also differ in lightness; each comes with a marker of its own.
BLUE, ORANGE, RED, INK = "#0072b2", "#e69f00", "#d55e00", "#222222"
COLOURS = (BLUE, ORANGE, "#000000", "#56b4e9", "#009e73", "#cc79a7", RED, "#f0e442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
NETFLIX_TITLES = {
    "g^1/2": r"Eq. 1, $D = g^{\,1/2}$",
    "identity": r"Eq. 1, $D = 1$ (symmetric)",
    "g^-1/2": r"Eq. 1, $D = g^{\,-1/2}$",
    "sigma^-1/2": r"Eq. 1, $D = \sigma^{\,-1/2}$",
    "Eq. 2": "Eq. 2",
}
NETFLIX_SCALE = Scale("cividis", -0.25, 1.0)
"""Cosines below are drawn alike: they are few, and the scale serves the many."""
MAX_NAME_LENGTH = 14
"""Characters of the name of a cluster at most."""
NIELSEN_TITLES = {
    "given": "as given",
    "made opposite": "labels 0 and 1 made opposite",
    "made parallel": "… made parallel",
}


def _figure(width: float, height: float) -> Any:
    """Make a figure that no window manager and no global state knows of."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


@styled
def draw_netflix(
    cosines: Mapping[str, NDArray[Any]], clusters: Indices, numbers: pd.DataFrame, labels: Sequence[str] = ()
) -> Any:
    """Draw heatmaps of item-item cosines in one row, on one colour scale, after that of the clusters.

    Parameters
    ----------
    cosines : mapping of model to array of shape (p, p)
    clusters : array of shape (p,)
        Cluster of each row, one cluster after the other.
    numbers : DataFrame
        `NetflixFigure.numbers`.
    labels : sequence of str, optional
        Names of the clusters.
    """
    figure = _figure(13.0, 2.75)
    axes = figure.subplots(1, len(cosines) + 1)
    truth = (clusters[:, None] == clusters).astype(np.float32)
    draw_matrix(axes[0], truth, "first labels" if labels else "true clusters", clusters, NETFLIX_SCALE)
    axes[0].set_xlabel("same cluster: 1\ndifferent: 0")
    if labels:
        name_groups(axes[0], [labels[cluster] for cluster in clusters], MAX_NAME_LENGTH, 6)
    rows: Any = numbers.set_index("model")
    for ax, (name, values) in zip(axes[1:], cosines.items(), strict=True):
        image = draw_matrix(ax, values, NETFLIX_TITLES.get(name, name), clusters, NETFLIX_SCALE)
        row = rows.loc[name]
        means = f"mean within {two_decimals(row.within_mean)}, between {two_decimals(row.between_mean)}"
        ax.set_xlabel(f"{means}\nAUC of same cluster {row.auc:.3f}")
    figure.colorbar(image, ax=axes, extend="min", fraction=0.02, pad=0.01, label="item-item cosine")
    return figure


@styled
def draw_remedies(remedies: pd.DataFrame, *, is_mean: bool) -> Any:
    """Draw how well each remedy recovers the clusters: a point where it is unique, else the range over rescalings."""
    from matplotlib.lines import Line2D

    point: Any = {"marker": "D", "color": "black", "linestyle": "none", "markersize": 5}
    line: Any = {"marker": "|", "color": BLUE, "linewidth": 3, "markersize": 9}
    figure = _figure(7.2, 0.9 + 0.27 * len(remedies))
    ax = figure.subplots()
    rows: Any = list(remedies.itertuples())
    for y, row in enumerate(rows):
        ends = [row.auc_low] if row.unique else [row.auc_low, row.auc_high]
        ax.plot(ends, [y] * len(ends), **(point | {"zorder": 3} if row.unique else line))
    ax.set_yticks(range(len(rows)), labels=[f"{row.remedy} – {row.similarity}" for row in rows])
    ax.invert_yaxis()
    ax.grid(axis="x", color="#cccccc", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.set_xlabel("AUC of same cluster" + " (mean over seeds)" * is_mean)
    handles = [Line2D([], [], **point), Line2D([], [], **line)]
    labels = ["unique", "range over four rescalings with equal predictions"]
    figure.legend(handles, labels, loc="outside lower right", ncols=2, frameon=False)
    return figure


@styled
def draw_nielsen(numbers: Any, heads: Mapping[str, Floats], contrasts: Mapping[str, Any]) -> Any:
    """Draw a `NielsenFigure`: Figure 1 above Figure 2; labels differ by colour, marker and number."""
    figure = _figure(10.0, 7.4)
    upper, lower = figure.subfigures(2, 1, height_ratios=[1, 1.05])
    panels: Any = numbers.translations.itertuples()
    for ax, row in zip(upper.subplots(1, 3), panels, strict=True):
        rows = numbers.rows[row.panel]
        for label in range(len(rows)):
            inputs = numbers.inputs[numbers.most_probable == label]
            ax.scatter(*inputs.T, s=7, color=COLOURS[label], marker=MARKERS[label], alpha=0.45, linewidths=0)
        _draw_labels(ax, rows)
        shift = f"v = ({row.shift_x:g}, {row.shift_y:g}), same probabilities"
        ax.set_title(f"{NIELSEN_TITLES[row.panel]}: cos = {two_decimals(row.cosine)}\n{shift}")
        ax.set(xlim=(-3, 3), ylim=(-3, 3))
    for ax, (name, rows) in zip(lower.subplots(1, 2), heads.items(), strict=True):
        pairs: Any = numbers.pairs[numbers.pairs["head"] == name].set_index(["first", "second"])
        for pair in pairs.index[pairs["edge_of_hull"]]:
            ax.plot(*rows[list(pair)].T, color="#888888", linewidth=1.2, zorder=1)
        for pair, style in zip(contrasts[name], ("-", ":"), strict=True):
            row = pairs.loc[pair]
            colour = BLUE if row.edge_of_hull else RED
            reach = "can share ½/½" if row.edge_of_hull else f"never both above {two_decimals(row.both_reach)}"
            text = f"{pair[0]}–{pair[1]}: cos {row.cosine:.3f}, {reach}"
            ax.plot(*rows[list(pair)].T, style, color=colour, linewidth=2.6, zorder=2, label=text)
        _draw_labels(ax, rows)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False)
        ax.set(title=f"{name}: the edges of the hull decide", xlim=(-1.75, 1.75), ylim=(-1.3, 1.3))
    for ax in figure.axes:
        ax.set(aspect="equal", xlabel="first coordinate", ylabel="second coordinate")
    return figure


def _draw_labels(ax: Any, rows: Floats) -> None:
    """Draw every row as an arrow from the origin, with its marker and number at the tip."""
    arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 2}
    box = {"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    text: Any = {"textcoords": "offset points", "ha": "center", "va": "center", "bbox": box, "weight": "bold"}
    lengths = np.linalg.norm(rows, axis=1)
    for label, vector in enumerate(rows):
        ax.annotate("", vector, (0, 0), arrowprops=arrow, zorder=3)
        ax.plot(*vector, MARKERS[label], color=COLOURS[label], markersize=7, markeredgecolor="white", zorder=4)
        x, y = vector / lengths[label]
        along = rows @ [x, y]
        # The number stands beyond the tip, or beside it where a longer arrow passes in the same direction.
        is_passed = (along > 1.05 * lengths[label]) & (along > 0.98 * lengths)
        ax.annotate(str(label), vector, (11 * y, -11 * x) if is_passed.any() else (11 * x, 11 * y), **text)


@styled
def draw_simpson(numbers: Any) -> Any:
    """Draw a `SimpsonFigure`: the two vectors, the global cosine against the ratio of norms, and the groups."""
    figure = _figure(10.5, 3.5)
    first, second, third = figure.subplots(1, 3)
    at, example = np.arange(len(numbers.example)), numbers.example
    first.bar(at - 0.18, example["x"], 0.34, color=BLUE, label="x")
    first.bar(at + 0.18, example["y"], 0.34, color=ORANGE, hatch="//", edgecolor="white", linewidth=0, label="y")
    first.set_xticks(at, labels=[f"block {i + 1}\nlocal cosine {c:g}" for i, c in enumerate(example["cosine"])])
    first.set(ylabel="entry", ylim=(0, 2.5), title=f"every block agrees, global cosine {numbers.global_cosine:.4f}")
    first.legend(loc="upper left", frameon=False, ncols=2)

    for (local, members), style in zip(
        numbers.sweep.groupby("local_cosine", sort=False), ("-", "--", ":"), strict=True
    ):
        line = {"color": INK, "linewidth": 1.5, "label": f"local cosines {local:g}"}
        second.plot(members["ratio"], members["global_cosine"], style, **line)
    second.axhline(0, color="#999999", linewidth=0.7)
    second.set(xscale="log", xlabel="ratio of block norms, opposite in x and y", ylabel="global cosine")
    second.set_title("norms alone drive it to 0")
    second.legend(loc="upper right", frameon=False)

    points = numbers.points
    groups: Any = numbers.groups.set_index("group")
    for (name, members), colour, marker in zip(points.groupby("group"), (BLUE, ORANGE), ("o", "s"), strict=True):
        label = f"group {name}: r = {two_decimals(groups.loc[name, 'r'])}"
        dots = {"s": 13, "color": colour, "marker": marker, "alpha": 0.75, "linewidths": 0, "label": label}
        third.scatter(members["x"], members["y"], **dots)
        third.plot(*_fitted_line(members, groups.loc[name, "slope"]), color=INK, linewidth=1.2)
    whole = groups.loc["all"]
    dashed = {"color": RED, "linewidth": 1.8, "linestyle": "--"}
    third.plot(*_fitted_line(points, whole.slope), **dashed, label=f"all: r = {two_decimals(whole.r)}")
    # Room for the legend above the points.
    room = points["y"].max() + 0.3 * np.ptp(points["y"])
    third.set(xlabel="x", ylabel="y", title="up inside each group, down over all", ylim=(None, room))
    third.legend(loc="upper right", frameon=False)
    return figure


def _fitted_line(points: pd.DataFrame, slope: Any) -> tuple[Floats, Floats]:
    """Compute the ends of the least-squares line over the range of some points."""
    ends = np.array([points["x"].min(), points["x"].max()])
    return ends, points["y"].mean() + slope * (ends - points["x"].mean())
