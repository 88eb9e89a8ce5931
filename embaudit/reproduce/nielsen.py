"""Figures 1 and 2 of Nielsen's paper on label cosines: what a translation does to them, and what they do not say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from embaudit._version import __version__
from embaudit.core.checked import MOST_COUNT, Floats, Indices, as_count
from embaudit.core.words import two_decimals
from embaudit.gauges import Gauge
from embaudit.linalg.pairs import all_pairs
from embaudit.model import FactorModel
from embaudit.model.equivalence import log_softmax
from embaudit.reproduce.drawings import draw_nielsen
from embaudit.reproduce.pictures import Picture, rounded, save_files
from embaudit.softmax import shared_halves

FIGURE_1 = np.array([[1.0, 0.5], [0.5, 1.0], [-1.0, 0.4], [-0.8, -0.8], [0.9, -1.2]])
"""The label rows of Figure 1."""
PAIR = (0, 1)
"""The two labels whose cosine it moves."""
_HEIGHT = float(np.sqrt(1 - 0.95**2))
HEADS = {
    "centred": np.array([[1.4, -1.0], [1.4, 1.0], [-0.9, 0.3], [-1.0, 0.0], [-0.9, -0.3]]),
    "centred, unit length": np.array(
        [[0.95, _HEIGHT], [-0.95, _HEIGHT], [-1.0, 0.0], [-0.95, -_HEIGHT], [0.95, -_HEIGHT], [1.0, 0.0]]
    ),
}
"""The label rows of Figure 2."""
CONTRASTS = {"centred": ((1, 2), (2, 4)), "centred, unit length": ((0, 1), (1, 3))}
"""Two pairs of each head: the one with the lower cosine can share ½/½, the other cannot."""


@dataclass(frozen=True, eq=False)
class NielsenFigure:
    """Figures 1 and 2 in numbers."""

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
            f"{moved['probability_change'].max():.0e}). The cosine of labels 0 and 1 is then {cosines}. "
        )
        table: Any = self.pairs[self.pairs["head"] == "centred"].set_index(["first", "second"])
        pair, other = CONTRASTS["centred"]
        low, high = table.loc[pair], table.loc[other]
        return text + (
            f"In a centred head labels {pair[0]} and {pair[1]} (cosine {two_decimals(low.cosine)}) can share the "
            f"probability ½/½. Labels {other[0]} and {other[1]} (cosine {two_decimals(high.cosine)}) never both exceed "
            f"{two_decimals(high.both_reach)}: only edges of the convex hull decide."
        )

    def plot(self) -> Picture:
        """Draw the three panels of Figure 1 above the two of Figure 2."""
        return draw_nielsen(self, HEADS, CONTRASTS)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, ready for JSON."""
        return {
            "figure": "nielsen",
            "embaudit_version": __version__,
            "caption": self.caption,
            "seed": self.seed,
            "translations": self.translations,
            "pairs": self.pairs,
            "figure_1_rows": self.rows,
            "figure_2_rows": dict(HEADS),
            "inputs_per_label": np.bincount(self.most_probable, minlength=len(FIGURE_1)),
        }

    def save(self, out_dir: str | Path, *, force: bool = False) -> list[Path]:
        """Write the picture (PNG, PDF), both tables (CSV) and everything together (JSON); see `save_files`."""
        return save_files(
            out_dir,
            pictures={"nielsen": self.plot()},
            tables={"nielsen_translations": self.translations, "nielsen_pairs": self.pairs},
            documents={"nielsen": self.to_dict()},
            force=force,
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
    inputs = np.random.default_rng(as_count(seed, "seed", least=0)).standard_normal((n_inputs, 2))
    original = FactorModel.from_softmax(FIGURE_1, embeddings=inputs)
    models = {name: Gauge.translation(2, right=shift).act(original) for name, shift in shifts(FIGURE_1).items()}
    return NielsenFigure(
        seed=seed,
        translations=rounded(_translations(original, models)),
        pairs=rounded(pd.concat([_pairs(name, rows) for name, rows in HEADS.items()], ignore_index=True)),
        rows={name: np.asarray(model.right) for name, model in models.items()},
        inputs=inputs,
        most_probable=original.scores().argmax(axis=1),
    )


def shifts(rows: Floats) -> dict[str, Floats]:
    """Return the translations of the lemma for labels 0 and 1.

    Examples
    --------
    >>> {name: v.tolist() for name, v in shifts(FIGURE_1).items()}
    {'given': [0.0, 0.0], 'made opposite': [-0.75, -0.75], 'made parallel': [-1.25, -0.25]}
    """
    a, b = rows[PAIR[0]], rows[PAIR[1]]
    return {"given": np.zeros(2), "made opposite": -(a + b) / 2, "made parallel": -a + (b - a) / 2}


def _translations(original: FactorModel, models: dict[str, FactorModel]) -> pd.DataFrame:
    """Tabulate the cosine of the two labels after each shift, and the largest change of a probability."""
    before, vectors = original.predictions(), shifts(FIGURE_1)
    return pd.DataFrame(
        {
            "panel": name,
            "shift_x": vectors[name][0],
            "shift_y": vectors[name][1],
            "cosine": float(model.cosines("right", [PAIR])[0]),
            "probability_change": float(np.abs(model.predictions() - before).max()),
        }
        for name, model in models.items()
    )


def _pairs(name: str, rows: Floats) -> pd.DataFrame:
    head = FactorModel.from_softmax(rows)
    pairs = all_pairs(len(rows))
    edges = shared_halves(head, pairs).can_share
    reach = [0.5 if edge else both_reach(rows, int(i), int(j)) for (i, j), edge in zip(pairs, edges, strict=True)]
    columns = {"first": pairs[:, 0], "second": pairs[:, 1], "cosine": head.cosines("right", pairs)}
    return pd.DataFrame({"head": name, **columns, "edge_of_hull": edges, "both_reach": reach})


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

    two = [first, second]

    def logs(z: Floats) -> Floats:
        return np.asarray(log_softmax((z[:-1] @ rows.T)[None])[0, two])

    def slopes(z: Floats) -> Floats:
        p = np.exp(log_softmax((z[:-1] @ rows.T)[None])[0])
        return np.column_stack([rows[two] - p @ rows, [-1.0, -1.0]])

    start = np.zeros(rows.shape[1] + 1)
    start[-1] = logs(start).min()
    bound: Any = {"type": "ineq", "fun": lambda z: logs(z) - z[-1], "jac": slopes}
    # The objective is −t, the last coordinate.
    down = np.append(np.zeros(rows.shape[1]), -1.0)
    solver: Any = minimize  # its stubs know no constrained problem with a fixed gradient
    options = {"ftol": 1e-12, "maxiter": 500}
    best = solver(down.__matmul__, start, jac=lambda _: down, constraints=bound, method="SLSQP", options=options)
    return float(np.exp(logs(best.x).min()))
