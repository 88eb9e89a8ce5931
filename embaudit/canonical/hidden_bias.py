"""Directions in which all rows of a side are alike: the other side holds a bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.linalg.moments import Moments
from embaudit.model import SideName


@dataclass(frozen=True)
class HiddenBias:
    """A direction in which one side is constant, so that the other holds a bias."""

    role: SideName
    """The side that is constant."""
    column: int | None
    """Column number; None for a mixture of several columns, as after a rotation."""
    value: float
    """The constant; for a mixture, in units of its unit direction."""


def hidden_biases(role: SideName, side: Moments) -> tuple[HiddenBias, ...]:
    """Find the constant columns of a side, or else one constant mixture of columns.

    Examples
    --------
    >>> from embaudit.linalg.moments import moments
    >>> hidden_biases("right", moments(np.array([[1.0, 3.0], [2.0, 3.0], [5.0, 3.0]])))
    (HiddenBias(role='right', column=1, value=3.0...),)
    """
    columns = side.constant_columns
    if columns:
        return tuple(
            HiddenBias(role, column, float(side.mean[column])) for column in columns
        )
    # Any k rows in k dimensions lie on a hyperplane, which shows no bias.
    if side.n_rows <= len(side.mean):
        return ()
    # Look for directions in which the spread of the centred rows is only rounding.
    _, spread, directions = np.linalg.svd(side.centred_root)
    length_of_mean = np.linalg.norm(side.mean)
    rounding = 16 * side.precision * max(spread[0], length_of_mean)
    value = float(np.linalg.norm(directions[spread <= rounding] @ side.mean))
    if value == 0 or value <= np.sqrt(side.precision) * length_of_mean:
        return ()
    return (HiddenBias(role, None, value),)
