"""The models of the Netflix figure: four equivalent solutions of Eq. 1, and Eq. 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices
from embaudit.core.parallel import row_blocks
from embaudit.core.tolerances import STATEMENT_ERROR
from embaudit.errors import must_be
from embaudit.gauges import Gauge
from embaudit.linalg.nearest import TopK, neighbours
from embaudit.linalg.pair_cosines import cosine_matrix
from embaudit.model import FactorModel
from embaudit.model.equivalence import Equivalence, largest_gap
from embaudit.reproduce.netflix_setting import NetflixSetting
from embaudit.simulate import SimulatedInteractions, simulate_interactions
from embaudit.solvers import RESCALINGS, FactorPenaltyMF, ProductPenaltyMF

EQ1 = "Eq. 1"
EQ2 = "Eq. 2"
SCALINGS = ("g^1/2", "identity", "g^-1/2", "sigma^-1/2")
"""The rescalings of the solution of Eq. 1, in the order of the figure."""
SYMMETRIC = "identity"
"""The rescaling under which both sides share g evenly."""
N_NEIGHBOURS = 10
"""Length of the lists of nearest items, as in the names of the columns."""


@dataclass(frozen=True, eq=False)
class SolvedModels:
    """One data set, without the items that nobody took, and the models fitted to it."""

    matrix: Any
    """Interactions in CSR, shape (n, p)."""
    clusters: Indices
    """True cluster of each item."""
    popularity: Floats
    """Baseline popularity of each item."""
    models: dict[str, FactorModel]
    """The rescalings of Eq. 1 by name, then Eq. 2."""
    n_left_out: int
    """Number of items that nobody took. They have no cosine."""

    @property
    def eq1_models(self) -> dict[str, FactorModel]:
        """The rescalings of Eq. 1."""
        return {name: self.models[name] for name in SCALINGS}

    @property
    def order(self) -> Indices:
        """Items by cluster, then by descending popularity."""
        return np.lexsort((-self.popularity, self.clusters))


def solve(data: SimulatedInteractions, setting: NetflixSetting) -> SolvedModels:
    """Fit both objectives to one data set."""
    n_users_per_item = np.bincount(data.matrix.indices, minlength=data.matrix.shape[1])
    is_taken = n_users_per_item > 0
    matrix = data.matrix if is_taken.all() else data.matrix[:, is_taken]
    eq2 = FactorPenaltyMF(setting.rank, alpha=setting.alpha_factors).fit(matrix)
    models = eq1_rescalings(matrix, setting.rank, setting.alpha_product)
    models[EQ2] = eq2.model(matrix)
    return SolvedModels(
        matrix=matrix,
        clusters=data.clusters[is_taken],
        popularity=data.popularity[is_taken],
        models=models,
        n_left_out=int((~is_taken).sum()),
    )


def eq1_rescalings(matrix: Any, rank: int, alpha: float) -> dict[str, FactorModel]:
    """Solve Eq. 1, and apply the diagonal gauge of every rescaling to the solution.

    The symmetric solution is `A = B = V diag(g)^½` with `g = 1 / (1 + α/σ²)`. A
    rescaling D turns it into `(A D, B D⁻¹)`, which predicts the same (Section 2.1).

    Parameters
    ----------
    matrix : array or sparse matrix of shape (n, p)
    rank : int
    alpha : float
        Weight of the penalty.

    Returns
    -------
    dict of name to FactorModel
        In the order of `SCALINGS`.
    """
    fit = ProductPenaltyMF(rank, alpha=alpha, split=SYMMETRIC).fit(matrix)
    symmetric = fit.model(matrix)
    sigma = fit.singular_values_[: symmetric.rank]
    g = 1 / (1 + alpha / sigma**2)
    models = {}
    for name in SCALINGS:
        gauge = Gauge.diagonal(RESCALINGS[name](g, sigma))
        models[name] = gauge.act(symmetric)
    return models


def prediction_changes(models: dict[str, FactorModel]) -> dict[str, float]:
    """Compute the largest change of any score from the symmetric solution."""
    symmetric = models[SYMMETRIC]
    changes = dict.fromkeys(models, 0.0)
    for rows in row_blocks(symmetric.n_left, 2 * symmetric.n_right):
        scores = symmetric.scores(rows)
        for name, model in models.items():
            change = float(np.abs(model.scores(rows) - scores).max())
            changes[name] = max(changes[name], change)
    return changes


def cluster_recovery(cosines: Floats, clusters: Indices) -> dict[str, float]:
    """Compare a matrix of cosines with the clusters of its rows.

    Parameters
    ----------
    cosines : array of shape (p, p)
        Symmetric. A row without direction is NaN, and is skipped.
    clusters : array of shape (p,)
        True cluster of each row.

    Returns
    -------
    dict
        - `within_mean`, `between_mean`: mean cosine of two rows of one cluster, and of
          two clusters
        - `auc`: probability that a pair within a cluster has a larger cosine than a
          pair of two clusters, where ties count half
        - `top10_in_cluster`: share of the ten nearest rows that are in the row's
          cluster, averaged over rows

    Raises
    ------
    InputError
        If no pair is within a cluster, no pair is of two clusters, or there are fewer
        than eleven rows.

    Examples
    --------
    >>> clusters = np.repeat([0, 1], 8)
    >>> cosines = np.where(clusters[:, None] == clusters, 0.75, 0.25)
    >>> cluster_recovery(cosines, clusters)
    {'within_mean': 0.75, 'between_mean': 0.25, 'auc': 1.0, 'top10_in_cluster': 0.7}
    >>> cosines[0] = cosines[:, 0] = np.nan
    >>> cluster_recovery(cosines, clusters)["within_mean"]
    0.75
    """
    from sklearn.metrics import roc_auc_score

    has_direction = ~np.isnan(np.diagonal(cosines))
    cosines = cosines[np.ix_(has_direction, has_direction)]
    clusters = clusters[has_direction]
    p = len(clusters)
    if p <= N_NEIGHBOURS:
        raise must_be("the number of items", f"above {N_NEIGHBOURS}", p)
    same_cluster = clusters[:, None] == clusters
    # Each pair once, and no item with itself.
    above_diagonal = np.triu(np.ones((p, p), dtype=bool), 1)
    is_within = same_cluster[above_diagonal]
    values = cosines[above_diagonal]
    if is_within.all() or not is_within.any():
        allowed = "at least two clusters, and one cluster with at least two items"
        raise must_be("clusters", allowed, f"{len(np.unique(clusters))} clusters")
    without_self = cosines.copy()
    np.fill_diagonal(without_self, -np.inf)
    nearest = TopK(p, N_NEIGHBOURS).add(without_self).columns
    return {
        "within_mean": float(values[is_within].mean()),
        "between_mean": float(values[~is_within].mean()),
        "auc": float(roc_auc_score(is_within, values)),
        "top10_in_cluster": float((clusters[nearest] == clusters[:, None]).mean()),
    }


@dataclass(frozen=True, eq=False)
class MeasuredCosines:
    """The item-item cosines of every model, and how well they recover the clusters."""

    numbers: pd.DataFrame
    """One row per model."""
    overlaps: pd.DataFrame
    """Mean share of common ten nearest items, model by model."""
    cosines: dict[str, NDArray[np.float32]]
    """Cosines of every model, shape (p, p), in the order of the figure."""


def measure(solved: SolvedModels) -> MeasuredCosines:
    """Measure the item-item cosines of every model."""
    models = solved.models
    changes = prediction_changes(models)
    nearest = {
        name: neighbours(model.right, N_NEIGHBOURS) for name, model in models.items()
    }
    in_order = np.ix_(solved.order, solved.order)
    records: list[dict[str, Any]] = []
    cosines: dict[str, NDArray[np.float32]] = {}
    overlaps: dict[str, Any] = {"model": list(models)}
    for name, model in models.items():
        values = cosine_matrix(model.right)
        cosines[name] = values[in_order].astype(np.float32)
        # One entry per model: the share of its nearest items that this model has, too.
        overlaps[name] = [lists.overlap(nearest[name]) for lists in nearest.values()]
        record = {
            "model": name,
            "objective": EQ2 if name == EQ2 else EQ1,
            "effective_rank": model.rank,
            **cluster_recovery(values, solved.clusters),
            "overlap_with_first": overlaps[name][0],
            "prediction_change": changes[name],
        }
        records.append(record)
    return MeasuredCosines(pd.DataFrame(records), pd.DataFrame(overlaps), cosines)


def full_rank_checks(
    *, n_users: int = 600, n_items: int = 40, alpha: float = 100.0, seed: int = 0
) -> pd.DataFrame:
    """Check the statements of Section 2.2 with a factorisation of full rank, k = p.

    - Under `D = g^½` the item factors are orthonormal, so the item-item cosines are the
      identity matrix.
    - Then every user ranks items by cosine as by dot product.
    - Under `D = g^-½` the user factors are `X V`, so the user-user cosines are those of
      the rows of the data.

    The statements hold for any weight `alpha` of the penalty.

    Returns
    -------
    DataFrame
        With `statement`, `rescaling`, `deviation` and `holds`. The deviation is the
        largest absolute one. For rankings it is the largest difference of two scores
        whose order the cosine reverses.

    Examples
    --------
    >>> full_rank_checks(n_users=60, n_items=12)["holds"].tolist()
    [True, True, True]
    """
    data = simulate_interactions(n_users, n_items, 3, rng=seed).matrix.toarray()

    def fitted(split: str) -> FactorModel:
        return ProductPenaltyMF(n_items, alpha=alpha, split=split).fit(data).model(data)

    orthonormal_items = fitted("g^1/2")
    assert orthonormal_items.rank == n_items, "the data must have full column rank"
    items = orthonormal_items.right
    identity_gap = np.abs(cosine_matrix(items) - np.eye(n_items)).max()

    scores = orthonormal_items.scores()
    user_lengths = np.linalg.norm(orthonormal_items.factors("left"), axis=1)
    item_lengths = np.linalg.norm(items, axis=1)
    cosines = scores / np.outer(user_lengths, item_lengths)
    ranking_gap = largest_gap(Equivalence.RANKINGS, scores, cosines)

    users = fitted("g^-1/2").factors("left")
    data_gap = np.abs(cosine_matrix(users) - cosine_matrix(data)).max()

    frame = pd.DataFrame(
        [
            ("item-item cosine is the identity matrix", "g^1/2", identity_gap),
            ("user-item cosine ranks as the dot product", "g^1/2", ranking_gap),
            ("user-user cosine is that of the raw data", "g^-1/2", data_gap),
        ],
        columns=["statement", "rescaling", "deviation"],
    )
    return frame.assign(holds=frame["deviation"] < STATEMENT_ERROR)
