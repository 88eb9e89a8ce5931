"""Figures 1 and 2 of Nielsen's paper on label cosines: what a translation does to them, and what they do not say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from embaudit.core.checked import MOST_COUNT, Floats, Indices, as_count
from embaudit.core.plain import plain_dict
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
    new_figure,
    rounded,
    styled,
)

FIGURE_1 = np.array([[1.0, 0.5], [0.5, 1.0], [-1.0, 0.4], [-0.8, -0.8], [0.9, -1.2]])
"""The label rows of Figure 1."""
PAIR = (0, 1)
"""The two labels whose cosine it moves."""
_HEIGHT = float(np.sqrt(1 - 0.95**2))
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
"""The label rows of Figure 2."""
CONTRASTS = {"centred": ((1, 2), (2, 4)), "centred, unit length": ((0, 1), (1, 3))}
"""Two pairs of each head: the one with the lower cosine can share ½/½, the other cannot."""
TITLES = {
    "given": "as given",
    "made opposite": "labels 0 and 1 made opposite",
    "made parallel": "… made parallel",
}


@dataclass(frozen=True, eq=False)
class NielsenFigure(PaperFigure):
    """Figures 1 and 2 in numbers."""

    NAME = "nielsen"
    TABLES = ("translations", "pairs")

    seed: int
    translations: pd.DataFrame
    """Figure 1, one row a panel: the shift, the cosine of labels 0 and 1, the largest change of a probability."""
    pairs: pd.DataFrame
    """Figure 2, one row a pair of labels: cosine, whether it is an edge of the hull, the probability both can reach."""
    rows: dict[str, Floats]
    """The label rows of each panel of Figure 1."""
    inputs: Floats
    """(n, 2) the embeddings."""
    most_probable: Indices
    """(n,) the label each is given, the same in all panels."""

    heads: ClassVar = HEADS

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "figure": self.NAME,
                "embaudit_version": self.embaudit_version,
                "caption": self.caption,
                "seed": self.seed,
                "translations": self.translations,
                "pairs": self.pairs,
                "figure_1_rows": self.rows,
                "figure_2_rows": self.heads,
                "inputs_per_label": self.inputs_per_label,
            }
        )

    @property
    def inputs_per_label(self) -> Indices:
        """Number of inputs that have each label of Figure 1 as the most probable one."""
        return np.bincount(self.most_probable, minlength=len(FIGURE_1))

    def __repr__(self) -> str:
        return f"NielsenFigure({len(self.inputs):,} inputs, seed {self.seed})"

    @property
    def caption(self) -> str:
        """Describe the figures in the numbers of the tables."""
        moved: Any = self.translations
        cosines = ", ".join(
            f"{two_decimals(row.cosine)} ({row.panel}, v = ({row.shift_x:g}, {row.shift_y:g}))"
            for row in moved.itertuples()
        )
        text = (
            f"Adding one vector v to every label leaves all probabilities (largest change "
            f"{change_size(moved['probability_change'].max())}). The cosine of labels 0 and 1 is then {cosines}. "
        )
        table: Any = self.pairs[self.pairs["head"] == "centred"].set_index(
            ["first", "second"]
        )
        pair, other = CONTRASTS["centred"]
        low, high = table.loc[pair], table.loc[other]
        return text + (
            f"In a centred head labels {pair[0]} and {pair[1]} (cosine {two_decimals(low.cosine)}) can share the "
            f"probability ½/½. Labels {other[0]} and {other[1]} (cosine {two_decimals(high.cosine)}) never both exceed "
            f"{two_decimals(high.both_reach)}: only edges of the convex hull decide."
        )

    @styled
    def plot(self) -> Any:
        """Draw the three panels of Figure 1 above the two of Figure 2; labels differ by colour, marker and number."""
        figure = new_figure(10.0, 7.4)
        upper, lower = figure.subfigures(2, 1, height_ratios=[1, 1.05])
        panels: Any = self.translations.itertuples()
        for ax, row in zip(upper.subplots(1, 3), panels, strict=True):
            rows = self.rows[row.panel]
            for label in range(len(rows)):
                inputs = self.inputs[self.most_probable == label]
                ax.scatter(
                    *inputs.T,
                    s=7,
                    color=COLOURS[label],
                    marker=MARKERS[label],
                    alpha=0.45,
                    linewidths=0,
                )
            _draw_labels(ax, rows)
            shift = f"v = ({row.shift_x:g}, {row.shift_y:g}), same probabilities"
            ax.set_title(
                f"{TITLES[row.panel]}: cos = {two_decimals(row.cosine)}\n{shift}"
            )
            ax.set(xlim=(-3, 3), ylim=(-3, 3))
        for ax, (name, rows) in zip(lower.subplots(1, 2), HEADS.items(), strict=True):
            pairs: Any = self.pairs[self.pairs["head"] == name].set_index(
                ["first", "second"]
            )
            for pair in pairs.index[pairs["edge_of_hull"]]:
                ax.plot(*rows[list(pair)].T, color="#888888", linewidth=1.2, zorder=1)
            for pair, style in zip(CONTRASTS[name], ("-", ":"), strict=True):
                row = pairs.loc[pair]
                colour = BLUE if row.edge_of_hull else RED
                reach = (
                    "can share ½/½"
                    if row.edge_of_hull
                    else f"never both above {two_decimals(row.both_reach)}"
                )
                text = f"{pair[0]}–{pair[1]}: cos {row.cosine:.3f}, {reach}"
                ax.plot(
                    *rows[list(pair)].T,
                    style,
                    color=colour,
                    linewidth=2.6,
                    zorder=2,
                    label=text,
                )
            _draw_labels(ax, rows)
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False)
            ax.set(
                title=f"{name}: the edges of the hull decide",
                xlim=(-1.75, 1.75),
                ylim=(-1.3, 1.3),
            )
        for ax in figure.axes:
            ax.set(
                aspect="equal", xlabel="first coordinate", ylabel="second coordinate"
            )
        return figure


def _draw_labels(ax: Any, rows: Floats) -> None:
    """Draw every row as an arrow from the origin, with its marker and number at the tip."""
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
    text: Any = {
        "textcoords": "offset points",
        "ha": "center",
        "va": "center",
        "bbox": box,
        "weight": "bold",
    }
    lengths = np.linalg.norm(rows, axis=1)
    for label, vector in enumerate(rows):
        ax.annotate("", vector, (0, 0), arrowprops=arrow, zorder=3)
        ax.plot(
            *vector,
            MARKERS[label],
            color=COLOURS[label],
            markersize=7,
            markeredgecolor="white",
            zorder=4,
        )
        # How far each row reaches in the direction of this one.
        x, y = vector / lengths[label]
        along = rows @ [x, y]
        # The number stands beyond the tip, or beside it where a longer arrow passes in the same direction.
        is_passed = (along > 1.05 * lengths[label]) & (along > 0.98 * lengths)
        ax.annotate(
            str(label),
            vector,
            (11 * y, -11 * x) if is_passed.any() else (11 * x, 11 * y),
            **text,
        )


def nielsen(*, n_inputs: int = 1_000, seed: int = 0) -> NielsenFigure:
    """Reproduce Figures 1 and 2 on cosines between label representations.

    Figure 1: `v = −(w₀ + w₁)/2` makes the cosine of labels 0 and 1 −1, `v = −w₀ + (w₁ − w₀)/2` makes it +1, and no
    probability changes. Figure 2: in centred heads, where no translation is left, the cosine still does not say
    which two labels can share the probability ½/½; the edges of the convex hull do.

    Parameters
    ----------
    n_inputs : int
        Embeddings, drawn from a standard normal distribution.
    seed : int
        Of the embeddings.

    Returns
    -------
    NielsenFigure
        With `translations` and `pairs`; `plot()` and `save(out_dir)`.

    Raises
    ------
    InputError
        If `n_inputs` is below 1.

    References
    ----------
    Nielsen, "Why not to use Cosine Similarity between Label Representations", arXiv 2603.29488.

    Examples
    --------
    >>> nielsen().translations[["panel", "cosine"]].round(3)
                 panel  cosine
    0            given     0.8
    1  made opposite    -1.0
    2    made parallel     1.0
    """
    as_count(n_inputs, "n_inputs", most=MOST_COUNT)
    inputs = np.random.default_rng(as_count(seed, "seed", least=0)).standard_normal(
        (n_inputs, 2)
    )
    original = FactorModel.from_softmax(FIGURE_1, embeddings=inputs)
    before = original.predictions()
    # The lemma: the midpoint of the two rows in the origin, or the origin on their line, beside both.
    a, b = FIGURE_1[list(PAIR)]
    shifts = {
        "given": np.zeros(2),
        "made opposite": -(a + b) / 2,
        "made parallel": -a + (b - a) / 2,
    }
    models = {
        name: Gauge.translation(2, right=shift).act(original)
        for name, shift in shifts.items()
    }
    translations = pd.DataFrame(
        {
            "panel": name,
            "shift_x": shifts[name][0],
            "shift_y": shifts[name][1],
            "cosine": float(model.cosines("right", [PAIR])[0]),
            "probability_change": float(np.abs(model.predictions() - before).max()),
        }
        for name, model in models.items()
    )
    return NielsenFigure(
        seed=seed,
        translations=rounded(translations),
        pairs=rounded(
            pd.concat(
                [_pairs(name, rows) for name, rows in HEADS.items()], ignore_index=True
            )
        ),
        rows={name: np.asarray(model.right) for name, model in models.items()},
        inputs=inputs,
        most_probable=original.scores().argmax(axis=1),
    )


def _pairs(name: str, rows: Floats) -> pd.DataFrame:
    """Tabulate all pairs of labels of a head: their cosine, and the probability that both can have at once."""
    head = FactorModel.from_softmax(rows)
    pairs = all_pairs(len(rows))
    # Two labels can share ½/½ where their segment is an edge of the hull of all rows; else the optimum is below ½.
    edges = shared_halves(head, pairs).can_share
    reach = [
        0.5 if edge else both_reach(rows, int(i), int(j))
        for (i, j), edge in zip(pairs, edges, strict=True)
    ]
    columns = {
        "first": pairs[:, 0],
        "second": pairs[:, 1],
        "cosine": head.cosines("right", pairs),
    }
    return pd.DataFrame(
        {"head": name, **columns, "edge_of_hull": edges, "both_reach": reach}
    )


def both_reach(rows: Floats, first: int, second: int) -> float:
    """Compute the largest probability that two labels can have at once, over all inputs.

    `max_x min(p_a(x), p_b(x))`; log-probabilities are concave in x, so it is the convex problem
    `max t : log p_a(x) >= t, log p_b(x) >= t`. For an edge of the hull the answer is ½, approached far out and
    not attained: ask for other pairs.

    Examples
    --------
    Opposite corners of a square: no input favours them over the other two.

    >>> square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    >>> round(both_reach(square, 0, 2), 6)
    0.25
    """
    from scipy.optimize import minimize

    # Unknowns z = (x, t): maximise t subject to log p_a(x) − t >= 0 and log p_b(x) − t >= 0.
    two = [first, second]

    def logs(z: Floats) -> Floats:
        return np.asarray(log_softmax((z[:-1] @ rows.T)[None])[0, two])

    def slopes(z: Floats) -> Floats:
        # ∇ log p_a = w_a − Σ_j p_j w_j.
        p = np.exp(log_softmax((z[:-1] @ rows.T)[None])[0])
        return np.column_stack([rows[two] - p @ rows, [-1.0, -1.0]])

    # x = 0 gives every label 1/V, and the t that belongs to it is feasible.
    start = np.zeros(rows.shape[1] + 1)
    start[-1] = logs(start).min()
    bound: Any = {"type": "ineq", "fun": lambda z: logs(z) - z[-1], "jac": slopes}
    # The objective is −t, the last coordinate; SLSQP takes both gradients as they are.
    down = np.append(np.zeros(rows.shape[1]), -1.0)
    solver: Any = (
        minimize  # its stubs know no constrained problem with a fixed gradient
    )
    options = {"ftol": 1e-12, "maxiter": 500}
    best = solver(
        down.__matmul__,
        start,
        jac=lambda _: down,
        constraints=bound,
        method="SLSQP",
        options=options,
    )
    return float(np.exp(logs(best.x).min()))
