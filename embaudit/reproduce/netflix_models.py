"""The models behind the Netflix figure and their cosines: four equivalent solutions of Eq. 1, and that of Eq. 2.

Beside them stand the remedies that the paper names but does not test. Each that changes the training data is followed
by Eq. 1, whose cosines then are as free as before: they are given for all four rescalings. The prediction cosine of the
same fit needs the predictions only, so it is one number for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from embaudit.canonical import identified_factors
from embaudit.core.checked import Floats, Indices
from embaudit.core.parallel import row_blocks
from embaudit.errors import must_be
from embaudit.gauges import Gauge
from embaudit.linalg.nearest import TopK, neighbours
from embaudit.linalg.pairs import cosine_matrix
from embaudit.model import FactorModel
from embaudit.model.equivalence import Equivalence, largest_gap
from embaudit.reproduce.netflix_setting import NetflixSetting
from embaudit.simulate import SimulatedInteractions, simulate_interactions
from embaudit.solvers import RESCALINGS, FactorPenaltyMF, ProductPenaltyMF

EQ2 = "Eq. 2"
SCALINGS = ("g^1/2", "identity", "g^-1/2", "sigma^-1/2")
"""The rescalings of the Eq. 1 solution, in the order of the figure."""
N_NEIGHBOURS = 10
TOLERANCE = 1e-10
"""Largest deviation at which a statement of Section 2.2 holds."""
NEGATIVES = 5
"""Negative samples for each positive, as word2vec takes for small data."""
NO_TRAINING_CHANGE = "Eq. 1 as it is"
NO_MODEL = "no model"
EQ2_INSTEAD = "Eq. 2 instead"
NOTHING, PREDICTIONS, PENALTY, DATA = (
    "nothing",
    "the predictions",
    "the penalty",
    "the data",
)
"""Reasons that a similarity is unique: nothing, the predictions, the penalty or the data."""
PREDICTION_COSINE = "prediction cosine"


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


def rescaled(
    model: FactorModel, singular_values: Floats, alpha: float
) -> dict[str, FactorModel]:
    """Apply the diagonal gauge of every rescaling to the symmetric solution of Eq. 1.

    The singular values are those of the data, `alpha` is the weight of the penalty.

    Returns
    -------
    dict of name to FactorModel
        In the order of `SCALINGS`; they predict the same.
    """
    sigma = singular_values[: model.rank]
    # The shrinkage of Eq. 1 (Section 2.1): its optimum is V diag(g) Vᵀ, and each rescaling splits g in its own way.
    g = 1 / (1 + alpha / sigma**2)
    return {
        name: Gauge.diagonal(RESCALINGS[name](g, sigma)).act(model) for name in SCALINGS
    }


def solve(data: SimulatedInteractions, setting: NetflixSetting) -> Solved:
    """Fit both objectives to one data set."""
    # An item that nobody took has a zero row, hence no cosine.
    is_consumed = np.bincount(data.matrix.indices, minlength=data.matrix.shape[1]) > 0
    matrix = data.matrix if is_consumed.all() else data.matrix[:, is_consumed]
    first = ProductPenaltyMF(
        setting.rank, alpha=setting.alpha_product, split="identity"
    ).fit(matrix)
    second = FactorPenaltyMF(setting.rank, alpha=setting.alpha_factors).fit(matrix)
    models = rescaled(
        first.model(matrix), first.singular_values_, setting.alpha_product
    )
    models[EQ2] = second.model(matrix)
    return Solved(
        matrix,
        data.clusters[is_consumed],
        data.popularity[is_consumed],
        models,
        int((~is_consumed).sum()),
    )


def prediction_changes(models: dict[str, FactorModel]) -> dict[str, float]:
    """Compute the largest change of any score against the symmetric solution, over all users and items."""
    origin = models["identity"]
    changes = dict.fromkeys(models, 0.0)
    for rows in row_blocks(origin.n_left, 2 * origin.n_right):
        scores = origin.scores(rows)
        for name in changes.keys() - {"identity"}:
            changes[name] = max(
                changes[name], float(np.abs(models[name].scores(rows) - scores).max())
            )
    return changes


def cluster_recovery(cosines: Floats, clusters: Indices) -> dict[str, float]:
    """Compare a matrix of cosines with the clusters of its rows.

    Parameters
    ----------
    cosines : array of shape (p, p)
        Symmetric; NaN for a row without direction, which is left out.
    clusters : array of shape (p,)
        The true cluster of every row; at least two clusters, one of them with two rows.

    Returns
    -------
    dict
        `within_mean` and `between_mean`, the mean cosine of two items of one cluster and of two; `auc`, the
        probability that a pair of the first kind has a larger cosine than one of the second, ties counted half;
        `top10_in_cluster`, the share of an item's ten nearest items in its cluster, averaged over items.

    Raises
    ------
    InputError
        If there are no pairs of one kind, or fewer than eleven rows.

    Examples
    --------
    >>> clusters = np.repeat([0, 1], 8)
    >>> cluster_recovery(np.where(clusters[:, None] == clusters, 0.75, 0.25), clusters)
    {'within_mean': 0.75, 'between_mean': 0.25, 'auc': 1.0, 'top10_in_cluster': 0.7}
    >>> cosines = np.where(clusters[:, None] == clusters, 0.75, 0.25)
    >>> cosines[0] = cosines[:, 0] = np.nan
    >>> cluster_recovery(cosines, clusters)["within_mean"]
    0.75
    """
    from sklearn.metrics import roc_auc_score

    # A row of zeros, such as one that a penalty shrank to that, has no cosine with any other: it is left out.
    has_direction = ~np.isnan(np.diagonal(cosines))
    cosines, clusters = (
        cosines[np.ix_(has_direction, has_direction)],
        clusters[has_direction],
    )
    if len(clusters) <= N_NEIGHBOURS:
        raise must_be("the number of items", f"above {N_NEIGHBOURS}", len(clusters))
    same = clusters[:, None] == clusters
    # Each pair once, and no item with itself.
    upper = np.triu(np.ones_like(same), 1)
    values, together = cosines[upper], same[upper]
    if together.all() or not together.any():
        raise must_be(
            "clusters",
            "at least two, one of them with two items",
            f"{len(np.unique(clusters))} in all",
        )
    off_diagonal = np.where(np.eye(len(cosines)), -np.inf, cosines)
    nearest = TopK(len(cosines), N_NEIGHBOURS).add(off_diagonal).columns
    return {
        "within_mean": float(values[together].mean()),
        "between_mean": float(values[~together].mean()),
        "auc": float(roc_auc_score(together, values)),
        "top10_in_cluster": float((clusters[nearest] == clusters[:, None]).mean()),
    }


def measure(
    solved: Solved,
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, NDArray[np.float32]]]:
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
        tops[name] = neighbours(model.right, N_NEIGHBOURS)
        cosines[name] = full[np.ix_(solved.order, solved.order)].astype(np.float32)
        records.append(
            {
                "model": name,
                "objective": EQ2 if name == EQ2 else "Eq. 1",
                "effective_rank": model.rank,
                **cluster_recovery(full, solved.clusters),
                "overlap_with_first": tops[SCALINGS[0]].overlap(tops[name]),
                "prediction_change": changes[name],
            }
        )
    overlaps = {
        name: [top.overlap(tops[name]) for top in tops.values()] for name in tops
    }
    return (
        pd.DataFrame(records),
        pd.DataFrame({"model": list(tops), **overlaps}),
        cosines,
    )


def full_rank_checks(
    *, n_users: int = 600, n_items: int = 40, alpha: float = 100.0, seed: int = 0
) -> pd.DataFrame:
    """Check the statements of Section 2.2 with a factorisation of full rank, k = p.

    - under `D = g^½` the item factors are orthonormal: the item-item cosines are the identity matrix;
    - then, too, every user ranks items by cosine as by dot product;
    - under `D = g^-½` the user factors are `X V`: the user-user cosines are those of the rows of data.

    They hold for any weight `alpha` of the penalty.

    Returns
    -------
    DataFrame
        `statement`, `rescaling`, `deviation` (largest, absolute; for rankings the largest difference of scores
        whose order the cosine turns around) and `holds`.

    Examples
    --------
    >>> full_rank_checks(n_users=60, n_items=12)["holds"].tolist()
    [True, True, True]
    """
    data = simulate_interactions(n_users, n_items, 3, rng=seed).matrix.toarray()
    items, users = (
        ProductPenaltyMF(n_items, alpha=alpha, split=name).fit(data).model(data)
        for name in ("g^1/2", "g^-1/2")
    )
    assert items.rank == n_items, "the simulated data must have full column rank"
    # The cosine of a user and an item is their score over both lengths.
    scores = items.scores()
    lengths = np.linalg.norm(items.factors("left"), axis=1)[:, None] * np.linalg.norm(
        items.right, axis=1
    )
    identity = np.abs(cosine_matrix(items.right) - np.eye(n_items))
    rankings = largest_gap(Equivalence.RANKINGS, scores, scores / lengths)
    raw = np.abs(cosine_matrix(users.factors("left")) - cosine_matrix(data))
    records: list[tuple[str, str, Any]] = [
        ("item-item cosine is the identity matrix", "g^1/2", identity.max()),
        ("user-item cosine ranks as the dot product", "g^1/2", rankings),
        ("user-user cosine is that of the raw data", "g^-1/2", raw.max()),
    ]
    frame = pd.DataFrame(records, columns=["statement", "rescaling", "deviation"])
    return frame.assign(holds=frame["deviation"] < TOLERANCE)


@dataclass(frozen=True)
class DataChange:
    """A change of the training data, and what it stands for."""

    name: str
    note: str
    apply: Callable[[Any], Any]
    """(n, p) sparse interactions to the matrix to factorise."""


def _shares(matrix: Any) -> Floats:
    """Share of users who took each item."""
    shares: Floats = (
        np.bincount(matrix.indices, minlength=matrix.shape[1]) / matrix.shape[0]
    )
    return shares


def _scale_columns(matrix: Any, factors: Floats) -> Any:
    scaled = matrix.copy()
    scaled.data = matrix.data * factors[matrix.indices]
    return scaled


def standardise_columns(matrix: Any) -> Floats:
    """Give every item mean 0 and variance 1 over the users; the result is dense.

    Examples
    --------
    >>> standardise_columns(sparse.csr_array([[1.0], [0.0]])).ravel()
    array([ 1., -1.])
    """
    dense: Floats = matrix.toarray()
    dense -= dense.mean(axis=0)
    spread = np.sqrt(np.einsum("ij,ij->j", dense, dense) / len(dense))
    # An item everybody took has no variance: it stays zero, as nothing is left to predict.
    dense /= np.where(spread > 0, spread, 1)
    return dense


def inverse_propensity(matrix: Any) -> Any:
    """Weight the squared error of item i by 1/share_i: its column times share_i^-½.

    With `X̃ = X W^½` the weighted problem `‖(X − X A Bᵀ) W^½‖² + α ‖W^-½ A Bᵀ W^½‖²` is Eq. 1 on X̃; the item vectors
    differ by a factor each, which no cosine sees.
    """
    return _scale_columns(matrix, _shares(matrix) ** -0.5)


def negative_sampling(matrix: Any) -> Any:
    """Take the unconstrained optimum under negatives drawn by popularity^¾: `x / (x + c_i)`, then factorise it.

    The weighted loss `Σ x_ui (1 − s_ui)² + c_i s_ui²` has weights that are no product of a user's and an item's, so
    with a bounded rank it has no closed form. Without a bound its optimum is `x_ui / (x_ui + c_i)`, which for
    binary data is the column times 1/(1 + c_i). c_i makes `NEGATIVES` expected negatives for each positive.
    """
    # word2vec's noise distribution; c_i is the expected number of negatives of item i for a user of average activity.
    noise = _shares(matrix) ** 0.75
    per_user = matrix.nnz / matrix.shape[0]
    return _scale_columns(matrix, 1 / (1 + NEGATIVES * per_user * noise / noise.sum()))


def normalise_rows(matrix: Any) -> Any:
    """Give every user's row unit length, so that active users do not outweigh the others.

    Examples
    --------
    >>> normalise_rows(sparse.csr_array([[1.0, 1.0, 1.0, 1.0]])).toarray()
    array([[0.5, 0.5, 0.5, 0.5]])
    """
    # A binary row of m ones has length √m.
    per_user = np.diff(matrix.indptr)
    scaled = matrix.copy()
    scaled.data = matrix.data / np.sqrt(np.repeat(per_user, per_user))
    return scaled


REMEDIES = (
    DataChange(
        "standardised columns", "every item: mean 0, variance 1", standardise_columns
    ),
    DataChange(
        "inverse propensity",
        "squared errors weighted by 1/popularity; closed form",
        inverse_propensity,
    ),
    DataChange(
        "negatives by popularity^3/4",
        f"{NEGATIVES} negatives for each positive; no closed form at bounded rank: the free optimum, factorised",
        negative_sampling,
    ),
    DataChange("normalised rows", "every user: length 1", normalise_rows),
)


def _record(
    remedy: str, similarity: str, pinned_by: str, vectors: Any, solved: Solved
) -> dict[str, Any]:
    recovery = cluster_recovery(cosine_matrix(vectors), solved.clusters)
    return {
        "remedy": remedy,
        "similarity": similarity,
        "pinned_by": pinned_by,
        **recovery,
    }


def _of_product_fit(
    remedy: str, models: dict[str, FactorModel], solved: Solved
) -> Iterator[dict[str, Any]]:
    for name, model in models.items():
        yield _record(remedy, f"cosine, {name}", NOTHING, model.right, solved)
    # What the predictions fix is the same for all rescalings: one of them is enough.
    vectors = identified_factors(models["identity"], "right")
    yield _record(remedy, PREDICTION_COSINE, PREDICTIONS, vectors, solved)


def remedy_records(solved: Solved, setting: NetflixSetting) -> list[dict[str, Any]]:
    """Measure every remedy on one data set.

    The weight of the penalty is scaled so that its ratio to the squared size of the data stays what it was.
    """
    # Without other data: the free cosines of Eq. 1, the pinned ones of Eq. 2, and those of the data themselves.
    matrix = solved.matrix
    product = {name: model for name, model in solved.models.items() if name != EQ2}
    second = solved.models[EQ2]
    records = list(_of_product_fit(NO_TRAINING_CHANGE, product, solved))
    records.append(_record(EQ2_INSTEAD, "cosine", PENALTY, second.right, solved))
    records.append(
        _record(
            EQ2_INSTEAD,
            PREDICTION_COSINE,
            PREDICTIONS,
            identified_factors(second, "right"),
            solved,
        )
    )
    by_item = sparse.csr_array(matrix.T).toarray()
    records.append(_record(NO_MODEL, "cosine of the data", DATA, by_item, solved))
    for remedy in REMEDIES:
        # α keeps its ratio to ‖X‖², or a remedy would be judged by the strength of its penalty.
        changed = remedy.apply(matrix)
        entries: Any = changed.data if hasattr(changed, "indptr") else changed.ravel()
        alpha = setting.alpha_product * float(entries @ entries) / matrix.nnz
        fit = ProductPenaltyMF(setting.rank, alpha=alpha, split="identity").fit(changed)
        models = rescaled(fit.model(changed), fit.singular_values_, alpha)
        records += _of_product_fit(remedy.name, models, solved)
    return records


def summarise(records: pd.DataFrame) -> pd.DataFrame:
    """Gather records of several seeds: one row a remedy and kind of similarity, best recovery first.

    A similarity that is not unique has a range of results, from the worst to the best rescaling (each averaged over
    the seeds); one that is unique has one result.

    Parameters
    ----------
    records : DataFrame
        Of `remedy_records`, with a column `seed`.

    Returns
    -------
    DataFrame
        `remedy`, `similarity`, `unique`, `pinned_by` (what makes it so), and `_low`, `_high` of the AUC and of the
        share of the top 10 that lies in the item's cluster; `auc_std` is the largest standard deviation over seeds
        (of the population, not a sample: ddof = 0; NaN for one seed).
    """
    kinds = records.assign(kind=records["similarity"].str.split(",").str[0])
    each = kinds.groupby(["remedy", "kind", "pinned_by", "similarity"], sort=False)
    means = each[["auc", "top10_in_cluster"]].mean()
    # First over the seeds, then over the rescalings of a fit: an end of the range is one model's mean, no lucky seed.
    means["auc_std"] = each["auc"].std(ddof=0).where(each.size() > 1)
    columns: Any = {
        "auc_low": ("auc", "min"), "auc_high": ("auc", "max"), "auc_std": ("auc_std", "max"),
        "top10_low": ("top10_in_cluster", "min"), "top10_high": ("top10_in_cluster", "max"),
    }  # fmt: skip
    similarities = means.groupby(["remedy", "kind", "pinned_by"], sort=False)
    summary: pd.DataFrame = similarities.agg(**columns).reset_index()
    summary.insert(2, "unique", summary["pinned_by"] != NOTHING)
    # The worst a gauge can make of it decides.
    summary = summary.rename(columns={"kind": "similarity"})
    return summary.sort_values(
        ["auc_low", "top10_low"], ascending=False, ignore_index=True
    )
