"""Two similarity structures of the same items: do they agree over all pairs, and within each cluster?"""

from __future__ import annotations

import math
from dataclasses import astuple

import numpy as np
from numpy.typing import ArrayLike

from embaudit.errors import InputError, must_be
from embaudit.foundation.checked import Floats, as_factors, is_number
from embaudit.foundation.words import counted
from embaudit.kernels.pair_sums import RowSums, pair_sums
from embaudit.kernels.rows import unit_rows
from embaudit.reversals.report import Grouping, SimpsonReport
from embaudit.reversals.statistics import GroupMoments

BETWEEN = "between clusters"
FLAT = 1e-13
"""A variance of cosines below this is rounding."""


def _pair_sums(u: Floats, v: Floats) -> Floats:
    """Return `(N, Σs, Σt, Σs², Σt², Σst)` over the pairs i < j of rows, with s = u_i·u_j and t = v_i·v_j."""
    return np.array(astuple(pair_sums([RowSums.of(u)], [RowSums.of(v)], [u.T @ v])))


def _moments(sums: Floats) -> GroupMoments:
    n, s, t, ss, tt, st = sums
    sxx, syy = np.maximum(ss - s * s / n, 0), np.maximum(tt - t * t / n, 0)
    sxx[sxx < FLAT * n] = 0
    syy[syy < FLAT * n] = 0
    sxy = np.where((sxx > 0) & (syy > 0), st - s * t / n, 0.0)
    return GroupMoments(n, s / n, t / n, sxx, syy, sxy)


def similarity_reversal(
    before: ArrayLike, after: ArrayLike, clusters: ArrayLike, *, share: float = 1.0
) -> SimpsonReport:
    """Correlate two similarity structures over all pairs of items, and over the pairs within each cluster.

    Two sets of vectors may agree on which clusters lie close and disagree on everything inside them: the pooled
    correlation of their cosines is then high and every cluster's low or negative.

    Parameters
    ----------
    before, after : array of shape (p, k) and (p, l)
        Vectors of the same items.
    clusters : array of shape (p,)
        Cluster of each item. The pairs across clusters are one more group.
    share : float
        As in `simpson`.

    Returns
    -------
    SimpsonReport
        Of one grouping; exact, with pairs in place of rows and without p-values: pairs that share an item are not
        independent.

    Raises
    ------
    InputError
        If the items differ in number, or there are fewer than two groups of pairs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> centre = np.repeat(np.eye(2) * 5, 20, axis=0)
    >>> a, b = (centre + rng.normal(size=(40, 2)) for _ in range(2))
    >>> report = similarity_reversal(a, b, np.repeat(["u", "v"], 20))
    >>> report.pooled.r > 0.8, abs(report.groupings[0].within.r) < 0.2
    (True, True)
    """
    x, y, labels = as_factors(before, "before"), as_factors(after, "after"), np.asarray(clusters)
    if not len(x) == len(y) == labels.size:
        raise InputError(
            f"before, after and clusters must have one row an item; got {len(x)}, {len(y)} and {labels.size}."
        )
    if not is_number(share) or not 0 < share <= 1:
        raise must_be("share", "above 0 and at most 1", repr(share))
    u, v = unit_rows(x), unit_rows(y)
    known = ~(np.isnan(u[:, 0]) | np.isnan(v[:, 0]))
    u, v = u[known], v[known]
    names, codes = np.unique(labels.ravel()[known].astype(str), return_inverse=True)
    if len(names) < 2:
        raise must_be("clusters", "at least two among the items that have a direction", len(names))
    sums = np.array([_pair_sums(u[codes == c], v[codes == c]) for c in range(len(names))])
    across = _pair_sums(u, v) - sums.sum(axis=0)
    has_pairs = sums[:, 0] > 0
    moments = _moments(np.vstack([sums[has_pairs], across]).T)
    levels = (*names[has_pairs].tolist(), BETWEEN)
    lost, single = int((~known).sum()), int((~has_pairs).sum())
    notes = [f"{counted(lost, 'item')} without direction left out"] * bool(lost)
    notes += [f"{counted(single, 'cluster')} of one item, without a pair"] * bool(single)
    return _report(moments, levels, share, notes)


def _report(moments: GroupMoments, levels: tuple[str, ...], share: float, notes: list[str]) -> SimpsonReport:
    nothing = np.full(len(levels), math.nan)
    pooled, within = moments.association(moments.total), moments.association(moments.within)
    if math.isnan(pooled.r):
        raise must_be("the cosines of both structures", "of some spread", "equal ones over all pairs")
    grouping = Grouping(("cluster",), levels, moments, pooled, within, nothing, nothing, math.nan, share=share)
    return SimpsonReport("cosine before", "cosine after", pooled, (grouping,), notes=(*notes, *grouping.notes()))
