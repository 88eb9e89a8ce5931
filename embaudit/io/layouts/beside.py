"""Arrays next to a table: biases, ids, names and counts, by their customary names."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from embaudit.io.layouts.layout import Shapes
from embaudit.io.layouts.names import first_of

BESIDE_FACTORS: Mapping[str, tuple[str, ...]] = {
    "left_bias": (
        "user_bias",  # RecBole
        "user_biases",  # LightFM, Spotlight
        "left_bias",  # embaudit
        "bu",  # Surprise
        "u_biases",  # Cornac
    ),
    "right_bias": (
        "item_bias",  # RecBole
        "item_biases",  # LightFM, Spotlight
        "right_bias",  # embaudit
        "bi",  # Surprise
        "i_biases",  # Cornac
    ),
    "offset": (
        "offset",  # embaudit
        "global_bias",  # LensKit
        "global_mean",  # Cornac, Surprise
        "mu",  # textbooks
        "mean",
        "mean_rating",
        "rating_mean",
        "average_rating",
    ),
    "left_ids": ("user_ids", "left_ids"),
    "left_names": ("user_names", "left_names"),
    "left_counts": ("user_counts", "left_counts"),
    "right_ids": (
        "item_ids",
        "right_ids",
        "ids",
        "words",
        "index_to_key",  # gensim
        "tokens",
    ),
    "right_names": (
        "item_names",
        "item_titles",
        "right_names",
        "labels",
        "classes",  # scikit-learn: classes_
        "class_names",
        "class_list",
    ),
    "right_counts": ("item_counts", "right_counts"),
}
"""Names of the arrays next to two tables, by the field of a model that they hold."""
BESIDE_ONE_TABLE = {
    field: BESIDE_FACTORS[field]
    for field in ("right_ids", "right_names", "right_counts")
}
"""Names of the arrays next to one table or a head."""
SINGULAR_VALUES = ("s", "sigma", "singular_values")  # the last one: scikit-learn
"""Names of Σ next to the factors of a singular value decomposition."""


def find_beside(
    shapes: Shapes, customary: Mapping[str, tuple[str, ...]]
) -> dict[str, str]:
    """Find the arrays next to a table, by the field of a model that they hold.

    Examples
    --------
    >>> find_beside({"Q": (7, 2), "item_ids": (7,), "mean": ()}, BESIDE_FACTORS)
    {'offset': 'mean', 'right_ids': 'item_ids'}
    """
    # The mean of all ratings is one number; "mean" of another size is something else.
    single = [name for name, shape in shapes.items() if prod(shape) == 1]
    fields = {}
    for field, names in customary.items():
        name = first_of(single if field == "offset" else shapes, names)
        if name is not None:
            fields[field] = name
    return fields
