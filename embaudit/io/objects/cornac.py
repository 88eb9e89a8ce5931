"""Live models of cornac that multiply factors: MF, BPR and its kin, WMF, PMF."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.foundation.checked import Floats, Indices
from embaudit.io.codecs.memory import as_array
from embaudit.io.objects.library import comes_from, has
from embaudit.io.objects.reading import Given, Reading
from embaudit.io.readers.implicit import objective_of
from embaudit.model import FactorModel

FACTORS = (("u_factors", "i_factors"), ("U", "V"))
RANKED = ("BPR", "WBPR", "MMMF")
"""Classes trained to order items, whose scores are no ratings."""


def read(model: Any, given: Given) -> Reading:  # noqa: ARG001
    """Take factors, biases and the ids in `uid_map` and `iid_map`.

    Raises
    ------
    InputError
        If it has no factors: it is not fitted, or a model of another kind.
    """
    names = next((pair for pair in FACTORS if has(model, *pair)), None)
    if names is None:
        raise must_be("a model of cornac", "fitted, with user and item factors", type(model).__name__)
    users, items = (as_array(getattr(model, name)) for name in names)
    use_bias = getattr(model, "use_bias", True)
    extras: dict[str, Any] = {
        f"{side}_bias": as_array(getattr(model, name))
        for side, name in (("user", "u_biases"), ("item", "i_biases"))
        if use_bias and has(model, name)
    }
    offset = float(model.global_mean) if extras.keys() == {"user_bias", "item_bias"} else 0.0
    ids = {"user_ids": _ids(model, "uid_map", len(users)), "item_ids": _ids(model, "iid_map", len(items))}
    link = "ranking" if comes_from(model, ("cornac",), RANKED) else "identity"
    # Its own SGD decays the rows of a sample; torch decays all rows of a batch.
    strength = getattr(model, "lambda_reg", None) if getattr(model, "backend", "cpu") == "cpu" else None
    objective = objective_of(strength, decayed="factors-counted")
    made = FactorModel.from_user_item(users, items, **extras, **ids, offset=offset, link=link, objective=objective)

    def own(left_rows: Indices, right_rows: Indices) -> Floats:
        return np.stack([np.asarray(as_array(model.score(int(user))))[right_rows] for user in left_rows])

    return Reading(made, own, "score")


def _ids(model: Any, name: str, n_rows: int) -> NDArray[Any] | None:
    """Turn a map from ids to row numbers around; its row numbers themselves are nobody's ids."""
    known = getattr(model, name, None)
    if known is None:
        known = getattr(getattr(model, "train_set", None), name, None)
    if not isinstance(known, Mapping) or len(known) != n_rows:
        return None
    return np.array(sorted(known, key=lambda raw: known[raw]))
