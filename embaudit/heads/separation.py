"""Heads that cannot be a minimum of their loss without a penalty, whatever the labels of their inputs are."""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Floats
from embaudit.core.parallel import row_blocks
from embaudit.model import FactorModel


def excludes_minimum(model: FactorModel) -> bool:
    """Return True if a head without a penalty can be at no minimum over its inputs, whatever their labels are.

    At a minimum of the cross-entropy, one more multiplication of the head by 1 + t changes nothing. So the sum over
    all inputs of `s_max − E s`, the largest score less the mean score under the predicted probabilities, equals the
    sum of `s_max − s_y` over the labels y. The latter is 0 if every input has its most probable label, and otherwise
    at least the smallest lead of a most probable label. If the former lies strictly between the two, no labels make
    this head a minimum. This happens if planes separate the labels: the loss then falls as long as the head grows.

    With a sigmoid link each label has a minimum of its own, and one label without is enough.

    Parameters
    ----------
    model : FactorModel
        A head with its inputs, of a softmax or sigmoid link.

    Examples
    --------
    Of two inputs a head can be sure, because a plane separates them. At a score of 0 every label may be wrong.

    >>> inputs, labels = [[1.0], [-1.0]], [[4.0], [-4.0]]
    >>> head = FactorModel.from_softmax(labels, embeddings=inputs)
    >>> excludes_minimum(head), excludes_minimum(head.replace(left=[[1.0], [-1.0], [0.0]]))
    (True, False)
    """
    if model.left is None or model.n_left <= model.rank:
        # Planes separate any labels of so few inputs, which cannot be all that a head was trained on.
        return False
    is_softmax = model.link.name == "softmax"
    n_problems = 1 if is_softmax else model.n_right
    shortfall, least_lead = np.zeros(n_problems), np.full(n_problems, np.inf)
    for rows in row_blocks(model.n_left, model.n_right):
        scores = model.scores(np.arange(rows.start, rows.stop))
        missing, leads = _of_softmax(scores) if is_softmax else _of_sigmoids(scores)
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
    """Return the same of each label alone, whose two scores are 0 and s."""
    lead = np.abs(scores)
    return lead / (1 + np.exp(np.minimum(lead, 700.0))), lead
