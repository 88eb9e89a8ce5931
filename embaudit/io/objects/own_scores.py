"""Compare the scores of a live object with the scores of the model read from it."""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Floats, Indices
from embaudit.core.ties import first_largest
from embaudit.errors import InputError, must_be
from embaudit.io.contents import OwnScores
from embaudit.model import FactorModel

TOLERANCE = 1e-4
"""Largest difference between two computations of one score in single precision,
relative to the largest score.
"""
N_LEFT = 3
N_RIGHT = 5
"""Numbers of left and right rows whose scores are compared."""


def require_own_scores(model: FactorModel, own: OwnScores, name: str) -> None:
    """Refuse a model whose scores differ from the scores of its object.

    Libraries return scores, predictions or logarithms of probabilities. One of the
    three must agree with the object for all compared pairs.

    Parameters
    ----------
    model : FactorModel
        The model, with the fields and the link that the caller declares.
    own : OwnScores
        Scores of the object.
    name : str
        Name of the class of the object.

    Raises
    ------
    InputError
        If none of the three agrees up to 1e-4 of the largest score.

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
    own_scores = np.asarray(own.score(left, right), dtype=float).ravel()
    if not len(left) == len(right) == len(own_scores):
        raise must_be(
            f"the outputs of {name}",
            "one score per pair",
            f"{len(own_scores)} for {len(left)} pairs",
        )
    # One row per kind of output, one column per pair.
    outputs = np.stack(_possible_outputs(scored, left, right))
    is_finite = np.isfinite(own_scores)
    largest = float(np.abs(own_scores[is_finite]).max(initial=0.0))
    allowed = TOLERANCE * max(1.0, largest)
    with np.errstate(invalid="ignore"):
        gaps = np.where(is_finite, np.abs(outputs - own_scores), np.inf)
    if (gaps.max(axis=1) <= allowed).any():
        return
    # Name the pair with the largest gap; gaps within the tolerance count as equal.
    k = first_largest(gaps[0], tolerance=allowed)
    raise InputError(
        f"the scores read from {name} must equal its own scores; got "
        f"{outputs[0, k]:.6g} where its {own.method} says {own_scores[k]:.6g} (row "
        f"{left[k]} of the left side, row {right[k]} of the right); it does more than "
        "multiply these factors: pass the tables it really multiplies to "
        "FactorModel.from_user_item, or its vectors alone to from_vectors."
    )


def _spread_pairs(model: FactorModel) -> tuple[Indices, Indices]:
    """Return all pairs of three left and five right rows, spread evenly over each side.

    Equal left rows stand side by side.
    """
    left = _spread_rows(model.n_left, N_LEFT)
    right = _spread_rows(model.n_right, N_RIGHT)
    return np.repeat(left, len(right)), np.tile(right, len(left))


def _spread_rows(n_rows: int, n_spread: int) -> Indices:
    return np.unique(np.linspace(0, n_rows - 1, n_spread).astype(int))


def _possible_outputs(
    model: FactorModel, left: Indices, right: Indices
) -> list[Floats]:
    """Return the outputs that a library can return for pairs, the usual one first.

    These are scores, predictions, or logarithms of probabilities.
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
