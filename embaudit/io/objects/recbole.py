"""Live models of RecBole, graph models included: the tables they score with, without the row for padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from embaudit.errors import must_be
from embaudit.foundation.checked import Floats, Indices
from embaudit.io.codecs.memory import as_array
from embaudit.io.objects.library import has, needed
from embaudit.io.objects.reading import Given, Reading
from embaudit.model import FactorModel


def read(model: Any, given: Given) -> Reading:  # noqa: ARG001
    """Take the tables of users and items; a graph model's are what its `forward` makes of the stored ones.

    Row numbers are RecBole's own: ids are in `dataset.field2id_token`, and have to be passed.

    Raises
    ------
    InputError
        If it has no tables of users and items.
    """
    (users, items), where = _tables(model)
    pairwise = getattr(getattr(model, "input_type", None), "name", "") == "PAIRWISE"
    made = FactorModel.from_user_item(
        as_array(users)[1:], as_array(items)[1:], link="ranking" if pairwise else "identity"
    )

    def own(left_rows: Indices, right_rows: Indices) -> Floats:
        # Row 0 of every table is padding.
        return np.stack([_scores(model, users, int(user) + 1)[right_rows + 1] for user in left_rows])

    taken = {"left": where[0], "right": where[1], "link": "its input_type"}
    return Reading(made, own, "full_sort_predict", taken=taken)


def _tables(model: Any) -> tuple[tuple[Any, Any], tuple[str, str]]:
    """Return the tables, and where they come from."""
    if has(model, "forward") and not needed(model.forward):
        # Dropout would make other tables each time.
        if has(model, "eval"):
            model.eval()
        made = model.forward()
        if isinstance(made, tuple) and len(made) == 2:
            return made, ("the first of forward()", "the second of forward()")
    if has(model, "user_embedding", "item_embedding"):
        return (model.user_embedding.weight, model.item_embedding.weight), ("user_embedding", "item_embedding")
    remedy = "if it multiplies tables all the same, pass them to FactorModel.from_user_item"
    raise must_be("a model of RecBole", "one with embeddings of users and items", type(model).__name__, remedy)


def _scores(model: Any, table: Any, user: int) -> Floats:
    # The tensor of row numbers is made from the table, which lies on the right device.
    found = model.full_sort_predict({model.USER_ID: table.new_tensor([user]).long()})
    return np.asarray(as_array(found), dtype=float).reshape(-1)
