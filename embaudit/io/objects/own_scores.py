"""Scores of a live object are compared with those of its arrays."""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Floats, Indices
from embaudit.core.ties import first_largest
from embaudit.errors import InputError, must_be
from embaudit.io.contents import OwnScores
from embaudit.model import FactorModel

TOLERANCE = 1e-4
"""Largest gap between two ways to one score in single precision, relative to the
largest score.
"""


def require_own_scores(model: FactorModel, own: OwnScores, name: str) -> None:
    """Refuse a model whose scores are not those of the object it was read from.

    Parameters
    ----------
    model : FactorModel
        The fields, with what the caller said next to them.
    own : OwnScores
        Scores of the object.
    name : str
        What to call the object.

    Raises
    ------
    InputError
        If one of a few scores, and the prediction made of it, differ by more than 1e-4
        of the largest.

    Examples
    --------
    >>> model = FactorModel.from_user_item([[1.0]], [[2.0]])
    >>> require_own_scores(model, OwnScores(lambda users, items: [2.0]), "MF")
    >>> require_own_scores(model, OwnScores(lambda users, items: [2.5]), "MF")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: ...; got 2 where its predict says 2.5 (row 0 of ...
    """
    scored = model if own.probes is None else model.replace(left=own.probes)
    if scored.left_side is None:
        return
    left, right = own.pairs or _spread_pairs(scored)
    theirs = np.asarray(own.score(left, right), dtype=float).ravel()
    if not len(left) == len(right) == len(theirs):
        raise must_be(
            f"the outputs of {name}",
            "one score a pair",
            f"{len(theirs)} for {len(left)} pairs",
        )
    ways, is_number = np.stack(_ways(scored, left, right)), np.isfinite(theirs)
    allowed = TOLERANCE * max(1.0, float(np.abs(theirs[is_number]).max(initial=0.0)))
    with np.errstate(invalid="ignore"):
        gaps = np.where(is_number, np.abs(ways - theirs), np.inf)
    if (gaps.max(axis=1) <= allowed).any():
        return
    # Deviations that differ by less than the allowed error count as equal.
    k = first_largest(gaps[0], tolerance=allowed)
    raise InputError(
        f"the scores read from {name} must be its own; got {ways[0, k]:.6g} where its "
        f"{own.method} says {theirs[k]:.6g} (row {left[k]} of the left side, row "
        f"{right[k]} of the right); it does more than multiply these factors: pass the "
        "tables it really multiplies to FactorModel.from_user_item, or its vectors "
        "alone to from_vectors."
    )


def _spread_pairs(model: FactorModel) -> tuple[Indices, Indices]:
    """Return all pairs of three left rows and five right rows.

    The rows are spread over all of their side.
    """
    left, right = (
        np.unique(np.linspace(0, n_rows - 1, n_drawn).astype(int))
        for n_rows, n_drawn in ((model.n_left, 3), (model.n_right, 5))
    )
    return np.repeat(left, len(right)), np.tile(right, len(left))


def _ways(model: FactorModel, left: Indices, right: Indices) -> list[Floats]:
    """Return what a library may give for pairs.

    These are scores, what the link makes of them, or logarithms of probabilities.
    """
    rows, place = np.unique(left, return_inverse=True)
    scores = model.scores(rows)[place, right]
    if model.link.name == "ranking":
        return [scores]
    predictions = np.asarray(model.predictions(rows))[place, right]
    if model.link.name != "softmax":
        return [scores, predictions]
    with np.errstate(divide="ignore"):
        return [predictions, scores, np.log(predictions)]
