"""Nearest labels before and after a translation, exact over all labels, without a second copy of the head."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from embaudit.core.checked import Indices, Vector
from embaudit.linalg.nearest import neighbours
from embaudit.model import FactorModel
from embaudit.movements.neighbourhoods import NearestChanged, Neighbourhood, by_name
from embaudit.movements.twins import once, standing_rows, twins

SHOWN = 5
"""Neighbours shown side by side."""


@dataclass(frozen=True)
class NeighbourChange:
    """Effect of a translation on the nearest labels."""

    n_rows: int
    """Labels whose neighbours were compared, among all labels: one of each group of copies, as in the lists."""
    exact: bool
    """True if these were all labels with a direction."""
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
    """A few labels with their neighbours before and after, those that changed most first; twins come last."""
    compared: tuple[int, ...] = field(default=(), repr=False)
    """The labels whose neighbours were compared."""


def neighbour_change(
    model: FactorModel, rows: Indices, shift: Vector, *, n: int, exact: bool, n_examples: int = 5
) -> NeighbourChange:
    """Compare the `n` nearest labels of some rows before and after a translation of all labels.

    Examples
    --------
    >>> head = FactorModel.from_softmax([[9.0, 1.0], [9.0, -1.0], [11.0, 1.2], [11.0, -0.8]])
    >>> change = neighbour_change(head, np.arange(4), -head.right.mean(axis=0), n=1, exact=True)
    >>> change.top1_changed
    1.0
    """
    # Duplicates change places by rounding alone: one of each group stands for all, in rows asked and in lists.
    copies, first = twins(model), standing_rows(model, "right")
    labels = once(rows, first)
    n = min(n, len(once(model.right_side.directed, first)) - 1)
    if n < 1:  # all labels are copies of one
        nothing = float("nan")
        return NeighbourChange(len(labels), exact, nothing, nothing, nothing, 0, nothing, (), tuple(labels.tolist()))
    before, after = (neighbours(model.right, n, rows=labels, first=first, shift=moved) for moved in (None, shift))
    nearest, changed = NearestChanged.of(before, after, exact=exact), 1 - before.overlap(after)
    lost = np.count_nonzero((before.indices >= 0) & ~before.kept_in(after), axis=1)
    other = ~before.first(1).kept_in(after.first(1))[:, 0]
    # Examples: labels without duplicates first, then by neighbours lost; a changed nearest one counts once more.
    most = np.lexsort((-lost - other, ~copies.alone[labels]))[:n_examples]
    shown = (lists.of(most).first(SHOWN) for lists in (before, after))
    examples = by_name(model.names("right"), *shown, first=copies.first)
    compared = tuple(labels.tolist())
    return NeighbourChange(
        len(labels), exact, nearest.share, nearest.ci_low, nearest.ci_high, n, changed, examples, compared
    )
