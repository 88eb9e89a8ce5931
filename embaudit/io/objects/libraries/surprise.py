"""Surprise: SVD, SVD++ and NMF."""

from __future__ import annotations

from typing import Any

import numpy as np

from embaudit.core.checked import Floats
from embaudit.io.formats.implicit import objective_of
from embaudit.io.objects.helpers import has
from embaudit.io.objects.libraries.library import Computed, Library, Query
from embaudit.io.options import Request
from embaudit.model import FactorModel


def _factors_with_rated(source: Any) -> Floats | None:
    """Return the user factors of SVD++: `p_u + |N(u)|^-½ Σ y_j` over items j in N(u).

    N(u) are the items that user u rated. None is returned if the model has no y.
    """
    if not has(source, "yj"):
        return None
    item_terms = np.asarray(source.yj, dtype=float)
    factors = np.array(source.pu, dtype=float)
    for user in range(len(factors)):
        rated = [item for item, _rating in source.trainset.ur[user]]
        total = item_terms[rated].sum(axis=0)
        factors[user] += total / np.sqrt(max(len(rated), 1))
    return factors


def _user_ids(source: Any) -> list[Any]:
    return [source.trainset.to_raw_uid(row) for row in range(len(source.pu))]


def _item_ids(source: Any) -> list[Any]:
    return [source.trainset.to_raw_iid(row) for row in range(len(source.qi))]


def _build(source: Any, fields: dict[str, Any], _request: Request) -> FactorModel:
    # NMF has no learning rate, and its factors stay positive. No law is known for the
    # decay of y in SVD++.
    is_svd = has(source, "lr_pu", "reg_pu", "reg_qi") and not has(source, "yj")
    objective = None
    if is_svd:
        objective = objective_of(
            source.reg_pu, source.reg_qi, decayed="factors-counted"
        )
    return FactorModel.from_arrays(**fields, link="identity", objective=objective)


def _predict(query: Query) -> Floats:
    estimates = [
        query.source.predict(query.left_id, item, clip=False).est
        for item in query.right_ids
    ]
    return np.array(estimates)


SURPRISE = Library(
    packages=("surprise",),
    classes=("SVDpp", "SVD", "NMF"),
    tables=(
        (Computed("pu with yj of what each user rated", _factors_with_rated), "qi"),
        ("pu", "qi"),
    ),
    fields={
        "left_bias": ("bu",),
        "right_bias": ("bi",),
        "offset": ("trainset.global_mean",),
        "left_ids": (Computed("trainset", _user_ids),),
        "right_ids": (Computed("trainset", _item_ids),),
    },
    build=_build,
    predicts={"predict": _predict},
)
