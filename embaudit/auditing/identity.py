"""Identity of a model in the record of its audit: a hash, and a few scores that later audits compare theirs with."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from embaudit.core.checked import Floats, Indices
from embaudit.core.parallel import row_blocks
from embaudit.model import FactorModel
from embaudit.model.equivalence import row_correlations, unlike_rows
from embaudit.model.side import Side

SAMPLED = 100
"""Rows of each side."""
MIN_SHARED = 6
"""Rows of each side that two models must share for their scores to be compared."""


@dataclass(frozen=True)
class ScoreChange:
    """Agreement of the scores of a few rows with those of a baseline."""

    n_rows: int
    """Rows, of the left side where there is one."""
    n_columns: int
    """Right rows."""
    correlation: float
    """Pearson correlation within a row."""
    moved_rows: int = 0
    """Rows whose scores are others: they correlate by less than 0.3, each column less its mean."""
    moved_columns: int = 0
    """Columns whose scores are others."""
    scale: float = 1.0
    """Size of the scores, less the mean of each row, over that of the baseline's (root mean squares)."""


def fingerprint(model: FactorModel) -> str:
    """Hash what a model predicts with: factors, biases, offset and link.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> fingerprint(FactorModel.from_vectors([[1.0]])) == fingerprint(FactorModel.from_vectors([[1.0]]))
    True
    """
    digest = hashlib.blake2b(f"{model.link} {model.offset!r}".encode(), digest_size=16)
    for array in (model.left, model.right, model.left_bias, model.right_bias):
        # Shape and type go first: without them arrays of other shapes could have the same bytes.
        digest.update(
            f"{None if array is None else (array.shape, str(array.dtype))}".encode()
        )
        if array is not None:
            for rows in row_blocks(len(array), array.size // len(array)):
                digest.update(np.ascontiguousarray(array[rows]).tobytes())
    return digest.hexdigest()


def score_sample(model: FactorModel) -> dict[str, Any] | None:
    """Return the scores of a few rows of each side, less the mean of each row; None where one side alone is at hand.

    Rows are those whose ids have the smallest hashes: models over nearly the same ids have nearly the same rows. A
    row without an id is named "row" and its number.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> sample = score_sample(FactorModel.from_user_item([[1.0], [2.0]], [[3.0], [-1.0]], item_ids=["a", "b"]))
    >>> sorted(sample["right"]), sorted(map(max, sample["values"]))
    (['a', 'b'], [2.0, 4.0])
    """
    right = _sampled(model.right_side)
    if model.compared is not None:
        scores = np.array(model.take(right=right).scores(), dtype=np.float64)
        # A row's score with itself is the largest one in every model, and would hide that all others changed.
        np.fill_diagonal(
            scores, (scores.sum(axis=1) - np.diag(scores)) / max(1, len(scores) - 1)
        )
        return _record(model.right_side, right, model.right_side, right, scores)
    if model.left is None:
        return None
    left = _sampled(model.side("left"))
    return _record(
        model.side("left"),
        left,
        model.right_side,
        right,
        model.take(left=left, right=right).scores(),
    )


def score_change(
    before: Mapping[str, Any] | None, now: Mapping[str, Any] | None
) -> ScoreChange | None:
    """Correlate the scores that two samples share, each row for itself; None where they share too few.

    A row's scale and mean do not count: rankings and probabilities leave them open.

    Examples
    --------
    >>> names = list("abcdefgh")
    >>> one = {"left": names, "right": names, "values": np.eye(8).tolist()}
    >>> score_change(one, one).correlation, score_change(one, one | {"right": names[::-1]}).correlation < 0
    (1.0, True)
    >>> score_change(one, one | {"values": np.zeros((8, 8))}), score_change(one | {"left": names[3:]}, one)
    (None, None)
    """
    if before is None or now is None:
        return None
    rows, columns = _shared_names(before, now)
    if min(len(rows), len(columns)) < MIN_SHARED:
        return None
    tables = [_part(sample, rows, columns) for sample in (before, now)]
    correlations = row_correlations(*tables)
    if np.isnan(correlations).all():
        return None
    scale = float(np.linalg.norm(tables[1]) / np.linalg.norm(tables[0]))
    moved, moved_columns = (int(flags.sum()) for flags in unlike_rows(*tables))
    # Twelve digits, since machines differ in the last ones.
    return ScoreChange(
        len(rows),
        len(columns),
        round(float(np.nanmean(correlations)), 12),
        moved,
        moved_columns,
        scale,
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
    if before is None or now is None:
        return False
    rows, columns = _shared_names(before, now)
    if min(len(rows), len(columns)) < MIN_SHARED:
        return False
    tables = [_part(sample, rows, columns) for sample in (before, now)]
    return all((table == table[:, :1]).all() for table in tables)


def _shared_names(
    before: Mapping[str, Any], now: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """Return the names of the left rows and of the right rows that are in both samples."""
    rows, columns = (
        sorted(set(map(str, before[side])) & set(map(str, now[side])))
        for side in ("left", "right")
    )
    return rows, columns


def _names(side: Side, rows: Indices) -> list[str]:
    # A number of a row must not be taken for an id of another file.
    return (
        [f"row {row}" for row in rows]
        if side.ids is None
        else [*map(str, np.asarray(side.ids)[rows])]
    )


def _sampled(side: Side) -> Indices:
    from pandas.util import hash_array

    ids = np.arange(len(side)) if side.ids is None else np.asarray(side.ids)
    hashes = hash_array(ids.astype(object) if ids.dtype.kind in "US" else ids)
    return np.sort(np.argsort(hashes, kind="stable")[:SAMPLED])


def _record(
    left: Side, rows: Indices, right: Side, columns: Indices, scores: Floats
) -> dict[str, Any]:
    scores = np.nan_to_num(scores)
    centred = scores - scores.mean(axis=1, keepdims=True)
    # Scores of a row that are equal up to rounding must not be compared: what is left
    # of them is noise.
    rounding = 16 * np.finfo(scores.dtype).eps * np.abs(scores).max(axis=1)
    centred[np.abs(centred).max(axis=1) <= rounding] = 0.0
    # Three digits: what moves a decision shows in the second.
    values = [[float(f"{x:.3g}") for x in row] for row in centred]
    return {
        "left": _names(left, rows),
        "right": _names(right, columns),
        "values": values,
    }


def _part(sample: Mapping[str, Any], rows: list[str], columns: list[str]) -> Floats:
    places = (
        {str(name): i for i, name in enumerate(sample[side])}
        for side in ("left", "right")
    )
    first, second = (
        [place[name] for name in names]
        for place, names in zip(places, (rows, columns), strict=True)
    )
    return np.asarray(sample["values"], dtype=np.float64)[np.ix_(first, second)]
