"""Weights of rows in the limits of a gate.

Rows count by their interactions, or by their slots in recommended lists.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import Floats, Indices
from embaudit.core.parallel import row_blocks
from embaudit.linalg.nearest import TopK
from embaudit.linalg.rows import sample_rows
from embaudit.model import FactorModel, SideName

ROWS = 512
"""Left rows whose lists are searched."""
TOP = 10
"""Length of the recommended lists whose slots are counted."""


@dataclass(frozen=True, eq=False)
class RowWeights:
    """Weights of the rows of one side.

    A release that breaks a few popular items breaks most of the lists that people see,
    although it leaves nearly all rows as they were.
    """

    values: Floats
    """(n,) weight of each row; they add up to 1."""
    source: str
    """"interactions", "slots" in the left rows' lists, or "equal"."""

    def share(self, rows: Indices) -> float:
        """Return the sum of the weights of some rows; exactly 1 for all rows."""
        is_missing = np.ones(len(self.values), dtype=bool)
        is_missing[rows] = False
        return 1.0 - float(self.values[is_missing].sum())

    def mean(self, values: Floats, rows: Indices) -> float:
        """Return the weighted mean of one value per row.

        It is the plain mean if the weights of these rows are all 0.
        """
        weights = self.values[rows]
        total = float(weights.sum())
        if total == 0:
            return float(np.mean(values))
        return min(1.0, float(weights @ values) / total)


def row_weights(
    model: FactorModel, role: SideName, rng: np.random.Generator
) -> RowWeights:
    """Weigh the rows of a side of a model.

    Rows count by their interactions if the model holds these numbers. Otherwise an item
    counts by its slots in the lists of the ten best items of up to 512 users. All other
    rows count equally, and so do items if no user has a list.

    Examples
    --------
    >>> items = [[3.0, 0.0], [0.0, 2.0]]
    >>> model = FactorModel.from_arrays(np.eye(2), items, right_counts=[30, 10])
    >>> weights = row_weights(model, "right", np.random.default_rng(0))
    >>> weights.values, weights.source, weights.share(np.array([0]))
    (array([0.75, 0.25]), 'interactions', 0.75)
    """
    side = model.side(role)
    counts = side.counts
    if counts is not None and np.sum(counts) > 0:
        return RowWeights(np.asarray(counts / np.sum(counts)), "interactions")
    if role == "right" and model.left is not None and model.compared is None:
        slots = _slots(model, rng)
        # Left rows without direction have no cosines, and so no lists.
        if slots.any():
            return RowWeights(slots / slots.sum(), "slots")
    return equal_weights(len(side))


def equal_weights(n_rows: int) -> RowWeights:
    """Return the same weight for all rows."""
    return RowWeights(np.full(n_rows, 1 / n_rows), "equal")


def _slots(model: FactorModel, rng: np.random.Generator) -> Floats:
    """Count the slots of each right row in the lists of some left rows."""
    left = sample_rows(len(model.side("left")), ROWS, rng)
    n_right = len(model.side("right"))
    best = TopK(len(left), min(TOP, n_right))
    for columns in row_blocks(n_right, len(left)):
        right = np.arange(columns.start, columns.stop)
        best.add(model.take(left=left, right=right).scores(), columns.start)
    listed = best.columns[best.columns >= 0]
    return np.bincount(listed, minlength=n_right).astype(np.float64)
