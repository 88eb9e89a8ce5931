"""Identity of a model in its audit: a hash and a few scores.

A later audit compares its own scores with the recorded ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from embaudit.core.checked import Floats, Indices
from embaudit.core.ties import reaches
from embaudit.model import FactorModel, SideName
from embaudit.model.equivalence import row_correlations, unlike_rows
from embaudit.model.side import Side

SAMPLE_SIZE = 100
"""Largest number of rows per side in the recorded sample of scores."""
MIN_SHARED = 6
"""Rows of each side that two models must share for their scores to be compared."""
LOWEST_CORRELATION = 0.5
"""Smallest correlation with the scores of a baseline that is not reported.

Models trained with another seed reach 0.9 and more; shuffled rows, or another side,
leave 0."""
FEWEST_MOVED_ROWS = 4
"""Smallest number of a side's sampled rows with other scores that is reported.

Another seed moves one of 100 rows. If a tenth of the rows is shuffled, 97 of 100
samples hold at least 4 of them."""
SHARE_OF_MOVED_ROWS = 0.03
"""Share of a side's sampled rows with other scores above which they are reported."""


@dataclass(frozen=True)
class ScoreChange:
    """Agreement of the scores of a few rows with their scores in a baseline."""

    n_rows: int
    """Number of rows compared: left rows, or rows of the table of a one-sided model."""
    n_columns: int
    """Number of right rows compared."""
    correlation: float
    """Mean Pearson correlation of the two lists of scores of a row."""
    moved_rows: int = 0
    """Number of rows that correlate by less than 0.3, each column less its mean."""
    moved_columns: int = 0
    """Number of columns that correlate by less than 0.3, each less its mean."""
    scale: float = 1.0
    """Root mean square of the scores without their row means, divided by the root mean
    square of the baseline.
    """

    @property
    def is_same_on_average(self) -> bool:
        """True if the scores of rows correlate by 0.5 or more on average."""
        return reaches(self.correlation, LOWEST_CORRELATION)


@dataclass(frozen=True)
class MovedRows:
    """Sampled rows of one side that have other scores than in the baseline."""

    n: int
    """Number of rows with other scores."""
    n_rows: int
    """Number of rows that were compared."""
    title: str
    """Noun of a row."""
    n_zero: int
    """Number of rows of zeros among all rows of the side."""

    @property
    def share(self) -> float:
        """Share of the compared rows."""
        return self.n / self.n_rows


def moved_rows(model: FactorModel, change: ScoreChange) -> list[MovedRows]:
    """Return the sides on which enough rows have other scores.

    Each side is judged by itself, because a few changed rows of a small side can be too
    few to report, although they are a large share. If rows of one table are compared
    with each other, they all belong to one side.
    """
    counts = {
        "left": (change.moved_rows, change.n_rows),
        "right": (change.moved_columns, change.n_columns),
    }
    moved = []
    for name in model.sides:
        n, n_rows = counts[name]
        if n >= FEWEST_MOVED_ROWS and n > SHARE_OF_MOVED_ROWS * n_rows:
            side = model.side(name)
            n_zero = len(side) - len(side.directed)
            moved.append(MovedRows(n, n_rows, side.title, n_zero))
    return moved


def score_sample(model: FactorModel) -> dict[str, Any] | None:
    """Return the scores of a few rows of each side, less the mean of each row.

    Return None for a model of one side alone, unless its rows are compared with each
    other. The rows with the smallest hashes of ids are taken, so models with nearly the
    same ids have nearly the same sample. A row without an id is named "row" and its
    number. Rows of zeros are listed under "zero": their scores depend on biases only,
    so there is nothing of their own that could be compared with a later model.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> users, items = [[1.0], [2.0]], [[3.0], [-1.0]]
    >>> model = FactorModel.from_user_item(users, items, item_ids=["a", "b"])
    >>> sample = score_sample(model)
    >>> sorted(sample["right"]), sorted(map(max, sample["values"]))
    (['a', 'b'], [2.0, 4.0])
    """
    right = _sampled(model.right_side)
    if model.compared is not None:
        scores = np.array(model.take(right=right).scores(), dtype=np.float64)
        # The score of a row with itself is the largest in every model, so it would hide
        # a change of all other scores. Replace it by the mean of the others.
        n_others = max(1, len(scores) - 1)
        np.fill_diagonal(scores, (scores.sum(axis=1) - np.diag(scores)) / n_others)
        return _record(model, "right", right, right, scores)
    if model.left is None:
        return None
    left = _sampled(model.side("left"))
    scores = model.take(left=left, right=right).scores()
    return _record(model, "left", left, right, scores)


def score_change(
    before: Mapping[str, Any] | None, now: Mapping[str, Any] | None
) -> ScoreChange | None:
    """Correlate the scores that two samples share, row by row.

    Return None if the samples share too few rows, or if the scores of every row are
    constant. The scale and the mean of a row do not count, because rankings and
    probabilities leave them open. Rows of zeros of the first model are skipped, because
    a row that gets a vector later, for example a new user, had no scores of its own.

    Examples
    --------
    >>> names = list("abcdefgh")
    >>> one = {"left": names, "right": names, "values": np.eye(8).tolist()}
    >>> other = one | {"right": names[::-1]}
    >>> score_change(one, one).correlation, score_change(one, other).correlation < 0
    (1.0, True)
    >>> constant = one | {"values": np.zeros((8, 8))}
    >>> few_rows = one | {"left": names[3:]}
    >>> score_change(one, constant), score_change(few_rows, one)
    (None, None)
    """
    tables = _shared_scores(before, now)
    if tables is None:
        return None
    first, second = tables
    correlations = row_correlations(first, second)
    if np.isnan(correlations).all():
        return None
    moved_rows, moved_columns = unlike_rows(first, second)
    n_rows, n_columns = first.shape
    return ScoreChange(
        n_rows,
        n_columns,
        # Twelve digits, because the last digits differ between machines.
        correlation=round(float(np.nanmean(correlations)), 12),
        moved_rows=int(moved_rows.sum()),
        moved_columns=int(moved_columns.sum()),
        scale=float(np.linalg.norm(second) / np.linalg.norm(first)),
    )


def are_constant(
    before: Mapping[str, Any] | None, now: Mapping[str, Any] | None
) -> bool:
    """Return True if the scores that two samples share are equal within each row.

    Such scores rank nothing, so there is nothing in them that could be compared. Return
    False if the samples share too few rows.

    Examples
    --------
    >>> names = list("abcdefgh")
    >>> flat = {"left": names, "right": names, "values": np.zeros((8, 8)).tolist()}
    >>> varied = flat | {"values": np.eye(8).tolist()}
    >>> are_constant(flat, flat), are_constant(flat, varied)
    (True, False)
    """
    tables = _shared_scores(before, now)
    if tables is None:
        return False
    return all((table == table[:, :1]).all() for table in tables)


def _shared_scores(
    before: Mapping[str, Any] | None, now: Mapping[str, Any] | None
) -> tuple[Floats, Floats] | None:
    """Return the scores of the rows and columns that are in both samples.

    Return None if a sample is missing or if the samples share fewer than `MIN_SHARED`
    rows or columns.
    """
    if before is None or now is None:
        return None
    rows = _shared_names(before, now, "left")
    columns = _shared_names(before, now, "right")
    if min(len(rows), len(columns)) < MIN_SHARED:
        return None
    return _part(before, rows, columns), _part(now, rows, columns)


def _shared_names(
    before: Mapping[str, Any], now: Mapping[str, Any], side: SideName
) -> list[str]:
    """Return the names of the rows of a side that are in both samples, sorted.

    Rows of zeros of the first model are skipped.
    """
    shared = set(map(str, before[side])) & set(map(str, now[side]))
    zero = before.get("zero", {}).get(side, [])
    return sorted(shared - set(map(str, zero)))


def _names(side: Side, rows: Indices) -> list[str]:
    if side.ids is None:
        # The word "row" keeps the number from being taken for an id of another file.
        return [f"row {row}" for row in rows]
    return [str(name) for name in np.asarray(side.ids)[rows]]


def _sampled(side: Side) -> Indices:
    """Return the rows with the smallest hashes of ids, in the order of the table."""
    from pandas.util import hash_array

    ids = np.arange(len(side)) if side.ids is None else np.asarray(side.ids)
    hashes = hash_array(ids.astype(object) if ids.dtype.kind in "US" else ids)
    return np.sort(np.argsort(hashes, kind="stable")[:SAMPLE_SIZE])


def _record(
    model: FactorModel,
    row_side: SideName,
    rows: Indices,
    columns: Indices,
    scores: Floats,
) -> dict[str, Any]:
    """Return the names and the scores of some rows of a side with some right rows."""
    scores = np.nan_to_num(scores)
    centred = scores - scores.mean(axis=1, keepdims=True)
    # If the scores of a row are equal up to rounding, their differences are noise, so
    # they must not be compared.
    rounding = 16 * np.finfo(scores.dtype).eps * np.abs(scores).max(axis=1)
    centred[np.abs(centred).max(axis=1) <= rounding] = 0.0
    # Three digits, because changes that matter show in the second one.
    values = [[float(f"{x:.3g}") for x in row] for row in centred]
    return {
        "left": _names(model.side(row_side), rows),
        "right": _names(model.right_side, columns),
        "values": values,
        "zero": {
            "left": _names_of_zeros(model, row_side, rows),
            "right": _names_of_zeros(model, "right", columns),
        },
    }


def _names_of_zeros(model: FactorModel, side: SideName, rows: Indices) -> list[str]:
    """Return the names of the rows that have no scores of their own."""
    if model.link.measures_distances:
        # The origin has a distance to other points, like any other point.
        return []
    is_zero = model.side(side).norms[rows] == 0
    return _names(model.side(side), rows[is_zero])


def _part(sample: Mapping[str, Any], rows: list[str], columns: list[str]) -> Floats:
    """Return the scores of a sample at the named rows and columns, in that order."""
    row_of = {str(name): row for row, name in enumerate(sample["left"])}
    column_of = {str(name): column for column, name in enumerate(sample["right"])}
    values = np.asarray(sample["values"], dtype=np.float64)
    row_places = [row_of[name] for name in rows]
    column_places = [column_of[name] for name in columns]
    return values[np.ix_(row_places, column_places)]
