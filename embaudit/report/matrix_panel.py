"""One heatmap of a square matrix whose rows stand in groups: the panel of every picture of cosines between all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.core.words import cut, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

UNKNOWN = "#9a9a9a"
"""Colour of cells without a number."""
NAMED = 0.04
"""Share of the rows from which there is room for the name of a group."""


@dataclass(frozen=True)
class Scale:
    """Colours, and the numbers at their ends; what lies beyond is drawn as the end."""

    colours: str
    low: float
    high: float


COSINES = Scale("RdBu_r", -1.0, 1.0)
"""Two hues that people who confuse red and green tell apart, white at 0; the same limits for every model."""


def edges_of(groups: ArrayLike) -> NDArray[np.float64]:
    """Find the places between two groups that stand one after the other.

    Examples
    --------
    >>> edges_of(["a", "a", "b"])
    array([1.5])
    """
    labels = np.asarray(groups)
    return np.asarray(np.flatnonzero(labels[1:] != labels[:-1]) + 0.5, dtype=np.float64)


def draw_matrix(ax: Any, values: ArrayLike, title: str, groups: ArrayLike = (), scale: Scale = COSINES) -> Any:
    """Draw a matrix on axes, with a tick between every two groups, and return the image.

    Parameters
    ----------
    ax : matplotlib Axes
    values : array of shape (m, m)
        NaN is grey.
    title : str
    groups : array of shape (m,), optional
        The group of each row, one group after the other.
    scale : Scale
        That of cosines by default.
    """
    import matplotlib as mpl

    colours = mpl.colormaps[scale.colours].with_extremes(bad=UNKNOWN)
    image = ax.imshow(values, vmin=scale.low, vmax=scale.high, cmap=colours, aspect="equal")
    ax.set_title(title)
    ax.grid(visible=False)
    # Ticks outside mark where groups end; lines across would cover cells.
    edges = edges_of(groups)
    ax.set_xticks(edges, labels=[])
    ax.set_yticks(edges, labels=[])
    ax.tick_params(length=2.5, width=0.6)
    ax.spines[:].set_visible(False)
    return image


def name_groups(ax: Any, groups: Sequence[str], longest: int, size: float | str) -> None:
    """Write beside a heatmap what its groups are called, where they are high enough for a line of text.

    Parameters
    ----------
    ax : matplotlib Axes
        What `draw_matrix` drew on.
    groups : sequence of str of length m
        The name of each row's group, one group after the other.
    longest : int
        Characters of a name at most.
    size : float or str
        Of the letters, as matplotlib takes it.
    """
    # A row is centred on its number, so the first group begins half a row before 0.
    edges = np.concatenate([[-0.5], edges_of(groups), [len(groups) - 0.5]])
    high = np.flatnonzero(np.diff(edges) >= NAMED * len(groups))
    middles = (edges[:-1] + edges[1:])[high] / 2
    names = [cut(visible(groups[int(middle)]), longest).replace("$", r"\$") for middle in middles]
    # Major ticks mark where groups end, so names are minor ones.
    ax.set_yticks(middles, labels=names, minor=True)
    ax.tick_params(axis="y", which="minor", length=0, labelsize=size)
