"""Live models of cornac that multiply factors: MF, BPR and its kin, PMF, WMF, and what it would put into an index."""

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
INDEXED = ("get_user_vectors", "get_item_vectors")
"""How others give the vectors that it searches by."""
RANKED = ("BPR", "WBPR", "MMMF", "IBPR")
"""Classes trained to order items, whose scores are no ratings."""
POSITIVE = ("NMF", "HPF")
"""Classes whose factors are held positive, which obey no law that is known."""

TAKEN = {"left_bias": "u_biases", "right_bias": "i_biases", "left_ids": "uid_map", "right_ids": "iid_map",
         "link": "its class"}  # fmt: skip


def read(model: Any, given: Given) -> Reading:  # noqa: ARG001
    """Take factors, biases and the ids in `uid_map` and `iid_map`.

    Raises
    ------
    InputError
        If it has no factors: it is not fitted, or a model of another kind.
    """
    users, items = _tables(model)
    use_bias = getattr(model, "use_bias", True)
    extras: dict[str, Any] = {
        f"{side}_bias": as_array(getattr(model, name))
        for side, name in (("user", "u_biases"), ("item", "i_biases"))
        if use_bias and has(model, name)
    }
    offset = float(model.global_mean) if extras.keys() == {"user_bias", "item_bias"} else 0.0
    ids = {"user_ids": _ids(model, "uid_map", len(users)), "item_ids": _ids(model, "iid_map", len(items))}
    made = FactorModel.from_user_item(
        users, items, **extras, **ids, offset=offset, link=_link(model), objective=_objective(model)
    )

    def own(left_rows: Indices, right_rows: Indices) -> Floats:
        return np.stack([np.asarray(as_array(model.score(int(user))))[right_rows] for user in left_rows])

    return Reading(made, own, "score", taken={**dict(zip(("left", "right"), _names(model), strict=True)), **TAKEN})


def _names(model: Any) -> tuple[str, str]:
    """Return where users and items are kept."""
    for names in FACTORS:
        if has(model, *names):
            return names
    if has(model, *INDEXED) and "dot" in str(model.get_vector_measure()):
        return INDEXED
    raise must_be("a model of cornac", "fitted, with user and item factors", type(model).__name__)


def _tables(model: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    kept = [getattr(model, name) for name in _names(model)]
    users, items = (as_array(rows() if callable(rows) else rows) for rows in kept)
    return users, items


def _link(model: Any) -> str:
    if comes_from(model, ("cornac",), RANKED):
        return "ranking"
    # PMF rates by a sigmoid between the least and the largest rating.
    return "sigmoid" if getattr(model, "variant", None) == "non_linear" else "identity"


def _objective(model: Any) -> str | None:
    # Its own SGD decays the rows of a sample; torch decays all rows of a batch.
    if comes_from(model, ("cornac",), POSITIVE) or getattr(model, "backend", "cpu") != "cpu":
        return None
    return objective_of(getattr(model, "lambda_reg", None), decayed="factors-counted")


def _ids(model: Any, name: str, n_rows: int) -> NDArray[Any] | None:
    """Turn a map from ids to row numbers around; its row numbers themselves are nobody's ids."""
    known = getattr(model, name, None)
    if known is None:
        known = getattr(getattr(model, "train_set", None), name, None)
    if not isinstance(known, Mapping) or len(known) != n_rows:
        return None
    return np.array(sorted(known, key=lambda raw: known[raw]))
