"""How well a similarity ranks related entities first: precision, AUC and NDCG of single queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embaudit.foundation.progress import track
from embaudit.foundation.workers import ordered_map, row_blocks
from embaudit.kernels.nearest import Largest
from embaudit.kernels.ranks import area_under_curve

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
            # Of the query itself nothing is asked; it stands behind all others, and is left out below.
            scores[np.arange(len(chosen)), chosen] = -np.inf
            best = Largest(len(chosen), n).add(scores).columns
            measured[i] = [_measures(*columns) for columns in zip(scores, gains, chosen, best, strict=True)]
        return measured

    blocks = list(row_blocks(len(queries), 4 * len(rows)))
    steps = track(ordered_map(block, blocks), "judging similarities", len(blocks))
    return dict(zip(versions, np.concatenate(list(steps), axis=1), strict=True))


def _measures(
    scores: NDArray[np.float64], gains: NDArray[np.float32], query: int, best: Indices
) -> tuple[float, float, float]:
    found, scores, gains = gains[best], np.delete(scores, query), np.delete(gains, query)
    related = gains > 0
    if related.all() or not related.any():
        return (np.nan, np.nan, np.nan)
    return float((found > 0).mean()), area_under_curve(scores, related), ndcg(found, gains)


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
