"""Heads that cannot be a minimum of their loss without a penalty."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, softmax

from embaudit.core.checked import Floats
from embaudit.core.parallel import row_blocks
from embaudit.model import FactorModel


def excludes_minimum(model: FactorModel) -> bool:
    """Return True if a head is at no minimum of its loss, whatever the labels are.

    The loss is the cross-entropy without a penalty. If the labels are separable by
    planes, the loss falls as long as the head grows, so no head is a minimum. The
    labels are not known here, but every minimum meets a condition on the scores s:

    - Multiply the head by 1 + t. At a minimum, the derivative of the loss at t = 0 is
      zero, that is `Σ s_y = Σ E[s]`. The sums are over the inputs, y is the label of an
      input, and E is the mean under its predicted probabilities.
    - Subtract both sides from `Σ max s`. The gap `max s − s_y` is zero if y is the most
      probable label, and otherwise at least the lead of this label over the second one.
      So the sum of the gaps is either zero or at least the smallest lead of all inputs.
    - The sum of the shortfalls `max s − E[s]` has to equal the sum of the gaps. If it
      lies strictly between zero and the smallest lead, this head is no minimum.

    With a sigmoid link, each label is a problem of its own with the scores 0 and s. The
    head is no minimum if one of these problems is at none.

    Parameters
    ----------
    model : FactorModel
        A head with its inputs, of a softmax or sigmoid link.

    Examples
    --------
    Two inputs have scores ±4, so the smallest lead is 8. The probabilities are close to
    0 and 1, so the sum of the shortfalls is tiny. At a third input all labels have
    equal scores, so the smallest lead is zero and nothing is excluded.

    >>> rows = [[4.0], [-4.0]]
    >>> excludes_minimum(FactorModel.from_softmax(rows, embeddings=[[1.0], [-1.0]]))
    True
    >>> inputs = [[1.0], [-1.0], [0.0]]
    >>> excludes_minimum(FactorModel.from_softmax(rows, embeddings=inputs))
    False
    """
    if model.left is None or _separates_any_labels(model):
        return False
    is_softmax = model.link.name == "softmax"
    if is_softmax and model.n_right == 1:
        # The probability of a single label is 1, so the loss is zero for every head.
        return False
    n_problems = 1 if is_softmax else model.n_right
    total_shortfall = np.zeros(n_problems)
    smallest_lead = np.full(n_problems, np.inf)
    for rows in row_blocks(model.n_left, model.n_right):
        scores = model.scores(np.arange(rows.start, rows.stop))
        if is_softmax:
            shortfalls, leads = _softmax_shortfalls(scores)
        else:
            shortfalls, leads = _sigmoid_shortfalls(scores)
        total_shortfall += shortfalls.sum(axis=0)
        smallest_lead = np.minimum(smallest_lead, leads.min(axis=0))
    is_excluded = (total_shortfall > 0) & (total_shortfall < smallest_lead)
    return bool(is_excluded.any())


def _separates_any_labels(model: FactorModel) -> bool:
    """Return True if the inputs are so few that planes separate all their labellings.

    Such inputs are not all inputs of the training. A bias acts like a constant column
    of the inputs, which adds at most one to their rank.
    """
    rank = model.side("left").moments.rank
    if model.right_bias is not None:
        rank += 1
    return model.n_left <= rank


def _softmax_shortfalls(scores: Floats) -> tuple[Floats, Floats]:
    """Return `max s − E[s]` and the lead of the largest score, each (n, 1)."""
    gaps = scores.max(axis=1, keepdims=True) - scores
    probabilities = softmax(-gaps, axis=1)
    shortfalls = (probabilities * gaps).sum(axis=1, keepdims=True)
    # The smallest gap is zero, and the second smallest one is the lead.
    leads = np.partition(gaps, 1, axis=1)[:, [1]]
    return shortfalls, leads


def _sigmoid_shortfalls(scores: Floats) -> tuple[Floats, Floats]:
    """Return `max s − E[s]` and the lead for each label alone, each (n, labels).

    The two scores of a label are 0 and s, so the smaller one has the gap |s| and the
    probability 1 / (1 + e^|s|).
    """
    leads = np.abs(scores)
    return leads * expit(-leads), leads
