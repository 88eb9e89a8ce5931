"""Levels at which the predictions of two models agree, and their largest differences.

Sources: Steck, Ekanadham & Kallus (2024) for scores; Nielsen (2026) for probabilities.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from embaudit.core.checked import Flags, Floats
from embaudit.linalg.transformed_rows import lengths


class Equivalence(IntEnum):
    """A level of agreement of two models; each level implies every lower one.

    A model *predicts* at one level, and a gauge *preserves* one. A gauge can act on a
    model if `preserves >= predicts`.

    Examples
    --------
    >>> Equivalence.SCORES > Equivalence.PROBABILITIES > Equivalence.RANKINGS
    True
    """

    NOTHING = 0
    """No agreement is claimed."""
    RANKINGS = 1
    """Equality of the order of the right rows, for every left row."""
    PROBABILITIES = 2
    """Equality of the softmax over each row of scores."""
    SCORES = 3
    """Equality of every score."""
    COSINES = 4
    """Equality of every score and of every left-right cosine.

    Models that were trained on cosines need it.
    """

    @property
    def title(self) -> str:
        """The level in words people read."""
        return self.name.lower()


def log_softmax(scores: Floats) -> Floats:
    """Log-probabilities of each row, `s - log Σ exp s`, without overflow."""
    # Subtracting a constant from each row changes no probability. With the largest
    # score of the row as that constant, the largest exponential is 1.
    centred = scores - scores.max(axis=1, keepdims=True)
    result: Floats = centred - np.log(np.exp(centred).sum(axis=1, keepdims=True))
    return result


UNLIKE_CORRELATION = 0.3
"""Correlation below which two models are taken to predict different things for a row.

If implicit's ALS and BPR are trained again on MovieLens with another seed or a
twentieth fewer ratings, at most 1 % of the rows are below it. Of shuffled rows, 70 to
95 % are (2026-11-24, scores of 100 by 100 rows and of all rows).
"""
MIN_OTHERS = 24
"""Fewest scores by which a row is judged.

Over fewer scores, chance makes some rows unlike.
"""


def row_correlations(before: Floats, after: Floats) -> Floats:
    """Compute the Pearson correlation of each row of two tables of scores.

    It is NaN if the row does not vary in one of the tables.

    Examples
    --------
    >>> before = np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]])
    >>> row_correlations(before, np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]))
    array([-1., nan])
    """
    first = before - before.mean(axis=1, keepdims=True)
    second = after - after.mean(axis=1, keepdims=True)
    sizes = lengths(first) * lengths(second)
    products = np.einsum("ij,ij->i", first, second)
    correlations = np.full(len(sizes), np.nan)
    np.divide(products, sizes, out=correlations, where=sizes > 0)
    return correlations


def unlike_rows(before: Floats, after: Floats) -> tuple[Flags, Flags]:
    """Find the rows and columns of a table of scores for which a second model differs.

    The mean and the scale of a row are removed, because rankings and probabilities
    leave them open. The mean of a column is removed as well: if two popular items have
    changed places, both score high for everybody, as before.

    Returns
    -------
    tuple of array of shape (n,) and (p,)
        True for a row or a column of which the two tables correlate by less than 0.3.
        False if it has fewer than 24 scores or does not vary.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((50, 40))
    >>> swapped = x[:, [1, 0, *range(2, 40)]]
    >>> rows, columns = unlike_rows(x, np.geomspace(1e-9, 1, 50)[:, None] * swapped)
    >>> int(rows.sum()), np.flatnonzero(columns)
    (0, array([0, 1]))
    """
    first, second = _standardised(before), _standardised(after)
    return _are_unlike(first, second), _are_unlike(first.T, second.T)


def _standardised(scores: Floats) -> Floats:
    """Return rows of mean 0 and length 1, centred over the rows."""
    rows: Floats = scores - scores.mean(axis=1, keepdims=True)
    sizes = lengths(rows)[:, None]
    np.divide(rows, sizes, out=rows, where=sizes > 0)
    rows -= rows.mean(axis=0)
    return rows


def _are_unlike(first: Floats, second: Floats) -> Flags:
    """Flag rows whose cosine in the two tables is below `UNLIKE_CORRELATION`."""
    n_rows, n_others = first.shape
    if n_others < MIN_OTHERS:
        return np.zeros(n_rows, dtype=bool)
    products = np.einsum("ij,ij->i", first, second)
    squares_first = np.einsum("ij,ij->i", first, first)
    squares_second = np.einsum("ij,ij->i", second, second)
    # A row that does not vary has 0 on both sides of the inequality.
    return np.asarray(
        products < UNLIKE_CORRELATION * np.sqrt(squares_first * squares_second)
    )


def _inversion_gap(before: Floats, after: Floats) -> float:
    """Return the largest difference of old scores of a pair that new scores invert.

    Go through the entities in the new order, best first. The old score of an entity
    minus the lowest old score before it is the largest difference by which it was above
    an entity that is now above it.
    """
    # Among equal new scores the lowest old score comes first, so that an order that is
    # lost counts as inverted.
    order = np.lexsort((before, -after), axis=1)
    old_scores = np.take_along_axis(before, order, axis=1)
    lowest = np.minimum.accumulate(old_scores, axis=1)
    return float((old_scores - lowest).max())


def largest_gap(level: Equivalence, before: Floats, after: Floats) -> float:
    """Measure the largest difference of two blocks of scores at a level.

    Parameters
    ----------
    level : Equivalence
        SCORES and COSINES compare the numbers themselves. PROBABILITIES compares the
        log-softmax of the rows, so the difference is a relative error of probabilities.
        RANKINGS takes the largest difference of two old scores whose order the new
        scores invert.
    before, after : array of shape (m, p)
        Scores of the same rows under the two models.

    Returns
    -------
    float
        0 if the blocks agree. A cosine of a zero row is NaN: it agrees with NaN, and
        its difference from a number is infinite.

    Examples
    --------
    >>> scores = np.array([[3.0, 2.0, 1.0]])
    >>> largest_gap(Equivalence.PROBABILITIES, scores, scores + 7) < 1e-14
    True
    >>> largest_gap(Equivalence.SCORES, scores, scores + 7)
    7.0
    >>> largest_gap(Equivalence.RANKINGS, scores, np.array([[1.0, 2.0, 3.0]]))
    2.0
    >>> without_last = scores / np.array([1.0, 1.0, np.nan])
    >>> largest_gap(Equivalence.COSINES, scores, without_last)
    inf
    >>> largest_gap(Equivalence.NOTHING, scores, 2 * scores)
    0.0
    """
    if level is Equivalence.NOTHING:
        return 0.0
    if level is Equivalence.RANKINGS:
        return _inversion_gap(before, after)
    if level is Equivalence.PROBABILITIES:
        before, after = log_softmax(before), log_softmax(after)
    undefined = np.isnan(before)
    if (undefined != np.isnan(after)).any():
        return float("inf")
    # `where` takes several times as long as the plain maximum.
    defined = ~undefined if undefined.any() else np.True_
    return float(np.abs(after - before).max(initial=0, where=defined))
