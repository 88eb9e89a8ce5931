"""Known labels of entities, such as clusters, genres or categories.

Entities are related if they share a label.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Indices
from embaudit.errors import InputError, Parameter, must_be

MISSING = ("", "nan", "none", "null", "na", "n/a", "(no genres listed)")
"""Texts in lower case that mean that there is no label."""
SEPARATORS = ("|", ";", ", ", ",")
"""Separators of the labels of one text, tried in this order."""


@dataclass(frozen=True, eq=False)
class Truth:
    """Labels of the rows of a side."""

    labels: tuple[str, ...]
    """All labels, sorted."""
    table: Any
    """(n, labels) scipy sparse array of 0 and 1, in float32."""

    def __repr__(self) -> str:
        return (
            f"Truth({self.table.shape[0]:,} rows, {len(self.labels)} labels, "
            f"{self.table.nnz:,} assignments)"
        )

    @property
    def labelled(self) -> Indices:
        """Rows that have a label."""
        return np.flatnonzero(np.diff(self.table.indptr))

    def gains(self, rows: Indices, columns: Indices) -> NDArray[np.float32]:
        """Return the Jaccard similarity of the labels of rows.

        The Jaccard similarity is the number of common labels over the number of labels
        that either row has, so equal sets of labels give 1.

        Returns
        -------
        array of shape (len(rows), len(columns))
        """
        of_rows = self.table[rows]
        of_columns = self.table[columns]
        n_common = (of_rows @ of_columns.T).toarray()
        n_of_row = np.asarray(of_rows.sum(axis=1))[:, None]
        n_of_column = np.asarray(of_columns.sum(axis=1))[None, :]
        n_all = n_of_row + n_of_column - n_common
        gains = np.zeros_like(n_common)
        np.divide(n_common, n_all, out=gains, where=n_all > 0)
        return np.asarray(gains)


def as_truth(
    truth: Truth | Sequence[Any] | NDArray[Any],
    n_rows: int,
    *,
    separator: str | None = None,
) -> Truth:
    """Read labels of rows.

    A row has one value, a text such as "Comedy|Drama", or a list or set of values.

    Parameters
    ----------
    truth : sequence of length n_rows
        Labels; None, NaN and empty texts mean that a row has none.
    n_rows : int
        Required number of rows.
    separator : str, optional
        Separator of the labels of one text, or "" for texts that are one label each. By
        default, `separator_in` detects the separator.

    Raises
    ------
    InputError
        If the length is wrong or fewer than two labels are found.

    Examples
    --------
    >>> as_truth(["Comedy|Drama", "Drama", None], 3).labels
    ('Comedy', 'Drama')
    >>> as_truth([0, 1, 1], 3).gains(np.array([1]), np.array([0, 2]))
    array([[0., 1.]], dtype=float32)
    """
    if isinstance(truth, Truth):
        result = truth
    else:
        values = list(_rows_of(truth))
        if separator is None:
            separator = separator_in(x for x in values if isinstance(x, str))
        result = _from_sets([_labels(value, separator) for value in values])
    if result.table.shape[0] != n_rows:
        raise must_be(
            "truth",
            f"a list of {n_rows} entries, one per row",
            f"{result.table.shape[0]} entries",
            "write None for a row without labels",
        )
    if len(result.labels) < 2:
        got = "none"
        if result.labels:
            got = result.labels[0]
        raise InputError(
            "{} must hold at least two labels, so that some rows are related and "
            "others are not; got {}.",
            Parameter("truth"),
            got,
        )
    return result


def _from_sets(label_sets: Sequence[set[str]]) -> Truth:
    """Build the table of labels from the set of labels of each row."""
    from scipy.sparse import csr_array

    labels = sorted(set().union(*label_sets))
    column_of = {label: column for column, label in enumerate(labels)}
    # The columns of row i are those from `starts[i]` to before `starts[i + 1]`.
    columns: list[int] = []
    starts = [0]
    for row_labels in label_sets:
        columns += [column_of[label] for label in sorted(row_labels)]
        starts.append(len(columns))
    ones = np.ones(len(columns), dtype=np.float32)
    cells = (ones, np.array(columns, dtype=np.int64), np.array(starts))
    table = csr_array(cells, shape=(len(label_sets), len(labels)))
    return Truth(tuple(labels), table)


def _rows_of(truth: Any) -> Iterable[Any]:
    """Return the labels of each row; raise InputError unless they can be iterated."""
    # An array of no dimensions has `__iter__`, but cannot be iterated.
    is_single = isinstance(truth, Mapping) or getattr(truth, "ndim", 1) == 0
    if is_single or not isinstance(truth, Iterable):
        raise must_be(
            "truth",
            'a list with the labels of each row, such as ["Comedy|Drama", "Drama"]',
            repr(truth),
        )
    return truth


def labels_in(text: str | None, separator: str = "|") -> tuple[str, ...]:
    """Return the labels in a text, in the order of the text.

    Examples
    --------
    >>> labels_in("Drama|Comedy"), labels_in("|Drama"), labels_in(None)
    (('Drama', 'Comedy'), ('Drama',), ())
    >>> labels_in("(no genres listed)")
    ()
    """
    parts = [text or ""]
    if separator:
        parts = parts[0].split(separator)
    labels = [part.strip() for part in parts]
    return tuple(label for label in labels if label.lower() not in MISSING)


def separator_in(texts: Iterable[str | None]) -> str:
    """Find the separator of the labels in texts such as "Comedy, Drama".

    A separator is one of `|`, `;` and a comma. Texts that hold `|` are split there. Any
    other separator must join labels that recur, so splitting must give fewer labels
    than there are different texts. Names such as "Lee, Ang" give more labels.

    Returns
    -------
    str
        The separator; `|` if no text is split.

    Examples
    --------
    >>> separator_in(["Comedy, Drama", "Drama", "Comedy", "Drama, War, Comedy", "War"])
    ', '
    >>> separator_in(["Lee, Ang", "Ray, Nicholas", "Ozu, Yasujiro"])
    '|'
    """
    # Skip lists and records in JSON, whose commas separate more than labels.
    cells = {text for text in texts if text and not text.startswith(("[", "{"))}
    if any(SEPARATORS[0] in cell for cell in cells):
        return SEPARATORS[0]
    for separator in SEPARATORS[1:]:
        if not any(separator in cell for cell in cells):
            continue
        labels = {label for cell in cells for label in labels_in(cell, separator)}
        if len(labels) < len(cells):
            return separator
    return SEPARATORS[0]


def _labels(value: Any, separator: str) -> set[str]:
    """Return the labels of one row: a text, another value, or several values."""
    if isinstance(value, str):
        return set(labels_in(value, separator))
    values: Iterable[Any] = [value]
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        values = value
    # NaN differs from itself.
    texts = {str(x).strip() for x in values if x is not None and x == x}
    return {text for text in texts if text.lower() not in MISSING}
