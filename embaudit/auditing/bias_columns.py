"""Neighbour lists of right rows that have their bias as a column.

Some libraries, such as implicit, store the bias of an item as a column of its factors.
Their neighbour lists differ from lists of the factors without the bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from embaudit.core.checked import Indices, Matrix
from embaudit.linalg.nearest import NeighbourLists, neighbours
from embaudit.model import FactorModel
from embaudit.movements.neighbourhoods import (
    N_LISTED,
    Neighbourhood,
    named_neighbourhoods,
)
from embaudit.movements.twins import twins

MAX_ROWS = 200_000
"""Largest number of rows that are copied to a table with the bias as a column."""


def bias_can_change_neighbours(model: FactorModel) -> bool:
    """Return True if the right rows may have other neighbours with their bias.

    This needs biases that differ and that the predictions depend on. The labels of a
    softmax head are not compared with their bias, because no library stores it as a
    column. Tables of more than 200,000 rows are not compared either.

    Examples
    --------
    >>> users, items = [[1.0]], [[1.0], [2.0]]
    >>> model = FactorModel.from_user_item(users, items, item_bias=[0.0, 1.0])
    >>> bias_can_change_neighbours(model)
    True
    >>> bias_can_change_neighbours(model.replace(link="cosine"))
    False
    >>> bias_can_change_neighbours(model.replace(right_bias=[1.0, 1.0]))
    False
    """
    if model.right_bias is None or model.n_right > MAX_ROWS:
        return False
    if model.link.name == "softmax" or not model.link.sees_biases:
        return False
    return bool(np.ptp(model.right_bias) > 0)


def rows_with_bias(model: FactorModel) -> Matrix:
    """Return the right rows as implicit stores them, with the bias as a column.

    If the left side has a bias as well, another column holds the constant 1, so that
    `(x, 1, a)·(y, b, 1) = x·y + b + a` for the biases a and b.

    Returns
    -------
    array of shape (n, k + 1) or (n, k + 2)

    Examples
    --------
    >>> model = FactorModel.from_user_item(
    ...     [[1.0]], [[1.0], [2.0]], user_bias=[3.0], item_bias=[0.5, 0.25]
    ... )
    >>> rows_with_bias(model)
    array([[1.  , 0.5 , 1.  ],
           [2.  , 0.25, 1.  ]])
    """
    rows = model.right
    assert model.right_bias is not None
    columns = [rows, model.right_bias.astype(rows.dtype)]
    if model.left_bias is not None:
        columns.append(np.ones(len(rows), dtype=rows.dtype))
    return np.column_stack(columns)


@dataclass(frozen=True)
class BiasColumns:
    """Neighbour lists with the bias as a column, compared with those without it."""

    kept: float
    """Mean share of a list without the bias that is in the list with it."""
    n_neighbours: int
    """Length of a list."""
    n_rows: int
    """Number of rows whose lists were compared."""
    columns: int
    """Number of columns added: the bias alone, or the bias and a constant 1."""

    @classmethod
    def from_model(
        cls,
        model: FactorModel,
        lists: NeighbourLists,
        representatives: Indices | None = None,
    ) -> Self:
        """Compare lists of the right rows without and with the bias as a column.

        Parameters
        ----------
        model : FactorModel
            A model with a right bias.
        lists : NeighbourLists
            The nearest rows of some right rows, without the bias.
        representatives : array of int (n,), optional
            The row that stands for each row in lists, if there are duplicates.

        Examples
        --------
        >>> model = FactorModel.from_user_item(
        ...     [[1.0, 0.0]],
        ...     [[1.0, 0.0], [1.0, 0.1], [1.0, 0.2]],
        ...     item_bias=[3.0, -3.0, 3.0],
        ... )
        >>> BiasColumns.from_model(model, neighbours(model.right, 1))
        BiasColumns(kept=0.3333333333333333, n_neighbours=1, n_rows=3, columns=1)
        """
        n_neighbours = lists.indices.shape[1]
        rows = rows_with_bias(model)
        lists_with_bias = neighbours(
            rows, n_neighbours, rows=lists.rows, first=representatives
        )
        return cls(
            kept=lists.overlap(lists_with_bias),
            n_neighbours=n_neighbours,
            n_rows=len(lists.rows),
            columns=rows.shape[1] - model.rank,
        )


def neighbours_with_bias(
    model: FactorModel, rows: Indices, n: int
) -> tuple[Neighbourhood, ...]:
    """List the `n` nearest rows of a few right rows, without the bias and with it.

    Examples
    --------
    >>> model = FactorModel.from_user_item(
    ...     [[1.0, 0.0]],
    ...     [[1.0, 0.0], [1.0, 0.1], [1.0, 0.2]],
    ...     item_bias=[3.0, -3.0, 3.0],
    ... )
    >>> (lists,) = neighbours_with_bias(model, np.array([0]), 1)
    >>> lists.before[0][0], lists.after[0][0]
    ('1', '2')
    """
    stored = rows_with_bias(model)
    # Rows that differ only in their bias are not duplicates once it is a column.
    representatives = twins(FactorModel.from_vectors(stored)).first
    without_bias = neighbours(model.right, n, rows=rows, first=representatives)
    with_bias = neighbours(stored, n, rows=rows, first=representatives)
    return named_neighbourhoods(
        model.right_side.labels,
        without_bias,
        with_bias,
        first=representatives,
        most=N_LISTED,
    )
