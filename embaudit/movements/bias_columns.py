"""Effect on the neighbours of a side of a bias that is kept as a column of the factors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import Indices, Matrix
from embaudit.linalg.nearest import NeighbourLists, neighbours
from embaudit.model import FactorModel
from embaudit.model.side import Side
from embaudit.movements.neighbourhoods import Neighbourhood, by_name
from embaudit.movements.twins import twins

MAX_ROWS = 200_000
"""Rows up to which they are held a second time, with the columns."""


@dataclass(frozen=True)
class BiasColumns:
    """Lists of nearest rows with the bias counted in, against those without it."""

    kept: float
    """Mean share of a list without the bias that is in the list with it."""
    n_neighbours: int
    """Length of a list."""
    n_rows: int
    """Rows asked."""
    columns: int
    """Number of columns added: the bias alone, or the bias and a constant 1."""


def counts_bias(model: FactorModel) -> bool:
    """Check for a bias that a library which keeps it among the factors would count in other neighbour lists.

    Examples
    --------
    >>> model = FactorModel.from_user_item([[1.0]], [[1.0], [2.0]], item_bias=[0.0, 1.0])
    >>> counts_bias(model), counts_bias(model.replace(right_bias=[1.0, 1.0])), counts_bias(model.replace(link="cosine"))
    (True, False, False)
    """
    told = model.right_bias is not None and np.ptp(model.right_bias) > 0
    return bool(told and model.link != "softmax" and model.link.sees_biases and model.n_right <= MAX_ROWS)


def stored_rows(side: Side, *, both: bool) -> Matrix:
    """Put a side as implicit stores it: the bias in a column, and a constant 1 where the other side has a bias `both`.

    Examples
    --------
    >>> stored_rows(Side([[1.0], [2.0]], "item", bias=[0.5, 0.25]), both=True)
    array([[1.  , 0.5 , 1.  ],
           [2.  , 0.25, 1.  ]])
    """
    assert side.bias is not None
    constant = [np.ones(len(side), dtype=side.rows.dtype)] if both else []
    return np.column_stack([side.rows, side.bias.astype(side.rows.dtype), *constant])


def bias_columns(side: Side, lists: NeighbourLists, first: Indices | None = None, *, both: bool) -> BiasColumns:
    """Compare lists of nearest rows with those that count the bias in.

    Parameters
    ----------
    side : Side
        The rows and their bias.
    lists : NeighbourLists
        The nearest rows of some of them, without it.
    first : array of int, optional
        The row that stands for each in the lists, where rows are copies.
    both : bool
        Whether the other side has a bias too, so that a constant stands beside this one's.

    Examples
    --------
    >>> side = Side([[1.0, 0.0], [1.0, 0.1], [1.0, 0.2]], "item", bias=[3.0, -3.0, 3.0])
    >>> bias_columns(side, neighbours(side.rows, 1), both=False)
    BiasColumns(kept=0.3333333333333333, n_neighbours=1, n_rows=3, columns=1)
    """
    n = lists.indices.shape[1]
    stored = neighbours(stored_rows(side, both=both), n, rows=lists.rows, first=first)
    return BiasColumns(lists.overlap(stored), n, len(lists.rows), 1 + both)


def beside_bias(side: Side, rows: Indices, n: int, *, both: bool) -> tuple[Neighbourhood, ...]:
    """List the nearest of a few rows without their bias, and with it among the factors; copies count it, too.

    Examples
    --------
    >>> side = Side([[1.0, 0.0], [1.0, 0.1], [1.0, 0.2]], "item", bias=[3.0, -3.0, 3.0])
    >>> (found,) = beside_bias(side, np.array([0]), 1, both=False)
    >>> found.before[0][0], found.after[0][0]
    ('1', '2')
    """
    stored = stored_rows(side, both=both)
    first = twins(FactorModel.from_vectors(stored)).first
    lists = (neighbours(x, n, rows=rows, first=first) for x in (side.rows, stored))
    return by_name(side.labels, *lists, first=first)
