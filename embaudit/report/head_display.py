"""HeadDisplay: one arrangement of labels seen from three origins, and how far the origin must move, drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.foundation.words import visible
from embaudit.ranges import shift_to_reach
from embaudit.softmax.panel import make_panel, most_alike
from embaudit.softmax.shifts import TARGETS, panel_pairs

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from embaudit.model import FactorModel

MAX_DRAWN = 300
"""Labels drawn as points."""
LEVELS = 101
VIEWS = ("#222222", "#cc3311", "#228833")
COLOURS = {0.0: "#4477aa", -1.0: "#cc3311", 1.0: "#228833"}


@dataclass(eq=False)
class HeadDisplay:
    """Two labels of a softmax head, whose cosine depends on where one stands, and the same for many pairs.

    Parameters
    ----------
    points : array of shape (m, 2)
        Labels in the plane of the pair and the origin, the pair first; x runs from the first to the second.
    origins : array of shape (3, 2)
        Viewpoints: the head as it stands, and those that make the pair opposite and parallel. Each gives the same
        probabilities.
    cosines : tuple of 3 floats
        Cosine of the pair seen from each: its own, −1 and 1.
    names : pair of str
        The two labels.
    shifts : array of shape (3, q)
        For the cosines 0, −1 and 1, quantiles of the shortest shift over pairs, in typical row lengths.

    Attributes
    ----------
    axes_, figure_
        What `plot` drew on.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> head = FactorModel.from_softmax([[1, 0.5], [0.5, 1], [-1, 0.4], [-0.8, -0.8], [0.9, -1.2]])
    >>> display = HeadDisplay.from_model(head, pair=(0, 1))
    >>> [round(cosine, 6) for cosine in display.cosines], display.shifts.shape
    ([0.8, -1.0, 1.0], (3, 101))
    """

    points: NDArray[np.float64]
    origins: NDArray[np.float64]
    cosines: tuple[float, float, float]
    names: tuple[str, str]
    shifts: NDArray[np.float64]

    @classmethod
    def from_model(
        cls,
        model: FactorModel,
        *,
        pair: tuple[int, int] | None = None,
        n_labels: int = 2_048,
        n_pairs: int = 5_000,
        rng: np.random.Generator | int | None = 0,
    ) -> Self:
        """Compute both pictures; the pair is the most alike one by default.

        Raises
        ------
        InputError
            If the model is no softmax head, or the pair none of two of its labels.
        """
        draw = np.random.default_rng(rng)
        panel = make_panel(model, n_labels, draw, include=pair or ())
        i, j = most_alike(panel) if pair is None else panel.place(pair)
        rows = np.asarray(panel.model.right, dtype=np.float64)
        names = panel.model.names("right").astype(str)
        cosine = float(panel.model.cosines("right", [[i, j]])[0])
        plane = _plane(rows[i], rows[j])
        others = np.setdiff1d(np.arange(len(rows)), [i, j])[: MAX_DRAWN - 2]
        a, b = rows[[i, j]] @ plane
        pairs, _ = panel_pairs(panel, n_pairs, draw)
        return cls(
            points=np.vstack([a, b, rows[others] @ plane]),
            origins=np.array([np.zeros(2), (a + b) / 2, a - (b - a) / 2]),
            cosines=(cosine, -1.0, 1.0),
            names=(visible(str(names[i])), visible(str(names[j]))),
            shifts=_quantiles(rows, pairs) / panel.median_norm,
        )

    def plot(self, axes: tuple[Axes, Axes] | None = None) -> HeadDisplay:
        """Draw the labels with the three origins, and the shares of pairs that a shift suffices for."""
        if axes is None:
            from matplotlib import pyplot as plt

            _, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
        self._plot_plane(axes[0])
        self._plot_shifts(axes[1])
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def _plot_plane(self, ax: Any) -> None:
        ax.scatter(*self.points[2:].T, s=9, color="#bbbbbb")
        for cosine, origin, colour in zip(self.cosines, self.origins, VIEWS, strict=True):
            for end in self.points[:2]:
                ax.plot(*zip(origin, end, strict=True), color=colour, linewidth=1.2)
            ax.scatter(*origin, s=40, marker="+", color=colour, label=f"seen from here: cosine {cosine:+.2f}")
        ax.scatter(*self.points[:2].T, s=22, color="#222222", zorder=3)
        for name, point in zip(self.names, self.points[:2], strict=True):
            ax.annotate(name.replace("$", r"\$"), point, xytext=(4, 4), textcoords="offset points")
        ax.margins(0.12)
        ax.set_aspect("equal", adjustable="datalim")
        ax.set(title="The same probabilities from three origins", xticks=[], yticks=[])
        ax.legend(fontsize="small", loc="best")

    def _plot_shifts(self, ax: Any) -> None:
        shares = np.linspace(0, 1, self.shifts.shape[1])
        for target, lengths in zip(TARGETS, self.shifts, strict=True):
            ax.plot(
                lengths, shares, color=COLOURS[target], label=f"to cosine {target:+.0f}" if target else "to cosine 0"
            )
        ax.set(
            xlim=(0, None), ylim=(0, 1), xlabel="shift of all labels, in typical row lengths", ylabel="share of pairs"
        )
        ax.set_title("How short a shift suffices")
        ax.legend(fontsize="small", loc="lower right")


def _plane(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Basis (k, 2) of the plane of a, b and the origin: along b − a, and across."""
    along = (b - a) / np.linalg.norm(b - a) if (b != a).any() else a / np.linalg.norm(a)
    across = (a + b) / 2 - ((a + b) / 2 @ along) * along
    length = np.linalg.norm(across)
    return np.column_stack([along, across / length if length > 1e-9 * np.linalg.norm(a) else np.zeros_like(a)])


def _quantiles(rows: NDArray[np.float64], pairs: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Quantiles of the shortest shift to each target over the pairs that some shift brings there."""
    if rows.shape[1] < 2:
        return np.zeros((len(TARGETS), 0))
    curves = []
    for target in TARGETS:
        lengths = shift_to_reach(rows[pairs[:, 0]], rows[pairs[:, 1]], target)
        reached = lengths[np.isfinite(lengths)]
        curves.append(np.quantile(reached, np.linspace(0, 1, LEVELS)) if len(reached) else np.full(LEVELS, np.nan))
    return np.array(curves)
