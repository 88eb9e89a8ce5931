"""Sentences on columns, or mixtures of columns, that are the same in every row."""

from __future__ import annotations

from collections.abc import Sequence

from embaudit.canonical import HiddenBias
from embaudit.core.words import listed

COLUMNS_NAMED = 3
"""Number of constant columns that a sentence names."""


def constant_columns(
    biases: Sequence[HiddenBias], stored: tuple[int, ...] | None
) -> str:
    """Name the constant columns by their stored numbers, or say that columns are mixed.

    Parameters
    ----------
    biases : sequence of HiddenBias
        The directions in which a side is constant.
    stored : tuple of int, optional
        The stored number of each column of the model; None if none was left out.

    Examples
    --------
    >>> biases = [HiddenBias("left", 1, 2.0), HiddenBias("left", 2, 1.0)]
    >>> constant_columns(biases, stored=(0, 3, 4))
    '2 columns (3, 4)'
    """
    numbers = [bias.column for bias in biases if bias.column is not None]
    if not numbers:
        return "A mixture of columns"
    if stored is not None:
        numbers = [stored[number] for number in numbers]
    if len(numbers) == 1:
        return f"Column {numbers[0]}"
    named = listed([str(number) for number in numbers], COLUMNS_NAMED)
    return f"{len(numbers)} columns ({named})"
