"""Levels at which two equivalent models agree, from strongest to weakest, and by how much they miss it.

Sources: Steck, Ekanadham & Kallus (2024) for scores; Nielsen (2026) for probabilities.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from embaudit.core.checked import Flags, Floats
from embaudit.linalg.transformed_rows import lengths


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


UNLIKE = 0.3
"""Correlation below which a row's predictions are others. Trained anew with another seed or a twentieth fewer ratings,
implicit's ALS and BPR on MovieLens leave at most 1 % of the rows below it; of shuffled rows 70 to 95 % are (2026-11-24,
scores of 100 by 100 rows and of all)."""
MIN_OTHERS = 24
"""Fewest scores by which a row is judged: over fewer, chance makes some rows unlike."""


def row_correlations(before: Floats, after: Floats) -> Floats:
    """Correlate each row of a table of scores with the same row of another; NaN where one of them does not vary.

    Examples
    --------
    >>> row_correlations(np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]), np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]))
    array([-1., nan])
    """
    first, second = (
        scores - scores.mean(axis=1, keepdims=True) for scores in (before, after)
    )
    sizes, products = (
        lengths(first) * lengths(second),
        np.einsum("ij,ij->i", first, second),
    )
    return np.asarray(
        np.divide(products, sizes, out=np.full(len(sizes), np.nan), where=sizes > 0)
    )


def unlike_rows(before: Floats, after: Floats) -> tuple[Flags, Flags]:
    """Flag the rows, and the columns, of a table of scores that a second model scores otherwise.

    Mean and scale of a row do not count, which rankings and probabilities leave open. The mean of a column does not
    either: two popular items that have changed places both score high for everybody, as before.

    Returns
    -------
    tuple of array of shape (n,) and (p,)
        True where the two correlate by less than 0.3; False over fewer than 24 scores, and where nothing varies.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((50, 40))
    >>> rows, columns = unlike_rows(x, np.geomspace(1e-9, 1, 50)[:, None] * x[:, [1, 0, *range(2, 40)]])
    >>> int(rows.sum()), np.flatnonzero(columns)
    (0, array([0, 1]))
    """
    tables = []
    for scores in (before, after):
        rows = scores - scores.mean(axis=1, keepdims=True)
        sizes = lengths(rows)[:, None]
        np.divide(rows, sizes, out=rows, where=sizes > 0)
        rows -= rows.mean(axis=0)
        tables.append(rows)
    flags = []
    for sums, n_others in (
        ("ij,ij->i", before.shape[1]),
        ("ij,ij->j", before.shape[0]),
    ):
        squares, products = (
            [np.einsum(sums, x, x) for x in tables],
            np.einsum(sums, *tables),
        )
        flags.append(
            (n_others >= MIN_OTHERS)
            & (products < UNLIKE * np.sqrt(np.prod(squares, axis=0)))
        )
    return flags[0], flags[1]


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
    >>> largest_gap(Equivalence.COSINES, scores / 3, scores / np.array([3.0, 3.0, np.nan]))
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
    # A cosine of a row without direction must stay undefined.
    undefined = np.isnan(before)
    if (undefined != np.isnan(after)).any():
        return float("inf")
    # Looking at each mark takes several times as long as the largest of all.
    defined = ~undefined if undefined.any() else np.True_
    return float(np.abs(after - before).max(initial=0, where=defined))
