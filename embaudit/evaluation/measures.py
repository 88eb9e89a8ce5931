"""How well a similarity ranks related entities first: precision, AUC and NDCG of single queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embaudit.foundation.progress import track
from embaudit.foundation.workers import ordered_map, row_blocks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from embaudit.evaluation.truth import Truth
    from embaudit.foundation.checked import Indices

MEASURES = ("precision", "auc", "ndcg")


def query_measures(
    versions: Mapping[str, NDArray[np.float64]], truth: Truth, rows: Indices, queries: Indices, *, n: int
) -> dict[str, NDArray[np.float64]]:
    """Measure each query against all other candidates, under several similarities.

    Parameters
    ----------
    versions : mapping of str to array of shape (m, k)
        Vectors of the candidates for each similarity, which is the dot product of two.
    truth : Truth
        Labels of all rows of the side.
    rows : array of shape (m,)
        Which rows of the side the candidates are.
    queries : array of shape (q,)
        Positions among the candidates.
    n : int
        Length of the lists that precision and NDCG look at.

    Returns
    -------
    dict of str to array of shape (q, 3)
        Precision (share of the n nearest that share a label), AUC (probability that a related candidate comes before an
        unrelated one, ties counting half) and NDCG (gain: shared labels over all labels of the two). NaN where no
        candidate, or every one, is related.
    """

    def block(part: slice) -> NDArray[np.float64]:
        chosen = queries[part]
        gains = truth.gains(rows[chosen], rows)
        measured = np.empty((len(versions), len(chosen), len(MEASURES)))
        for i, vectors in enumerate(versions.values()):
            scores = vectors[chosen] @ vectors.T
            measured[i] = [_measures(*_others(s, g, q), n) for s, g, q in zip(scores, gains, chosen, strict=True)]
        return measured

    blocks = list(row_blocks(len(queries), 4 * len(rows)))
    steps = track(ordered_map(block, blocks), "judging similarities", len(blocks))
    return dict(zip(versions, np.concatenate(list(steps), axis=1), strict=True))


def _others(
    scores: NDArray[np.float64], gains: NDArray[np.float32], query: int
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Leave the query itself out."""
    return np.delete(scores, query), np.delete(gains, query)


def _measures(scores: NDArray[np.float64], gains: NDArray[np.float32], n: int) -> tuple[float, float, float]:
    related = gains > 0
    if related.all() or not related.any():
        return (np.nan, np.nan, np.nan)
    best = top(scores, n)
    return float(related[best].mean()), auc(scores, related), ndcg(gains[best], gains)


def top(scores: NDArray[np.float64], n: int) -> Indices:
    """Return the positions of the `n` largest, best first, ties by position.

    Examples
    --------
    >>> top(np.array([1.0, 3.0, 3.0, 2.0]), 3)
    array([1, 2, 3])
    """
    least = np.partition(scores, len(scores) - n)[len(scores) - n]
    candidates = np.flatnonzero(scores >= least)
    return candidates[np.argsort(-scores[candidates], kind="stable")[:n]]


def auc(scores: NDArray[np.float64], related: NDArray[np.bool_]) -> float:
    """Compute the probability that a related one scores above an unrelated one, ties counting half.

    From the ranks of the related ones: their sum less what they take from one another.

    Examples
    --------
    >>> auc(np.array([3.0, 2.0, 2.0, 1.0]), np.array([True, True, False, False]))
    0.875
    """
    order = np.argsort(scores)
    ordered = scores[order]
    ranks = np.arange(len(scores), dtype=np.float64)
    if (ordered[1:] == ordered[:-1]).any():
        first = np.searchsorted(ordered, ordered, side="left")
        ranks = (first + np.searchsorted(ordered, ordered, side="right") - 1) / 2
    count = int(related.sum())
    above = ranks[related[order]].sum() - count * (count - 1) / 2
    return float(above / (count * (len(scores) - count)))


def ndcg(found: NDArray[np.float32], gains: NDArray[np.float32]) -> float:
    """Compute the discounted gain of a list over that of the best list of its length.

    Examples
    --------
    >>> round(ndcg(np.array([0.0, 1.0], dtype=np.float32), np.array([1.0, 0.0, 0.0], dtype=np.float32)), 4)
    0.6309
    """
    n = len(found)
    discounts = 1 / np.log2(np.arange(n) + 2)
    ideal = np.sort(gains)[::-1][:n]
    return float(found @ discounts / (ideal @ discounts))
