"""Measures of how well a similarity ranks related entities first: precision, AUC and NDCG of single queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.core.progress import track
from embaudit.evaluation.leave_out import LeftOut

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from embaudit.core.checked import Indices
    from embaudit.evaluation.truth import Truth

Version: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.float64]]"
"""Vectors of rows as queries, and as candidates."""
MEASURES = ("precision", "auc", "ndcg")


def query_measures(
    versions: Mapping[str, Version],
    truth: Truth,
    rows: Indices,
    queries: Indices,
    groups: NDArray[np.uint8],
    *,
    n: int,
) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]:
    """Measure each query against all other candidates, under several similarities.

    Parameters
    ----------
    versions : mapping of str to pair of array of shape (m, k)
        For each similarity, vectors of the rows as queries and as candidates; it is the dot product of the two.
    truth : Truth
        Labels of all rows of the side.
    rows : array of shape (m,)
        Which rows of the side the candidates are.
    queries : array of shape (q,)
        Positions among the candidates.
    groups : array of shape (m,)
        Groups of candidates that are left out in turn, as queries too.
    n : int
        Length of the lists that precision and NDCG look at.

    Returns
    -------
    by_query : dict of str to array of shape (q, 3)
        Precision (share of the n nearest that share a label), AUC (probability that a related candidate comes before an
        unrelated one, ties counting half) and NDCG (gain: shared labels over all labels of the two). NaN where no
        candidate, or every one, is related.
    replicates : dict of str to array of shape (groups, 3)
        Their means without each group; NaN where nothing can be measured without it.
    """

    def block(block: slice) -> NDArray[np.float64]:
        """Measure some of the queries under every similarity."""
        positions = queries[block]
        itself = (np.arange(len(positions)), positions)
        gains = truth.gains(rows[positions], rows).astype(np.float64)
        gains[itself] = -np.inf
        left_out, measured = LeftOut(gains, groups, n), []
        for asking, listed in versions.values():
            scores = asking[positions] @ listed.T
            scores[itself] = -np.inf
            measured.append(left_out.measures(scores))
        return np.stack(measured)

    blocks = list(row_blocks(len(queries), 4 * len(rows)))
    measured = np.concatenate(list(track(parallel_map(block, blocks), "judging similarities", len(blocks))), axis=1)
    replicates = _means(measured[:, :, :-1], groups[queries])
    return dict(zip(versions, measured[:, :, -1], strict=True)), dict(zip(versions, replicates, strict=True))


def _means(measured: NDArray[np.float64], own: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Average over the queries that are not themselves in the group left out, and have an answer without it."""
    counts_in = (own[:, None] != np.arange(measured.shape[2]))[..., None] & np.isfinite(measured)
    counts = counts_in.sum(axis=1)
    means = np.where(counts_in, measured, 0).sum(axis=1) / np.maximum(counts, 1)
    return np.asarray(np.where(counts > 0, means, np.nan))
