"""Heads that cannot be a minimum of their loss without a penalty."""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Floats
from embaudit.core.parallel import row_blocks
from embaudit.model import FactorModel


def excludes_minimum(model: FactorModel) -> bool:
    """Return True if no labels of its inputs make a head a minimum of its loss.

    The loss is the cross-entropy without a penalty. At a minimum, one more
    multiplication of the head by 1 + t changes nothing. So the sum over all inputs of
    `s_max − E s`, the largest score less the mean score under the predicted
    probabilities, equals the sum of `s_max − s_y` over the labels y. The latter is 0 if
    every input has its most probable label, and otherwise at least the smallest lead of
    a most probable label. If the former lies strictly between the two, no labels make
    this head a minimum. This happens if planes separate the labels: the loss then falls
    as long as the head grows.

    With a sigmoid link each label has a minimum of its own, and one label without is
    enough.

    Parameters
    ----------
    model : FactorModel
        A head with its inputs, of a softmax or sigmoid link.

    Examples
    --------
    A plane separates two inputs, so the head can be sure of their labels. At a third
    input with equal scores every label may be wrong.

    >>> rows = [[4.0], [-4.0]]
    >>> excludes_minimum(FactorModel.from_softmax(rows, embeddings=[[1.0], [-1.0]]))
    True
    >>> inputs = [[1.0], [-1.0], [0.0]]
    >>> excludes_minimum(FactorModel.from_softmax(rows, embeddings=inputs))
    False
    """
    if model.left is None or model.n_left <= model.side("left").moments.rank:
        # Planes separate any labels of independent inputs, so these are not all inputs
        # of the training.
        return False
    is_softmax = model.link.name == "softmax"
    n_problems = 1 if is_softmax else model.n_right
    shortfall, least_lead = np.zeros(n_problems), np.full(n_problems, np.inf)
    for rows in row_blocks(model.n_left, model.n_right):
        scores = model.scores(np.arange(rows.start, rows.stop))
        if is_softmax:
            missing, leads = _of_softmax(scores)
        else:
            missing, leads = _of_sigmoids(scores)
        shortfall += missing.sum(axis=0)
        least_lead = np.minimum(least_lead, leads.min(axis=0))
    return bool(np.any((shortfall > 0) & (shortfall < least_lead)))


def _of_softmax(scores: Floats) -> tuple[Floats, Floats]:
    """Return `s_max − E s` and the lead of the largest score, one row per input."""
    below = scores.max(axis=1, keepdims=True) - scores
    weights = np.exp(-below)
    missing = (weights * below).sum(axis=1) / weights.sum(axis=1)
    lead = np.partition(below, 1, axis=1)[:, 1]
    return missing[:, None], lead[:, None]


def _of_sigmoids(scores: Floats) -> tuple[Floats, Floats]:
    """Return `s_max − E s` and the lead of each label alone, with scores 0 and s."""
    lead = np.abs(scores)
    return lead / (1 + np.exp(np.minimum(lead, 700.0))), lead
