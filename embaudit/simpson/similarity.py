"""similarity_reversal: similarities compared over all pairs and within clusters."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from embaudit.core.checked import Floats, as_factors
from embaudit.core.tolerances import CONSTANT_VARIANCE
from embaudit.core.words import counted
from embaudit.errors import InputError, must_be
from embaudit.linalg.pair_changes import RowSums, pair_sums
from embaudit.linalg.rows import unit_rows
from embaudit.simpson.report import SimpsonReport, report_from_sums

if TYPE_CHECKING:
    import pandas as pd

BETWEEN = "between clusters"
"""Name of the group of the pairs across clusters."""


def similarity_reversal(
    before: ArrayLike, after: ArrayLike, clusters: ArrayLike
) -> SimpsonReport:
    """Correlate two similarity structures over all pairs and within each cluster.

    Two sets of vectors can agree on which clusters lie close and disagree on
    everything inside them: the pooled correlation of their cosines is then high, and
    the one within every cluster is low or negative.

    Parameters
    ----------
    before, after : array of shape (p, k) and (p, l)
        Vectors of the same items.
    clusters : array of shape (p,)
        Cluster of each item. The pairs across clusters are one more group.

    Returns
    -------
    SimpsonReport
        Its rows are pairs of items. All pairs are counted, and there is no p-value,
        because pairs that share an item are not independent.

    Raises
    ------
    InputError
        If the numbers of items differ, there are fewer than two clusters, or all
        cosines are equal.

    Notes
    -----
    The correlation over the pairs i < j follows from six sums over pairs, such as
    Σ (u_i·u_j)² = (‖UᵀU‖² − p) / 2 for unit rows, so no pair is ever listed. The sums
    across clusters are those over all pairs minus those within clusters.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> centre = np.repeat(np.eye(2) * 5, 20, axis=0)
    >>> a = centre + rng.normal(size=(40, 2))
    >>> b = centre + rng.normal(size=(40, 2))
    >>> report = similarity_reversal(a, b, np.repeat(["u", "v"], 20))
    >>> report.r_pooled > 0.8, abs(report.r_within) < 0.2
    (True, True)
    """
    import pandas as pd

    x = as_factors(before, "before")
    y = as_factors(after, "after")
    labels = np.asarray(clusters).ravel()
    if not len(x) == len(y) == len(labels):
        raise InputError(
            "before, after and clusters must have one row per item; got "
            f"{len(x)}, {len(y)} and {len(labels)}."
        )
    u = unit_rows(x)
    v = unit_rows(y)
    has_direction = ~(np.isnan(u[:, 0]) | np.isnan(v[:, 0]))
    u = u[has_direction]
    v = v[has_direction]
    names, codes = np.unique(labels[has_direction].astype(str), return_inverse=True)
    if len(names) < 2:
        allowed = "at least two clusters among the items with a nonzero row"
        raise must_be("clusters", allowed, counted(len(names), "cluster"))

    # Sums over the pairs within each cluster, and over the pairs across clusters.
    within = [_pair_sums(u[codes == c], v[codes == c]) for c in range(len(names))]
    across = _pair_sums(u, v) - np.sum(within, axis=0)
    columns = ["n", "s", "t", "ss", "tt", "st"]
    index = pd.Index([*names.tolist(), BETWEEN], dtype=object)
    sums = pd.DataFrame([*within, across], index=index, columns=columns)
    has_pairs = sums["n"] > 0
    sums = sums[has_pairs]
    centred = _centred(sums)
    _require_spread(sums)

    notes = []
    n_lost = int((~has_direction).sum())
    n_single = int((~has_pairs).sum())
    if n_lost:
        notes.append(f"{counted(n_lost, 'item')} without a cosine skipped")
    if n_single:
        notes.append(f"{counted(n_single, 'cluster')} of one item, without a pair")
    return report_from_sums(
        centred,
        x="cosine before",
        y="cosine after",
        groups=("cluster",),
        notes=tuple(notes),
        row_noun="pair",
    )


def _pair_sums(u: Floats, v: Floats) -> Floats:
    """Return (N, Σs, Σt, Σs², Σt², Σst) over pairs i < j.

    Here s = u_i·u_j and t = v_i·v_j.
    """
    sums = pair_sums(
        [RowSums.from_unit_rows(u)], [RowSums.from_unit_rows(v)], [u.T @ v]
    )
    return np.array(astuple(sums))


def _centred(sums: pd.DataFrame) -> pd.DataFrame:
    """Turn sums of cosines into means, and sums of squared deviations from them.

    For N pairs `Σ (s − s̄)² = Σ s² − (Σ s)² / N`, and products alike.
    """
    import pandas as pd

    n = sums["n"]
    sxx = sums["ss"] - sums["s"] ** 2 / n
    syy = sums["tt"] - sums["t"] ** 2 / n
    sxy = sums["st"] - sums["s"] * sums["t"] / n
    # Equal cosines differ by rounding, which is no association.
    sxx = sxx.where(sxx >= CONSTANT_VARIANCE * n, 0.0)
    syy = syy.where(syy >= CONSTANT_VARIANCE * n, 0.0)
    sxy = sxy.where((sxx > 0) & (syy > 0), 0.0)
    return pd.DataFrame(
        {
            "n": n,
            "mean_x": sums["s"] / n,
            "mean_y": sums["t"] / n,
            "sxx": sxx,
            "syy": syy,
            "sxy": sxy,
        }
    )


def _require_spread(sums: pd.DataFrame) -> None:
    """Raise InputError if all pairs have the same cosine."""
    pooled = _centred(sums.sum().to_frame().T)
    if pooled["sxx"].item() == 0 or pooled["syy"].item() == 0:
        raise must_be(
            "the cosines of both structures",
            "different for some pairs",
            "equal cosines of all pairs",
        )
