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

        It is the number of common labels over the number of all labels of both rows, so
        1 for equal sets.

        Returns
        -------
        array of shape (len(rows), len(columns))
        """
        of_rows, of_columns = self.table[rows], self.table[columns]
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
        default `separator_in` finds it.

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
    from scipy.sparse import csr_array

    if isinstance(truth, Truth):
        result = truth
    else:
        values = list(_rows_of(truth))
        if separator is None:
            separator = separator_in(x for x in values if isinstance(x, str))
        sets = [_labels(value, separator) for value in values]
        labels = sorted(set().union(*sets))
        place = {label: i for i, label in enumerate(labels)}
        columns = [place[label] for row in sets for label in sorted(row)]
        starts = np.concatenate([[0], np.cumsum([len(row) for row in sets])])
        ones = np.ones(len(columns), dtype=np.float32)
        shape = (len(sets), len(labels))
        result = Truth(
            tuple(labels),
            csr_array((ones, np.array(columns, dtype=np.int64), starts), shape=shape),
        )
    if result.table.shape[0] != n_rows:
        raise must_be(
            "truth",
            f"labels of {n_rows} rows",
            result.table.shape[0],
            "give one entry per row, None for a row without labels",
        )
    if len(result.labels) < 2:
        got = result.labels[0] if result.labels else "none"
        raise InputError(
            "{} must hold at least two labels, to tell related rows from others; "
            "got {}.",
            Parameter("truth"),
            got,
        )
    return result


def _rows_of(truth: Any) -> Iterable[Any]:
    if (
        not isinstance(truth, Iterable)
        or isinstance(truth, Mapping)
        or getattr(truth, "ndim", 1) == 0
    ):
        raise must_be(
            "truth",
            'a list with the labels of each row, such as ["Comedy|Drama", "Drama"]',
            repr(truth),
        )
    return truth


def labels_in(text: str | None, separator: str = "|") -> tuple[str, ...]:
    """Return the labels that a text lists, in its order.

    Examples
    --------
    >>> labels_in("Drama|Comedy"), labels_in("|Drama"), labels_in(None)
    (('Drama', 'Comedy'), ('Drama',), ())
    >>> labels_in("(no genres listed)")
    ()
    """
    parts = (text or "").split(separator) if separator else [text or ""]
    return tuple(
        label.strip() for label in parts if label.strip().lower() not in MISSING
    )


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
    # Lists and records in JSON have commas that separate more than labels.
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
    if isinstance(value, str):
        return set(labels_in(value, separator))
    values: Iterable[Any] = [value]
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        values = value
    texts = {str(v).strip() for v in values if v is not None and v == v}
    return {text for text in texts if text.lower() not in MISSING}
