"""A few scores of a model, kept in the record of its audit: later audits hold their predictions against them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.kernels.rows import unit_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from embaudit.foundation.checked import Floats, Indices
    from embaudit.model import FactorModel
    from embaudit.model.side import Side

SAMPLED = 24
"""Rows of each side."""
MIN_SHARED = 6
"""Rows of each side that two models must share for their scores to be compared."""


@dataclass(frozen=True)
class ScoreChange:
    """How well the scores of a few rows agree with those of a baseline."""

    of: str
    """What was compared: scores, or cosines of one side alone."""
    n_rows: int
    """Rows, of the left side where there is one."""
    n_columns: int
    """Right rows."""
    correlation: float
    """Pearson correlation within a row."""


def score_sample(model: FactorModel) -> dict[str, Any]:
    """Return the scores of a few rows of each side; of one side alone, the cosines between its rows.

    Rows are those whose ids have the smallest hashes: models over nearly the same ids have nearly the same rows.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> sample = score_sample(FactorModel.from_user_item([[1.0], [2.0]], [[3.0], [-1.0]], item_ids=["a", "b"]))
    >>> sample["of"], sorted(sample["right"]), sorted(map(sum, sample["values"]))
    ('scores', ['a', 'b'], [2.0, 4.0])
    """
    right = _sampled(model.right_side)
    if model.left is not None:
        left = _sampled(model.side("left"))
        scores = model.take(left=left, right=right).scores()
        return _record("scores", model.side("left"), left, model.right_side, right, scores)
    if model.compared is not None:
        return _record("scores", model.right_side, right, model.right_side, right, model.take(right=right).scores())
    unit = unit_rows(np.asarray(model.right[right], dtype=np.float64))
    return _record("cosines", model.right_side, right, model.right_side, right, unit @ unit.T)


def score_change(before: Mapping[str, Any], now: Mapping[str, Any]) -> ScoreChange | None:
    """Correlate, within a row, the scores that two samples share; None where they share too few.

    Examples
    --------
    >>> names = list("abcdefgh")
    >>> one = {"of": "scores", "left": names, "right": names, "values": np.eye(8).tolist()}
    >>> score_change(one, one).correlation, score_change(one, one | {"right": names[::-1]}).correlation < 0
    (1.0, True)
    """
    if before["of"] != now["of"]:
        return None
    rows, columns = (sorted(set(map(str, before[side])) & set(map(str, now[side]))) for side in ("left", "right"))
    if min(len(rows), len(columns)) < MIN_SHARED:
        return None
    one, two = (_centred(_part(sample, rows, columns)) for sample in (before, now))
    size = float(np.linalg.norm(one) * np.linalg.norm(two))
    correlation = round(float((one * two).sum()) / size, 12) if size else 0.0
    return ScoreChange(now["of"], len(rows), len(columns), correlation)


def _sampled(side: Side) -> Indices:
    from pandas.util import hash_array

    ids = np.arange(len(side)) if side.ids is None else np.asarray(side.ids)
    hashes = hash_array(ids.astype(object) if ids.dtype.kind in "US" else ids)
    return np.sort(np.argsort(hashes, kind="stable")[:SAMPLED])


def _record(of: str, left: Side, rows: Indices, right: Side, columns: Indices, scores: Floats) -> dict[str, Any]:
    names = (
        (np.arange(len(s)) if s.ids is None else np.asarray(s.ids))[x] for s, x in ((left, rows), (right, columns))
    )
    first, second = ([str(name) for name in side] for side in names)
    # Six digits: what moves a decision shows in the second.
    values = [[float(f"{value:.6g}") for value in row] for row in np.nan_to_num(scores)]
    return {"of": of, "left": first, "right": second, "values": values}


def _part(sample: Mapping[str, Any], rows: list[str], columns: list[str]) -> Floats:
    places = ({str(name): i for i, name in enumerate(sample[side])} for side in ("left", "right"))
    first, second = ([place[name] for name in names] for place, names in zip(places, (rows, columns), strict=True))
    return np.asarray(sample["values"], dtype=np.float64)[np.ix_(first, second)]


def _centred(scores: Floats) -> Floats:
    return np.asarray(scores - scores.mean(axis=1, keepdims=True))
