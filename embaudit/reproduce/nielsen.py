"""Figures 1 and 2 of Nielsen's paper on cosines between label representations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import minimize

from embaudit.core.checked import Floats, Indices, as_count
from embaudit.core.sizes import MOST_COUNT
from embaudit.core.tolerances import ROUNDING
from embaudit.core.words import change_size, two_decimals
from embaudit.gauges import Gauge
from embaudit.heads import shared_halves
from embaudit.linalg.pairs import all_pairs
from embaudit.model import FactorModel
from embaudit.model.equivalence import log_softmax
from embaudit.reproduce.pictures import (
    BLUE,
    COLOURS,
    INK,
    MARKERS,
    RED,
    PaperFigure,
    new_picture,
    rounded,
)

FIGURE_1 = np.array([[1.0, 0.5], [0.5, 1.0], [-1.0, 0.4], [-0.8, -0.8], [0.9, -1.2]])
"""The label rows of Figure 1."""
PAIR = (0, 1)
"""The two labels whose cosine Figure 1 moves."""
PANEL_TITLES = {
    "given": "as given",
    "made opposite": "labels 0 and 1 made opposite",
    "made parallel": "… made parallel",
}
"""Titles of the panels of Figure 1."""

_HEIGHT = float(np.sqrt(1 - 0.95**2))
"""Second coordinate of a row of length 1 whose first coordinate is 0.95."""
HEADS = {
    "centred": np.array(
        [[1.4, -1.0], [1.4, 1.0], [-0.9, 0.3], [-1.0, 0.0], [-0.9, -0.3]]
    ),
    "centred, unit length": np.array(
        [
            [0.95, _HEIGHT],
            [-0.95, _HEIGHT],
            [-1.0, 0.0],
            [-0.95, -_HEIGHT],
            [0.95, -_HEIGHT],
            [1.0, 0.0],
        ]
    ),
}
"""The label rows of the two heads of Figure 2."""
CONTRASTS = {"centred": ((1, 2), (2, 4)), "centred, unit length": ((0, 1), (1, 3))}
"""Two pairs of labels of each head.

The first one has the lower cosine and can share the probability ½/½; the second cannot.
"""


@dataclass(frozen=True, eq=False)
class NielsenFigure(PaperFigure):
    """Figures 1 and 2 in numbers.

    Examples
    --------
    >>> from embaudit.reproduce import nielsen
    >>> figure = nielsen()
    >>> figure.translations["cosine"].round(3).tolist()
    [0.8, -1.0, 1.0]
    >>> list(figure.tables)
    ['translations', 'pairs']
    """

    NAME = "nielsen"

    seed: int
    """Seed of the inputs."""
    translations: pd.DataFrame
    """Figure 1, one row per panel: the shift v, the cosine of labels 0 and 1, and the
    largest change of a probability."""
    pairs: pd.DataFrame
    """Figure 2, one row per pair of labels: the cosine, whether the pair is an edge of
    the hull, and the largest probability that both labels can have at once."""
    rows: dict[str, Floats]
    """The label rows in each panel of Figure 1."""
    inputs: Floats
    """The embeddings of the inputs, shape (n, 2)."""
    most_probable: Indices
    """The most probable label of each input, which is the same in all panels."""

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The translations and the pairs."""
        return {"translations": self.translations, "pairs": self.pairs}

    @property
    def _details(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "figure_1_rows": self.rows,
            "figure_2_rows": HEADS,
            "inputs_per_label": self.inputs_per_label,
        }

    @property
    def inputs_per_label(self) -> Indices:
        """Number of inputs whose most probable label is each label of Figure 1."""
        return np.bincount(self.most_probable, minlength=len(FIGURE_1))

    def __repr__(self) -> str:
        return f"NielsenFigure({len(self.inputs):,} inputs, seed {self.seed})"

    @property
    def caption(self) -> str:
        """Describe the figures in the numbers of their tables."""
        panels: Any = self.translations.itertuples()
        cosines = [
            f"{two_decimals(row.cosine)} ({row.panel}, v = ({row.shift_x:g}, "
            f"{row.shift_y:g}))"
            for row in panels
        ]
        largest_change = change_size(self.translations["probability_change"].max())
        pairs = self._pairs_of("centred")
        lower, higher = CONTRASTS["centred"]
        reach = two_decimals(pairs.loc[higher, "both_reach"])
        return (
            "Adding one vector v to every label leaves all probabilities (largest "
            f"change {largest_change}). The cosine of labels 0 and 1 is then "
            f"{', '.join(cosines)}. In a centred head labels {lower[0]} and {lower[1]} "
            f"(cosine {two_decimals(pairs.loc[lower, 'cosine'])}) can share the "
            f"probability ½/½. Labels {higher[0]} and {higher[1]} "
            f"(cosine {two_decimals(pairs.loc[higher, 'cosine'])}) never both exceed "
            f"{reach}: only edges of the convex hull decide."
        )

    def _pairs_of(self, head: str) -> Any:
        """Return the pairs of one head, by their two labels."""
        return self.pairs[self.pairs["head"] == head].set_index(["first", "second"])

    def plot(self) -> Figure:
        """Draw the three panels of Figure 1 above the two panels of Figure 2.

        Labels differ by colour, marker and number.
        """
        with new_picture(10.0, 7.4) as picture:
            halves: Any = picture.subfigures(2, 1, height_ratios=[1, 1.05])
            upper, lower = halves
            panels: Any = self.translations.itertuples()
            for ax, panel in zip(upper.subplots(1, 3), panels, strict=True):
                self._draw_translation(ax, panel)
            for ax, head in zip(lower.subplots(1, 2), HEADS, strict=True):
                self._draw_hull(ax, head)
            for ax in picture.axes:
                ax.set_aspect("equal")
                ax.set_xlabel("first coordinate")
                ax.set_ylabel("second coordinate")
        return picture

    def _draw_translation(self, ax: Axes, panel: Any) -> None:
        """Draw the inputs by their most probable label, and the shifted label rows."""
        rows = self.rows[panel.panel]
        for label in range(len(rows)):
            inputs = self.inputs[self.most_probable == label]
            ax.scatter(
                inputs[:, 0],
                inputs[:, 1],
                s=7,
                color=COLOURS[label],
                marker=MARKERS[label],
                alpha=0.45,
                linewidths=0,
            )
        _draw_labels(ax, rows)
        ax.set_title(
            f"{PANEL_TITLES[panel.panel]}: cos = {two_decimals(panel.cosine)}\n"
            f"v = ({panel.shift_x:g}, {panel.shift_y:g}), same probabilities"
        )
        ax.set_xlim(-3, 3)
        ax.set_ylim(-3, 3)

    def _draw_hull(self, ax: Axes, head: str) -> None:
        """Draw a head with the edges of its hull and the two pairs in contrast."""
        rows = HEADS[head]
        pairs = self._pairs_of(head)
        for first, second in pairs.index[pairs["edge_of_hull"]]:
            ends = rows[[first, second]]
            ax.plot(ends[:, 0], ends[:, 1], color="#888888", linewidth=1.2, zorder=1)
        for (first, second), style in zip(CONTRASTS[head], ("-", ":"), strict=True):
            row = pairs.loc[first, second]
            if row.edge_of_hull:
                colour, reach = BLUE, "can share ½/½"
            else:
                colour, reach = RED, f"never both above {two_decimals(row.both_reach)}"
            ends = rows[[first, second]]
            ax.plot(
                ends[:, 0],
                ends[:, 1],
                style,
                color=colour,
                linewidth=2.6,
                zorder=2,
                label=f"{first}–{second}: cos {row.cosine:.3f}, {reach}",
            )
        _draw_labels(ax, rows)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False)
        ax.set_title(f"{head}: the edges of the hull decide")
        ax.set_xlim(-1.75, 1.75)
        ax.set_ylim(-1.3, 1.3)


def _draw_labels(ax: Axes, rows: Floats) -> None:
    """Draw each row as an arrow from the origin, with marker and number at its tip."""
    arrow = {
        "arrowstyle": "-|>",
        "color": INK,
        "linewidth": 1.1,
        "shrinkA": 0,
        "shrinkB": 2,
    }
    box = {
        "boxstyle": "round,pad=0.12",
        "facecolor": "white",
        "edgecolor": "none",
        "alpha": 0.85,
    }
    lengths = np.linalg.norm(rows, axis=1)
    for label, row in enumerate(rows):
        tip = (float(row[0]), float(row[1]))
        ax.annotate("", tip, (0, 0), arrowprops=arrow, zorder=3)
        ax.plot(
            *tip,
            MARKERS[label],
            color=COLOURS[label],
            markersize=7,
            markeredgecolor="white",
            zorder=4,
        )
        x, y = row / lengths[label]
        # Another arrow passes the tip if it extends beyond it and has about the same
        # direction (its part along this one is 98 % of its length).
        extent = rows @ np.array([x, y])
        is_passing = (extent > 1.05 * lengths[label]) & (extent > 0.98 * lengths)
        # The number stands 11 points beyond the tip, or beside it if an arrow passes.
        offset = (11 * y, -11 * x) if is_passing.any() else (11 * x, 11 * y)
        ax.annotate(
            str(label),
            tip,
            offset,
            textcoords="offset points",
            ha="center",
            va="center",
            bbox=box,
            weight="bold",
        )


def nielsen(*, n_inputs: int = 1_000, seed: int = 0) -> NielsenFigure:
    """Reproduce Figures 1 and 2 on cosines between label representations.

    Figure 1: adding `v = −(w₀ + w₁)/2` to every label makes the cosine of labels 0 and
    1 equal to −1, adding `v = −w₀ + (w₁ − w₀)/2` makes it +1, and no probability
    changes. Figure 2: in centred heads, which leave no translation open, the cosine
    still does not say which two labels can share the probability ½/½. The edges of the
    convex hull do.

    Parameters
    ----------
    n_inputs : int
        Number of embeddings, drawn from a standard normal distribution.
    seed : int
        Seed of the embeddings.

    Returns
    -------
    NielsenFigure
        With `translations` and `pairs`; `plot()` and `save(out_dir)`.

    Raises
    ------
    InputError
        If `n_inputs` is below 1, or `seed` is below 0.

    References
    ----------
    Nielsen, "Why not to use Cosine Similarity between Label Representations", arXiv
    2603.29488.

    Examples
    --------
    >>> nielsen().translations[["panel", "cosine"]].round(3)
                 panel  cosine
    0            given     0.8
    1  made opposite    -1.0
    2    made parallel     1.0
    """
    as_count(n_inputs, "n_inputs", most=MOST_COUNT)
    as_count(seed, "seed", least=0)
    inputs = np.random.default_rng(seed).standard_normal((n_inputs, 2))
    original = FactorModel.from_softmax(FIGURE_1, embeddings=inputs)
    first, second = FIGURE_1[list(PAIR)]
    shifts = {
        "given": np.zeros(2),
        # The midpoint of the two rows moves to the origin.
        "made opposite": -(first + second) / 2,
        # The origin comes to lie on their line, on one side of both.
        "made parallel": -first + (second - first) / 2,
    }
    models = {
        panel: Gauge.translation(2, right=shift).act(original)
        for panel, shift in shifts.items()
    }
    probabilities = original.predictions()
    translations = [
        {
            "panel": panel,
            "shift_x": shifts[panel][0],
            "shift_y": shifts[panel][1],
            "cosine": float(model.cosines("right", [PAIR])[0]),
            "probability_change": float(
                np.abs(model.predictions() - probabilities).max()
            ),
        }
        for panel, model in models.items()
    ]
    pairs = [_pair_table(head, rows) for head, rows in HEADS.items()]
    return NielsenFigure(
        seed=seed,
        translations=rounded(pd.DataFrame(translations)),
        pairs=rounded(pd.concat(pairs, ignore_index=True)),
        rows={panel: np.asarray(model.right) for panel, model in models.items()},
        inputs=inputs,
        most_probable=original.scores().argmax(axis=1),
    )


def _pair_table(name: str, rows: Floats) -> pd.DataFrame:
    """Tabulate all pairs of labels of a head."""
    head = FactorModel.from_softmax(rows)
    pairs = all_pairs(len(rows))
    is_edge = shared_halves(head, pairs).can_share
    largest_shared = []
    for (first, second), edge in zip(pairs.tolist(), is_edge, strict=True):
        # The labels of an edge approach ½ for long inputs, but no input attains it.
        largest_shared.append(0.5 if edge else both_reach(rows, first, second))
    return pd.DataFrame(
        {
            "head": name,
            "first": pairs[:, 0],
            "second": pairs[:, 1],
            "cosine": head.cosines("right", pairs),
            "edge_of_hull": is_edge,
            "both_reach": largest_shared,
        }
    )


def both_reach(rows: Floats, first: int, second: int) -> float:
    """Compute the largest probability that two labels a and b can have at once.

    This is `max_x min(p_a(x), p_b(x))` over all inputs x. Log-probabilities are concave
    in x, so it is the convex problem

        maximise t  subject to  log p_a(x) ≥ t  and  log p_b(x) ≥ t.

    It assumes that the pair is not an edge of the convex hull of the rows. Along an
    edge the value tends to ½ as x grows, and no x attains it.

    Examples
    --------
    No input prefers opposite corners of a square to the other two corners.

    >>> square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    >>> round(both_reach(square, 0, 2), 6)
    0.25
    """
    pair = [first, second]
    n_columns = rows.shape[1]

    # The unknowns are z = (x, t).
    def log_probabilities(z: Floats) -> Floats:
        scores = z[:n_columns] @ rows.T
        return np.asarray(log_softmax(scores[None])[0])

    def slack(z: Floats) -> Floats:
        return np.asarray(log_probabilities(z)[pair] - z[-1])

    def slack_gradient(z: Floats) -> Floats:
        # ∇ log p_a(x) = w_a − Σ_j p_j(x) w_j
        mean_row = np.exp(log_probabilities(z)) @ rows
        return np.column_stack([rows[pair] - mean_row, [-1.0, -1.0]])

    start = np.zeros(n_columns + 1)
    start[-1] = log_probabilities(start).min()
    objective_gradient = np.append(np.zeros(n_columns), -1.0)
    constraint: Any = {"type": "ineq", "fun": slack, "jac": slack_gradient}
    best = minimize(  # type: ignore[call-overload]
        lambda z: -z[-1],
        start,
        jac=lambda z: objective_gradient,  # noqa: ARG005
        constraints=constraint,
        method="SLSQP",
        options={"ftol": ROUNDING, "maxiter": 500},
    )
    return float(np.exp(log_probabilities(best.x)[pair].min()))
