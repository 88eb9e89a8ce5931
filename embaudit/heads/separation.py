"""Heads that cannot be a minimum of their loss without a penalty."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, softmax

from embaudit.core.checked import Floats
from embaudit.core.parallel import row_blocks
from embaudit.model import FactorModel


def excludes_minimum(model: FactorModel) -> bool:
    """Return True if no labels of the inputs make the head a minimum of its loss.

    The loss is the cross-entropy over the given inputs, without a penalty. If planes
    separate the labels, the loss falls as long as the head grows, so it has no minimum.
    The labels are not known here, but each minimum meets a condition on the scores s:

    - At a minimum, the derivative of the loss with respect to t is zero at t = 0 if the
      head is multiplied by 1 + t. This says `Σ s_y = Σ E[s]`. The sums are over the
      inputs, y is the label of an input, and E is the mean under its predicted
      probabilities.
    - With the *gap* `max s − s_y` and the *shortfall* `max s − E[s]` of each input, the
      condition says that the gaps and the shortfalls have the same sum.
    - The gap of an input is zero if y is its most probable label. Otherwise it is at
      least the *lead*, the difference of the two largest scores. So the sum of the gaps
      is zero, or at least the smallest lead of all inputs.
    - A shortfall is larger than zero unless all scores of the input are equal. If the
      smallest lead is larger than zero, the sum of the gaps cannot be zero.

    So the head is not a minimum if the sum of the shortfalls is smaller than the
    smallest lead. With a sigmoid link, this is tested for each label on its own, with
    the two scores 0 and s. One label that fails the condition is enough.

    Parameters
    ----------
    model : FactorModel
        A head with its inputs, of a softmax or sigmoid link.

    Returns
    -------
    bool
        False also if the head has no inputs, or so few of them that planes separate all
        of their labellings.

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
    if model.left is None or _separates_all_labellings(model):
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
            shortfalls, leads = _of_softmax(scores)
        else:
            shortfalls, leads = _of_sigmoid(scores)
        total_shortfall += shortfalls.sum(axis=0)
        smallest_lead = np.minimum(smallest_lead, leads.min(axis=0))
    # A sum of zero is a sum that underflowed if the smallest lead is larger than zero:
    # probabilities below 1e-308 are 0 in float64.
    return bool((total_shortfall < smallest_lead).any())


def _separates_all_labellings(model: FactorModel) -> bool:
    """Return True if planes separate all labellings of the inputs.

    This is so if there are no more inputs than the rank of their matrix. So few inputs
    are a sample of the inputs of the training, so they say nothing about its loss. A
    bias acts like a constant column of the inputs, which adds at most one to the rank.
    """
    rank = model.side("left").moments.rank
    if model.right_bias is not None:
        rank += 1
    return model.n_left <= rank


def _of_softmax(scores: Floats) -> tuple[Floats, Floats]:
    """Return the shortfall `max s − E[s]` and the lead of each input, both (n, 1)."""
    below_largest = scores.max(axis=1, keepdims=True) - scores
    probabilities = softmax(-below_largest, axis=1)
    shortfalls = (probabilities * below_largest).sum(axis=1, keepdims=True)
    # The smallest difference is zero, and the second smallest one is the lead.
    leads = np.partition(below_largest, 1, axis=1)[:, [1]]
    return shortfalls, leads


def _of_sigmoid(scores: Floats) -> tuple[Floats, Floats]:
    """Return the shortfall and the lead of each input for each label, both (n, labels).

    The two scores of a label are 0 and s, so the lead is |s|. The smaller score has the
    probability 1 / (1 + e^|s|), so the shortfall is |s| / (1 + e^|s|).
    """
    leads = np.abs(scores)
    return leads * expit(-leads), leads
