"""Live models of implicit: ALS, BPR and logistic matrix factorisation, on the CPU or a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from embaudit.foundation.checked import Floats, Indices
from embaudit.io.codecs.memory import as_array
from embaudit.io.objects.library import require_fitted
from embaudit.io.objects.reading import Given, Reading
from embaudit.io.readers.implicit import split_columns, trained_with

TAKEN = {
    "left": "user_factors", "right": "item_factors", "left_bias": "the last column of user_factors",
    "right_bias": "a column of item_factors", "link": "its class",
}  # fmt: skip
"""What becomes what."""


def read(model: Any, given: Given) -> Reading:  # noqa: ARG001
    """Take the factors, constant and bias columns split off."""
    require_fitted(model, "user_factors", "item_factors", "factors")
    made = split_columns(as_array(model.user_factors), as_array(model.item_factors), int(model.factors))
    made = made.replace(objective=trained_with(getattr(model, "regularization", None), made))
    if not callable(getattr(model, "recommend", None)):
        return Reading(made, taken=TAKEN)

    def own(users: Indices, items: Indices) -> Floats:
        scores = np.full((len(users), len(items)), np.nan)
        for row, user in zip(scores, users, strict=True):
            found = model.recommend(int(user), None, N=len(items), filter_already_liked_items=False, items=items)
            row[np.searchsorted(items, np.asarray(found[0]))] = found[1]
        return scores

    return Reading(made, own, "recommend", taken=TAKEN)
