"""Nearest labels before and after a translation, exact over all labels, without a second copy of the head."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from embaudit.foundation.checked import Indices, Vector
from embaudit.kernels.nearest import NeighbourLists, neighbours
from embaudit.model import FactorModel
from embaudit.movements.nearest_changed import NearestChanged
from embaudit.movements.neighbourhoods import Neighbourhood, by_name
from embaudit.movements.twins import twins

SHOWN = 5
"""Neighbours shown side by side."""
SPARE = 6
"""Neighbours listed beyond those asked for: copies may fill so many places."""


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
    """A few labels with their neighbours before and after, those that changed most first; twins come last."""
    top1_changed_without_twins: float = float("nan")
    """`top1_changed` of lists that hold one label of each group of twins, and of such labels."""
    top_n_changed_without_twins: float = float("nan")
    """`top_n_changed` of the same; NaN where there is one group only."""
    asked: tuple[int, ...] = ()
    """The labels whose neighbours were compared."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        record = asdict(self) | {"examples": tuple(example.to_dict() for example in self.examples)}
        del record["asked"]
        return record


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
    found = twins(model)
    lists = _before_and_after(
        model, np.union1d(rows, found.first[rows]), shift, n + (SPARE if found.copies.any() else 0)
    )
    before, after = (one.of(np.searchsorted(one.rows, rows)).first(n) for one in lists)
    one, others = NearestChanged.of(before, after, exact=exact), 1 - before.overlap(after)
    alone, top1, top_n = (before, after), one.share, others
    if found.copies.any():
        standing = np.unique(found.first[rows])
        was, now = (one.of(np.searchsorted(one.rows, standing)).among(found.first, n) for one in lists)
        alone = was, now
        several = bool((alone[0].indices >= 0).any())
        top1 = NearestChanged.of(*alone, exact=True).share if several else float("nan")
        top_n = 1 - alone[0].overlap(alone[1]) if several else float("nan")
    lost = np.count_nonzero((alone[0].indices >= 0) & ~alone[0].kept_in(alone[1]), axis=1)
    other = ~alone[0].first(1).kept_in(alone[1].first(1))[:, 0]
    most = np.lexsort((-lost - other, ~found.alone[alone[0].rows]))[:n_examples]
    examples = by_name(model.names("right"), *(lists.of(most).first(SHOWN) for lists in alone), first=found.first)
    return NeighbourChange(
        len(rows), exact, one.share, one.ci_low, one.ci_high, n, others, examples, top1, top_n, tuple(rows.tolist())
    )


def _before_and_after(
    model: FactorModel, rows: Indices, shift: Vector, n: int
) -> tuple[NeighbourLists, NeighbourLists]:
    most = min(n, model.n_right - 1)
    return neighbours(model.right, most, rows=rows), neighbours(model.right, most, rows=rows, shift=shift)
