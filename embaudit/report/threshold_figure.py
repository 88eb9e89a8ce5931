"""The figure of a threshold: which share of pairs reaches each cosine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from embaudit.core.checked import Floats
from embaudit.core.tolerances import TIE
from embaudit.report.display import TITLE, Palette, TableDisplay, legend_above
from embaudit.serving import Threshold

N_POINTS = 201
"""Number of cosines at which shares are drawn."""
UNRELATED, RELATED, LABELLED_UNRELATED = (
    "unrelated pairs",
    "labelled related",
    "labelled unrelated",
)
"""Kinds of pairs."""


@dataclass(frozen=True, eq=False)
class ThresholdDisplay(TableDisplay):
    """Shares of unrelated and of labelled pairs that reach each cosine.

    Columns are `kind`, `cosine` and `share`.

    Parameters
    ----------
    cut : float, optional
        The recommended threshold.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.serving import threshold
    >>> rows = np.random.default_rng(0).standard_normal((50, 8))
    >>> found = threshold(FactorModel.from_vectors(rows))
    >>> shown = ThresholdDisplay.from_threshold(found)
    >>> shown.columns["share"][[0, -1]].round(4).tolist()  # 1 of 1,225 pairs
    [1.0, 0.0008]
    """

    CAPTION = "The share of pairs that reach each cosine: {title}."

    cut: float | None = None

    @classmethod
    def from_threshold(cls, found: Threshold) -> Self:
        """Compute the shares at cosines of equal distance."""
        scores: dict[str, Floats] = {UNRELATED: found.unrelated.scores}
        if found.labelled is not None:
            labelled = found.labelled.scores
            scores[RELATED] = labelled.scores[labelled.is_related]
            scores[LABELLED_UNRELATED] = labelled.scores[~labelled.is_related]
        low = min(float(values.min()) for values in scores.values())
        high = max(float(values.max()) for values in scores.values())
        grid = np.linspace(low, high, N_POINTS)
        shares = []
        for values in scores.values():
            n_below = np.searchsorted(np.sort(values), grid - TIE)
            shares.append(1 - n_below / len(values))
        columns = {
            "kind": np.repeat(list(scores), N_POINTS),
            "cosine": np.tile(grid, len(scores)),
            "share": np.concatenate(shares),
        }
        return cls(columns, f"{found.title} pairs", cut=found.threshold)

    def _draw(self, ax: Any, palette: Palette) -> None:
        styles = {
            UNRELATED: {"color": palette["blue"]},
            RELATED: {"color": palette["teal"], "linestyle": "--"},
            LABELLED_UNRELATED: {"color": palette["amber"], "linestyle": ":"},
        }
        kinds = self.columns["kind"]
        for kind, style in styles.items():
            rows = kinds == kind
            if rows.any():
                cosines = self.columns["cosine"][rows]
                ax.plot(cosines, self.columns["share"][rows], label=kind, **style)
        if self.cut is not None:
            ax.axvline(self.cut, color=palette["red"], lw=0.8, label="the cut")
        ax.set_title(self.title, fontsize="medium", gid=TITLE)
        ax.set(ylim=(-0.02, 1.02), xlabel="cosine", ylabel="share of pairs above")
        legend_above(ax)
