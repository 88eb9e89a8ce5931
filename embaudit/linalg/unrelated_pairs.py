"""Pairs of rows of different groups: their number, and a uniform sample of them.

Rows of one group, such as the sentences of one document, are related, so they say
nothing about the cosines of unrelated rows. A row without a group is related to itself
only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import RNG, Indices, as_count, as_generator, as_list
from embaudit.core.sizes import MOST_COUNT
from embaudit.errors import must_be

MISSING = frozenset({"", "None", "nan", "NaT", "<NA>"})
"""Texts of values that name no group."""


@dataclass(frozen=True, eq=False)
class UnrelatedPairs:
    """All pairs of rows of different groups, numbered from 0 on.

    Examples
    --------
    >>> codes = group_codes(["a", "b", "a", None])
    >>> pairs = UnrelatedPairs(np.arange(4), codes[0])
    >>> pairs.total, pairs.draw(9).tolist()
    (5, [[0, 1], [0, 3], [1, 2], [2, 3], [1, 3]])
    >>> left, right = group_codes(["a", "b"], ["b", "c"])
    >>> UnrelatedPairs(np.arange(2), left, np.arange(2), right).draw(9).tolist()
    [[0, 0], [0, 1], [1, 1]]
    """

    first_rows: Indices = field(repr=False)
    """(n,) numbers of the rows of one side, or of the left side, in order."""
    first_groups: Indices = field(repr=False)
    """(n,) code of the group of each of these rows."""
    second_rows: Indices | None = field(default=None, repr=False)
    """(p,) numbers of the right rows, in order; None for pairs of one side."""
    second_groups: Indices | None = field(default=None, repr=False)
    """(p,) code of the group of each right row."""

    @cached_property
    def _order(self) -> Indices:
        """Places of the rows that a pair ends with, sorted by group."""
        groups = self.first_groups
        if self.second_groups is not None:
            groups = self.second_groups
        return np.argsort(groups, kind="stable")

    @cached_property
    def _sorted_groups(self) -> Indices:
        groups = self.first_groups
        if self.second_groups is not None:
            groups = self.second_groups
        return np.asarray(groups[self._order])

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Number of the first pair of each first row, and the number of all pairs.

        Of one side, first rows are taken in the sorted order. Their partners are the
        rows behind their group, so that each pair occurs once. Of two sides, the
        partners of a left row are all right rows outside its group.
        """
        n = len(self._sorted_groups)
        if self.second_groups is None:
            ends = np.searchsorted(self._sorted_groups, self._sorted_groups, "right")
            counts = n - ends
        else:
            counts = n - self._group_ends + self._group_starts
        return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])

    @cached_property
    def _group_starts(self) -> Indices:
        """Place among sorted right rows where the group of each left row starts."""
        return np.searchsorted(self._sorted_groups, self.first_groups, "left")

    @cached_property
    def _group_ends(self) -> Indices:
        """Place where it ends."""
        return np.searchsorted(self._sorted_groups, self.first_groups, "right")

    @property
    def total(self) -> int:
        """Number of pairs."""
        return int(self._starts[-1])

    def at(self, places: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the row numbers of the pairs with these numbers, (m, 2)."""
        first = np.searchsorted(self._starts, places, "right") - 1
        offsets = places - self._starts[first]
        if self.second_rows is None or self.second_groups is None:
            groups = self._sorted_groups
            ends = np.searchsorted(groups, groups[first], "right")
            rows = np.column_stack([self._order[first], self._order[ends + offsets]])
            return np.asarray(np.sort(self.first_rows[rows], axis=1), dtype=np.intp)
        # Right rows of the group of the left row are jumped over.
        is_behind = offsets >= self._group_starts[first]
        sizes = self._group_ends[first] - self._group_starts[first]
        partners = self._order[offsets + np.where(is_behind, sizes, 0)]
        pairs = [self.first_rows[first], self.second_rows[partners]]
        return np.asarray(np.column_stack(pairs), dtype=np.intp)

    def groups_of(self, pairs: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the codes of the groups of both rows of pairs, (m, 2)."""
        first = self.first_groups[np.searchsorted(self.first_rows, pairs[:, 0])]
        rows, groups = self.first_rows, self.first_groups
        if self.second_rows is not None and self.second_groups is not None:
            rows, groups = self.second_rows, self.second_groups
        second = groups[np.searchsorted(rows, pairs[:, 1])]
        return np.asarray(np.column_stack([first, second]), dtype=np.intp)

    def contains(self, pairs: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return True for pairs of row numbers that are among these pairs."""
        second_rows = self.first_rows if self.second_rows is None else self.second_rows
        has_rows = np.isin(pairs[:, 0], self.first_rows)
        has_rows &= np.isin(pairs[:, 1], second_rows)
        found = np.zeros(len(pairs), dtype=bool)
        first, second = self.groups_of(pairs[has_rows]).T
        found[has_rows] = first != second
        return found

    def draw(self, size: int, *, rng: RNG = 0) -> NDArray[np.intp]:
        """Draw different pairs uniformly, or return all pairs if there are no more.

        Returns
        -------
        array of shape (m, 2)
            Row numbers.
        """
        as_count(size, "the number of pairs", least=0, most=MOST_COUNT)
        if self.total <= size:
            return self.at(np.arange(self.total))
        draw = as_generator(rng)
        places = draw.choice(self.total, size, replace=False, shuffle=False)
        return self.at(np.sort(places))


def group_codes(*sides: Iterable[Any]) -> list[NDArray[np.intp]]:
    """Return a number for the group of each row, of one or several sides.

    Groups of the same name on two sides are one group. A row without a group has a
    number of its own.

    Parameters
    ----------
    *sides : iterable of labels
        The group of each row. None, NaN and an empty text stand for no group.

    Examples
    --------
    >>> [codes.tolist() for codes in group_codes(["b", None, "a"], ["a", ""])]
    [[1, 2, 0], [0, 3]]
    """
    texts = [[str(label) for label in side] for side in sides]
    names = sorted({text for side in texts for text in side} - MISSING)
    code_of = {name: code for code, name in enumerate(names)}
    n_codes = len(code_of)
    codes = []
    for side in texts:
        numbers = np.empty(len(side), dtype=np.intp)
        for row, text in enumerate(side):
            if text in MISSING:
                numbers[row] = n_codes
                n_codes += 1
            else:
                numbers[row] = code_of[text]
        codes.append(numbers)
    return codes


def checked_groups(groups: Any, n_rows: int, name: str = "groups") -> list[str]:
    """Check that there is one label for each row, and return the labels as texts.

    Examples
    --------
    >>> checked_groups(["a", None, 3], 3)
    ['a', 'None', '3']
    >>> checked_groups(["a"], 3)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: groups must be a list of 3 labels, one per row; got 1.
    """
    labels = as_list(groups, name, '["a", "a", "b"]')
    expected = f"a list of {n_rows:,} labels, one per row"
    if len(labels) != n_rows:
        raise must_be(name, expected, f"{len(labels):,}")
    for label in labels:
        if isinstance(label, (list, tuple, dict, set, np.ndarray)):
            raise must_be(name, expected, f"a {type(label).__name__} in it")
    return [str(label) for label in labels]
