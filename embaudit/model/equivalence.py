"""Levels at which two equivalent models agree, from strongest to weakest, and by how much they miss it.

Sources: Steck, Ekanadham & Kallus (2024) for scores; Nielsen (2026) for probabilities.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from embaudit.core.checked import Floats


class Equivalence(IntEnum):
    """A level of agreement; each level implies every lower one.

    A model *predicts* at one level, a gauge *preserves* one; the gauge may act where
    `preserves >= predicts`.

    Examples
    --------
    >>> Equivalence.SCORES > Equivalence.PROBABILITIES > Equivalence.RANKINGS
    True
    """

    NOTHING = 0
    """The two models predict different things."""
    RANKINGS = 1
    """The order of the right entities is the same for every left one."""
    PROBABILITIES = 2
    """The softmax over each row of scores is the same."""
    SCORES = 3
    """Equality of every score."""
    COSINES = 4
    """Equality of every score and left-right cosine, as a model trained on cosines needs."""

    @property
    def title(self) -> str:
        """The level in words people read."""
        return self.name.lower()


def log_softmax(scores: Floats) -> Floats:
    """Log-probabilities of each row, `s - log Σ exp s`, without overflow."""
    # A constant off each row changes no probability, and makes the largest exponential 1.
    centred = scores - scores.max(axis=1, keepdims=True)
    result: Floats = centred - np.log(np.exp(centred).sum(axis=1, keepdims=True))
    return result


def _inversion_gap(before: Floats, after: Floats) -> float:
    """Largest score difference of a pair whose order turned around.

    Walking down the new order, an entity that the old scores put above one already seen is inverted
    against it; by how much is its old score less the lowest old score seen so far.
    """
    # Where new scores tie, the lowest old one goes first: an order that is lost counts as turned around.
    walk = np.take_along_axis(before, np.lexsort((before, -after), axis=1), axis=1)
    return float((walk - np.minimum.accumulate(walk, axis=1)).max())


def largest_gap(level: Equivalence, before: Floats, after: Floats) -> float:
    """Measure how far two blocks of scores (rows × right entities) disagree at a level.

    Parameters
    ----------
    level : Equivalence
        SCORES and COSINES compare the numbers given; PROBABILITIES the log-softmax of the rows (so the gap is a
        relative error of probabilities); RANKINGS the largest old score difference that the new scores turn around.
    before, after : array of shape (m, p)
        Scores of the same rows under the two models.

    Returns
    -------
    float
        0 where they agree; a cosine of a zero row agrees with being undefined, and is infinitely far from a number.

    Examples
    --------
    >>> scores = np.array([[3.0, 2.0, 1.0]])
    >>> largest_gap(Equivalence.PROBABILITIES, scores, scores + 7) < 1e-14
    True
    >>> largest_gap(Equivalence.SCORES, scores, scores + 7)
    7.0
    >>> largest_gap(Equivalence.RANKINGS, scores, np.array([[1.0, 2.0, 3.0]]))
    2.0
    """
    if level is Equivalence.NOTHING:
        return 0.0
    if level is Equivalence.RANKINGS:
        return _inversion_gap(before, after)
    if level is Equivalence.PROBABILITIES:
        before, after = log_softmax(before), log_softmax(after)
    # A cosine of a row without direction must stay undefined.
    undefined = np.isnan(before)
    if (undefined != np.isnan(after)).any():
        return float("inf")
    # Looking at each mark takes several times as long as the largest of all.
    defined = ~undefined if undefined.any() else np.True_
    return float(np.abs(after - before).max(initial=0, where=defined))
