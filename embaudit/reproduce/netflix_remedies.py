"""The remedies that the Netflix paper names but does not test.

Most remedies change the training data and then solve Eq. 1, whose cosines are as free
as before: they are measured for all four rescalings. The prediction cosine of such a
fit depends on the predictions only, so it is one number for all rescalings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from embaudit.canonical import identified_factors
from embaudit.core.checked import Floats, Indices
from embaudit.linalg.pair_cosines import cosine_matrix
from embaudit.model import FactorModel
from embaudit.reproduce.netflix_models import (
    EQ2,
    SYMMETRIC,
    SolvedModels,
    cluster_recovery,
    eq1_rescalings,
)
from embaudit.reproduce.netflix_setting import NetflixSetting

NEGATIVES = 5
"""Negative samples per positive, as word2vec takes for small data."""
NO_TRAINING_CHANGE = "Eq. 1 as it is"
EQ2_INSTEAD = "Eq. 2 instead"
NO_MODEL = "no model"
PREDICTION_COSINE = "prediction cosine"

# What makes a similarity unique.
NOTHING = "nothing"
PREDICTIONS = "the predictions"
PENALTY = "the penalty"
DATA = "the data"


@dataclass(frozen=True)
class DataChange:
    """A remedy that changes the training data."""

    name: str
    note: str
    """What is changed."""
    apply: Callable[[Any], Any]
    """Function from the interactions in CSR to the matrix to factorise, both (n, p)."""


def _popularity(matrix: Any) -> Floats:
    """Return the share of users who took each item."""
    n, p = matrix.shape
    shares: Floats = np.bincount(matrix.indices, minlength=p) / n
    return shares


def _scale_columns(matrix: Any, factors: Floats) -> Any:
    """Multiply each column of a matrix in CSR by a factor."""
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
    deviations = dense.std(axis=0)
    # An item that everybody took has no variance. It stays zero.
    dense /= np.where(deviations > 0, deviations, 1)
    return dense


def inverse_propensity(matrix: Any) -> Any:
    """Weight the squared error of item i by 1/popularity_i, in closed form.

    With the diagonal weights W and `X̃ = X W^½`, the weighted problem
    `‖(X − X A Bᵀ) W^½‖² + α ‖W^-½ A Bᵀ W^½‖²` is Eq. 1 for X̃. The item vectors of both
    differ by a factor each, which leaves their cosines alone.
    """
    return _scale_columns(matrix, _popularity(matrix) ** -0.5)


def negative_sampling(matrix: Any) -> Any:
    """Return the optimum of unbounded rank under negatives drawn by popularity^¾.

    The weighted loss `Σ x_ui (1 − s_ui)² + c_i s_ui²` has the optimum
    `x_ui / (x_ui + c_i)`, which for binary data is the column times 1/(1 + c_i). Here
    c_i is the expected number of negatives of item i for a user of average activity,
    at `NEGATIVES` negatives per positive.

    With a bounded rank the loss has no closed form, because its weights are no product
    of a weight per user and a weight per item.
    """
    # The noise distribution of word2vec.
    noise = _popularity(matrix) ** 0.75
    positives_per_user = matrix.nnz / matrix.shape[0]
    expected_negatives = NEGATIVES * positives_per_user * noise / noise.sum()
    return _scale_columns(matrix, 1 / (1 + expected_negatives))


def normalise_rows(matrix: Any) -> Any:
    """Give every user's row unit length, so that active users do not outweigh others.

    Examples
    --------
    >>> normalise_rows(sparse.csr_array([[1.0, 1.0, 1.0, 1.0]])).toarray()
    array([[0.5, 0.5, 0.5, 0.5]])
    """
    # A binary row of m ones has length √m.
    items_per_user = np.diff(matrix.indptr)
    scaled = matrix.copy()
    scaled.data = matrix.data / np.sqrt(np.repeat(items_per_user, items_per_user))
    return scaled


REMEDIES = (
    DataChange(
        name="standardised columns",
        note="every item: mean 0, variance 1",
        apply=standardise_columns,
    ),
    DataChange(
        name="inverse propensity",
        note="squared errors weighted by 1/popularity; closed form",
        apply=inverse_propensity,
    ),
    DataChange(
        name="negatives by popularity^3/4",
        note=f"{NEGATIVES} negatives for each positive; no closed form at bounded "
        "rank: the free optimum, factorised",
        apply=negative_sampling,
    ),
    DataChange(
        name="normalised rows", note="every user: length 1", apply=normalise_rows
    ),
)
"""The remedies that change the training data."""


def remedy_records(
    solved: SolvedModels, setting: NetflixSetting
) -> list[dict[str, Any]]:
    """Measure every remedy on one data set, one record per remedy and similarity."""
    matrix, clusters = solved.matrix, solved.clusters
    eq2 = solved.models[EQ2]
    item_columns = sparse.csr_array(matrix.T).toarray()
    records = [
        *_records_of_eq1(NO_TRAINING_CHANGE, solved.eq1_models, clusters),
        _record(EQ2_INSTEAD, "cosine", PENALTY, eq2.right, clusters),
        _prediction_cosine_record(EQ2_INSTEAD, eq2, clusters),
        _record(NO_MODEL, "cosine of the data", DATA, item_columns, clusters),
    ]
    for remedy in REMEDIES:
        changed = remedy.apply(matrix)
        # α keeps its ratio to ‖X‖², so that no remedy profits from a weaker penalty.
        ratio = _squared_size(changed) / _squared_size(matrix)
        alpha = setting.alpha_product * ratio
        models = eq1_rescalings(changed, setting.rank, alpha)
        records += _records_of_eq1(remedy.name, models, clusters)
    return records


def _squared_size(matrix: Any) -> float:
    """Compute `‖X‖²` of a dense or sparse array."""
    return float((matrix * matrix).sum())


def _records_of_eq1(
    remedy: str, models: dict[str, FactorModel], clusters: Indices
) -> list[dict[str, Any]]:
    """Measure the cosines of each rescaling, and the prediction cosine they share."""
    records = [
        _record(remedy, f"cosine, {name}", NOTHING, model.right, clusters)
        for name, model in models.items()
    ]
    records.append(_prediction_cosine_record(remedy, models[SYMMETRIC], clusters))
    return records


def _prediction_cosine_record(
    remedy: str, model: FactorModel, clusters: Indices
) -> dict[str, Any]:
    vectors = identified_factors(model, "right")
    return _record(remedy, PREDICTION_COSINE, PREDICTIONS, vectors, clusters)


def _record(
    remedy: str, similarity: str, pinned_by: str, vectors: Any, clusters: Indices
) -> dict[str, Any]:
    """Measure how well the cosines of these vectors recover the clusters."""
    return {
        "remedy": remedy,
        "similarity": similarity,
        "pinned_by": pinned_by,
        **cluster_recovery(cosine_matrix(vectors), clusters),
    }


def summarise(records: pd.DataFrame) -> pd.DataFrame:
    """Summarise records of several seeds, one row per remedy and kind of similarity.

    A similarity that is not unique has a range of results, from the worst to the best
    rescaling, each averaged over the seeds. A unique one has one result.

    Parameters
    ----------
    records : DataFrame
        Records of `remedy_records`, with a column `seed`.

    Returns
    -------
    DataFrame
        In descending order of the worst results, with

        - `remedy`, `similarity`
        - `unique`, `pinned_by`: whether the similarity is unique, and what makes it so
        - `auc_low`, `auc_high`, `top10_low`, `top10_high`: the ranges of the AUC and of
          the share of the ten nearest items that are in the item's cluster
        - `auc_std`: largest standard deviation of the AUC over these seeds (ddof = 0;
          NaN for one seed)
    """
    # "cosine, g^1/2" and "cosine, identity" are of the kind "cosine".
    kind = records["similarity"].str.split(",").str[0]
    by_similarity = records.assign(kind=kind).groupby(
        ["remedy", "kind", "pinned_by", "similarity"], sort=False
    )
    # The mean over seeds comes first, so that an end of the range is the mean of one
    # rescaling and not the result of a lucky seed.
    results = pd.DataFrame(
        {
            "auc": by_similarity["auc"].mean(),
            "top10": by_similarity["top10_in_cluster"].mean(),
            "auc_std": by_similarity["auc"].std(ddof=0).where(by_similarity.size() > 1),
        }
    )
    by_kind = results.groupby(["remedy", "kind", "pinned_by"], sort=False)
    summary = pd.DataFrame(
        {
            "auc_low": by_kind["auc"].min(),
            "auc_high": by_kind["auc"].max(),
            "auc_std": by_kind["auc_std"].max(),
            "top10_low": by_kind["top10"].min(),
            "top10_high": by_kind["top10"].max(),
        }
    ).reset_index()
    summary = summary.rename(columns={"kind": "similarity"})
    summary.insert(2, "unique", summary["pinned_by"] != NOTHING)
    return summary.sort_values(
        ["auc_low", "top10_low"], ascending=False, ignore_index=True
    )
