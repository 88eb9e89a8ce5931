"""Scores of selected rows: products with all right rows, and biases."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from embaudit.core.checked import Floats, Matrix, as_rows
from embaudit.linalg.rows import unit_rows
from embaudit.model.links import Link
from embaudit.model.side import Side, SideName


def scores_of(link: Link, left: Side, right: Side, offset: float, rows: ArrayLike | slice | None) -> Floats:
    """Compute what `FactorModel.scores` returns; `left` is the side whose rows are scored."""
    rows = slice(None) if rows is None else rows
    some = rows if isinstance(rows, slice) else as_rows(rows, len(left))
    factors: tuple[tuple[SideName, Matrix], ...] = ((link.scored_role, left.rows[some]), ("right", right.rows))
    block, columns = (unit_rows(x) if side in link.unit_sides else np.asarray(x, np.float64) for side, x in factors)
    scores: Floats = block @ columns.T
    if link.sees_biases:
        # Each term that there is takes a pass over all scores, which is as long as their products.
        biases = (offset or None, None if left.bias is None else left.bias[some][:, None], right.bias)
        for bias in (term for term in biases if term is not None):
            scores += bias
    return scores
