"""The models behind the Netflix figure: four equivalent solutions of Eq. 1, and the solution of Eq. 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embaudit.foundation.checked import Floats, Indices
from embaudit.foundation.workers import row_blocks
from embaudit.gauges import Gauge
from embaudit.kernels.pairs import cosine_matrix
from embaudit.model import FactorModel
from embaudit.reproduce.netflix_data import OwnInteractions
from embaudit.reproduce.netflix_setting import NetflixSetting
from embaudit.reproduce.quality import cluster_recovery, nearest, top_overlap
from embaudit.simulate import SimulatedInteractions
from embaudit.solvers import RESCALINGS, FactorPenaltyMF, ProductPenaltyMF

EQ2 = "Eq. 2"
SCALINGS = ("g^1/2", "identity", "g^-1/2", "sigma^-1/2")
"""The rescalings of the Eq. 1 solution, in the order of the figure."""


@dataclass(frozen=True, eq=False)
class Solved:
    """One data set and the models fitted to it; items nobody took are left out."""

    matrix: Any
    """(n, p) the interactions."""
    clusters: Indices
    """(p,) the true clusters."""
    popularity: Floats
    """(p,) the baseline popularities."""
    models: dict[str, FactorModel]
    """The rescalings of Eq. 1 by name, then Eq. 2."""
    n_left_out: int
    """Items nobody took: they have no cosine."""

    @property
    def order(self) -> Indices:
        """Items by cluster, then by descending popularity."""
        return np.lexsort((-self.popularity, self.clusters))


def rescaled(model: FactorModel, singular_values: Floats, alpha: float) -> dict[str, FactorModel]:
    """Apply the diagonal gauge of every rescaling to the symmetric solution of Eq. 1.

    The singular values are those of the data, `alpha` is the weight of the penalty.

    Returns
    -------
    dict of name to FactorModel
        In the order of `SCALINGS`; they predict the same.
    """
    sigma = singular_values[: model.rank]
    g = 1 / (1 + alpha / sigma**2)
    return {name: Gauge.diagonal(RESCALINGS[name](g, sigma)).act(model) for name in SCALINGS}


def solve(data: SimulatedInteractions | OwnInteractions, setting: NetflixSetting) -> Solved:
    """Fit both objectives to one data set."""
    taken = np.bincount(data.matrix.indices, minlength=data.matrix.shape[1]) > 0
    matrix = data.matrix if taken.all() else data.matrix[:, taken]
    first = ProductPenaltyMF(setting.rank, alpha=setting.alpha_product, split="identity").fit(matrix)
    second = FactorPenaltyMF(setting.rank, alpha=setting.alpha_factors).fit(matrix)
    models = rescaled(first.model(matrix), first.singular_values_, setting.alpha_product)
    models[EQ2] = second.model(matrix)
    return Solved(matrix, data.clusters[taken], data.popularity[taken], models, int((~taken).sum()))


def prediction_changes(models: dict[str, FactorModel], reference: str = "identity") -> dict[str, float]:
    """Compute the largest change of any score against one of the models, over all users and items."""
    origin = models[reference]
    changes = dict.fromkeys(models, 0.0)
    for rows in row_blocks(origin.n_left, 2 * origin.n_right):
        scores = origin.scores(rows)
        for name, model in models.items():
            if name != reference:
                changes[name] = max(changes[name], float(np.abs(model.scores(rows) - scores).max()))
    return changes


def measure(solved: Solved) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, NDArray[np.float32]]]:
    """Measure the cosines of every model.

    Returns
    -------
    numbers : DataFrame
        One row a model.
    overlaps : DataFrame
        Mean share of common top-10 neighbours, model by model.
    cosines : dict of name to array of shape (p, p)
        Items in the order of the figure.
    """
    changes = prediction_changes(solved.models)
    records, tops, cosines = [], {}, {}
    for name, model in solved.models.items():
        full = cosine_matrix(model.right)
        tops[name] = nearest(full)
        cosines[name] = full[np.ix_(solved.order, solved.order)].astype(np.float32)
        records.append(
            {
                "model": name,
                "objective": EQ2 if name == EQ2 else "Eq. 1",
                "effective_rank": model.rank,
                **cluster_recovery(full, solved.clusters).to_dict(),
                "overlap_with_first": top_overlap(tops[SCALINGS[0]], tops[name]),
                "prediction_change": changes[name],
            }
        )
    overlaps = {name: [top_overlap(top, tops[name]) for top in tops.values()] for name in tops}
    return pd.DataFrame(records), pd.DataFrame({"model": list(tops), **overlaps}), cosines
