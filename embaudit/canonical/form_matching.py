"""Moments of some of the rows against those of all: number, mean and Gram matrix, k×k numbers in all.

Of some of the rows the sums are less; what is missing must be the sums of the rows that were left out.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Floats
from embaudit.linalg.moments import Moments

ROUNDING = 64
"""Sums of the same rows in another order differ by less than so many times what their numbers can tell from zero."""


def belongs(some: Moments, whole: Moments, *, partly: bool = False) -> bool:
    """Check that rows with some sums may be those of the whole, or some of them where that is allowed.

    Examples
    --------
    >>> from embaudit.linalg.moments import moments
    >>> rows = np.array([[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]])
    >>> whole, turned, some, other = (moments(x) for x in (rows, rows[::-1], rows[:1], 2 * rows))
    >>> belongs(turned, whole), belongs(other, whole), belongs(some, whole), belongs(some, whole, partly=True)
    (True, False, False, True)
    """
    if some is whole:
        return True
    missing = whole.n_rows - some.n_rows
    if missing < 0 or (missing > 0 and not partly):
        return False
    roots = [_with_count(side) for side in (whole, some)]
    # Columns of very different size are compared each to its own precision.
    scale = np.maximum(*(np.linalg.norm(root, axis=0) for root in roots))
    scale[scale == 0] = 1
    of_whole, of_part = (root / scale for root in roots)
    left_out = np.linalg.eigvalsh(of_whole.T @ of_whole - of_part.T @ of_part)
    rounding = ROUNDING * max(whole.precision, some.precision)
    # So many rows as are left out have a Gram matrix of no higher rank, and no negative eigenvalue.
    return bool(left_out[0] >= -rounding and np.count_nonzero(left_out > rounding) <= missing)


def _with_count(side: Moments) -> Floats:
    """Return a root of the Gram matrix of the rows with a 1 before each: of their number, sum and squares."""
    first = np.concatenate([[1.0], side.mean]) * np.sqrt(side.n_rows)
    return np.vstack([first, np.column_stack([np.zeros(len(side.mean)), side.centred_root])])
