"""Nearest labels before and after a translation, exact over all labels, without a second copy of the head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from embaudit.foundation.workers import ordered_map, row_blocks
from embaudit.kernels.nearest import TIE
from embaudit.kernels.rows import unit_rows
from embaudit.movements.neighbourhoods import Neighbourhood

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embaudit.foundation.checked import Indices, Matrix, Vector
    from embaudit.model import FactorModel

BLOCK_BYTES = 2**24
"""Of a block of labels, and of the tile of cosines that belongs to it."""
Z95 = 1.959963984540054
"""95 % of a normal distribution lie within this many standard deviations."""


def translated_neighbours(x: Matrix, rows: Indices, n: int, shift: Vector) -> tuple[Indices, NDArray[np.float64]]:
    """Find the `n` nearest of some rows among all rows of `x + shift`, a block of rows at a time.

    Returns
    -------
    indices : array of shape (m, n)
        Best first; equal cosines in order of row number.
    cosines : array of shape (m, n)
        -inf where no row with a direction is left.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> translated_neighbours(x, np.array([0, 2]), 1, np.zeros(2))[0].ravel().tolist()
    [1, 1]
    """
    queries = unit_rows(np.asarray(x[rows], dtype=np.float64) + shift)
    blocks = row_blocks(len(x), max(x.shape[1], len(rows)), budget=BLOCK_BYTES)

    def best_of(part: slice) -> tuple[Indices, NDArray[np.float64]]:
        unit = unit_rows(np.asarray(x[part], dtype=np.float64) + shift)
        cosines = queries @ np.nan_to_num(unit).T
        cosines[:, np.isnan(unit[:, 0])] = -np.inf
        inside = np.flatnonzero((rows >= part.start) & (rows < part.stop))
        cosines[inside, rows[inside] - part.start] = -np.inf
        chosen = np.sort(np.argpartition(-cosines, min(n, cosines.shape[1]) - 1, axis=1)[:, :n], axis=1)
        return chosen + part.start, np.take_along_axis(cosines, chosen, axis=1)

    indices: Indices = np.zeros((len(rows), 0), dtype=np.intp)
    values = np.zeros((len(rows), 0))
    for found, cosines in ordered_map(best_of, blocks):
        indices, values = np.hstack([indices, found]), np.hstack([values, cosines])
        order = np.argsort(-values, axis=1, kind="stable")[:, :n]
        indices, values = np.take_along_axis(indices, order, axis=1), np.take_along_axis(values, order, axis=1)
    return indices, values


@dataclass(frozen=True)
class NeighbourChange:
    """What a translation does to the nearest labels."""

    n_rows: int
    """Labels whose neighbours were compared, among all labels."""
    exact: bool
    """Whether these were all labels with a direction."""
    top1_changed: float
    """Share whose nearest label became another one; ties count as kept."""
    ci_low: float
    """Lower end of its 95 % interval (Wilson); the share itself where exact."""
    ci_high: float
    """Upper end."""
    top_n: int
    """N of the longer lists."""
    top_n_changed: float
    """Mean share of a label's N nearest that are no longer among them."""
    examples: tuple[Neighbourhood, ...]
    """A few labels with their neighbours before and after, those that changed most first."""


def neighbour_change(
    model: FactorModel, rows: Indices, shift: Vector, *, n: int, exact: bool, n_examples: int = 5
) -> NeighbourChange:
    """Compare the `n` nearest labels of some rows before and after a translation of all labels.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> head = FactorModel.from_softmax([[9.0, 1.0], [9.0, -1.0], [11.0, 1.2], [11.0, -0.8]])
    >>> change = neighbour_change(head, np.arange(4), -head.right.mean(axis=0), n=1, exact=True)
    >>> change.top1_changed
    1.0
    """
    before, cosines = translated_neighbours(model.right, rows, n, np.zeros(model.rank))
    after, moved = translated_neighbours(model.right, rows, n, shift)
    now = _cosines_after(model.right, rows, before, shift)
    lost = (now < moved[:, -1:] - TIE) & np.isfinite(cosines)
    share = float(np.mean(now[:, 0] < moved[:, 0] - TIE))
    low, high = (share, share) if exact else wilson_interval(share, len(rows))
    most = np.argsort(-lost.sum(axis=1) - (now[:, 0] < moved[:, 0] - TIE), kind="stable")[:n_examples]
    names = model.names("right").astype(str)
    shown = min(n, 5)
    examples = (
        Neighbourhood(
            str(names[rows[i]]),
            tuple(zip(names[before[i, :shown]].tolist(), cosines[i, :shown].tolist(), strict=True)),
            tuple(zip(names[after[i, :shown]].tolist(), moved[i, :shown].tolist(), strict=True)),
        )
        for i in most
    )
    return NeighbourChange(len(rows), exact, share, low, high, n, float(lost.mean()), tuple(examples))


def _cosines_after(x: Matrix, rows: Indices, neighbours: Indices, shift: Vector) -> NDArray[np.float64]:
    """Cosines of each row with its listed neighbours once all are shifted; a row without direction loses them."""
    cosines = np.empty(neighbours.shape)
    for part in row_blocks(len(rows), x.shape[1] * (1 + neighbours.shape[1]), budget=BLOCK_BYTES):
        own = unit_rows(np.asarray(x[rows[part]], dtype=np.float64) + shift)
        listed = np.asarray(x[neighbours[part].ravel()], dtype=np.float64) + shift
        others = unit_rows(listed).reshape(len(own), -1, x.shape[1])
        cosines[part] = np.einsum("ik,ijk->ij", own, others)
    return np.nan_to_num(cosines, nan=-np.inf)


def wilson_interval(share: float, n: int) -> tuple[float, float]:
    """95 % interval of a share among n independent draws (Wilson, JASA 22, 1927).

    Examples
    --------
    >>> low, high = wilson_interval(0.5, 100)
    >>> round(low, 3), round(high, 3)
    (0.404, 0.596)
    """
    spread = Z95**2 / n
    middle = (share + spread / 2) / (1 + spread)
    half = Z95 / (1 + spread) * np.sqrt(share * (1 - share) / n + spread / (4 * n))
    return float(middle - half), float(middle + half)
