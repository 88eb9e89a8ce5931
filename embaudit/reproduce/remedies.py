"""The remedies that the Netflix paper names but does not test, on the data of its figure.

Each remedy that changes the training data is followed by Eq. 1, whose cosines then are as free as before: they
are given for all four rescalings. The prediction cosine of the same fit needs the predictions only, so it is one
number for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from embaudit.canonical import identified_factors
from embaudit.foundation.checked import Floats
from embaudit.kernels.pairs import cosine_matrix
from embaudit.model import FactorModel
from embaudit.reproduce.netflix_models import EQ2, Solved, cluster_recovery, rescaled
from embaudit.reproduce.netflix_setting import NetflixSetting
from embaudit.solvers import ProductPenaltyMF

NEGATIVES = 5
"""Negative samples for each positive, as word2vec takes for small data."""
NO_TRAINING_CHANGE = "Eq. 1 as it is"
NO_MODEL = "no model"
EQ2_INSTEAD = "Eq. 2 instead"
NOTHING, PREDICTIONS, PENALTY, DATA = "nothing", "the predictions", "the penalty", "the data"
"""What makes a similarity unique: nothing does, or which of these."""
PREDICTION_COSINE = "prediction cosine"


@dataclass(frozen=True)
class Remedy:
    """A change of the training data, and what it stands for."""

    name: str
    note: str
    apply: Callable[[Any], Any]
    """(n, p) sparse interactions to the matrix to factorise."""


def _shares(matrix: Any) -> Floats:
    """Share of users who took each item."""
    shares: Floats = np.bincount(matrix.indices, minlength=matrix.shape[1]) / matrix.shape[0]
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
    per_user = np.diff(matrix.indptr)
    scaled = matrix.copy()
    scaled.data = matrix.data / np.sqrt(np.repeat(per_user, per_user))
    return scaled


REMEDIES = (
    Remedy("standardised columns", "every item: mean 0, variance 1", standardise_columns),
    Remedy("inverse propensity", "squared errors weighted by 1/popularity; closed form", inverse_propensity),
    Remedy(
        "negatives by popularity^3/4",
        f"{NEGATIVES} negatives for each positive; no closed form at bounded rank: the free optimum, factorised",
        negative_sampling,
    ),
    Remedy("normalised rows", "every user: length 1", normalise_rows),
)


def _record(remedy: str, similarity: str, pinned_by: str, vectors: Any, solved: Solved) -> dict[str, Any]:
    recovery = cluster_recovery(cosine_matrix(vectors), solved.clusters)
    return {"remedy": remedy, "similarity": similarity, "pinned_by": pinned_by, **recovery}


def _of_product_fit(remedy: str, models: dict[str, FactorModel], solved: Solved) -> Iterator[dict[str, Any]]:
    for name, model in models.items():
        yield _record(remedy, f"cosine, {name}", NOTHING, model.right, solved)
    vectors = identified_factors(models["identity"], "right")
    yield _record(remedy, PREDICTION_COSINE, PREDICTIONS, vectors, solved)


def remedy_records(solved: Solved, setting: NetflixSetting) -> list[dict[str, Any]]:
    """Measure every remedy on one data set.

    The weight of the penalty is scaled so that its ratio to the squared size of the data stays what it was.
    """
    matrix = solved.matrix
    product = {name: model for name, model in solved.models.items() if name != EQ2}
    second = solved.models[EQ2]
    records = list(_of_product_fit(NO_TRAINING_CHANGE, product, solved))
    records.append(_record(EQ2_INSTEAD, "cosine", PENALTY, second.right, solved))
    records.append(_record(EQ2_INSTEAD, PREDICTION_COSINE, PREDICTIONS, identified_factors(second, "right"), solved))
    by_item = sparse.csr_array(matrix.T).toarray()
    records.append(_record(NO_MODEL, "cosine of the data", DATA, by_item, solved))
    for remedy in REMEDIES:
        changed = remedy.apply(matrix)
        entries: Any = changed.data if hasattr(changed, "indptr") else changed.ravel()
        size = float(entries @ entries)
        alpha = setting.alpha_product * size / matrix.nnz
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
    # One seed has no spread to show.
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
    return summary.sort_values(["auc_low", "top10_low"], ascending=False, ignore_index=True)
