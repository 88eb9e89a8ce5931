"""Live models of Surprise: SVD, SVD++ and NMF."""

from __future__ import annotations

from typing import Any

import numpy as np

from embaudit.foundation.checked import Floats, Indices
from embaudit.io.objects.library import has, require_fitted
from embaudit.io.objects.reading import Given, Reading
from embaudit.io.readers.implicit import objective_of
from embaudit.model import FactorModel


def read(model: Any, given: Given) -> Reading:  # noqa: ARG001
    """Take factors, biases and raw ids; the users of SVD++ have what they rated added to them."""
    require_fitted(model, "pu", "qi", "trainset")
    trainset = model.trainset
    users = [trainset.to_raw_uid(row) for row in range(len(model.pu))]
    items = [trainset.to_raw_iid(row) for row in range(len(model.qi))]
    ids: dict[str, Any] = {"user_ids": np.array(users), "item_ids": np.array(items)}
    biased = getattr(model, "biased", True) and has(model, "bu", "bi")
    biases = {"user_bias": model.bu, "item_bias": model.bi, "offset": trainset.global_mean} if biased else {}
    implied = has(model, "yj")
    # NMF has no learning rate and keeps its factors positive; SVD++ adds implicit feedback to the users.
    by_samples = has(model, "lr_pu", "reg_pu", "reg_qi") and not implied
    objective = objective_of(model.reg_pu, model.reg_qi, decayed="factors-counted") if by_samples else None
    left = model.pu + _implicit_part(model) if implied else model.pu
    made = FactorModel.from_user_item(left, model.qi, **biases, **ids, link="identity", objective=objective)

    def own(left_rows: Indices, right_rows: Indices) -> Floats:
        def score(i: int, j: int) -> float:
            return float(model.predict(users[i], items[j], clip=False).est)

        return np.array([[score(i, j) for j in right_rows] for i in left_rows])

    taken = {"left": "pu with yj of what each user rated" if implied else "pu", "right": "qi", "left_bias": "bu",
             "right_bias": "bi", "left_ids": "trainset", "right_ids": "trainset", "link": "its class"}  # fmt: skip
    return Reading(made, own, taken=taken)


def _implicit_part(model: Any) -> Floats:
    """Return `|N(u)|^-½ Σ y_j` over the items j that user u rated, one row a user."""
    yj = np.asarray(model.yj, dtype=float)
    rated = [[item for item, _ in model.trainset.ur[user]] for user in range(len(model.pu))]
    return np.stack([yj[rows].sum(axis=0) / np.sqrt(max(len(rows), 1)) for rows in rated])
